// The pickers of model and device in the bar. The link has the choice; without one the first option holds. The last
// option opens another model.

import { h, render } from "../base/dom.js";
import { OF_ONE_MODEL, read, write } from "../link/link.js";
import { baseOf, descriptions, isForeign, isRecording, titleOf } from "../link/model_name.js";
import { isSite, notify } from "../link/navigation.js";
import { OtherModels } from "./other_models.js";

/** @typedef {[value: string, text: string, group?: string, says?: string]} Option */

const OWN = "your own"; // an opened model, which has no address
const YOURS = /** @type {Option} */ ([OWN, "Another model ›", "Yours", "on this computer, or your own"]);
const SAME = /** @type {Option} */ (["", "right: same model", "Right side", "one model on both sides"]);
const HERE = "On this computer"; // group of the models that are not in the list
const RECORDED = "Recorded"; // the same on a site without a server

const others = new OtherModels((name) => choose("model", name));

/** Apply a choice: by the current view, or by the page's script if there is none.
 * @param {string} key @param {string | null} value */
function choose(key, value) {
  const detail = { [key]: value };
  if (!dispatchEvent(new CustomEvent("headlight-choose", { detail, cancelable: true }))) return;
  const dropped = key === "model" ? [...OF_ONE_MODEL, "off", "off2", "pin"] : []; // heads of another model, if no view maps them
  write({ ...Object.fromEntries(dropped.map((name) => [name, null])), ...detail }, true);
  notify();
}

const wide = matchMedia("(min-width: 721px)"); // as in house.css
const hasSecondLine = () => wide.matches && CSS.supports("appearance: base-select");

class Picker {
  /** @param {string} key link parameter @param {string} label @param {number} fewest minimum number of options */
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
    const itemsOf = (/** @type {string | undefined} */ name) =>
      options.filter(([, , group]) => group === name).map(drawOption);
    const groups = names.map((label) => ["optgroup", { label }, ...itemsOf(label)]);
    render(this.select, ...(names.every(Boolean) ? groups : options.map(drawOption)));
    this.element.hidden = options.length < this.fewest;
    this.follow();
  }

  take() {
    const { value, selectedIndex } = this.select;
    if (value !== OWN) return choose(this.key, selectedIndex ? value : null);
    this.follow();
    return others.show();
  }

  /** Select the option in the address, if it exists. */
  follow() {
    const now = baseOf(read().get(this.key) ?? "");
    const index = this.options.findIndex(([value]) => value === now);
    const isHidden = isSite ? now : isForeign(now) || isRecording(now);
    if (isHidden && index < 0 && this.options.length)
      return this.draw(
        this.options.toSpliced(isSite ? this.options.length : -1, 0, [now, titleOf(now), isSite ? RECORDED : HERE]),
      );
    this.select.selectedIndex = Math.max(0, index);
  }
}

/** @param {Option} option */
function drawOption([value, text, , subtitle]) {
  const isTwo = subtitle && !hasSecondLine(); // a second line that this list cannot have
  return ["option", { value, "data-subtitle": subtitle }, isTwo ? `${text} · ${subtitle}` : text];
}

const model = new Picker("model", "Model", 1);
const right = new Picker("model2", "Right model", 2); // of the Compare page
const device = new Picker("dev", "Device", 2);
wide.addEventListener("change", () => [model, right].forEach((picker) => picker.draw(picker.options)));
export const pickers = h("div", { class: "pickers", hidden: "" }, model.element, right.element, device.element);

const first = document.getElementById("headlight-model"); // server-rendered, until the page sends its options
if (first) {
  const [name, title, summary] = JSON.parse(first.textContent ?? "");
  descriptions.set(name, [title, summary]);
  drawPickers([["", title, "Pretrained"]], []);
  model.select.disabled = true;
}

/** Show the options of the current page. @param {Option[]} models @param {string[]} devices
 * @param {{machine: boolean, hub: boolean, page?: string}} may
 */
export function drawPickers(models, devices, may = { machine: false, hub: false }) {
  others.set({ machine: may.machine, hub: may.hub });
  model.draw(models.length && !isSite ? [...models, YOURS] : models);
  right.draw(may.page === "compare" && !isSite ? [SAME, ...models] : []);
  device.draw(devices.map((name) => [name, name]));
  pickers.hidden = model.element.hidden && device.element.hidden;
}
