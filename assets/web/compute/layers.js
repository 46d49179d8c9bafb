// The layers of a model, as mha_core/models/block.py and mha_core/attention/fused.py have them.
// Arrays are rows of tokens: x (i, c) has channel c of token i at `i * c + channel`.

import { roomFor } from "./memory.js";

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** Options of the pass of one block.
 * @typedef {{
 *   allow: Uint8Array | null, position: import("./positions.js").Position, temperature: number,
 *   headsOff: Set<number>, valuesOff: number[], mlpOff: boolean, layerOff: boolean,
 * }} Switches */

/** Compute y (n, columns) = x (n, depth) Wᵀ + b with the weights of that name, or with some of their rows.
 * @param {BrowserModel} model @param {string} name @param {Float32Array} x @param {number} n @param {Float32Array} y
 * @param {number} from the first row of W @param {number} to the row behind the last
 */
export function linear(model, name, x, n, y, from = 0, to = 0) {
  const weight = weightOf(model, `${name}.weight`);
  const all = model.weights.get(`${name}.bias`);
  const depth = x.length / n;
  const columns = (to || weight.length / depth) - from;
  const bias = all?.subarray(from, from + columns);
  model.memory.product(x, weight.subarray(from * depth), bias, y, { rows: n, columns, depth });
}

/** Norm each row to mean 0 and variance 1, times a weight, plus a bias (Ba et al. 2016); x and y may be the same.
 * @param {BrowserModel} model @param {string} name @param {Float32Array} x @param {number} n @param {Float32Array} y
 * @param {number} eps
 */
export function layerNorm(model, name, x, n, y, eps) {
  const [weight, bias] = [weightOf(model, `${name}.weight`), weightOf(model, `${name}.bias`)];
  const c = weight.length;
  for (let start = 0; start < n * c; start += c) {
    let mean = 0;
    let variance = 0;
    for (let m = 0; m < c; m++) mean += x[start + m];
    mean /= c;
    for (let m = 0; m < c; m++) variance += (x[start + m] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / c + eps);
    for (let m = 0; m < c; m++) y[start + m] = (x[start + m] - mean) * scale * weight[m] + bias[m];
  }
}

/** GELU of each value: x · Φ(x), half of it by the error function (Hendrycks and Gimpel 2016). @param {Float32Array} x */
export function gelu(x) {
  for (let at = 0; at < x.length; at++) {
    const value = x[at];
    // erf as the quotient of two polynomials, within 4e-7, as in Eigen; beyond 4 it is ±1 in float32
    const z = Math.max(-4, Math.min(4, value * Math.SQRT1_2));
    const s = z * z;
    let top = -2.72614225801306e-10;
    top = top * s + 2.77068142495902e-8;
    top = top * s - 2.10102402082508e-6;
    top = top * s - 5.69250639462346e-5;
    top = top * s - 7.34990630326855e-4;
    top = top * s - 2.954599809855e-3;
    top = top * s - 1.60960333262415e-2;
    let bottom = -1.45660718464996e-5;
    bottom = bottom * s - 2.13374055278905e-4;
    bottom = bottom * s - 1.68282697438203e-3;
    bottom = bottom * s - 7.37332916720468e-3;
    bottom = bottom * s - 1.42647390514189e-2;
    x[at] = 0.5 * value * (1 + (z * top) / bottom);
  }
}

/** Softmax of a row of scores over the keys that it may attend to; a row without any gets weights 0.
 * @param {Float32Array} scores @param {number} start @param {number} stop @param {number} temperature
 * @param {Uint8Array | null} allow @param {number} cell the row's first cell in `allow`
 */
function softmax(scores, start, stop, temperature, allow, cell) {
  if (allow) for (let at = start; at < stop; at++) if (!allow[cell + at - start]) scores[at] = Number.NEGATIVE_INFINITY;
  let top = Number.NEGATIVE_INFINITY;
  for (let at = start; at < stop; at++) if (scores[at] > top) top = scores[at];
  if (top === Number.NEGATIVE_INFINITY) return scores.fill(0, start, stop);
  let sum = 0;
  for (let at = start; at < stop; at++) {
    const value = Math.exp((scores[at] - top) / temperature);
    scores[at] = value;
    sum += value;
  }
  for (let at = start; at < stop; at++) scores[at] /= sum;
}

/** Attention of n queries to m keys: softmax(q kᵀ / √d) v in each head, then the output projection.
 * @param {BrowserModel} model @param {string} name @param {Float32Array} x of the queries (n, c)
 * @param {Float32Array | null} memory the keys' and values' own input (m, c), in cross-attention
 * @param {{n: number, m: number}} size @param {Switches} switches
 * @param {Float32Array} maps gets the weights (h, n, m) @param {Float32Array} out (n, c)
 */
