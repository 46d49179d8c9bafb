// @ts-check
// Hands of a class, counted option by option in two rounds: alone, and after talking to a neighbour.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";

const ROUNDS = ["alone", "after talking"];

export class Hands {
  /** @param {() => void} counted a hand was counted, or taken back */
  constructor(counted) {
    this.tell = counted;
    this.round = 0;
    this.rounds = /** @type {string[][]} */ ([[], []]); // the letters, in the order in which they were counted
    this.counted = /** @type {Map<string, string[][]>} */ (new Map()); // the rounds of each question of this visit
    this.talk = button("", () => this.turn(), { class: "quiet" });
    this.text = h("p", { class: "counts", "aria-live": "polite" });
    this.element = h("div", { class: "hands", role: "group", "aria-label": "Hands" }, this.text, this.talk);
    this.letters = /** @type {string[]} */ ([]);
  }

  /** Another question, with the hands that were counted of it before. @param {string} name @param {string[]} letters of its options */
  begin(name, letters) {
    const rounds = this.counted.get(name) ?? [[], []];
    this.counted.set(name, rounds);
    Object.assign(this, { letters, round: rounds[1].length ? 1 : 0, rounds });
  }

  /** One more hand. @param {string} letter */
  count(letter) {
    if (this.letters.includes(letter)) this.rounds[this.round].push(letter);
    this.tell();
  }

  /** Takes the last one back. */
  undo() {
    this.rounds[this.round].pop();
    this.tell();
  }

  /** To the other round. */
  turn() {
    this.round = 1 - this.round;
    this.tell();
  }

  /** True where a hand was counted. */
  get any() {
    return this.rounds.some((hands) => hands.length);
  }

  /** How many hands an option has in a round. @param {number} round @param {string} letter */
  of(round, letter) {
    return this.rounds[round].filter((hand) => hand === letter).length;
  }

  /** How many hands each option has in a round: "A 4 · B 15". @param {number} round */
  said(round) {
    const name = this.round || this.rounds[1].length ? ROUNDS[round] : "hands";
    return `${name}: ${this.letters.map((letter) => `${letter} ${this.of(round, letter)}`).join(" · ")}`;
  }

  /** Which rounds there is something to tell of. */
  get begun() {
    return ROUNDS.map((_, round) => round).filter((round) => round === this.round || this.rounds[round].length);
  }

  draw() {
    fill(this.text, this.begun, "span", (line, round) => {
      setText(line, this.said(round));
      setAttribute(line, "class", round === this.round ? "now" : null);
    });
    setText(this.talk, this.round ? "back to the first count" : "count again after talking");
  }

  /** The hands of an option, round by round, as bars in it. @param {Element} place @param {string} letter */
  drawBars(place, letter) {
    const rounds = this.any ? this.begun.filter((round) => this.rounds[round].length) : [];
    const make = () => div("bar", span("track", h("span")), span("count"));
    fill(place, rounds, make, (bar, round) => {
      const count = this.of(round, letter);
      const share = `${(100 * count) / this.rounds[round].length}%`;
      /** @type {HTMLElement} */ (bar.children[0].firstElementChild).style.width = share;
      setText(bar.children[1], String(count));
      setAttribute(bar, "data-round", ROUNDS[round]);
    });
  }
}
