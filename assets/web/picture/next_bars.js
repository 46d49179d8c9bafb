// The likeliest next tokens as bars, each with its probability and the one it is compared with, and a field that looks
// up the probability of a word.

import { button, div, fill, h, setAttribute, setField, setText, span } from "../base/dom.js";
import { isolated } from "../base/token_text.js";
import { number, quoted } from "../base/words.js";

const MAX_LENGTH = "60"; // characters of a word
const PARTIAL = "part of a character, which cannot be onInput";

/** Fill a list with bars; `choose` handles a click, if there is one.
 * @param {HTMLElement} list @param {NextToken[]} tokens
 * @param {{choose?: (at: number) => void, context: string}} way context: label of the compared probability
 */
export function drawNext(list, tokens, { choose, context }) {
  const make = (/** @type {number} */ index) => {
    const press = choose ? button("", () => choose(index), { class: "next" }) : div("next");
    press.append(span("token-label"), span("value"), h("i"), h("i", { class: "baseline" }));
    return h("li", {}, press);
  };
  fill(list, tokens, make, (item, token) => {
    const press = /** @type {HTMLButtonElement} */ (item.firstElementChild);
    drawToken(press, token, context);
    if (!choose) return;
    press.disabled = !token.text;
    setAttribute(press, "title", token.text ? "append it to the sentence" : PARTIAL);
    setAttribute(press, "aria-label", `append ${textOf(token, context)}`);
  });
}

/** @param {HTMLElement} element @param {NextToken} token @param {string} context */
function drawToken(element, { label, chance, baseline }, context) {
  const [name, value, now, was] = /** @type {HTMLElement[]} */ ([...element.children]);
  setText(name, isolated(label));
  setText(value, baseline === null ? number(chance) : `${number(baseline)} → ${number(chance)}`);
  setAttribute(value, "title", baseline === null ? null : `${context} → now`);
  now.style.setProperty("--share", String(chance));
  was.style.setProperty("--share", String(baseline ?? 0));
  was.hidden = baseline === null;
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

/** @param {NextToken} token @param {string} context */
const textOf = ({ label, chance, baseline }, context) =>
  `${isolated(label)}: probability ${number(chance)}${baseline === null ? "" : `, ${number(baseline)} ${context}`}`;

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
