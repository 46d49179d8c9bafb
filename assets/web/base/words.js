// Sentences and number formats, computed from the displayed weights.

import { NOBODY } from "./facts.js";
import { isolated } from "./token_text.js";

export const OFF = "ablated: its output counts as 0"; // text of an ablated head
export const BLOCKED = "blocked by the mask"; // text of a masked cell

/** Format a weight: 0.6397 -> "0.64"; "<0.01" if two digits would show 0 for a positive value (as in numbers.py).
 * @param {number} value
 */
export function number(value) {
  if (Number.isNaN(value)) return "?"; // hidden by the curtain of a lesson
  const short = value.toFixed(2);
  return value === 0 || short !== "0.00" ? short : "<0.01";
}

/** Format a signed number: −0.6 -> "−0.60"; four digits if two would show 0, or scientific notation.
 * @param {(size: number) => string} write
 */
export function signed(value, write = (size) => size.toFixed(size < 0.005 ? 4 : 2)) {
  const size = Math.abs(value);
  const text = size > 0 && size < 0.00005 ? size.toExponential(1).replace("-", "−") : write(size);
  return `${value < 0 ? "−" : value > 0 ? "+" : ""}${text}`;
}

/** Format the number of a cell: ".64", or "" for what would read ".00". @param {number} weight */
export function short(weight) {
  if (!(weight >= 0.005)) return ""; // also for NaN, which a curtain leaves
  const text = weight.toFixed(2);
  return text === "1.00" ? "1" : text.replace(/^0/, "");
}

/** Format the signed number of a cell, "−.60". @param {number} value */
export function shortSigned(value) {
  const text = Math.abs(value).toFixed(2);
  return text === "0.00" ? "" : `${value < 0 ? "−" : "+"}${text.startsWith("0") ? text.slice(1) : text.slice(0, 1)}`;
}

/** A count with its noun: "1 key", "2,000 keys". @param {number} count @param {string} word */
export const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** The index of the first of the largest values. @param {ArrayLike<number>} values */
export const argmax = (values) =>
  Array.from(values).reduce((best, value, index, all) => (value > all[best] ? index : best), 0);

/** Sort the columns of a row by weight, largest first.
 * @param {ArrayLike<number>} row @returns {[number, number][]} pairs of key and weight
 */
export function sortByWeight(row) {
  const pairs = Array.from(row, (weight, key) => /** @type {[number, number]} */ ([key, weight]));
  return pairs.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** Format a weight in a sentence: "64 %"; "0.1 %" where an integer would show 0 for a positive weight.
 * @param {number} weight */
export function percent(weight) {
  const rounded = Math.round(100 * weight);
  if (rounded || !weight) return `${rounded} %`;
  return weight < 0.0005 ? "less than 0.1 %" : `${(100 * weight).toFixed(1)} %`;
}

/** The sentence on a change of one weight: before and now.
 * @param {string} query @param {string} key @param {number} previous @param {number} now
 * @param {boolean} [isPair] both maps are visible
 */
export function gave(query, key, previous, now, isPair = false) {
  const [was, is] = [number(previous), number(now)];
  const pair = `Attention from ${quoted(query)} to ${quoted(key)}`;
  if (isPair)
    return was === is ? `${pair} is ${was} on both sides.` : `${pair} is ${was} on the left and ${is} on the right.`;
  return was === is ? `${pair} is still ${was}.` : `${pair} ${now < previous ? "fell" : "rose"} from ${was} to ${is}.`;
}

/** The sum of weights with two digits: further digits of a float32 sum are rounding error.
 * @param {Float32Array} weights */
export const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0).toFixed(2);

/** Quote a token in a sentence, where its punctuation would be taken for the sentence's own. */
export const quoted = (token) => (token === NOBODY ? token : `“${isolated(token)}”`);

/** One sentence each on the query, key and value of the row in focus.
 * @param {string[]} tokens @param {Float32Array} weights of the row @param {string[]} [keys] its keys
 */
export function story(tokens, row, weights, keys = tokens, noun = "word") {
  const token = quoted(tokens[row]);
  const [[best, weight]] = sortByWeight(weights);
  const winner = quoted(keys[best]);
  const query = `what ${token} looks for. Its row shows how well each ${noun} matches.`;
  if (weight === 0)
    return [
      query,
      `what each ${noun} offers. Here the mask blocks all of them.`,
      "what is passed on, which is nothing here.",
    ];
  if (keys[best] === NOBODY)
    return [
      query,
      `what each ${noun} offers. None matches this query well.`,
      `what is passed on, with a total weight of ${number(1 - weight)} on the ${noun}s.`,
    ];
  return [
    query,
    `what each ${noun} offers. ${winner} matches this query best.`,
    `what ${winner} passes on; it reaches ${token} with weight ${number(weight)}.`,
  ];
}

/** A copy of a set with an item added, or removed if it was there. @template T @param {Set<T>} set @param {T} item */
export function toggle(set, item) {
  const other = new Set(set);
  if (!other.delete(item)) other.add(item);
  return other;
}
