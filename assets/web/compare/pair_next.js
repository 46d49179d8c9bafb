// What the model says next on both sides of the pair view, and a word that is asked about on both.

import { h, setAttribute, span } from "../base/dom.js";
import { drawNext, makeWord } from "../picture/next_bars.js";

export class PairNext {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.asked = ""; // the word whose probability is told, as in the link
    this.word = makeWord((word) => {
      this.asked = word;
      view.chose(true);
    });
    this.list = h("ol", { class: "next-list" });
    const label = span("label", "Most likely next, left → right:");
    this.element = h("section", { class: "next-tokens", "aria-label": "What the model says next" });
    this.element.append(label, this.list, this.word.element);
  }

  draw() {
    const { next, wordSaid } = this.view.picture;
    setAttribute(this.element, "hidden", next.length ? null : "");
    drawNext(this.list, next, { before: "on the left" });
    this.word.draw(this.asked, wordSaid);
  }
}
