// A map of float32 weights as it stands in a panel: drawn, or as a table, and what lies over its cells.

import { div, fill, h, setAttribute, setText, svg } from "../base/dom.js";
import { fillTable } from "./table.js";
import { hidesRow, isLit } from "../base/curtain.js";

/** @typedef {import("./map.js").MapPicture} MapPicture */
/** @typedef {[number, number, number]} Dot query, key and how many chose it */

const SECOND = ".right, .difference, .pinned, .after"; // the panels of a second picture, which no class is asked about
const LARGE = 48; // pixels of a veil that has room for its mark
const DOTS = { least: 0.16, most: 0.46 }; // of a cell's smaller side that they have as their radius

/** @template {import("./map.js").BigMap} Kind */
export class MapPanel {
  /** @param {Kind} map @param {string} label of the table */
  constructor(map, label) {
    this.map = map;
    this.table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label });
    this.veil = new MapVeil();
    this.dots = new MapDots();
    this.element = div("room", map.element, this.table);
  }

  /** From now on another kind of map stands here. @param {Kind} map */
  use(map) {
    if (map === this.map) return;
    this.map.element.replaceWith(map.element);
    this.map = map;
    map.bubble.put(null, map); // what was tapped on it is long ago
  }

  /** @param {Parameters<Kind["draw"]>[0]} whole @param {import("../base/colour.js").Inks} inks
   * @param {import("./map.js").Room} room @param {import("./table.js").Writing} [writing] of the table
   */
  draw(whole, asTable, inks, room, writing) {
    const shown = this.veil.seen(whole, this.element);
    this.map.element.hidden = asTable;
    this.table.hidden = !asTable;
    if (asTable) {
      this.map.shown = shown;
      fillTable(this.table, shown, writing);
      return;
    }
    this.map.draw(shown, inks, room);
    this.veil.put(this.map);
    this.dots.put(this.map);
  }
}

/** The part of a lesson's curtain that hangs over the cells of a map, and the lamp that lights the row in focus after it. The
 * numbers under it are taken out of what is drawn, read out and listed: nothing under the veil is there.
 */
class MapVeil {
  constructor() {
    this.element = h("div", { class: "veils", "aria-hidden": "true" });
    this.rows = /** @type {number[]} */ ([]); // those that are hidden
  }

  /** What may be seen of a map. @template {MapPicture} Map @param {Map} shown @param {Element} place of it @returns {Map} */
  seen(shown, place) {
    const [n, wide] = [shown.tokens.length, shown.keys.length];
    const second = place.closest(SECOND) !== null;
    this.rows = [...shown.tokens.keys()].filter((row) => hidesRow(shown.tokens, row, second));
    if (!this.rows.length) return shown;
    const weights = shown.weights?.slice() ?? null;
    const whole = shown.map.size === n;
    const bytes = whole ? shown.map.bytes.slice() : new Uint8Array(shown.map.bytes.length); // a thumbnail's rows are others
    for (const row of this.rows) {
      weights?.fill(NaN, row * wide, (row + 1) * wide);
      if (whole) bytes.fill(0, row * wide, (row + 1) * wide);
    }
    return { ...shown, weights, map: { ...shown.map, bytes }, best: null, key: null };
  }

  /** Hangs it over the rows as they lie now. @param {import("./map.js").BigMap} map */
  put(map) {
    const { first = 0, row = -1 } = map.shown ?? {};
    const { left, top, side, step, across } = map;
    const n = map.visible.length;
    if (this.element.parentElement !== map.element) map.element.append(this.element);
    Object.assign(this.element.style, pixels({ left, top, width: across, height: side }));
    const within = this.rows.map((hidden) => hidden - first).filter((at) => at >= 0 && at < n);
    const lit = isLit() && !within.length && row >= first && row - first < n ? [[row - first, 1]] : [];
    this.element.hidden = !within.length && !lit.length;
    fill(this.element, [...blocks(within), ...lit], "div", (veil, [from, count]) => {
      veil.className = lit.length ? "lit" : "veil";
      setText(veil, !lit.length && count * step >= LARGE ? "?" : "");
      Object.assign(veil.style, pixels({ left: 0, top: from * step, width: across, height: count * step }));
    });
  }
}

/** Neighbouring rows as one: first row and how many. @param {number[]} rows in order @returns {number[][]} */
function blocks(rows) {
  const found = /** @type {number[][]} */ ([]);
  for (const row of rows) {
    const last = found.at(-1);
    if (last && last[0] + last[1] === row) last[1] += 1;
    else found.push([row, 1]);
  }
  return found;
}

/** @param {Record<string, number>} sizes */
const pixels = (sizes) => Object.fromEntries(Object.entries(sizes).map(([side, size]) => [side, `${size}px`]));

let dots = /** @type {Dot[]} */ ([]);

/** From now on these lie over the first map of every view. @param {Dot[]} chosen */
export function setDots(chosen) {
  if (JSON.stringify(chosen) === JSON.stringify(dots)) return;
  dots = chosen;
  dispatchEvent(new Event("headlight-curtain")); // every view draws itself
}

/** What a class chose of a map: a dot on each cell, the larger the more chose it. The weights may come up under them. */
class MapDots {
  element = svg("svg", { class: "over dots", "aria-hidden": "true" });

  /** Lays them over the cells as they lie now. @param {import("./map.js").BigMap} map */
  put(map) {
    const shown = dots.length && map.shown && !map.element.closest(SECOND) ? dots : [];
    if (!shown.length && !this.element.isConnected) return;
    if (this.element.parentElement !== map.element) map.element.append(this.element);
    const { left, top, step, wide, visible, seen } = map;
    const first = map.shown?.first ?? 0;
    const most = Math.max(...shown.map(([, , count]) => count));
    const within = shown.filter(([row, key]) => visible[row - first] !== undefined && seen[key - first] !== undefined);
    setAttribute(this.element, "width", map.element.clientWidth);
    setAttribute(this.element, "height", map.element.clientHeight);
    const make = () => svg("circle", {});
    fill(this.element, within, make, (dot, [row, key, count]) => {
      setAttribute(dot, "cx", left + (key - first + 0.5) * wide);
      setAttribute(dot, "cy", top + (row - first + 0.5) * step);
      setAttribute(dot, "r", Math.min(step, wide) * (DOTS.least + (DOTS.most - DOTS.least) * Math.sqrt(count / most)));
    });
  }
}
