// What both sides of the pair view lead to: the next word, and one token's vector after each layer.

import { drawNext, makeWord } from "../picture/next_bars.js";
import { fill, h, setAttribute, setText, span } from "../base/dom.js";
import { fillShare, listOf, makeShare } from "../picture/table.js";
import { quoted } from "../base/words.js";

/** What the model says next on both sides, and a word that is asked about on both. @param {import("./pair.js").PairView} view */
export function makeNext(view) {
  const word = makeWord((asked) => {
    next.asked = asked;
    view.chose(true);
  });
  const list = h("ol", { class: "next-list" });
  const props = { class: "next-tokens", "aria-label": "What the model says next" };
  const element = h("section", props, span("label", "Most likely next, left → right:"), list, word.element);
  const draw = () => {
    const { next: tokens, wordSaid } = view.picture;
    element.hidden = !tokens.length;
    drawNext(list, tokens, { before: "on the left" });
    word.draw(next.asked, wordSaid);
  };
  const next = { asked: "", element, draw }; // asked: the word whose probability is told, as in the link
  return next;
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
