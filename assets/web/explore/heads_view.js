// All heads by a measure, as a plot, as a table and by name; of the sentence, random tokens, or a text collection.

import { makeListing, updateListing } from "../picture/listing.js";
import { button, div, h, render, setText } from "../base/dom.js";
import { digits, readShown, withValues, writeShown, HEAD, ordered } from "./head_measures.js";
import { HeadPlot } from "./head_plot.js";
import { HeadSources } from "./head_sources.js";
import { unpackFloats } from "../wire/packets.js";
import { argmax, counted } from "../base/words.js";
import { Part } from "./part.js";

export class HeadsView extends Part {
  name = "heads";
  title = "Rank all heads";
  about = "which head attends most to the previous word, or most widely?";

  header = /** @type {import("../base/messages.js").HeadsOverview | null} */ (null);
  ofText = /** @type {Measure[]} */ ([]); // of the sentence or of random tokens
  tokens = 0; // number of tokens of the text
  sources = new HeadSources(this);
  plot = new HeadPlot(this);
  names = h("ul", { class: "named-heads", "aria-label": "Heads named in the literature" });
  table = new HeadTable(this);
  missing = h("p", { class: "label" });
  element = div("heads-view", this.sources.element, this.plot.element, this.names, this.table.element, this.missing);

  /** The link parameters sent with the run; a text collection sends its own. */
  get route() {
    return this.sources.isCollection && this.header ? "" : "overview";
  }

  params() {
    return { view: this.settings.on === "random" ? `${this.name}.random` : null };
  }

  get settings() {
    const names = this.ofText.map(({ name }) => name);
    return readShown(this.view.others.state, names);
  }

  /** @param {Uint8Array} bytes */
  unpack(bytes) {
    const { header, floats } = unpackFloats(bytes);
    this.header = header;
    return withValues(header, floats);
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    this.ofText = this.unpack(message);
    this.tokens = this.header?.tokens ?? 0; // each sentence of a collection replaces the header
  }

  close() {
    this.sources.close();
  }

  /** @param {Partial<import("./head_measures.js").Settings>} change */
  change(change) {
    this.view.others.show(this, writeShown({ ...this.settings, ...change }));
  }

  /** @param {number} index */
  open(index) {
    this.view.all.open(Math.floor(index / this.heads), index % this.heads);
  }

  get heads() {
    return this.header?.heads ?? 1;
  }

  get count() {
    return (this.header?.layers ?? 0) * this.heads;
  }

  /** The head in focus. */
  get head() {
    const { layer, head } = this.view.at;
    return layer * this.heads + head;
  }

  /** @param {number} index */
  nameOf(index) {
    return `L${Math.floor(index / this.heads)} H${index % this.heads}`;
  }

  draw() {
    const { sources, header, ofText } = this;
    sources.draw(header ? `${counted(this.count, "head")} on ${counted(this.tokens, "token")}.` : "…");
    const measures = sources.isCollection ? sources.texts.pool.pooled(header?.measures ?? []) : ofText;
    const columns = measures.filter(({ values }) => values);
    if (!header || !columns.length || columns[0].values?.length !== this.view.maps.layers * this.view.maps.heads)
      return;
    this.plot.draw(columns);
    this.drawNames(columns, header.names);
    this.table.draw(columns);
    setText(this.missing, withoutOf(measures));
  }

  /** Draw the named heads of the literature that this model has.
   * @param {Measure[]} columns @param {[string, string, string][]} names measure, name, source
   */
  drawNames(columns, names) {
    const items = names.flatMap(([measure, title, who]) => {
      const values = columns.find(({ name }) => name === measure)?.values;
      if (!values) return [];
      const at = argmax(values);
      const text = `is closest to ${title} (${who}), with ${digits(values[at])}`;
      return [["li", ["button", { onclick: () => this.open(at) }, this.nameOf(at)], ["span.label", text]]];
    });
    render(this.names, ...items);
  }
}

/** The reasons for missing measures, grouped by reason. @param {Measure[]} measures */
function withoutOf(measures) {
  const reasons = /** @type {Map<string, string[]>} */ (new Map());
  for (const { title, values, missing } of measures)
    if (!values && missing) reasons.set(missing, [...(reasons.get(missing) ?? []), title]);
  return [...reasons].map(([why, titles]) => `No ${titles.join(", ")}: ${why.replace(/\.$/, "")}.`).join(" ");
}

const FEW = 15; // rows before “show all”

export class HeadTable {
  /** @param {HeadsView} view */
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
      caption: `${counted(all.length, "head")}${rows.length < all.length ? `, the first ${rows.length} listed` : ""}.`,
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
