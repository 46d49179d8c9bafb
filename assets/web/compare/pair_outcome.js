// What both sides of the pair view lead to: the next word, and one token's vector after each layer.

import { drawNext, makeWord } from "../picture/next_bars.js";
import { fill, h, setAttribute, setText, span } from "../base/dom.js";
import { fillShare, listOf, makeShare } from "../picture/table.js";
import { quoted } from "../base/words.js";

/** What the model says next on both sides, and a word that is asked about on both. */
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

const NAME = "One token’s vectors";
const COLUMNS = ["vector", "cosine", "largest change of an entry"];

/** 0.0023 -> "0.0023", 0 -> "0" @param {number} value */
const digits = (value) => (value ? String(Number(value.toPrecision(2))) : "0");

/** One token's vector on both sides: cosine and largest change after each layer, as bars and numbers. */
export function makeVectors() {
  const title = h("h2");
  const told = h("p", { role: "status" });
  const law = h("p", { class: "label" }, "H[0]: the embeddings; H[1]: after one layer, and so on.");
  const rows = h("tbody");
  const table = listOf(COLUMNS, rows);
  const room = h("div", { class: "of-layers", tabindex: "0", role: "region", "aria-label": "Layer by layer" }, table);
  const element = h("section", { class: "panel vectors", "aria-label": NAME }, h("div", {}, title, told, law), room);
  const draw = (/** @type {import("../base/messages.js").ComparePicture} */ { vectors, tokens, row }) => {
    const { cosines, changes, shown, said } = vectors;
    const most = Math.max(...changes, 0);
    setText(title, cosines.length ? `The vector of ${quoted(tokens[row])}, left and right` : NAME);
    setText(told, said);
    table.hidden = law.hidden = !cosines.length;
    fill(rows, shown, makeRow, (line, cosine, layer) => {
      const [name, alike, change] = /** @type {HTMLElement[]} */ ([...line.children]);
      setText(name, `H[${layer}]`);
      setAttribute(name, "title", layer ? `after ${layer} of ${shown.length - 1} layers` : "the embeddings");
      fillShare(alike, cosine, Math.max(0, cosines[layer]));
      fillShare(change, digits(changes[layer]), most ? changes[layer] / most : 0);
    });
  };
  return { element, draw };
}

const makeRow = () => h("tr", {}, h("th", { scope: "row" }), makeShare(), makeShare());
