// What heads are measured on: the sentence, random tokens, our text collection, or the visitor's own.

import { Aside } from "../wire/aside.js";
import { button, div, h, setText, span } from "../base/dom.js";
import { choice } from "../base/view_base.js";
import { LONGEST_SENTENCE } from "../base/facts.js";
import { many } from "../base/words.js";
import { parts } from "../wire/packets.js";
import { Pool } from "./head_measures.js";
import { put } from "../link/link.js";
import { Wire } from "../wire/wire.js";

export const OWN = "file"; // no link says it: the file is the visitor's

const TWICE = "a text without meaning, twice: what a head knows of the second half it copied from the first";
const ONE_A_LINE = "one sentence a line; each is computed as if you had typed it, the file stays in this browser";

export class HeadSources {
  /** @param {import("./heads_view.js").HeadsView} of */
  constructor(of) {
    const { view } = of;
    this.of = of;
    this.view = view;
    this.isOwn = false; // a file of the visitor's was chosen, which no link says
    this.refusal = ""; // why there is no collection
    this.held = ""; // whose collection is here
    const come = () => this.begin("ours", this.ours.answer ?? this.ours.refusal);
    this.ours = new Aside(view, "sentences", come, sentencesOf);
    this.texts = new CollectionRun(view, (bytes) => of.unpack(parts(bytes)[0]));
    const sources = /** @type {[string, string, string?][]} */ ([
      ["", "this sentence"],
      ["random", "random tokens, twice", TWICE],
      ["ours", "our sentences", "from books in the public domain"],
      [OWN, "a text file …", ONE_A_LINE],
    ]);
    this.file = h("input", { type: "file", accept: ".txt,text/plain", hidden: "", onchange: () => this.read() });
    this.choices = choice("Measured on", sources, (on) => this.press(on));
    this.stops = button("Stop", () => this.texts.stop());
    this.goesOn = button("Go on", () => this.texts.goOn());
    this.said = h("p", { class: "label", role: "status" });
    const row = div("actions", span("label", "Measured on"), this.choices.element, this.file, this.stops, this.goesOn);
    this.element = div("head-sources", row, this.said);
  }

  /** What is measured: the link's source, a file, or "" for the sentence itself. */
  get on() {
    return this.of.shown.on || (this.isOwn ? OWN : "");
  }

  /** True where sentence after sentence is measured. */
  get isCollection() {
    return this.on === "ours" || this.on === OWN;
  }

  /** @param {string} on */
  press(on) {
    if (on === OWN) return this.file.click();
    this.refusal = ""; // it was of another
    this.ours.stop(); // asked for again, if it was refused
    return this.of.measureOn(on);
  }

  async read() {
    const [file] = this.file.files ?? [];
    const found = file && (await readCollection(file));
    this.file.value = ""; // so that the same one can be chosen again
    if (found) this.begin(OWN, found);
    if (found && typeof found !== "string") this.of.measureOn(OWN);
  }

  /** @param {string} whose @param {Collection | string} found or why there is none: what was before stays */
  begin(whose, found) {
    this.refusal = typeof found === "string" ? found : "";
    if (typeof found !== "string") {
      this.ours.stop(); // asked for again, if others have taken their place
      this.held = whose;
      this.texts.begin(found);
    }
    this.view.redraw();
  }

  close() {
    this.ours.stop();
    if (this.texts.isOn) this.texts.stop();
  }

  /** Our sentences come when they are first wanted; what is measured follows the run. */
  follow() {
    if (!this.isCollection) this.close();
    else if (this.on === this.held) this.texts.follow();
    else if (this.on === "ours") this.ours.ask(new URLSearchParams());
  }

  /** @param {string} said of what is no collection */
  draw(said) {
    const { texts, isCollection } = this;
    this.choices.press(this.on);
    this.stops.hidden = !texts.isOn;
    this.goesOn.hidden = texts.isOn || !isCollection || !texts.isLeft;
    setText(this.said, [this.refusal, isCollection ? texts.said : said].filter(Boolean).join(" "));
  }
}

