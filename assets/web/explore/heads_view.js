// All heads by a measure: as points, as a table, and by name; of the sentence, of random tokens, or of a text collection.

import { Aside } from "../wire/aside.js";
import { button, div, h, setText } from "../base/dom.js";
import { readShown, withValues, writeShown } from "./head_measures.js";
import { HeadPlot } from "./head_plot.js";
import { HeadSources, OWN } from "./head_sources.js";
import { HeadNames, HeadTable } from "./head_table.js";
import { unpackFloats } from "../wire/packets.js";
import { many } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

const EFFECT = "effect"; // of switching a head off

export class HeadsView {
  name = "heads";
  title = "All heads by a measure";
  state = "";

  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.header = /** @type {import("../base/messages.js").HeadsOverview | null} */ (null);
    this.ofText = /** @type {Measure[]} */ ([]); // of the sentence, or of random tokens
    this.tokens = 0; // that it has
    // what switching each head off alone does to the sentence vector: asked for by hand, given up as soon as nobody waits
    this.effects = /** @type {Aside<import("../base/messages.js").HeadCosines>} */ (
      new Aside(view, "each", () => this.takeEffects())
    );
    this.lost = /** @type {Float32Array | null} */ (null); // what they are, 1 − cosine, a head each
    this.sources = new HeadSources(this);
    this.plot = new HeadPlot(this);
    this.names = new HeadNames(this);
    this.table = new HeadTable(this);
    this.begins = button("Switch off each head alone", () => this.ask());
    this.stops = button("Stop", () => this.stop());
    this.plot.chosen.append(this.begins, this.stops);
    this.without = h("p", { class: "label" });
    this.element = div("heads-view");
    this.element.append(this.sources.element, this.plot.element, this.names.element, this.table.element, this.without);
  }

  /** What is asked with the run; a text collection asks by itself. */
  get route() {
    return this.sources.isCollection && this.header ? "" : "overview";
  }

  asked() {
    return { view: this.sources.on === "random" ? `${this.name}.random` : null };
  }

  get shown() {
    const names = this.ofText.map(({ name }) => name);
    return readShown(this.state, names);
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
    this.tokens = this.header?.tokens ?? 0; // the header is replaced by that of each sentence of a collection
  }

  close() {
    this.sources.close();
    this.stop();
  }

  ask() {
    this.effects.stop(); // what was refused may be asked again
    this.effects.ask(this.view.queryOfRun());
    this.view.redraw();
  }

  stop() {
    this.effects.stop();
    this.effects.refusal = "";
    this.view.redraw();
  }

  takeEffects() {
    const cosines = this.effects.answer?.cosines.flat();
    this.lost = cosines ? Float32Array.from(cosines, (cosine) => Math.max(0, 1 - cosine)) : null; // below 0 is rounding
    this.view.redraw();
    if (cosines) this.change({ y: EFFECT });
  }

  // ---- what the visitor does

  /** @param {Partial<import("./head_measures.js").Shown>} change */
  change(change) {
    this.view.others.show(this, writeShown({ ...this.shown, ...change }));
  }

  /** @param {string} on */
  measureOn(on) {
    this.sources.isOwn = on === OWN;
    this.change({ on });
  }

  /** @param {number} at */
  open(at) {
    this.view.all.open(Math.floor(at / this.heads), at % this.heads);
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

  /** @param {number} at */
  nameOf(at) {
    return `L${Math.floor(at / this.heads)} H${at % this.heads}`;
  }

  /** @returns {Measure[]} */
  get measures() {
    const { effects, sources, ofText, header } = this;
    if (sources.isCollection) return sources.texts.pool.of(header?.measures ?? []);
    const values = sources.on || effects.of !== String(this.view.queryOfRun()) ? null : this.lost;
    return values ? ofText.map((one) => (one.name === EFFECT ? { ...one, values } : one)) : ofText;
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { effects, sources, header } = this;
    const { asked } = effects;
    if (asked !== null && asked !== String(this.view.queryOfRun())) this.stop(); // it is of another run
    sources.follow();
    const said = header && `${many(this.count, "head")} on ${many(this.tokens, "token")}.`;
    sources.draw((effects.asked === null ? effects.refusal : "Each head is switched off alone …") || said || "…");
    const { measures } = this;
    const columns = measures.filter(({ values }) => values);
    const effect = measures.find(({ name }) => name === EFFECT);
    this.begins.hidden =
      sources.on !== "" || !effect || Boolean(effect.missing || effect.values) || effects.asked !== null;
    this.stops.hidden = effects.asked === null;
    if (!header || !columns.length || columns[0].values?.length !== this.view.maps.layers * this.view.maps.heads)
      return;
    this.plot.draw(columns, inks);
    this.names.draw(columns, header.names);
    this.table.draw(columns);
    setText(this.without, withoutOf(measures));
  }
}

/** Why some measures are not there, those with one reason together. @param {Measure[]} measures */
function withoutOf(measures) {
  const reasons = /** @type {Map<string, string[]>} */ (new Map());
  for (const { title, values, missing } of measures)
    if (!values && missing) reasons.set(missing, [...(reasons.get(missing) ?? []), title]);
  return [...reasons].map(([why, titles]) => `No ${titles.join(", ")}: ${why.replace(/\.$/, "")}.`).join(" ");
}