function attend(model, name, x, memory, { n, m }, switches, maps, out) {
  const { n_heads: heads, d_model: c } = model.sizes;
  const { allow, position, temperature, valuesOff } = switches;
  const d = c / heads;
  const scale = 1 / Math.sqrt(d); // of q·k, which spreads like √d
  const take = (/** @type {number} */ length) => model.memory.take(length);
  // one product for q, k and v; in cross-attention the same rows of the same matrix, each with its own input
  const projected = take(n * 3 * c);
  const others = memory ? take(m * 2 * c) : projected;
  linear(model, `${name}.qkv`, x, n, memory ? projected.subarray(0, n * c) : projected, 0, memory ? c : 3 * c);
  if (memory) linear(model, `${name}.qkv`, memory, m, others, c, 3 * c);
  const [qStride, stride, kStart] = memory ? [c, 2 * c, 0] : [3 * c, 3 * c, c];
  const padded = roomFor(m);
  const [scores, values, mixed] = [take(n * padded), take(d * padded).fill(0), take(n * c)];
  for (let head = 0; head < heads; head++) {
    const q = { values: projected, start: head * d, stride: qStride };
    const k = { values: others, start: kStart + head * d, stride };
    const v = k.start + c;
    position.rotate?.(q, n);
    position.rotate?.(k, m);
    for (let i = 0; i < n; i++) for (let at = 0; at < d; at++) projected[q.start + i * qStride + at] *= scale;
    const [ofQ, ofK] = [projected.subarray(q.start), others.subarray(k.start)];
    const sizes = { rows: n, columns: m, depth: d, xStride: qStride, wStride: stride, yStride: padded };
    model.memory.product(ofQ, ofK, undefined, scores, sizes);
    position.bias?.(scores, padded, n, m, q, head);
    const plane = allow && allow.length > n * m ? head * n * m : 0;
    for (let i = 0; i < n; i++) {
      const start = i * padded;
      softmax(scores, start, start + m, temperature, allow, plane + i * m);
      maps.set(scores.subarray(start, start + m), (head * n + i) * m);
      scores.fill(0, start + m, start + padded);
      for (const j of valuesOff) if (memory || i !== j) scores[start + j] = 0; // a token mixes in its own value
    }
    // v transposed, so that the sums over the keys are sums over adjacent numbers
    for (let j = 0; j < m; j++) {
      for (let channel = 0; channel < d; channel++) values[channel * padded + j] = others[v + j * stride + channel];
    }
    const mixing = { rows: n, columns: d, depth: padded, yStride: c };
    const part = mixed.subarray(head * d);
    model.memory.product(scores, values, undefined, part, mixing);
    if (switches.headsOff.has(head)) for (let i = 0; i < n; i++) part.fill(0, i * c, i * c + d);
  }
  linear(model, `${name}.out`, mixed, n, out);
}

/** Run a block: attention, then the feed-forward network, with norms in front (pre-norm) or behind (post-norm).
 * @param {BrowserModel} model @param {string} name as "layers.0" @param {Float32Array} x (n, c), becomes the output
 * @param {Float32Array | null} memory of cross-attention, already normed
 * @param {{n: number, m: number}} size @param {Switches} switches @param {Float32Array} maps
 */
export function block(model, name, x, memory, size, switches, maps) {
  const { sizes, weights } = model;
  const mark = model.memory.used;
  const n = size.n;
  const part = model.memory.take(x.length);
  const norm = (/** @type {string} */ part, /** @type {Float32Array} */ from, /** @type {Float32Array} */ to) => {
    if (weights.has(`${name}.${part}.weight`)) layerNorm(model, `${name}.${part}`, from, n, to, sizes.eps);
    else to.set(from);
  };
  const query = model.memory.take(x.length);
  if (sizes.norm_after) query.set(x);
  else norm("attention_norm", x, query);
  attend(model, `${name}.attention`, query, memory, size, switches, maps, part);
  if (!switches.layerOff) {
    addOrReplace(x, part, sizes.residual);
    if (sizes.norm_after) norm("attention_norm", x, x);
    if (weights.has(`${name}.feed_forward.1.weight`)) {
      part.fill(0);
      if (!switches.mlpOff) {
        norm("feed_forward.0", x, query);
        const wide = model.memory.take(n * sizes.d_feed_forward);
        linear(model, `${name}.feed_forward.1`, query, n, wide);
        gelu(wide);
        linear(model, `${name}.feed_forward.3`, wide, n, part);
      }
      addOrReplace(x, part, sizes.residual);
      norm("output_norm", x, x);
    }
  }
  model.memory.used = mark;
}

/** @param {Float32Array} x @param {Float32Array} part @param {boolean} residual */
function addOrReplace(x, part, residual) {
  for (let at = 0; at < x.length; at++) x[at] = residual ? x[at] + part[at] : part[at];
}

/** @param {BrowserModel} model @param {string} name @returns {Float32Array} */
function weightOf(model, name) {
  const weight = model.weights.get(name);
  if (!weight) throw new Error(`The model file has no weight ${name}.`);
  return weight;
}
