// The shortcuts of a lesson. A focused field, list or map keeps the keys that it uses itself.

import { isShortcut, isTyped } from "../base/grid_keys.js";

/** @typedef {"answer" | "hand" | "undo" | "round" | "space" | "next" | "back" | "notes" | "black" | "keys" | "page" | "close"} Wish */

/** @type {Record<string, Wish>} */
const ALWAYS = {
  n: "notes",
  ".": "black",
  "?": "keys",
  r: "round",
  w: "page",
  Escape: "close",
  PageDown: "next",
  PageUp: "back",
  Backspace: "undo",
};
/** @type {Record<string, Wish>} */
const UNLESS_USED = { ArrowRight: "next", ArrowLeft: "back", " ": "space" };
const USES = 'button, a, summary, [role], [tabindex="0"], .large[tabindex]'; // elements that use arrows or the space bar

/** The action of a key; null if it has none.
 * @param {KeyboardEvent} event @param {string[]} letters letters of the choices
 * @returns {[Wish, string] | null}
 */
export function wishOf(event, letters) {
  if (isShortcut(event) || isTyped(event) || event.repeat) return null;
  const { key, shiftKey } = event;
  const letter = key.toUpperCase();
  if (/^[A-D]$/.test(letter) && letters.includes(letter)) return [shiftKey ? "hand" : "answer", letter];
  const digit = letters[Number(key) - 1];
  if (/^[1-4]$/.test(key) && digit) return ["answer", digit];
  const always = ALWAYS[key.length > 1 ? key : key.toLowerCase()];
  if (always) return [always, ""];
  const [target] = event.composedPath();
  const isControl =
    target instanceof Element && target.matches(USES) && !target.matches(".option[aria-pressed='true']");
  return UNLESS_USED[key] && !isControl ? [UNLESS_USED[key], ""] : null;
}
