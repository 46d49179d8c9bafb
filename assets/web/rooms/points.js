// The sentences of a class as points on one line: what one measure says of each. A press opens one; whose it is nobody knows.

import { button, div, fill, h, setAttribute, setText } from "../base/dom.js";
import { number } from "../base/words.js";

/** @typedef {import("../base/messages.js").RoomSentence} Sentence */
/** @typedef {Sentence & {value: number}} Measured */
/** @typedef {[string, (sentence: Sentence) => void]} Way what can be done with one that is open */

const BINS = 25; // of the line; points of one stand on each other

/** Where each sentence stands: how far along the line, in %, and how many stand under it. @param {Sentence[]} sentences */
export function placed(sentences) {
  const heights = /** @type {number[]} */ (Array(BINS).fill(0));
  const measured = /** @type {Measured[]} */ (sentences.filter(({ value, hidden }) => value !== undefined && !hidden));
  return measured
    .sort((a, b) => a.value - b.value)
    .map((sentence) => {
      const bin = Math.max(0, Math.min(BINS - 1, Math.floor(BINS * sentence.value)));
      return { sentence, left: (100 * (bin + 0.5)) / BINS, under: heights[bin]++ };
    });
}

export class Points {
  /** @param {...Way} ways */
  constructor(...ways) {
    this.chosen = -1;
    this.shown = /** @type {ReturnType<typeof placed>} */ ([]);
    this.measure = h("h2");
    this.line = div("line");
    this.text = h("p", { class: "text" });
    this.rest = h("p", { class: "rest" });
    this.ways = ways.map(([name, act]) => button(name, () => this.open && act(this.open)));
    this.element = h("section", { class: "points", "aria-label": "Sentences", hidden: "" });
    const step = (/** @type {string} */ text, /** @type {string} */ name, /** @type {1 | -1} */ way) =>
      button(text, () => this.step(way), { "aria-label": name });
    const [back, next] = [step("←", "the point before", -1), step("→", "the next point", 1)]; // a finger hits no point
    this.element.append(this.measure, this.line, div("opened", back, next, this.text, ...this.ways), this.rest);
  }

  /** The sentence that is open. */
  get open() {
    return this.shown.find(({ sentence }) => sentence.number === this.chosen)?.sentence ?? null;
  }

  /** @param {string} measure @param {Sentence[]} sentences @param {number} written how many were sent */
  draw(measure, sentences, written) {
    this.shown = placed(sentences);
    setText(this.measure, measure);
    const make = (/** @type {number} */ at) => button("", () => this.choose(at), { class: "point" });
    fill(this.line, this.shown, make, (place, { sentence, left, under }) => {
      place.style.left = `${left}%`;
      place.style.bottom = `${under}em`;
      setAttribute(place, "aria-label", `${number(sentence.value)}: ${sentence.text}`);
    });
    this.line.style.height = `${Math.max(3, ...this.shown.map(({ under }) => under + 2))}em`;
    this.tell();
    const left = written - this.shown.length;
    setText(this.rest, left ? `${left} more: hidden, or without the words that are looked for` : "");
  }

  /** Writes out the one that is open. */
  tell() {
    const { open } = this;
    const told = open && `${number(open.value)}: “\u2068${open.text}\u2069”`; // in its own direction
    setText(this.text, told ?? "Press a point.");
    for (const way of this.ways) way.hidden = !open;
    [...this.line.children].forEach((place, at) => {
      setAttribute(place, "aria-pressed", String(this.shown[at].sentence.number === this.chosen));
    });
  }

  /** Opens the point beside the open one, from the smallest on. @param {1 | -1} way */
  step(way) {
    const at = this.shown.findIndex(({ sentence }) => sentence.number === this.chosen);
    if (this.shown.length) this.choose((Math.max(at, way < 0 ? 0 : -1) + way + this.shown.length) % this.shown.length);
  }

  /** @param {number} at */
  choose(at) {
    this.chosen = this.shown[at].sentence.number;
    this.tell();
  }
}
