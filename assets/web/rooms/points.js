// The sentences of a class as points on one line: what one measure says of each. A press opens one; whose it is nobody knows.

import { button, div, fill, h, setAttribute, setText } from "../base/dom.js";
import { number } from "../base/words.js";

/** @typedef {{id: number, text: string, value: number | null}} Point null: the measure has nothing to measure in it */
/** @typedef {{measure: string, points: Point[]}} Told */

const BINS = 25; // of the line; points of one stand on each other

/** Where each point stands: how far along the line, in %, and how many stand under it. @param {Point[]} points */
export function placed(points) {
  const heights = /** @type {number[]} */ (Array(BINS).fill(0));
  return points
    .filter(({ value }) => value !== null)
    .sort((a, b) => Number(a.value) - Number(b.value))
    .map((point) => {
      const bin = Math.max(0, Math.min(BINS - 1, Math.floor(BINS * Number(point.value))));
      return { point, left: (100 * (bin + 0.5)) / BINS, under: heights[bin]++ };
    });
}

export class Points {
  /** @param {((point: Point) => void) | null} show brings a sentence into the picture
   * @param {((point: Point) => void) | null} [hide] takes one away; only the host may
   */
  constructor(show, hide = null) {
    this.chosen = 0;
    this.measure = h("h2");
    this.line = div("line");
    this.text = h("p", { class: "text" });
    this.rest = h("p", { class: "rest" });
    this.acts = /** @type {[string, (point: Point) => void][]} */ ([
      ["show it", show],
      ["hide it", hide],
    ]).filter(([, act]) => act);
    this.buttons = this.acts.map(([name, act]) => button(name, () => this.open && act(this.open)));
    this.element = h("section", { class: "points", "aria-label": "Sentences", hidden: "" });
    this.element.append(this.measure, this.line, div("opened", this.text, ...this.buttons), this.rest);
    this.told = /** @type {Told | null} */ (null);
    this.places = /** @type {ReturnType<typeof placed>} */ ([]);
  }

  /** The point that is open. */
  get open() {
    return this.told?.points.find(({ id }) => id === this.chosen) ?? null;
  }

  /** @param {Told | null} told */
  draw(told) {
    this.told = told;
    this.element.hidden = !told;
    if (!told) return;
    setText(this.measure, told.measure);
    const make = (/** @type {number} */ at) => button("", () => this.choose(at), { class: "point" });
    const shown = placed(told.points);
    this.places = shown;
    fill(this.line, shown, make, (place, { point, left, under }) => {
      place.style.left = `${left}%`;
      place.style.bottom = `${under}em`;
      setAttribute(place, "aria-label", `${number(Number(point.value))}: ${point.text}`);
      setAttribute(place, "aria-pressed", String(point.id === this.chosen));
    });
    this.line.style.height = `${Math.max(3, ...shown.map(({ under }) => under + 2))}em`;
    const { open } = this;
    setText(this.text, open ? `${number(Number(open.value))}: “${open.text}”` : "Press a point.");
    for (const one of this.buttons) one.hidden = !open;
    const left = told.points.length - shown.length;
    setText(this.rest, left ? `${left} without the words that are looked for` : "");
  }

  /** @param {number} at */
  choose(at) {
    this.chosen = this.places[at].point.id;
    this.draw(this.told);
  }
}
