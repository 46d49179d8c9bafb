// What can be changed beside the mask, folded: the encoding of the order, the temperature, and which heads are on.

import { Choices } from "../picture/choices.js";
import { h, setAttribute, setText } from "../base/dom.js";

/** @typedef {import("./painter.js").Painter} Painter */

const NAMES = { pos: "Position encoding", t: "Softmax temperature", off: "Heads" }; // by their keys of the link
const KEYS = Object.keys(NAMES);

/** @extends {Choices<Painter>} */
export class MaskAlso extends Choices {
  /** @param {Painter} view */
  constructor(view) {
    super(view);
    this.reasons = Object.fromEntries(KEYS.map((key) => [key, h("p", { class: "label reason" })]));
    const parts = Object.entries(NAMES).map(([key, name]) =>
      h("section", { "aria-label": name }, h("h3", {}, name), this.reasons[key], this.inside[key]),
    );
    const title = h("summary", {}, "Also change: position encoding, temperature, heads");
    this.element = h("details", { class: "also" }, title, h("div", {}, ...parts));
  }

  /** What a link says is in sight. @param {URLSearchParams} link */
  adopt(link) {
    if (KEYS.some((key) => link.has(key))) setAttribute(this.element, "open", "");
  }

  /** @param {import("../picture/choices.js").Inks} inks */
  draw(inks) {
    const { fixed } = this.view.picture;
    for (const key of KEYS) {
      this.fill(key, inks);
      this.inside[key].inert = key in fixed;
      setText(this.reasons[key], fixed[key] ?? "");
    }
  }
}
