// Sentences and numbers, each computed from the weights that are shown.

import { NOBODY } from "./facts.js";

export const OFF = "ablated: its output counts as 0"; // said of a head
export const BLOCKED = "blocked by the mask"; // said of a cell

/** 0.6397 -> "0.64"; four digits where two would say 0 of something that is more (numbers.py says the rule).
 * @param {number} value
 */
export function number(value) {
  if (Number.isNaN(value)) return "?"; // behind the curtain of a lesson
  const short = value.toFixed(2);
  if (value === 0 || short !== "0.00") return short;
  return value < 0.00005 ? "<0.0001" : value.toFixed(4);
}

/** −0.6 -> "−0.60", with a sign for what is not 0 and a power of ten for what is nearly 0.
 * @param {(size: number) => string} write
 */
export function signed(value, write = number) {
  const size = Math.abs(value);
  const text = size > 0 && size < 0.00005 ? size.toExponential(1).replace("-", "−") : write(size);
  return `${value < 0 ? "−" : value > 0 ? "+" : ""}${text}`;
}

/** The number inside a cell, ".64"; nothing for what would read .00. @param {number} weight */
export function short(weight) {
  if (!(weight >= 0.005)) return ""; // nor for what a curtain hides
  const text = weight.toFixed(2);
  return text === "1.00" ? "1" : text.replace(/^0/, "");
}

/** The signed number inside a cell, "−.60". @param {number} value */
export function shortSigned(value) {
  const text = Math.abs(value).toFixed(2);
  return text === "0.00" ? "" : `${value < 0 ? "−" : "+"}${text.startsWith("0") ? text.slice(1) : text.slice(0, 1)}`;
}

/** 1 -> "1 key", 2000 -> "2,000 keys". @param {number} count @param {string} word */
export const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** The columns of a row, largest first.
 * @param {ArrayLike<number>} row @returns {[number, number][]} pairs of key and weight
 */
export function ranked(row) {
  const pairs = Array.from(row, (weight, key) => /** @type {[number, number]} */ ([key, weight]));
  return pairs.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** A weight in a sentence, "64 %"; "0.1 %" where whole ones would say 0 of what is more. @param {number} weight */
export function percent(weight) {
  const rounded = Math.round(100 * weight);
  if (rounded || !weight) return `${rounded} %`;
  return weight < 0.0005 ? "less than 0.1 %" : `${(100 * weight).toFixed(1)} %`;
}

/** The sentence on a change: the weight of one word for another, before and now.
 * @param {string} query @param {string} key @param {number} previous @param {number} now
 * @param {boolean} [isPair] the two stand side by side
 */
export function gave(query, key, previous, now, isPair = false) {
  const [was, is] = [number(previous), number(now)];
  const pair = `Attention from ${quoted(query)} to ${quoted(key)}`;
  if (isPair)
    return was === is ? `${pair} is ${was} on both sides.` : `${pair} is ${was} on the left and ${is} on the right.`;
  return was === is ? `${pair} is still ${was}.` : `${pair} ${now < previous ? "fell" : "rose"} from ${was} to ${is}.`;
}

/** A sum of weights, to two digits: the last digits of a float32 sum are rounding. @param {Float32Array} weights */
export const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0).toFixed(2);

/** A token inside a sentence, where a comma or an apostrophe would be taken for the sentence's own. */
export const quoted = (token) => (token === NOBODY ? token : `“${token}”`);

/** One line each on the query, key and value of the row in focus.
 * @param {string[]} tokens @param {Float32Array} weights of the row @param {string[]} [keys] that it looks at
 */
export function story(tokens, row, weights, keys = tokens, noun = "word") {
  const token = quoted(tokens[row]);
  const [[best, weight]] = ranked(weights);
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

/** A set without what it has, or with what it has not. @template T @param {Set<T>} set @param {T} item */
export function toggled(set, item) {
  const other = new Set(set);
  if (!other.delete(item)) other.add(item);
  return other;
}
