// The layers of a model, as mha_core/models/block.py and mha_core/attention/fused.py have them.
// Arrays are rows of tokens: x (i, c) has channel c of token i at `i * c + channel`.

import { roomFor } from "./arena.js";

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** Options of a pass, for every layer; heads are "layer.head".
 * @typedef {{
 *   allow: Uint8Array | null, position: import("./positions.js").Position, temperature: number,
 *   headsOff: Set<string>, valuesOff: Set<number>, mlpsOff: Set<number>, layersOff: Set<number>,
 * }} Switches */
/** The blocks of one kind of attention, as "layers"; `memory` (m, c) are the keys' and values' own input, already
 * normed, in cross-attention.
 * @typedef {{name: string, memory: Float32Array | null, m: number, switches: Switches}} Part */

/** Compute y (n, columns) = x (n, depth) Wᵀ + b with the weights of that name, or with some rows of W.
 * @param {BrowserModel} model @param {string} name @param {Float32Array} x @param {number} n @param {Float32Array} y
 * @param {number} first row of W */
export function linear(model, name, x, n, y, first = 0) {
  const [weight, bias] = [model.weights[`${name}.weight`], model.weights[`${name}.bias`]];
  const depth = x.length / n;
  const sizes = { rows: n, columns: y.length / n, depth };
  model.arena.matmul(x, weight.subarray(first * depth), bias?.subarray(first), y, sizes);
}

/** Norm each row to mean 0 and variance 1, times a weight, plus a bias (Ba et al. 2016); x and y may be the same.
 * @param {BrowserModel} model @param {string} name @param {Float32Array} x @param {number} n @param {Float32Array} y
 * @param {number} eps */
export function layerNorm(model, name, x, n, y, eps) {
  const [weight, bias] = [model.weights[`${name}.weight`], model.weights[`${name}.bias`]];
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

/** GELU of each value: x · Φ(x) (Hendrycks and Gimpel 2016). @param {Float32Array} x */
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
 * @param {Float32Array} row @param {number} temperature @param {Uint8Array | null} allow
 * @param {number} cell the row's first cell in `allow` */
function softmax(row, temperature, allow, cell) {
  if (allow) for (let j = 0; j < row.length; j++) if (!allow[cell + j]) row[j] = Number.NEGATIVE_INFINITY;
  let top = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < row.length; j++) if (row[j] > top) top = row[j];
  if (top === Number.NEGATIVE_INFINITY) return row.fill(0);
  let sum = 0;
  for (let j = 0; j < row.length; j++) {
    row[j] = Math.exp((row[j] - top) / temperature);
    sum += row[j];
  }
  for (let j = 0; j < row.length; j++) row[j] /= sum;
}

/** Attention of n queries to m keys: softmax(q kᵀ / √d) v in each head, then the output projection.
 * @param {BrowserModel} model @param {Part} part @param {number} layer @param {Float32Array} x of the queries (n, c)
 * @param {number} n @param {Float32Array} maps gets the weights (h, n, m) @param {Float32Array} out (n, c) */
function attend(model, { name, memory, m, switches }, layer, x, n, maps, out) {
  const { n_heads: heads, d_model: c } = model.sizes;
  const { allow, position, temperature } = switches;
  const d = c / heads;
  const scale = 1 / Math.sqrt(d); // of q·k, which spreads like √d
  const allocate = (/** @type {number} */ length) => model.arena.allocate(length);
  const prefix = `${name}.${layer}.attention`;
  // one product for q, k and v; in cross-attention the same rows of the same matrix, each with its own input
  const q = allocate(n * (memory ? c : 3 * c));
  const kv = memory ? allocate(m * 2 * c) : q.subarray(c);
  const [qStride, stride] = memory ? [c, 2 * c] : [3 * c, 3 * c];
  linear(model, `${prefix}.qkv`, x, n, q);
  if (memory) linear(model, `${prefix}.qkv`, memory, m, kv, c);
  const padded = roomFor(m);
  const [scores, values, mixed] = [allocate(n * padded), allocate(d * padded).fill(0), allocate(n * c)];
  for (let head = 0; head < heads; head++) {
    const first = head * d; // channel of the head
    for (let i = 0; i < n; i++) {
      position.rotate?.(q, i * qStride + first, i);
      for (let at = i * qStride + first, stop = at + d; at < stop; at++) q[at] *= scale;
    }
    for (let j = 0; j < m; j++) position.rotate?.(kv, j * stride + first, j);
    const sizes = { rows: n, columns: m, depth: d, xStride: qStride, wStride: stride, yStride: padded };
    model.arena.matmul(q.subarray(first), kv.subarray(first), undefined, scores, sizes);
    const plane = allow && allow.length > n * m ? head * n * m : 0;
    for (let i = 0; i < n; i++) {
      const row = scores.subarray(i * padded, i * padded + m);
      if (position.bias) for (let j = 0; j < m; j++) row[j] += position.bias(head, i, j, q, i * qStride + first);
      softmax(row, temperature, allow, plane + i * m);
      maps.set(row, (head * n + i) * m);
      for (const j of switches.valuesOff) if (j < m && (memory || i !== j)) row[j] = 0; // it mixes in its own value
      scores.fill(0, i * padded + m, (i + 1) * padded);
    }
    // v transposed, so that the sums over the keys are sums over adjacent numbers
    for (let j = 0; j < m; j++) {
      for (let channel = 0; channel < d; channel++) {
        values[channel * padded + j] = kv[j * stride + c + first + channel];
      }
    }
    const part = mixed.subarray(first);
    model.arena.matmul(scores, values, undefined, part, { rows: n, columns: d, depth: padded, yStride: c });
    if (switches.headsOff.has(`${layer}.${head}`)) for (let i = 0; i < n; i++) part.fill(0, i * c, i * c + d);
  }
  linear(model, `${prefix}.out`, mixed, n, out);
}

/** Run a block: attention, then the feed-forward network, with norms in front (pre-norm) or behind (post-norm).
 * @param {BrowserModel} model @param {Part} part @param {number} layer @param {Float32Array} x (n, c), in and out
 * @param {Float32Array} maps gets the weights (h, n, m) */
export function block(model, part, layer, x, maps) {
  const { sizes, weights, arena } = model;
  const prefix = `${part.name}.${layer}`;
  const mark = arena.used;
  const n = x.length / sizes.d_model;
  const [input, output] = [arena.allocate(x.length), arena.allocate(x.length)];
  const norm = (/** @type {string} */ name, /** @type {Float32Array} */ y) => {
    if (`${prefix}.${name}.weight` in weights) layerNorm(model, `${prefix}.${name}`, x, n, y, sizes.eps);
    else if (y !== x) y.set(x);
  };
  const add = () => {
    for (let at = 0; at < x.length; at++) x[at] = sizes.residual ? x[at] + output[at] : output[at];
  };
  if (sizes.norm_after) input.set(x);
  else norm("attention_norm", input);
  attend(model, part, layer, input, n, maps, output);
  if (!part.switches.layersOff.has(layer)) {
    add();
    if (sizes.norm_after) norm("attention_norm", x);
    if (`${prefix}.feed_forward.1.weight` in weights) {
      norm("feed_forward.0", input);
      const wide = arena.allocate(n * sizes.d_feed_forward);
      linear(model, `${prefix}.feed_forward.1`, input, n, wide);
      gelu(wide);
      linear(model, `${prefix}.feed_forward.3`, wide, n, output);
      if (part.switches.mlpsOff.has(layer)) output.fill(0);
      add();
      norm("output_norm", x);
    }
  }
  arena.used = mark;
}
