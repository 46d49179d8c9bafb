// The host's own questions: two to six answers, a cell of the map, or a sentence of each; and the votes on one.

import { button, div, fill, h, setText, span } from "../base/dom.js";
import { Hands } from "../lessons/hands.js";
import { handsOf, LETTERS } from "./tally.js";

/** @typedef {Omit<import("../base/messages.js").RoomAsked, "id" | "link">} Asked */

/** @type {Asked} */
const OWN = { kind: "own", text: "", options: [], learn: "", size: null, second: false };
const CELL = "Which cell has the largest weight?";

export class AskCard {
  /** @param {(question: Asked) => void} ask @param {() => void} askSentences */
  constructor(ask, askSentences) {
    this.text = h("textarea", { rows: "2", maxlength: "300", "aria-label": "Question" });
    this.lines = h("textarea", {
      rows: "4",
      maxlength: "600",
      placeholder: "an answer a line, two to six",
      "aria-label": "Answers",
    });
    this.size = /** @type {[number, number]} */ ([0, 0]);
    this.cell = button("which cell of this map?", () => {
      ask({ ...OWN, kind: "cell", text: this.text.value.trim() || CELL, size: this.size });
      this.clear();
    });
    this.sentences = button("a sentence of each", askSentences);
    const own = button("ask the class", () => {
      const options = this.options;
      if (!this.text.value.trim() || options.length < 2) return;
      ask({ ...OWN, text: this.text.value.trim(), options });
      this.clear();
    });
    this.element = div("ask-card", h("h2", {}, "A question of your own"), this.text, this.lines, own);
    this.element.append(div("ways", this.cell, this.sentences));
  }

  /** What was asked is not asked again by what is pressed next. */
  clear() {
    this.text.value = this.lines.value = "";
  }

  get options() {
    const lines = this.lines.value.split("\n").map((line) => line.trim());
    return lines.filter(Boolean).slice(0, LETTERS.length);
  }

  /** @param {any} view whose map can be asked about */
  draw(view) {
    this.cell.hidden = this.sentences.hidden = !view;
    if (view) this.size = /** @type {[number, number]} */ ([view.maps.n, view.maps.keys.length]);
  }
}

export class VotesCard {
  constructor() {
    this.hands = new Hands(() => {});
    this.text = h("h2");
    this.options = div("options");
    this.element = div("asked", this.text, this.options);
  }

  /** @param {import("../base/messages.js").RoomAsked} question @param {import("./tally.js").Tally[]} tallies */
  draw({ text, options }, tallies) {
    setText(this.text, text);
    this.hands.rounds = tallies.map(handsOf);
    const make = () => div("option", span("letter"), span("text"), span("votes"));
    fill(this.options, options, make, (row, option, at) => {
      setText(row.children[0], LETTERS[at]);
      setText(row.children[1], option);
      this.hands.drawBars(row.children[2], LETTERS[at]);
    });
  }
}
