// All heads by a measure, as a plot, as a table and by name; of the sentence, random tokens, or a text collection.

import { button, div, fill, h, setText, span } from "../base/dom.js";
import { digits, argmax, readShown, withValues, writeShown } from "./head_measures.js";
import { HeadPlot } from "./head_plot.js";
import { HeadSources } from "./head_sources.js";
import { HeadTable } from "./head_table.js";
import { unpackFloats } from "../wire/packets.js";
import { counted } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

export class HeadsView {
  name = "heads";
  title = "Rank all heads";

  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.header = /** @type {import("../base/messages.js").HeadsOverview | null} */ (null);
    this.ofText = /** @type {Measure[]} */ ([]); // of the sentence or of random tokens
    this.tokens = 0; // number of tokens of the text
    this.sources = new HeadSources(this);
    this.plot = new HeadPlot(this);
    this.names = h("ul", { class: "named-heads", "aria-label": "Heads named in the literature" });
    this.table = new HeadTable(this);
    this.missing = h("p", { class: "label" });
    this.element = div("heads-view");
    this.element.append(this.sources.element, this.plot.element, this.names, this.table.element, this.missing);
  }

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

  // ---- user actions

  /** @param {Partial<import("./head_measures.js").Shown>} change */
  change(change) {
    this.view.others.show(this, writeShown({ ...this.settings, ...change }));
  }

  /** @param {number} index */
  open(index) {
    this.view.all.open(Math.floor(index / this.heads), index % this.heads);
  }

  // ---- drawing

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

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { sources, header, ofText } = this;
    sources.draw(header ? `${counted(this.count, "head")} on ${counted(this.tokens, "token")}.` : "…");
    const measures = sources.isCollection ? sources.texts.pool.pooled(header?.measures ?? []) : ofText;
    const columns = measures.filter(({ values }) => values);
    if (!header || !columns.length || columns[0].values?.length !== this.view.maps.layers * this.view.maps.heads)
      return;
    this.plot.draw(columns, inks);
    this.drawNames(columns, header.names);
    this.table.draw(columns);
    setText(this.missing, withoutOf(measures));
  }

  /** Draw the named heads of the literature that this model has.
   * @param {Measure[]} columns @param {[string, string, string][]} names measure, name, source
   */
  drawNames(columns, names) {
    const results = names.flatMap(([measure, title, unit]) => {
      const values = columns.find(({ name }) => name === measure)?.values;
      return values ? [{ title, who: unit, at: argmax(values), value: values[argmax(values)] }] : [];
    });
    const makePress = () => /** @type {HTMLElement} */ (button("", () => {}));
    const make = () => h("li", {}, makePress(), span("label"));
    fill(this.names, results, make, (item, { title, who, at, value }) => {
      const [press, status] = /** @type {HTMLButtonElement[]} */ ([...item.children]);
      setText(press, this.nameOf(at));
      press.onclick = () => this.open(at);
      setText(status, `is closest to ${title} (${who}), with ${digits(value)}`);
    });
  }
}

/** The reasons for missing measures, grouped by reason. @param {Measure[]} measures */
function withoutOf(measures) {
  const reasons = /** @type {Map<string, string[]>} */ (new Map());
  for (const { title, values, missing } of measures)
    if (!values && missing) reasons.set(missing, [...(reasons.get(missing) ?? []), title]);
  return [...reasons].map(([why, titles]) => `No ${titles.join(", ")}: ${why.replace(/\.$/, "")}.`).join(" ");
}
