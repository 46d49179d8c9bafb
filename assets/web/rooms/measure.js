// One measure over the sentences of a class: what a head gives a word, or the first token, in each of them. It is read from the
// weights that the server computes of the sentence, at the place where the host stands.

import { number } from "../base/words.js";
import { answered } from "../wire/answered.js";
import { parts, unpackFloats, unpackMaps } from "../wire/packets.js";

/** @typedef {import("./shown.js").Pair} Pair words: whose weight, on what; "" for every row, on the first token */

/** @param {Pair} pair */
export const sayMeasure = ({ row, key }) =>
  row && key ? `weight of “${row}” on “${key}”` : row ? `largest weight of “${row}”` : "mean weight on the first token";

/** What the measure says of one sentence; null where it lacks a word.
 * @param {string[]} tokens @param {Float32Array} weights (n, n) @param {Pair} pair @returns {number | null}
 */
export function measured(tokens, weights, { row, key }) {
  const n = tokens.length;
  const said = tokens.map((token) => token.toLowerCase());
  const [i, j] = [row, key].map((word) => said.indexOf(word.toLowerCase()));
  if (!row) return said.reduce((sum, _, query) => sum + weights[query * n], 0) / n;
  if (i < 0 || (key && j < 0)) return null;
  return key ? weights[i * n + j] : Math.max(...weights.subarray(i * n, (i + 1) * n));
}

/** The tokens of a picture and the weights of the head in it. @param {Uint8Array} bytes of the route `maps` @returns {[string[], Float32Array]} */
export function readMaps(bytes) {
  const [focus, maps] = parts(bytes);
  const { tokens } = unpackMaps(maps);
  return [tokens, unpackFloats(focus).floats.subarray(0, tokens.length ** 2)];
}

/** The largest weight of a map, in words. @param {string[]} tokens @param {Float32Array} weights (n, n) */
export function largest(tokens, weights) {
  const at = weights.reduce((best, weight, cell) => (weight > weights[best] ? cell : best), 0);
  const [row, key] = [Math.floor(at / tokens.length), at % tokens.length];
  return `The largest weight: “${tokens[row]}” on “${tokens[key]}”, ${number(weights[at])}.`;
}

/** Number and measure of each sentence that has none yet; one whose words are missing has none.
 * @param {import("../base/messages.js").RoomSentence[]} sentences @param {Set<number>} done which were looked at @param {string} link @param {Pair} pair
 */
export async function measureNext(sentences, done, link, pair) {
  const values = /** @type {[number, number][]} */ ([]);
  for (const { number, text, value } of sentences) {
    if (done.has(number) || value !== undefined) continue;
    done.add(number);
    const query = new URLSearchParams(link);
    query.set("s", text);
    for (const key of ["learn", "pin"]) query.delete(key);
    // asked until it is answered, and kept by no browser
    const bytes = await answered(`api/maps?${query}`, { cache: "no-store" }, (answer) => answer.arrayBuffer(), {
      times: Number.POSITIVE_INFINITY,
    });
    if (!bytes) continue; // no model can read it
    const measure = measured(...readMaps(new Uint8Array(bytes)), pair);
    if (measure !== null) values.push([number, measure]);
  }
  return values;
}
