// The dialog “Another model”: models cached on the server, a local folder, a model of the Hugging Face hub, and code
// for own models. Remote users see only the last.

import { button, div, fetchRoute, fill, h, LOST, setText, setTexts, span } from "../base/dom.js";
import { OWN_CODE } from "../base/page_facts.js";
import { descriptions } from "../link/model_name.js";

/** @typedef {{name: string, title: string, description: string, why_not: string,
 * halves: Found[]}} Found a cached model of the server; `halves` of a dual encoder */

/** Name of an error -> its message here. @type {Record<string, string>} */
const WHY = { AbortError: "Stopped. What was downloaded is kept, and the download can be continued.", TypeError: LOST };
const LEAVES = "This sends the model’s name and your IP address to huggingface.co.";
const OPENS = [
  "A model that you train on the Train page appears in the list after training.",
  "A saved run (zip file) or a recording can be opened on the Train page, under “Open a saved run or a recording”.",
];
const IN_PYTHON =
  "load_model opens the folder of any text model of transformers, and of most image and speech models; watch records any torch module.";

/** Fetch a response about the server's machine. @param {string} question @param {Record<string, string>} [params] */
const fetchMachine = async (question, params) =>
  (await fetchRoute(`api/machine/${question}?${new URLSearchParams(params)}`)).json();

/** Read a response of JSON lines.
 * @param {Response} answer @param {(line: any) => void} take called for each line
 */
async function eachLine(answer, take) {
  const reader = /** @type {ReadableStream} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line));
  }
}

/** Format a number of bytes: 1_340_000 -> "1.3 MB". @param {number} bytes */
export const formatBytes = (bytes) =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.max(0.1, bytes / 1e6).toFixed(1)} MB`;

/** A text field with a button.
 * @param {string} name @param {string} placeholder @param {string} does @param {(text: string) => void} act */
function line(name, placeholder, does, act) {
  const field = h("input", { "aria-label": name, placeholder, autocomplete: "off", spellcheck: "false", dir: "auto" });
  const press = h("button", { type: "submit" }, does);
  const form = /** @type {HTMLFormElement} */ (h("form", { class: "form-row" }, field, press));
  form.onsubmit = (event) => {
    event.preventDefault();
    if (field.value.trim()) act(field.value.trim());
  };
  return { form, field, press };
}

export class OtherModels {
  /** @param {(name: string) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.controller = /** @type {AbortController | null} */ (null); // of the current download
    this.list = h("ul", { class: "models" });
    this.status = h("p", { role: "status" });
    this.folder = line("Folder", "/home/me/my-model", "Open", (path) => this.open(path));
    this.id = line("Name on the hub", "google-t5/t5-small", "Check size", (id) => this.size(id));
    this.bring = button("", () => this.download(), { hidden: "" });
    this.bar = h("progress", { max: "1", value: "0", "aria-label": "Download", hidden: "" });
    this.stops = button("Stop", () => this.controller?.abort(), { hidden: "" });
    const titled = (/** @type {string} */ title) => h("h3", {}, title);
    const leaves = h("p", { class: "leaves" }, LEAVES);
    const bringing = div("download-row", this.bring, this.bar, this.stops);
    this.hub = h("section", {}, titled("From the Hugging Face hub"), this.id.form, leaves, bringing);
    this.machine = h("section", {}, titled("On this computer"), this.list, this.status);
    this.machine.append(titled("Folder on this computer"), this.folder.form, this.hub);
    this.element = h(
      "dialog",
      { id: "headlight-own", "aria-labelledby": "headlight-own-name" },
      button("×", () => this.element.close(), { autofocus: "", class: "close", "aria-label": "close" }),
      h("h2", { id: "headlight-own-name" }, "Another model"),
      this.machine,
      titled("What can be opened here"),
      ...OPENS.map((line) => h("p", {}, line)),
      titled("In Python"),
      h("p", {}, IN_PYTHON),
      h("pre", {}, OWN_CODE),
    );
    this.element.addEventListener("close", () => this.controller?.abort());
  }

  /** @param {{machine: boolean, hub: boolean}} house allowed sources */
  allow({ machine, hub }) {
    this.machine.hidden = !machine;
    this.hub.hidden = !hub;
  }

  show() {
    if (!this.element.isConnected) document.body.append(this.element);
    this.element.showModal();
    if (!this.machine.hidden) this.look();
  }

  /** List the models in the cache. */
  look() {
    this.tell("Reading the cache …", async () => {
      this.draw(/** @type {Found[]} */ (await fetchMachine("cached")));
      return this.list.children.length ? "" : "No downloaded Hugging Face model found on this computer.";
    });
  }

  /** @param {Found[]} models */
  draw(models) {
    for (const { name, title, description } of models) descriptions.set(name, [title, description]);
    const make = (/** @type {number} */ index) => {
      const press = button("", () => this.take(/** @type {Found} */ (models[index])), {});
      press.append(h("strong", { dir: "auto" }), span("description"));
      return h("li", {}, press);
    };
    this.list.replaceChildren();
    fill(this.list, models, make, (item, { title, description, why_not }) => {
      const press = /** @type {HTMLButtonElement} */ (item.firstElementChild);
      setTexts(press, title, [description, why_not].filter(Boolean).join(": "));
      press.disabled = Boolean(why_not);
    });
  }

  /** Open a model, or list the halves of a dual encoder. @param {Found} found @returns {string} the status */
  take({ name, title, description, halves }) {
    if (halves.length > 1) {
      this.draw(halves);
      /** @type {HTMLElement | null} */ (this.list.querySelector("button"))?.focus();
      return `${title} is a dual encoder: choose one of its halves above.`;
    }
    descriptions.set(name, [title, description]);
    this.element.close();
    this.choose(name);
    return "";
  }

  /** @param {string} path */
  open(path) {
    this.tell("Opening …", async () => {
      return this.take(/** @type {Found} */ (await fetchMachine("folder", { path })));
    });
  }

  /** @param {string} id */
  size(id) {
    this.bring.hidden = true;
    this.tell("Asking the hub …", async () => {
      const { size } = await fetchMachine("size", { id });
      this.bring.dataset.id = id;
      setText(this.bring, size ? `Download ${formatBytes(size)}` : "Open (already downloaded)");
      this.bring.hidden = false;
      return size
        ? `${id}: ${formatBytes(size)} will be downloaded to this computer’s cache.`
        : `${id} is already in this computer’s cache.`;
    });
  }

  download() {
    const id = this.bring.dataset.id ?? "";
    this.controller = new AbortController();
    const { signal } = this.controller;
    this.tell(`Downloading ${id} …`, async () => {
      this.bringing(true);
      const answer = await fetchRoute(`api/machine/download?${new URLSearchParams({ id })}`, { signal });
      let status = "";
      await eachLine(answer, (step) => {
        if (step.error) throw new Error(step.error);
        if (step.name) status = this.take(step);
        else this.bar.setAttribute("value", String(step.done));
      });
      return status;
    }).finally(() => this.bringing(false));
  }

  /** @param {boolean} is downloading */
  bringing(is) {
    this.bar.hidden = this.stops.hidden = !is;
    this.bring.hidden = is || this.bring.hidden;
    if (!is) this.controller = null;
  }

  /** Show a progress text, then the result. @param {string} doing @param {() => Promise<string>} act */
  async tell(doing, act) {
    setText(this.status, doing);
    try {
      setText(this.status, await act());
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      setText(this.status, WHY[name] ?? message);
    }
  }
}
