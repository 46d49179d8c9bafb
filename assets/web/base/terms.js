// Glossary terms in the texts of a page: the first use of each is marked, and a popover shows its definition.

import { h, setText } from "./dom.js";
import { TERMS } from "./page_facts.js";

const GAP = 8; // pixels between the popover and the edge of the window

/** @param {string} name */
const formsOf = (name) => `${name.replace(/[[\]]/g, "\\$&").replace(/y$/, "(?:y|ie)")}s?`;
const NAMES = Object.keys(TERMS).sort((a, b) => b.length - a.length); // longest first, so that "self-attention" wins over "attention"
const ANY = new RegExp(`(?<![\\w-]|arrow )(?:${NAMES.map(formsOf).join("|")})(?![\\w-])`, "gi");
/** @param {string} text */
const termOf = (text) => NAMES.find((name) => new RegExp(`^${formsOf(name)}$`, "i").test(text)) ?? "";

/** Split a text at the first uses of terms; each piece has its term, or "".
 * @param {string} text @param {Set<string>} seen terms that are already marked; extended
 * @returns {[string, string][]}
 */
export function piecesOf(text, seen) {
  const pieces = /** @type {[string, string][]} */ ([]);
  let from = 0;
  for (const { 0: word, index } of text.matchAll(ANY)) {
    const term = termOf(word);
    if (seen.has(term)) continue;
    seen.add(term);
    pieces.push([text.slice(from, index), ""], [word, term]);
    from = index + word.length;
  }
  return [...pieces, /** @type {[string, string]} */ ([text.slice(from), ""])].filter(([piece]) => piece);
}

const bubble = h("div", { id: "headlight-term", role: "status" }); // announced when its text changes
const hide = () => setText(bubble, "");
bubble.onpointerleave = hide;
addEventListener("scroll", hide, true);
addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !bubble.textContent) return;
    event.stopImmediatePropagation(); // closes the popover only
    hide();
  },
  true,
);

/** @param {Element} word @param {string} term */
function say(word, term) {
  if (!bubble.isConnected) document.body.append(bubble);
  setText(bubble, TERMS[term]);
  const { left, top, bottom } = word.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = bubble;
  bubble.style.left = `${Math.max(GAP, Math.min(left, innerWidth - offsetWidth - GAP))}px`;
  bubble.style.top = `${bottom + offsetHeight > innerHeight ? top - offsetHeight : bottom}px`;
}

/** @param {string} text @param {string} term */
function makeWord(text, term) {
  const show = () => say(word, term);
  const onpointerleave = (/** @type {PointerEvent} */ { relatedTarget }) => relatedTarget === bubble || hide();
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // no scrolling
    show();
  };
  const handlers = { onpointerenter: show, onfocus: show, onclick: show, onkeydown, onblur: hide, onpointerleave };
  const word = h("span", { class: "term-word", role: "button", tabindex: "0", ...handlers }, text);
  return word;
}

/** Term -> the element that marks its first use on this page. @type {Map<string, Element>} */
const places = new Map();

/** Forget the marked terms when the page changes. */
export function forgetTerms() {
  places.clear();
  hide();
}

/** Set a text and mark its terms, if it differs. @param {Element} element @param {string} text */
export function explain(element, text) {
  if (element.textContent === text) return;
  for (const [term, place] of places) if (place === element || !place.isConnected) places.delete(term);
  const seen = new Set(places.keys());
  const parts = piecesOf(text, seen).map(([piece, term]) => (term ? makeWord(piece, term) : piece));
  for (const term of seen) if (!places.has(term)) places.set(term, element);
  element.replaceChildren(...parts);
}
