// One measure over the sentences of a class: what a head gives a word, or the first token, in each of them. It is read from the
// weights that the server computes of the sentence, at the place where the host stands.

import { unpackFloats, unpackMaps, parts } from "../wire/packets.js";

/** @typedef {{row: string, key: string}} Pair words: whose weight, on what; "" for every row, on the first token */

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
