// What a cell says, in a bubble at the finger that tapped it; who hears the page is told by the cell itself.

import { h, setText } from "../base/dom.js";

/** @typedef {import("./map.js").BigMap} BigMap */
/** @typedef {import("../base/grid_keys.js").Place} Place */

const ABOVE = 48; // pixels from the middle of the finger to the middle of the bubble
const EDGE = 4; // pixels that stay free at the sides

export class Bubble {
  constructor() {
    this.at = /** @type {Place | null} */ (null);
    this.element = h("div", { class: "bubble", "aria-hidden": "true", hidden: "" });
  }

  /** To a cell of a map, or out of sight. @param {Place | null} at @param {BigMap} map */
  put(at, map) {
    this.at = at;
    this.draw(map);
  }

  /** Says the number that the map has now. @param {BigMap} map */
  draw(map) {
    const { at, element } = this;
    element.hidden = !at || !map.has(at);
    if (!at || element.hidden) return;
    setText(element, map.say(at));
    const { left, top, width, height } = map.boxOf(at);
    const half = element.offsetWidth / 2;
    const [x, y] = [left + width / 2, top + height / 2];
    const most = map.element.clientWidth - half - EDGE;
    element.style.left = `${Math.max(half + EDGE, Math.min(most, x))}px`;
    element.style.top = `${y - ABOVE > 0 ? y - ABOVE : y + ABOVE}px`;
  }
}
