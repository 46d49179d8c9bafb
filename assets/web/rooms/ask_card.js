// The host's own questions: two to six answers, a cell of the map, or a sentence of each; and the votes on one.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { addressOf, pageNow } from "../base/page_list.js";
import { Hands } from "../lessons/hands.js";
import { read, without } from "../link/link.js";
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
    this.cell = button("which cell of this map?", () => {
      ask({ ...OWN, kind: "cell", text: this.text.value.trim() || CELL });
      this.clear();
    });
    this.sentences = button("a sentence of each", askSentences);
    this.explore = h("a", {}, "on Explore: which cell of a map, a sentence of each ›");
    const own = button("ask the class", () => {
      const options = this.options;
      if (!this.text.value.trim() || options.length < 2) return;
      ask({ ...OWN, text: this.text.value.trim(), options });
      this.clear();
    });
    this.element = div("ask-card", h("h2", {}, "A question of your own"), this.text, this.lines, own);
    this.element.append(div("ways", this.cell, this.sentences, this.explore));
  }

  /** What was asked is not asked again by what is pressed next. */
  clear() {
    this.text.value = this.lines.value = "";
  }

  get options() {
    const lines = this.lines.value.split("\n").map((line) => line.trim());
    return lines.filter(Boolean).slice(0, LETTERS.length);
  }

  /** A map is asked about on Explore; elsewhere there is the way to it, with the same picture. */
  draw() {
    const isExplore = pageNow().path === "";
    this.cell.hidden = this.sentences.hidden = !isExplore;
    this.explore.hidden = isExplore;
    setAttribute(this.explore, "href", `${addressOf("")}?${without(read(), "learn")}`);
  }
}

export class VotesCard {
  constructor() {
    this.hands = new Hands(() => {});
    this.text = h("h2");
    this.options = div("options");
    this.answer = h("p");
    this.element = div("asked", this.text, this.options, this.answer);
  }

  /** @param {import("../base/messages.js").RoomAsked} question @param {import("./tally.js").Tally[]} tallies @param {string} answer "" = not shown, or none */
  draw({ text, options }, tallies, answer) {
    setText(this.text, text);
    setText(this.answer, answer);
    this.hands.rounds = tallies.map(handsOf);
    const make = () => div("option", span("letter"), span("text"), span("votes"));
    fill(this.options, options, make, (row, option, at) => {
      setText(row.children[0], LETTERS[at]);
      setText(row.children[1], option);
      this.hands.drawBars(row.children[2], LETTERS[at]);
    });
  }
}
