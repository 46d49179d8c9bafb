// @ts-check
// The model and the device that a page shows, in the bar. The link says which; none = the first of the list.

import { fill, h, setAttribute, setText } from "../base/dom.js";
import { read, write } from "../link/link.js";
import { tellAddress } from "../link/way.js";

/** @typedef {[value: string, text: string]} Option */

const OF_ONE_MODEL = ["at", "look", "off", "off2", "pin"]; // keys that name its heads

/** A view takes over what was chosen; without one the page's script does. @param {string} key @param {string | null} value */
function choose(key, value) {
  const detail = { [key]: value };
  if (!dispatchEvent(new CustomEvent("headlight-choose", { detail, cancelable: true }))) return;
  const gone = key === "model" ? OF_ONE_MODEL : [];
  write({ ...Object.fromEntries(gone.map((one) => [one, null])), ...detail });
  tellAddress();
}

class Picker {
  /** @param {string} key of the link @param {string} label @param {number} fewest options that are a choice */
  constructor(key, label, fewest) {
    this.key = key;
    this.fewest = fewest;
    this.options = /** @type {Option[]} */ ([]);
    const onchange = () => choose(key, this.select.selectedIndex ? this.select.value : null);
    this.select = h("select", { "aria-label": label, onchange });
    this.element = h("label", { class: key, hidden: "" }, h("span", { "aria-hidden": "true" }, label), this.select);
    addEventListener("headlight-address", () => this.follow());
    addEventListener("popstate", () => this.follow());
  }

  /** @param {Option[]} options */
  draw(options) {
    this.options = options;
    this.select.disabled = false;
    const make = () => h("option");
    fill(this.select, options, make, (option, [value, text]) => {
      setAttribute(option, "value", value);
      setText(option, text);
    });
    this.element.hidden = options.length < this.fewest;
    this.follow();
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

const model = new Picker("model", "Model", 1);
const device = new Picker("dev", "Device", 2);
export const pickers = h("div", { class: "pickers", hidden: "" }, model.element, device.element);

const first = document.getElementById("headlight-model"); // until the page says what there is
if (first) {
  drawPickers([["", JSON.parse(first.textContent ?? "")]], []);
  model.select.disabled = true;
}

/** Offers what the present page can show. @param {Option[]} models @param {string[]} devices */
export function drawPickers(models, devices) {
  model.draw(models);
  device.draw(devices.map((name) => [name, name]));
  pickers.hidden = model.element.hidden && device.element.hidden;
}
