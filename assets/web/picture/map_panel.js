// A map of float32 weights as it stands in a panel: drawn, or as a table.

import { div, h } from "../base/dom.js";
import { MapDots } from "./map_dots.js";
import { MapVeil } from "./map_veil.js";
import { fillTable } from "./table.js";

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
