// A visitor's own sentence with two of its words in each other's place.

import { ranked } from "../base/words.js";

/** @typedef {{text: string, start: number, end: number}} Word as it is written, and where */

// words that a noun stands behind, and words that no noun is
const BEFORE = new Set(
  "a an the my your his her its our their this that these those every each some any no".split(" "),
);
const SMALL = new Set(
  "and or but nor so if than then when while where because although since as of to in on at by for from with into over under after before behind is are was were be been am do does did not has have had will would can could may might must should didn don doesn isn wasn aren couldn wouldn i you he she it we they me him us them who whom which what there here very too".split(
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

/** The words that stand behind "the", "my" and the like, and are nouns for all that one can see: alone before a sign or a
 * small word, or with one word, then a verb, between them and the next "the".
 * @param {string} text @param {(Word | null)[]} words
 */
export function nounsOf(text, words) {
  const list = words.filter((word) => word !== null);
  const name = (/** @type {number} */ at) => list[at]?.text.toLowerCase() ?? "";
  const isNext = (/** @type {number} */ at) => at < list.length && !text.slice(list[at - 1].end, list[at].start).trim();
  const isOpen = (/** @type {number} */ at) => isNext(at) && !SMALL.has(name(at)) && !BEFORE.has(name(at));
  return list.filter((_, at) => {
    if (at === 0 || !BEFORE.has(name(at - 1)) || !isOpen(at)) return false;
    return !isOpen(at + 1) || (isNext(at + 2) && BEFORE.has(name(at + 2)));
  });
}

/** The sentence with the noun that a row looks at most and the next one swapped, and the two; null where it has no two.
 * @param {string} text @param {string[]} tokens @param {number} row whose own word stays @param {ArrayLike<number>} weights of it
 * @returns {{text: string, words: [string, string]} | null}
 */
export function swapped(text, tokens, row, weights) {
  const words = wordsOf(text, tokens);
  const own = words[row]?.text.toLowerCase();
  const nouns = new Set(nounsOf(text, words));
  const found = ranked(weights)
    .map(([key]) => words[key])
    .filter((word) => word !== null)
    .filter((word) => nouns.has(word) && word.text.toLowerCase() !== own);
  const one = found[0];
  const other = found.find((word) => word.text.toLowerCase() !== one.text.toLowerCase());
  if (!other) return null;
  const [left, right] = one.start < other.start ? [one, other] : [other, one];
  const middle = text.slice(left.end, right.start);
  const swappedText = text.slice(0, left.start) + right.text + middle + left.text + text.slice(right.end);
  return { text: swappedText, words: [left.text, right.text] };
}
