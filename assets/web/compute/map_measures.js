// Numbers about the maps of a run, as mha_core/measure and pages/explore compute them.

/** Maps (layers, h, n, m). @typedef {Pick<import("./run.js").Run, "weights" | "n" | "m" | "layers" | "heads" | "ends" | "keyTokens">} Weights */

/** The row sum of maps that is farthest from 1. @param {Float32Array} weights @param {number} keys */
export function worstRowSum(weights, keys) {
  let worst = 1;
  for (let start = 0; start < weights.length; start += keys) {
    const sum = weights.subarray(start, start + keys).reduce((total, weight) => total + weight, 0);
    if (Math.abs(sum - 1) > Math.abs(worst - 1)) worst = sum;
  }
  return worst;
}

/** The total variation of each row of two maps. @param {Float32Array} left @param {Float32Array} right @param {number} keys */
export function rowDistances(left, right, keys) {
  const distances = new Array(left.length / keys).fill(0);
  left.forEach((weight, index) => {
    distances[Math.floor(index / keys)] += Math.abs(right[index] - weight) / 2;
  });
  return distances;
}

/** The map of one head. @param {Weights} run @param {number} layer @param {number} head */
export const mapOf = ({ weights, n, m, heads }, layer, head) =>
  weights.subarray((layer * heads + head) * n * m, (layer * heads + head + 1) * n * m);

/** The mean over the maps of several heads. @param {Weights} run @param {[number, number][]} pairs layer and head */
export function meanMap(run, pairs) {
  const sums = new Float64Array(run.n * run.m);
  for (const [layer, head] of pairs)
    mapOf(run, layer, head).forEach((weight, index) => {
      sums[index] += weight;
    });
  return Float32Array.from(sums, (sum) => sum / pairs.length);
}

/** Divide each row of a map by its sum without the hidden keys, whose weights become 0; returns the shares on them.
 * @param {Float32Array} map changed in place @param {[number, number]} hidden numbers of keys at both ends @param {number} keys
 */
export function renormalise(map, [first, last], keys) {
  const sumOf = (/** @type {Float32Array} */ weights) => weights.reduce((sum, weight) => sum + weight, 0);
  return Array.from({ length: map.length / keys }, (_, i) => {
    const row = map.subarray(i * keys, (i + 1) * keys);
    const share = sumOf(row.subarray(0, first)) + sumOf(row.subarray(keys - last));
    row.fill(0, 0, first).fill(0, keys - last);
    const rest = sumOf(row);
    for (let j = 0; j < keys && rest > 0; j++) row[j] /= rest;
    return share;
  });
}

/** The largest change of a weight between two words: in each layer, its cell, and its weights before and now. Special
 * tokens count where there are fewer than two words.
 * @param {Weights} run @param {Weights} baseline @returns {import("../base/messages.js").ChangeEffect}
 */
export function largestChange(run, baseline) {
  const { weights, n, m, layers, heads, ends, keyTokens } = run;
  const hasWords = n - ends[0] - ends[1] > 1 && keyTokens === null;
  const isWord = (/** @type {number} */ place) => !hasWords || (place >= ends[0] && place < n - ends[1]);
  const maxima = new Array(layers).fill(0);
  const places = new Array(layers).fill(-1);
  weights.forEach((weight, index) => {
    const change = Math.abs(weight - baseline.weights[index]);
    const layer = Math.floor(index / (heads * n * m));
    if (change > maxima[layer] && isWord(index % m) && isWord(Math.floor(index / m) % n))
      [maxima[layer], places[layer]] = [change, index];
  });
  const place = places[maxima.indexOf(Math.max(...maxima))];
  if (place < 0) return { layers: maxima, cell: null, weights: [0, 0] };
  const map = Math.floor(place / (n * m));
  /** @type {[number, number, number, number]} */
  const cell = [Math.floor(map / heads), map % heads, Math.floor(place / m) % n, place % m];
  return { layers: maxima, cell, weights: [baseline.weights[place], weights[place]] };
}
