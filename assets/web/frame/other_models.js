// The dialog “Another model”: models cached on the server, a local folder, a model of the Hugging Face hub, and code
// for own models. Remote users see only the last.

import { fetchRoute, h, LOST, render } from "../base/dom.js";
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
function drawForm(name, placeholder, does, act) {
  const onsubmit = (/** @type {any} */ event) => {
    event.preventDefault();
    const text = event.target.elements[0].value.trim();
    if (text) act(text);
  };
  const props = { "aria-label": name, placeholder, autocomplete: "off", spellcheck: "false", dir: "auto" };
  return ["form.form-row", { onsubmit }, ["input", props], ["button", { type: "submit" }, does]];
}

export class OtherModels {
  state = {
    machine: false, // whether models of the server's machine may be opened
    hub: false, // whether models may be downloaded
    models: /** @type {Found[]} */ ([]),
    status: "",
    id: "", // of the model of the hub whose size is known
    size: 0, // of its missing files
    done: /** @type {number | null} */ (null), // share of the current download
  };
  controller = /** @type {AbortController | null} */ (null); // of the current download

  /** @param {(name: string) => void} choose */
  constructor(choose) {
    this.choose = choose;
    const onclose = () => this.controller?.abort();
    this.element = h("dialog", { id: "headlight-own", "aria-labelledby": "headlight-own-name", onclose });
  }

  /** @param {Partial<OtherModels["state"]>} change */
  set(change) {
    Object.assign(this.state, change);
    this.draw();
  }

  draw() {
    const { machine, hub, models, status, id, size, done } = this.state;
    const drawModel = (/** @type {Found} */ found) => {
      const { title, description, why_not } = found;
      const text = ["span.description", [description, why_not].filter(Boolean).join(": ")];
      const props = { disabled: Boolean(why_not), onclick: () => this.take(found) };
      return ["li", ["button", props, ["strong", { dir: "auto" }, title], text]];
    };
    const isBusy = done !== null;
    const name = size ? `Download ${formatBytes(size)}` : "Open (already downloaded)";
    const ofHub = [
      ["h3", "From the Hugging Face hub"],
      drawForm("Name on the hub", "google-t5/t5-small", "Check size", (text) => this.size(text)),
      ["p.leaves", LEAVES],
      [
        "div.download-row",
        ["button", { hidden: !id || isBusy, onclick: () => this.download() }, name],
        ["progress", { max: "1", value: done ?? 0, "aria-label": "Download", hidden: !isBusy }],
        ["button", { hidden: !isBusy, onclick: () => this.controller?.abort() }, "Stop"],
      ],
    ];
    const ofMachine = [
      ["h3", "On this computer"],
      ["ul.models", ...models.map(drawModel)],
      ["p", { role: "status" }, status],
      ["h3", "Folder on this computer"],
      drawForm("Folder", "/home/me/my-model", "Open", (path) => this.open(path)),
      ["section", { hidden: !hub }, ...ofHub],
    ];
    const close = { autofocus: true, class: "close", "aria-label": "close", onclick: () => this.element.close() };
    const others = [["h3", "What can be opened here"], ...OPENS.map((line) => ["p", line])];
    const title = ["h2", { id: "headlight-own-name" }, "Another model"];
    const parts = [["button", close, "×"], title, ["section", { hidden: !machine }, ...ofMachine]];
    render(this.element, ...parts, ...others, ["h3", "In Python"], ["p", IN_PYTHON], ["pre", OWN_CODE]);
  }

  show() {
    if (!this.element.isConnected) document.body.append(this.element);
    this.draw();
    this.element.showModal();
    if (this.state.machine) this.look();
  }

  /** List the models in the cache. */
  look() {
    this.tell("Reading the cache …", async () => {
      const models = /** @type {Found[]} */ (await fetchMachine("cached"));
      this.list(models);
      return models.length ? "" : "No downloaded Hugging Face model found on this computer.";
    });
  }

  /** @param {Found[]} models */
  list(models) {
    for (const { name, title, description } of models) descriptions.set(name, [title, description]);
    this.set({ models });
  }

  /** Open a model, or list the halves of a dual encoder. @param {Found} found @returns {string} the status */
  take({ name, title, description, halves }) {
    if (halves.length > 1) {
      this.list(halves);
      /** @type {HTMLElement | null} */ (this.element.querySelector(".models button"))?.focus();
      return `${title} is a dual encoder: choose one of its halves above.`;
    }
    descriptions.set(name, [title, description]);
    this.element.close();
    this.choose(name);
    return "";
  }

  /** @param {string} path */
  open(path) {
    this.tell("Opening …", async () => this.take(await fetchMachine("folder", { path })));
  }

  /** @param {string} id */
  size(id) {
    this.set({ id: "" });
    this.tell("Asking the hub …", async () => {
      const { size } = await fetchMachine("size", { id });
      this.set({ id, size });
      return size
        ? `${id}: ${formatBytes(size)} will be downloaded to this computer’s cache.`
        : `${id} is already in this computer’s cache.`;
    });
  }

  download() {
    const { id } = this.state;
    this.controller = new AbortController();
    const { signal } = this.controller;
    this.tell(`Downloading ${id} …`, async () => {
      this.set({ done: 0 });
      const answer = await fetchRoute(`api/machine/download?${new URLSearchParams({ id })}`, { signal });
      let status = "";
      await eachLine(answer, (step) => {
        if (step.error) throw new Error(step.error);
        if (step.name) status = this.take(step);
        else this.set({ done: step.done });
      });
      return status;
    }).finally(() => {
      this.controller = null;
      this.set({ done: null });
    });
  }

  /** Show a progress text, then the result. @param {string} doing @param {() => Promise<string>} act */
  async tell(doing, act) {
    this.set({ status: doing });
    try {
      this.set({ status: await act() });
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      this.set({ status: WHY[name] ?? message });
    }
  }
}
