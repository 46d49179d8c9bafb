// A map of float32 weights in a panel, drawn or as a table, and the curtain over its cells.

import { div, h, render } from "../base/dom.js";
import { fillTable } from "./table.js";
import { curtain, hidesRow, isDrawn } from "../base/curtain.js";

const SECOND = ".right, .difference, .pinned, .weights-after"; // panels of a second picture, compared by class
const LARGE = 48; // pixels of a veil that fits its symbol

/** @template {BigMap} Kind */
export class MapPanel {
  /** @param {Kind} map @param {string} label accessible name of the table */
  constructor(map, label) {
    this.map = map;
    this.table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label });
    this.veil = new MapVeil();
    this.element = div("room", map.element, this.table);
  }

  /** Replace the map by one of another class. @param {Kind} map */
  use(map) {
    if (map === this.map) return;
    this.map.element.replaceWith(map.element);
    this.map = map;
    map.putBubble(null); // the tapped cell is gone
  }

  /** @param {Parameters<Kind["draw"]>[0]} picture @param {Inks} inks
   * @param {Room} room @param {Writing} [writing] noun and format of the table
   */
  draw(picture, asTable, inks, room, writing) {
    const visible = this.veil.seen(picture, this.element);
    this.map.element.hidden = asTable;
    this.table.hidden = !asTable;
    if (asTable) {
      this.map.picture = visible;
      fillTable(this.table, visible, writing);
      return;
    }
    this.map.draw(visible, inks, room);
    this.veil.put(this.map);
  }
}

/** The part of a lesson's curtain over the cells of a map, and the highlight of the row in focus afterwards. Hidden
 * weights are replaced by NaN before anything is drawn or read out, so that no number is behind the veil.
 */
class MapVeil {
  element = h("div", { class: "veils", "aria-hidden": "true" });
  rows = /** @type {number[]} */ ([]); // hidden rows

  /** A copy of a map without its hidden weights.
   * @template {MapPicture} Map @param {Map} picture @param {Element} place its container @returns {Map} */
  seen(picture, place) {
    const [n, wide] = [picture.tokens.length, picture.keys.length];
    const second = place.closest(SECOND) !== null;
    this.rows = [...picture.tokens.keys()].filter((row) => hidesRow(picture.tokens, row, second));
    if (!this.rows.length) return picture;
    const weights = picture.weights?.slice() ?? null;
    const isWhole = picture.map.size === n;
    const bytes = isWhole ? picture.map.bytes.slice() : new Uint8Array(picture.map.bytes.length); // rows of a thumbnail differ from those of the map
    for (const row of this.rows) {
      weights?.fill(NaN, row * wide, (row + 1) * wide);
      if (isWhole) bytes.fill(0, row * wide, (row + 1) * wide);
    }
    return { ...picture, weights, map: { ...picture.map, bytes }, best: null, key: null };
  }

  /** Place the veil over the hidden rows. @param {BigMap} map */
  put(map) {
    const { first = 0, row = -1 } = map.picture ?? {};
    const { left, top, side, step, across } = map;
    const n = map.visible.length;
    if (this.element.parentElement !== map.element) map.element.append(this.element);
    Object.assign(this.element.style, pixels({ left, top, width: across, height: side }));
    const visibleRows = this.rows.map((hidden) => hidden - first).filter((row) => row >= 0 && row < n);
    const lit =
      curtain.lit && !isDrawn() && !visibleRows.length && row >= first && row - first < n ? [[row - first, 1]] : [];
    this.element.hidden = !visibleRows.length && !lit.length;
    const drawVeil = (/** @type {number[]} */ [from, count]) => {
      const style = `left: 0px; top: ${from * step}px; width: ${across}px; height: ${count * step}px;`;
      return ["div", { class: lit.length ? "lit" : "veil", style }, !lit.length && count * step >= LARGE && "?"];
    };
    render(this.element, ...[...blocks(visibleRows), ...lit].map(drawVeil));
  }
}

/** Merge adjacent rows into pairs of first row and count. @param {number[]} rows sorted @returns {number[][]} */
function blocks(rows) {
  const runs = /** @type {number[][]} */ ([]);
  for (const row of rows) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === row) last[1] += 1;
    else runs.push([row, 1]);
  }
  return runs;
}

/** @param {Record<string, number>} sizes */
const pixels = (sizes) => Object.fromEntries(Object.entries(sizes).map(([side, size]) => [side, `${size}px`]));
