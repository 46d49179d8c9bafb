// All heads as a table; the name of a head selects it.

import { button, div, setText } from "../base/dom.js";
import { digits, HEAD, ordered } from "./head_measures.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { counted } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

const FEW = 15; // rows before “show all”

/** The table of all heads, sorted by the selected column. */
export class HeadTable {
  /** @param {import("./heads_view.js").HeadsView} view */
  constructor(view) {
    this.view = view;
    this.isWhole = false;
    this.listing = makeListing();
    this.showAll = button("", () => {
      this.isWhole = !this.isWhole;
      view.view.redraw();
    });
    this.element = div("head-table", this.listing, this.showAll);
  }

  /** @param {Measure[]} columns @param {number} column */
  sort(columns, column) {
    const { settings } = this.view;
    const sortKey = [HEAD, ...columns.map(({ name }) => name)][column];
    this.view.change({ by: sortKey, up: sortKey === settings.by && !settings.up });
  }

  /** @param {Measure[]} columns */
  draw(columns) {
    const { settings, head, count } = this.view;
    const column = columns.findIndex(({ name }) => name === settings.by);
    const all = ordered(count, columns[column]?.values, settings.up);
    const rows = this.isWhole ? all : all.slice(0, FEW);
    const focused = rows.indexOf(head);
    const block = {
      caption: `${counted(all.length, "head")}${rows.length < all.length ? `, the first ${rows.length} shown` : ""}.`,
      head: ["head", ...columns.map(({ title }) => title)],
      rows: rows.map((head) => [this.view.nameOf(head), ...columns.map(({ values }) => digits(values?.[head] ?? 0))]),
      marks: /** @type {[number, number, string][]} */ (focused < 0 ? [] : [[focused, -1, "focus"]]),
      right: [false, ...columns.map(() => true)],
      order: /** @type {[number, boolean]} */ ([column + 1, !settings.up]),
    };
    const open = (/** @type {number} */ row) => this.view.open(rows[row]);
    updateListing(this.listing, block, (column) => this.sort(columns, column), open);
    this.showAll.hidden = all.length <= FEW;
    setText(this.showAll, this.isWhole ? `the first ${FEW}` : `all ${all.length} heads`);
  }
}
