// @ts-check
// A visitor's own sentence with two of its words in each other's place.

import { ranked } from "../base/words.js";

/** @typedef {{text: string, start: number, end: number}} Word as it is written, and where */

// words that stand for little on their own: they are swapped last
const SMALL = new Set(
  "a an the and or but of to in on at by for as is are was were be do did not it its i you he she we they my your his her our their this that".split(
    " ",
  ),
);
const LETTER = /[\p{L}\p{N}]/u;

/** A text as a tokenizer may write it, letter for letter. @param {string} text */
const plain = (text) => Array.from({ length: text.length }, (_, at) => text[at].normalize("NFD")[0].toLowerCase()[0]);

/** The whole word of the sentence that each token is; null for pieces, special tokens and signs.
 * @param {string} text @param {string[]} tokens @returns {(Word | null)[]}
 */
export function wordsOf(text, tokens) {
  const letters = plain(text);
  const whole = letters.join("");
  const isLetter = (/** @type {number} */ at) => at >= 0 && at < text.length && LETTER.test(letters[at]);
  let from = 0;
  return tokens.map((token) => {
    const name = plain(token.replace(/^##/, "")).join("");
    const start = name ? whole.indexOf(name, from) : -1;
    if (start < 0) return null;
    const end = start + name.length;
    from = end;
    const isWord = isLetter(start) && !isLetter(start - 1) && !isLetter(end);
    return isWord ? { text: text.slice(start, end), start, end } : null;
  });
}

/** The sentence with the word that a row looks at most and the next one swapped, and the two; null where it has no two.
 * @param {string} text @param {string[]} tokens @param {number} row whose own word stays @param {ArrayLike<number>} weights of it
 * @returns {{text: string, words: [string, string]} | null}
 */
export function swapped(text, tokens, row, weights) {
  const words = wordsOf(text, tokens);
  const own = words[row]?.text.toLowerCase();
  const isSmall = (/** @type {Word} */ word) => SMALL.has(word.text.toLowerCase());
  const found = ranked(weights)
    .map(([key]) => words[key])
    .filter((word) => word !== null)
    .filter((word) => word.text.toLowerCase() !== own);
  const [one, ...rest] = [...found.filter((word) => !isSmall(word)), ...found.filter(isSmall)];
  const other = rest.find((word) => word.text.toLowerCase() !== one.text.toLowerCase());
  if (!other) return null;
  const [left, right] = one.start < other.start ? [one, other] : [other, one];
  const middle = text.slice(left.end, right.start);
  const swappedText = text.slice(0, left.start) + right.text + middle + left.text + text.slice(right.end);
  return { text: swappedText, words: [left.text, right.text] };
}
