// All heads as a table. The name of a head opens it.

import { button, div, setText } from "../base/dom.js";
import { digits, HEAD, ordered } from "./head_measures.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { counted } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

const FEW = 15; // rows, until all are asked for

/** All heads, sorted by the column that is pressed. */
export class HeadTable {
  /** @param {import("./heads_view.js").HeadsView} view */
  constructor(view) {
    this.of = view;
    this.whole = false;
    this.listing = makeListing();
    this.every = button("", () => {
      this.whole = !this.whole;
      view.view.redraw();
    });
    this.element = div("head-table", this.listing, this.every);
  }

  /** @param {Measure[]} columns @param {number} column */
  sort(columns, column) {
    const { shown } = this.of;
    const sortKey = [HEAD, ...columns.map(({ name }) => name)][column];
    this.of.change({ by: sortKey, up: sortKey === shown.by && !shown.up });
  }

  /** @param {Measure[]} columns */
  draw(columns) {
    const { shown, head, count } = this.of;
    const column = columns.findIndex(({ name }) => name === shown.by);
    const all = ordered(count, columns[column]?.values, shown.up);
    const rows = this.whole ? all : all.slice(0, FEW);
    const focused = rows.indexOf(head);
    const block = {
      caption: `${counted(all.length, "head")}${rows.length < all.length ? `, the first ${rows.length} shown` : ""}.`,
      head: ["head", ...columns.map(({ title }) => title)],
      rows: rows.map((head) => [this.of.nameOf(head), ...columns.map(({ values }) => digits(values?.[head] ?? 0))]),
      marks: /** @type {[number, number, string][]} */ (focused < 0 ? [] : [[focused, -1, "here"]]),
      right: [false, ...columns.map(() => true)],
      order: /** @type {[number, boolean]} */ ([column + 1, !shown.up]),
    };
    const open = (/** @type {number} */ row) => this.of.open(rows[row]);
    updateListing(this.listing, block, (column) => this.sort(columns, column), open);
    this.every.hidden = all.length <= FEW;
    setText(this.every, this.whole ? `the first ${FEW}` : `all ${all.length} heads`);
  }
}
