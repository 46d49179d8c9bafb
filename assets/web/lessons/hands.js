// A show of hands: counts per choice in two rounds, alone and after peer discussion.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";

const ROUNDS = ["alone", "after talking"];

export class Hands {
  /** @param {() => void} counted called when a hand is counted or removed */
  constructor(counted) {
    this.tell = counted;
    this.round = 0;
    this.rounds = /** @type {string[][]} */ ([[], []]); // letters in counting order
    this.counted = /** @type {Map<string, string[][]>} */ (new Map()); // question -> its rounds, while the page is open
    this.talk = button("", () => this.turn(), { class: "quiet" });
    this.element = h("div", { class: "hands", role: "group", "aria-label": "Hands" }, this.talk);
    this.letters = /** @type {string[]} */ ([]);
  }

  /** Start a question with the hands counted for it before.
   * @param {string} name @param {string[]} letters letters of its choices */
  begin(name, letters) {
    const rounds = this.counted.get(name) ?? [[], []];
    this.counted.set(name, rounds);
    Object.assign(this, { letters, round: rounds[1].length ? 1 : 0, rounds });
  }

  /** Count a hand. @param {string} letter */
  count(letter) {
    if (this.letters.includes(letter)) this.rounds[this.round].push(letter);
    this.tell();
  }

  /** Remove the last hand. */
  undo() {
    this.rounds[this.round].pop();
    this.tell();
  }

  /** Switch to the other round. */
  turn() {
    this.round = 1 - this.round;
    this.tell();
  }

  /** Return whether a hand was counted. */
  get any() {
    return this.rounds.some((hands) => hands.length);
  }

  draw() {
    setText(this.talk, this.round ? "back to the first count" : "count again after talking");
  }

  /** Draw the hands of a choice as bars, round by round; nothing before the first hand.
   * @param {Element} place @param {string} letter */
  drawBars(place, letter) {
    const counted = this.rounds.filter((hands) => hands.length);
    const make = () => div("bar", span("track", h("span")), span("count"));
    fill(place, counted, make, (bar, hands) => {
      const count = hands.filter((hand) => hand === letter).length;
      /** @type {HTMLElement} */ (bar.children[0].firstElementChild).style.width = `${(100 * count) / hands.length}%`;
      setText(bar.children[1], String(count));
      setAttribute(bar, "title", ROUNDS[this.rounds.indexOf(hands)]);
    });
  }
}
