// The four things that one can change, as tiles, with pictures of the choices behind them.

import { h, setAttribute } from "../base/dom.js";
import { MASKS } from "../base/facts.js";
import { FindHeads } from "./find_heads.js";
import { ControlChips } from "../picture/control_chips.js";
import { isAcross } from "../picture/heads_order.js";
import { bringUnderBar } from "../base/view_base.js";

/** @typedef {import("./explore.js").Explore} Explore */

const NAMES = { mask: "Hide words", pos: "Take the order away", off: "Switch heads off", t: "Sharpen or blur" };

/** @extends {ControlChips<Explore>} */
export class ChangeTiles extends ControlChips {
  /** @param {Explore} view */
  constructor(view) {
    super(view, "Change something", { names: NAMES, holder: view.model, kinds: MASKS });
    this.chips.classList.add("tiles");
    this.finder = new FindHeads(view);
    this.inside.mask.append(this.makeLink());
    this.inside.off.append(this.finder.element);
    addEventListener("click", (event) => this.tapOutside(event), { signal: view.here.signal, capture: true });
  }

  /** @param {Iterable<string>} heads that are off from now on */
  switchOff(heads) {
    this.view.model.switchHeads(heads);
  }

  /** Opens the panel of one control behind its tile, where Tab goes next, or closes it. @param {string} key */
  show(key, focus = true) {
    super.show(key, focus);
    this.openers.find(({ dataset }) => dataset.key === key)?.after(this.panel);
  }

  /** What they change stays in sight above the sheet of a phone. */
  reveal() {
    if (this.view.narrow) bringUnderBar(this.view.changes.element);
  }

  /** @param {Event} event */
  pressOutside(event) {
    if (!this.view.narrow) super.pressOutside(event);
  }

  /** On a phone a tap beside the sheet closes it and does nothing else; the chips above it take a change back.
   * @param {MouseEvent} event
   */
  tapOutside(event) {
    const { view } = this;
    const path = event.composedPath();
    if (!view.narrow || !event.isTrusted || !this.isOutside(event) || path.includes(view.changes.element)) return;
    this.show("", false);
    if (!path.includes(view.element)) return; // the bar leads on
    event.stopPropagation();
    event.preventDefault();
  }

  /** The way to the page of masks, with what is seen here. */
  makeLink() {
    const link = h("a", { class: "page-link", href: "./masks" }, "Masks");
    for (const kind of ["pointerdown", "focus"])
      link.addEventListener(kind, () => setAttribute(link, "href", `./masks${new URL(this.view.address).search}`));
    return h("p", { class: "label" }, "Paint a mask cell by cell, or join several, on ", link, ".");
  }

  /** What is looked at. */
  get what() {
    return this.view.given.rows;
  }

  draw(inks) {
    this.names = { ...NAMES, mask: `Hide ${this.what}` };
    super.draw(inks);
  }

  said() {
    const { maps, off } = this.view;
    const said = super.said();
    const total = maps.layers * maps.heads;
    const mask = this.value("mask") === "none" ? `all ${this.what} see all ${this.what}` : said.mask;
    return { ...said, mask, off: `${total - off.size} of ${total} on` };
  }

  /** @param {string} key @param {import("../base/colour.js").Inks} inks */
  fill(key, inks) {
    this.lamps.hidden = isAcross(this.view.maps); // of so many the few that matter are found by what they do
    if (key === "off") this.finder.draw();
    super.fill(key, inks, this.view.maps);
  }
}
