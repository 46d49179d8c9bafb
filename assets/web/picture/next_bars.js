// The tokens most likely to come next, each with its probability as a bar, and beside it what it is compared with; and a
// field for a word whose probability is told.

import { button, div, fill, h, setAttribute, setField, setText, span } from "../base/dom.js";
import { number, percent, quoted } from "../base/words.js";

/** @typedef {import("../base/messages.js").NextToken} NextToken */

const MAX_LENGTH = "60"; // characters of a word
const PARTIAL = "part of a character, which cannot be typed";

/** Fills a list with bars: `choose` is what a press does, none where it does nothing.
 * @param {HTMLElement} list @param {NextToken[]} tokens
 * @param {{choose?: (at: number) => void, before: string}} way before: where the earlier probability was, in words
 */
export function drawNext(list, tokens, { choose, before }) {
  const make = (/** @type {number} */ at) => {
    const one = choose ? button("", () => choose(at), { class: "next" }) : div("next");
    one.append(span("label-of-token"), span("value"), h("i"), h("i", { class: "was" }));
    return h("li", {}, one);
  };
  fill(list, tokens, make, (item, token) => {
    const one = /** @type {HTMLButtonElement} */ (item.firstElementChild);
    drawToken(one, token, before);
    if (!choose) return;
    one.disabled = !token.text;
    setAttribute(one, "title", token.text ? "append it to the sentence" : PARTIAL);
    setAttribute(one, "aria-label", `append ${said(token, before)}`);
  });
}

/** @param {HTMLElement} one @param {NextToken} token @param {string} where */
function drawToken(one, { label, chance, before }, where) {
  const [name, value, now, was] = /** @type {HTMLElement[]} */ ([...one.children]);
  setText(name, label);
  setText(value, before === null ? number(chance) : `${number(before)} → ${number(chance)}`);
  setAttribute(value, "title", before === null ? null : `${where} → now`);
  now.style.setProperty("--share", String(chance));
  was.style.setProperty("--share", String(before ?? 0));
  was.hidden = before === null;
}

/** What a change did to the next word, in one sentence; nothing where nothing is changed. @param {NextToken[]} tokens the likeliest first */
export function nextMoved(tokens) {
  const [now] = tokens;
  if (!now || now.before === null) return "";
  const was = tokens.reduce((best, one) => ((one.before ?? 0) > (best.before ?? 0) ? one : best));
  const [first, last] = [was, now].map(({ label }) => quoted(label));
  const [before, chance] = [was.before ?? 0, now.chance].map(number);
  if (was === now) return `The most likely next word is still ${last}: ${chance} (before: ${before}).`;
  return `The most likely next word is now ${last}: ${chance} (before: ${first}, ${before}).`;
}

/** @param {NextToken} token @param {string} where */
const said = ({ label, chance, before }, where) =>
  `${label}: probability ${number(chance)}${before === null ? "" : `, ${number(before)} ${where}`}`;

/** The field for a word, and the sentence on it. @param {(word: string) => void} typed */
export function makeWord(typed) {
  const named = { placeholder: "a word", "aria-label": "Probability of this word" };
  const field = h("input", { type: "text", maxlength: MAX_LENGTH, ...named });
  field.addEventListener("input", () => typed(field.value));
  field.addEventListener("keydown", (event) => event.stopPropagation()); // letters here are no shortcuts
  const text = h("span", { class: "word-said", role: "status" });
  const label = h("label", { class: "named" }, span("label", "Probability of"), field);
  const element = div("word", label, text);
  const draw = (/** @type {string} */ word, /** @type {string} */ sentence) => {
    setField(field, word);
    setText(text, sentence);
  };
  return { element, draw };
}
