// Keyboard navigation of grids that are drawn on a canvas: one focusable cell, moved by the arrow keys.

import { store, stored } from "./storage.js";

/** Arrow key -> its change of row and column. @type {Record<string, Cell>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Return whether a key is a shortcut of the browser; AltGr, which types characters, is not.
 * @param {KeyboardEvent} event */
export const isShortcut = (event) =>
  event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState("AltGraph"));

const LETTERS = "headlight-letters"; // false where the user has switched them off

/** Return whether single characters are shortcuts of the page. */
export const lettersAct = () => stored("localStorage", LETTERS) !== false;

/** Toggle the single-character shortcuts. */
export const switchLetters = () => store("localStorage", LETTERS, lettersAct() ? false : null);

/** Return whether a key is no shortcut: typed into a field or token list, or a character while these are off.
 * @param {KeyboardEvent} event
 */
export function isTyped(event) {
  const isLetter = [...(event.key ?? "")].length === 1 && event.key !== " ";
  if (isLetter && !lettersAct()) return true;
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  const isWord = isLetter && event.key !== "/" && target.matches(".chip:focus-visible");
  return isWord || target.isContentEditable || target.matches("input, textarea, select");
}

/** The index of the token that was typed, as a number or by its first letters; null if there is none. Repeating one
 * letter cycles through its tokens.
 * @param {string} typed @param {string[]} words @param {number} index of the focused token
 */
export function wordOf(typed, words, index) {
  if (/^\d+$/.test(typed)) return Number(typed) < words.length ? Number(typed) : null;
  const from = index + ([...typed].length > 1 ? 0 : 1);
  const order = words.map((_, step) => (from + step) % words.length);
  const isMeant = (/** @type {number} */ index) =>
    words[index]
      .replace(/^(##|▁|Ġ|\s)/, "")
      .toLowerCase()
      .startsWith(typed.toLowerCase());
  return order.find(isMeant) ?? null;
}

/** Select a token in a list by typing its number or first letters.
 * @param {HTMLElement} row @param {() => string[]} words of its children @param {(at: number) => void} choose
 */
export function hearWords(row, words, choose) {
  let typed = "";
  row.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isSign = [...key].length === 1 && key !== " " && !isShortcut(event) && lettersAct();
    const index = [...row.children].indexOf(/** @type {Element} */ (target));
    const isMatch = (/** @type {string} */ text) => isSign && wordOf(text, words(), index) !== null;
    typed = [typed + key, key].find(isMatch) ?? "";
    if (!typed || !(/** @type {Element} */ (target).matches(":focus-visible"))) return;
    const next = /** @type {number} */ (wordOf(typed, words(), index));
    event.preventDefault();
    /** @type {HTMLElement} */ (row.children[next]).focus();
    choose(next);
  });
  row.addEventListener("focusout", ({ relatedTarget }) => {
    if (!row.contains(/** @type {Node | null} */ (relatedTarget))) typed = "";
  });
}

const FAR = 10; // cells per arrow key with Shift

/** The cell that an arrow key, Home or End moves to; null for other keys.
 * @param {{key: string, shiftKey?: boolean}} event @param {Cell} at @param {Cell} rows first and last @param {Cell} columns
 * @returns {Cell | null}
 */
export function walked({ key, shiftKey }, [i, j], rows, columns) {
  if (key === "Home") return [i, columns[0]];
  if (key === "End") return [i, columns[1]];
  const step = ARROWS[key];
  const far = shiftKey ? FAR : 1;
  return step ? clamp([i + far * step[0], j + far * step[1]], rows, columns) : null;
}

/** Clamp a cell to the given rows and columns.
 * @param {Cell} at @param {Cell} rows @param {Cell} columns @returns {Cell} */
export const clamp = ([i, j], rows, columns) => [
  Math.max(rows[0], Math.min(rows[1], i)),
  Math.max(columns[0], Math.min(columns[1], j)),
];

/** The tile that a key moves to in rows of tiles; null for other keys and for no tile. */
export function walkedTiles({ key }, index, count, columns) {
  /** @type {Record<string, number>} */
  const places = { ArrowRight: index + 1, ArrowLeft: index - 1, ArrowDown: index + columns, ArrowUp: index - columns };
  const target = key === "Home" ? 0 : key === "End" ? count - 1 : places[key];
  return target >= 0 && target < count ? target : null;
}
