// What a class chose of a map: a dot on each cell, the larger the more chose it. The weights may come up under them.

import { fill, setAttribute, svg } from "../base/dom.js";

/** @typedef {[number, number, number]} Dot query, key and how many chose it */

const SECOND = ".right, .difference, .pinned, .after"; // the panels of a second picture, which nobody is asked about
const MOST = 0.46; // of a cell's smaller side that the largest dot has as its radius
const LEAST = 0.16;

let dots = /** @type {Dot[]} */ ([]);

/** From now on these lie over the first map of every view. @param {Dot[]} chosen */
export function setDots(chosen) {
  if (JSON.stringify(chosen) === JSON.stringify(dots)) return;
  dots = chosen;
  dispatchEvent(new Event("headlight-curtain")); // every view draws itself
}

export class MapDots {
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
      setAttribute(dot, "r", Math.min(step, wide) * (LEAST + (MOST - LEAST) * Math.sqrt(count / most)));
    });
  }
}
