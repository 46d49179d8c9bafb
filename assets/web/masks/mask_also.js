// @ts-check
// What can be changed beside the mask, folded: the encoding of the order, the temperature, and which heads are on.

import { drawLamps, drawPositions, makeDegrees, radios } from "../picture/choices.js";
import { button, h, setAttribute } from "../base/dom.js";

/** @typedef {import("./painter.js").Painter} Painter */

const KEYS = ["pos", "t", "off"]; // of the link

export class MaskAlso {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.positions = radios("Position encoding");
    this.degrees = makeDegrees("Softmax temperature", (t) => view.change({ t: t === "1" ? null : t }, true));
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": "Heads of all layers" });
    const part = (/** @type {string} */ name, /** @type {Node[]} */ ...inside) =>
      h("section", { "aria-label": name }, h("h3", {}, name), ...inside);
    const allOn = button("all on", () => view.switchHeads([]));
    this.element = h(
      "details",
      { class: "also" },
      h("summary", {}, "Also change: position encoding, temperature, heads"),
      h(
        "div",
        {},
        part("Position encoding", this.positions),
        part("Softmax temperature", this.degrees.element),
        part("Heads", allOn, this.lamps),
      ),
    );
  }

  /** What a link says is in sight. @param {URLSearchParams} link */
  adopt(link) {
    if (KEYS.some((key) => link.has(key))) setAttribute(this.element, "open", "");
  }

  draw() {
    const { view } = this;
    const { controls, off, picture } = view;
    const choose = (/** @type {string} */ pos) => view.change({ pos: pos === "as trained" ? null : pos });
    drawPositions(this.positions, picture.positions, controls.pos ?? "as trained", choose);
    this.degrees.say(controls.t ?? "1");
    drawLamps(this.lamps, picture, off, (layer, head) => this.toggle(`${layer}.${head}`));
  }

  /** @param {string} id of a head */
  toggle(id) {
    const { off } = this.view;
    this.view.switchHeads(off.has(id) ? [...off].filter((own) => own !== id) : [...off, id]);
  }
}