// ---- a text collection, a sentence a line: read with bounds, and measured sentence by sentence, so that what has come is
// seen at once and nothing is computed any more as soon as nobody asks on. A visitor's own file stays in the browser; each of
// its sentences is asked about as if it were typed.

const LARGEST = 1_000_000; // bytes of a file
const MOST = 200; // sentences of it

/** @typedef {import("./head_measures.js").Measure} Measure */
/** @typedef {{sentences: string[], said: string}} Collection and what must be said of it */

/** The sentences of a file's text. @param {string} text @returns {Collection | string} or why there are none */
export function sentencesOf(text) {
  if (text.includes("\0")) return "This file is no text.";
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  const long = lines.findIndex((line) => line.length > LONGEST_SENTENCE);
  if (long >= 0) {
    const [had, may] = [lines[long].length, LONGEST_SENTENCE].map((count) => count.toLocaleString("en"));
    return `Line ${long + 1} of this file has ${had} characters; a sentence may have ${may}, one a line.`;
  }
  const sentences = lines.filter(Boolean);
  if (!sentences.length) return "This file has no sentence: write one a line.";
  const said =
    sentences.length > MOST ? `Of ${many(sentences.length, "sentence")} the first ${MOST} are measured.` : "";
  return { sentences: sentences.slice(0, MOST), said };
}

/** @param {File} file @returns {Promise<Collection | string>} */
export async function readCollection(file) {
  const most = LARGEST.toLocaleString("en");
  if (file.size > LARGEST)
    return `This file has ${file.size.toLocaleString("en")} bytes; a text collection may have ${most}.`;
  try {
    return sentencesOf(new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()));
  } catch {
    return "This file is no text in UTF-8.";
  }
}

export class CollectionRun {
  /** @param {Pick<import("./explore.js").Explore, "queryOfRun" | "visit" | "redraw" | "here">} view
   * @param {(bytes: Uint8Array) => Measure[]} unpack reads an answer
   */
  constructor(view, unpack) {
    this.view = view;
    this.collection = /** @type {Collection | null} */ (null);
    this.base = ""; // the query that the pool is of
    this.at = 0; // the sentence that is measured now
    this.isOn = false;
    this.pool = new Pool();
    this.refused = /** @type {string[]} */ ([]); // why sentences were left out
    const hears = {
      take: (bytes) => this.next(() => this.pool.add(unpack(bytes))),
      refuse: (sentence) => this.next(() => this.refused.push(sentence)),
    };
    this.wire = new Wire(hears, view.here.signal);
  }

  /** What every sentence is asked about with. */
  get run() {
    const query = this.view.queryOfRun();
    query.delete("s");
    return query;
  }

  /** From the first sentence on, of the run as it is now. @param {Collection} collection */
  begin(collection) {
    Object.assign(this, { collection, base: String(this.run), at: 0, pool: new Pool(), refused: [] });
    this.goOn();
  }

  /** Of another run all begins anew. */
  follow() {
    if (this.collection && this.base !== String(this.run)) this.begin(this.collection);
  }

  goOn() {
    this.isOn = this.isLeft;
    if (!this.isOn) return;
    const query = this.run;
    put(query, "s", this.collection?.sentences[this.at] ?? "");
    query.sort();
    this.wire.stop(); // or an equal sentence would not be asked about
    this.wire.ask("overview", query, this.view.visit);
  }

  stop() {
    this.isOn = false;
    this.wire.stop();
    this.view.redraw();
  }

  /** @param {() => void} take what came of the sentence */
  next(take) {
    if (!this.isOn) return;
    take();
    this.at += 1;
    this.goOn();
    this.view.redraw();
  }

  get isLeft() {
    return Boolean(this.collection && this.at < this.collection.sentences.length);
  }

  /** How far it is, in words. */
  get said() {
    const { collection, at, refused, pool } = this;
    if (!collection) return "";
    const all = collection.sentences.length;
    const left = refused.length ? ` ${many(refused.length, "sentence")} left out: ${[...new Set(refused)][0]}` : "";
    const done =
      at < all
        ? `${pool.texts} of ${many(all, "sentence")}.`
        : `The mean over all rows of ${many(pool.texts, "sentence")}.`;
    return [done, collection.said].filter(Boolean).join(" ") + left;
  }
}
