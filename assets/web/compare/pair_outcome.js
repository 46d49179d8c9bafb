// The next-token predictions of both sides of the Compare page.

import { drawNext, makeWord } from "../picture/next_bars.js";
import { h, span } from "../base/dom.js";

/** The next tokens of both sides, and the probability of a chosen word on both. @param {import("./pair.js").PairView} view */
export function makeNext(view) {
  const word = makeWord((text) => {
    next.word = text;
    view.onChange(true);
  });
  const list = h("ol", { class: "next-list" });
  const props = { class: "next-tokens", "aria-label": "Next-word predictions" };
  const element = h("section", props, span("label", "Most likely next words, left → right:"), list, word.element);
  const draw = () => {
    const { next: tokens, wordSaid } = view.picture;
    element.hidden = !tokens.length;
    drawNext(list, tokens, { context: "on the left" });
    word.draw(next.word, wordSaid);
  };
  const next = { word: "", element, draw }; // word: the token whose probability is shown, as in the link
  return next;
}
