// All heads as a table. The name of a head opens it.

import { button, div, setText } from "../base/dom.js";
import { digits, HEAD, ordered } from "./head_measures.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { many } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

const FEW = 15; // rows, until all are asked for

/** All heads, sorted by the column that is pressed. */
export class HeadTable {
  /** @param {import("./heads_view.js").HeadsView} of */
  constructor(of) {
    this.of = of;
    this.whole = false;
    this.listing = makeListing();
    this.every = button("", () => {
      this.whole = !this.whole;
      of.view.redraw();
    });
    this.element = div("head-table", this.listing, this.every);
  }

  /** @param {Measure[]} columns @param {number} at */
  sort(columns, at) {
    const { shown } = this.of;
    const by = [HEAD, ...columns.map(({ name }) => name)][at];
    this.of.change({ by, up: by === shown.by && !shown.up });
  }

  /** @param {Measure[]} columns */
  draw(columns) {
    const { shown, head, count } = this.of;
    const by = columns.findIndex(({ name }) => name === shown.by);
    const all = ordered(count, columns[by]?.values, shown.up);
    const rows = this.whole ? all : all.slice(0, FEW);
    const focused = rows.indexOf(head);
    const block = {
      caption: `${many(all.length, "head")}${rows.length < all.length ? `, the first ${rows.length} shown` : ""}.`,
      head: ["head", ...columns.map(({ title }) => title)],
      rows: rows.map((at) => [this.of.nameOf(at), ...columns.map(({ values }) => digits(values?.[at] ?? 0))]),
      marks: /** @type {[number, number, string][]} */ (focused < 0 ? [] : [[focused, -1, "here"]]),
      right: [false, ...columns.map(() => true)],
      order: /** @type {[number, boolean]} */ ([by + 1, !shown.up]),
    };
    const open = (/** @type {number} */ row) => this.of.open(rows[row]);
    updateListing(this.listing, block, (at) => this.sort(columns, at), open);
    this.every.hidden = all.length <= FEW;
    setText(this.every, this.whole ? `the first ${FEW}` : `all ${all.length} heads`);
  }
}
