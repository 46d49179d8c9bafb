// The model and the device that a page shows, in the bar. The link says which; none = the first of the list. The last of
// the models is one's own: what can be opened, and what not yet.

import { button, fill, h, setAttribute, setText } from "../base/dom.js";
import { OWN_CODE } from "../base/page_facts.js";
import { OF_ONE_MODEL, read, write } from "../link/link.js";
import { tellAddress } from "../link/way.js";

/** @typedef {[value: string, text: string, group?: string, says?: string]} Option */

const OWN = "your own"; // no model: an address cannot name it
const YOURS = /** @type {Option} */ ([OWN, "Your own model ›", "Yours", "what Headlight can open"]);

const own = h(
  "dialog",
  { id: "headlight-own", "aria-labelledby": "headlight-own-name" },
  h("h2", { id: "headlight-own-name" }, "Your own model"),
  h("h3", {}, "What opens here"),
  h("p", {}, "A model that you train on the Train page: it stands in this list when it is trained."),
  h("p", {}, "A run of Headlight as a zip file: “Open a saved run” on the Train page."),
  h("h3", {}, "What Python opens"),
  h("p", {}, "The folder of a run, or of a BERT encoder: config.json, tokenizer.json and model.safetensors."),
  h("pre", {}, OWN_CODE),
  h("h3", {}, "What does not work yet"),
  h("p", {}, "BERT and GPT-2 in this list, and a model by its name on Hugging Face."),
  button("Close", () => own.close(), { autofocus: "" }),
);

/** A view takes over what was chosen; without one the page's script does. @param {string} key @param {string | null} value */
function choose(key, value) {
  const detail = { [key]: value };
  if (!dispatchEvent(new CustomEvent("headlight-choose", { detail, cancelable: true }))) return;
  const gone = key === "model" ? [...OF_ONE_MODEL, "off", "off2", "pin"] : []; // where no view fits them
  write({ ...Object.fromEntries(gone.map((one) => [one, null])), ...detail });
  tellAddress();
}

const wide = matchMedia("(min-width: 721px)"); // house.css
const hasSecondLine = () => wide.matches && CSS.supports("appearance: base-select");

class Picker {
  /** @param {string} key of the link @param {string} label @param {number} fewest options that are a choice */
  constructor(key, label, fewest) {
    this.key = key;
    this.fewest = fewest;
    this.options = /** @type {Option[]} */ ([]);
    const onchange = () => this.take();
    this.select = h("select", { "aria-label": label, onchange });
    this.element = h("label", { class: key, hidden: "" }, h("span", { "aria-hidden": "true" }, label), this.select);
    addEventListener("headlight-address", () => this.follow());
    addEventListener("popstate", () => this.follow());
  }

  /** @param {Option[]} options */
  draw(options) {
    this.options = options;
    this.select.disabled = false;
    const names = [...new Set(options.map(([, , group]) => group))];
    if (names.every(Boolean))
      fill(this.select, names, "optgroup", (group, name) => {
        setAttribute(group, "label", name);
        fillOptions(
          group,
          options.filter(([, , of]) => of === name),
        );
      });
    else fillOptions(this.select, options);
    this.element.hidden = options.length < this.fewest;
    this.follow();
  }

  take() {
    const { value, selectedIndex } = this.select;
    if (value !== OWN) return choose(this.key, selectedIndex ? value : null);
    this.follow();
    if (!own.isConnected) document.body.append(own);
    return own.showModal();
  }

  /** Says what the address says, as far as there is such an option. */
  follow() {
    const now = read().get(this.key);
    this.select.selectedIndex = Math.max(
      0,
      this.options.findIndex(([value]) => value === now),
    );
  }
}

/** @param {Element} parent @param {Option[]} options */
function fillOptions(parent, options) {
  fill(parent, options, "option", (option, [value, text, , says]) => {
    setAttribute(option, "value", value);
    setText(option, says && !hasSecondLine() ? `${text} · ${says}` : text);
    setAttribute(option, "data-says", says ?? null);
  });
}

const model = new Picker("model", "Model", 1);
const device = new Picker("dev", "Device", 2);
wide.addEventListener("change", () => model.draw(model.options));
export const pickers = h("div", { class: "pickers", hidden: "" }, model.element, device.element);

const first = document.getElementById("headlight-model"); // until the page says what there is
if (first) {
  drawPickers([["", JSON.parse(first.textContent ?? ""), "Pretrained"]], []);
  model.select.disabled = true;
}

/** Offers what the present page can show. @param {Option[]} models @param {string[]} devices */
export function drawPickers(models, devices) {
  model.draw(models.length ? [...models, YOURS] : []);
  device.draw(devices.map((name) => [name, name]));
  pickers.hidden = model.element.hidden && device.element.hidden;
}
