// @ts-check
// Hands of a class, counted option by option in two rounds: alone, and after talking to a neighbour.

import { button, fill, h, setAttribute, setText } from "../base/dom.js";

const ROUNDS = ["alone", "after talking"];

export class Hands {
  constructor() {
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
    this.draw();
  }

  /** One more hand. @param {string} letter */
  count(letter) {
    if (this.letters.includes(letter)) this.rounds[this.round].push(letter);
    this.draw();
  }

  /** Takes the last one back. */
  undo() {
    this.rounds[this.round].pop();
    this.draw();
  }

  /** To the other round. */
  turn() {
    this.round = 1 - this.round;
    this.draw();
  }

  /** How many hands each option has in a round: "A 4 · B 15". @param {number} round */
  said(round) {
    const count = (/** @type {string} */ letter) => this.rounds[round].filter((hand) => hand === letter).length;
    const name = this.round || this.rounds[1].length ? ROUNDS[round] : "hands";
    return `${name}: ${this.letters.map((letter) => `${letter} ${count(letter)}`).join(" · ")}`;
  }

  draw() {
    const counted = ROUNDS.map((_, round) => round).filter(
      (round) => round === this.round || this.rounds[round].length,
    );
    fill(this.text, counted, "span", (line, round) => {
      setText(line, this.said(round));
      setAttribute(line, "class", round === this.round ? "now" : null);
    });
    setText(this.talk, this.round ? "back to the first count" : "count again after talking");
  }
}
