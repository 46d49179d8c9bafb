// The likeliest next tokens as bars, each with its probability and the one it is compared with, and a field that looks
// up the probability of a word.

import { div, h, render, setField, setText, span } from "../base/dom.js";
import { isolated } from "../base/token_text.js";
import { number, quoted } from "../base/words.js";

const MAX_LENGTH = "60"; // characters of a word
const PARTIAL = "part of a character, which cannot be onInput";

/** Fill a list with bars; `choose` handles a click, if there is one.
 * @param {HTMLElement} list @param {NextToken[]} tokens
 * @param {{choose?: (at: number) => void, context: string}} way context: label of the compared probability
 */
export function drawNext(list, tokens, { choose, context }) {
  const draw = (/** @type {NextToken} */ { label, text, chance, baseline }, /** @type {number} */ index) => {
    const [now, was] = [number(chance), baseline === null ? "" : number(baseline)];
    const bars = [
      ["span.token-label", isolated(label)],
      ["span.value", { title: was ? `${context} → now` : null }, was ? `${was} → ${now}` : now],
      ["i", { "--share": String(chance) }],
      ["i.baseline", { "--share": String(baseline ?? 0), hidden: !was }],
    ];
    if (!choose) return ["li", ["div.next", ...bars]];
    const name = `append ${isolated(label)}: probability ${now}${was && `, ${was} ${context}`}`;
    const props = { "aria-label": name, title: text ? "append it to the sentence" : PARTIAL, disabled: !text };
    return ["li", ["button.next", { ...props, onclick: () => choose(index) }, ...bars]];
  };
  render(list, ...tokens.map(draw));
}

/** The effect of a change on the next token, as a sentence; "" without a change.
 * @param {NextToken[]} tokens likeliest first */
export function nextMoved(tokens) {
  const [now] = tokens;
  if (!now || now.baseline === null) return "";
  const was = tokens.reduce((best, token) => ((token.baseline ?? 0) > (best.baseline ?? 0) ? token : best));
  const [first, last] = [was, now].map(({ label }) => quoted(label));
  const [before, chance] = [was.baseline ?? 0, now.chance].map(number);
  if (was === now) return `The most likely next word is still ${last}: ${chance} (before: ${before}).`;
  return `The most likely next word is now ${last}: ${chance} (before: ${first}, ${before}).`;
}

/** The field for a word and the sentence on its probability. @param {(word: string) => void} onInput */
export function makeWord(onInput) {
  const attributes = { placeholder: "a word", "aria-label": "Probability of this word" };
  const field = h("input", { type: "text", dir: "auto", maxlength: MAX_LENGTH, ...attributes });
  field.addEventListener("input", () => onInput(field.value));
  field.addEventListener("keydown", (event) => event.stopPropagation()); // letters here are no shortcuts
  const text = h("span", { class: "word-chance", role: "status" });
  const label = h("label", { class: "named" }, span("label", "Probability of"), field);
  const element = div("word", label, text);
  const draw = (/** @type {string} */ word, /** @type {string} */ sentence) => {
    setField(field, word);
    setText(text, sentence);
  };
  return { element, draw };
}
