// A run of a model on one text, as Model.run of mha_core: every map, the hidden states and the logits.

import { block, layerNorm, linear } from "./layers.js";
import { encoding } from "./positions.js";
import { tokenize } from "./tokenizer.js";

export { tokenize };

const [START, END] = ["[START]", "[END]"]; // of a translation
const EPS = 1e-5; // of nn.LayerNorm, in the heads

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** @typedef {import("./layers.js").Part} Part */
/** @typedef {ReturnType<typeof tokenize>} Tokens */
/** @typedef {{
 *   allow?: Uint8Array | null, position?: string, headsOff?: Iterable<string>, temperature?: number,
 *   valuesOff?: Iterable<number>, mlpsOff?: Iterable<number>, layersOff?: Iterable<number>,
 *   group?: string, target?: string | null,
 * }} Options `allow`: n·m or heads·n·m cells, 1 = may attend; `headsOff`: "layer.head", counted from 0; `group`:
 *   "encoder", "decoder" or "cross" of an encoder-decoder; `target`: what its decoder reads in place of its translation */
/** @typedef {{
 *   tokens: string[], ids: number[], ends: [number, number], n: number, m: number, keyTokens: string[] | null,
 *   layers: number, heads: number, weights: Float32Array, hidden: Float32Array,
 *   logits: Float32Array | null, classLogits: Float32Array | null,
 * }} Run `weights` (layers, h, n, m); `hidden` (layers + 1, n, c); `keyTokens` of cross-attention, m of them;
 *   `logits` of the token behind the last; `classLogits` of a classifier */

/** Compute every map and hidden state of one text.
 * @param {BrowserModel} model @param {string} text @param {Options} options
 * @returns {Run}
 * @throws {Error} with a sentence, as `tokenize`, or about an option
 */
export function computeRun(model, text, options = {}) {
  const group = options.group ?? Object.keys(model.groups)[0];
  if (!model.groups[group]) throw new Error(`${model.title} has no attention of the kind “${group}”.`);
  const source = tokenize(model, text);
  const mark = model.memory.used;
  try {
    if (model.kind === "EncoderDecoder" && group !== "encoder") return decoderRun(model, source, group, options);
    return encoderRun(model, source, group, options);
  } finally {
    model.memory.used = mark;
  }
}

/** A run of the only stack, or of the encoder.
 * @param {BrowserModel} model @param {Tokens} source @param {string} group @param {Options} options
 * @returns {Run}
 */
function encoderRun(model, source, group, options) {
  const { n_layers: layers, n_heads: heads } = model.sizes;
  const n = source.ids.length;
  const { x, hidden, weights } = forward(model, source.ids, [stackPart(model, group, n, options)]);
  const logits = model.kind === "LanguageModel" ? nextToken(model, "norm", x) : null;
  const classLogits = model.kind === "Classifier" ? classify(model, x) : null;
  return { ...source, n, m: n, keyTokens: null, layers, heads, weights: weights[0], hidden, logits, classLogits };
}

/** A run of the decoder or of its attention to the source; the rows are START and the translation, or the target.
 * @param {BrowserModel} model @param {Tokens} source @param {string} group @param {Options} options
 * @returns {Run}
 */
function decoderRun(model, source, group, options) {
  const { sizes, tokenizer, groups } = model;
  const { n_layers: layers, n_heads: heads, target_len: limit = 0 } = sizes;
  const isCross = group === "cross";
  if (isCross && (options.position ?? "trained") !== "trained") throw new Error(`${groups.cross.reasons.positions}.`);
  const encoded = forward(model, source.ids, [stackPart(model, "encoder", source.ids.length, {})]).x;
  layerNorm(model, "norm", encoded, source.ids.length, encoded, EPS);
  const written = typeof options.target === "string" ? [...options.target] : null;
  const ids = written ? targetIds(model, written) : translate(model, encoded);
  const n = ids.length;
  if (n > limit) throw new Error(`The target has ${n} tokens, its start included; the decoder reads ${limit}.`);
  const { x, hidden, weights } = forward(model, ids, decoderParts(model, n, encoded, group, options));
  return {
    tokens: written ? [START, ...written] : ids.map((id) => tokenizer.vocabulary[id]),
    ids,
    ends: [1, 0],
    n,
    m: isCross ? source.ids.length : n,
    keyTokens: isCross ? source.tokens : null,
    layers,
    heads,
    weights: weights[isCross ? 1 : 0],
    hidden,
    logits: nextToken(model, "out_norm", x),
    classLogits: null,
  };
}

/** Embed tokens and run them through the layers, each of one block or, in a decoder, of two.
 * @param {BrowserModel} model @param {number[]} ids @param {Part[]} parts
 */
function forward(model, ids, parts) {
  const { n_layers: layers, n_heads: heads } = model.sizes;
  const x = embed(model, ids, parts[0].switches.position);
  const hidden = new Float32Array((layers + 1) * x.length);
  const cells = parts.map((part) => heads * ids.length * part.m);
  const weights = cells.map((count) => new Float32Array(layers * count));
  hidden.set(x);
  for (let layer = 0; layer < layers; layer++) {
    parts.forEach((part, place) => {
      const start = layer * cells[place];
      block(model, part, layer, x, weights[place].subarray(start, start + cells[place]));
    });
    hidden.set(x, (layer + 1) * x.length);
  }
  return { x, hidden, weights };
}

/** Return the first hidden state (n, c): embeddings of the tokens and positions, in MiniLM normed.
 * @param {BrowserModel} model @param {number[]} ids @param {import("./positions.js").Position} position
 */
function embed(model, ids, position) {
  const { sizes, tables, weights, memory, kind } = model;
  const [c, words] = [sizes.d_model, /** @type {import("./model_file.js").Stored} */ (tables.get("words.weight"))];
  const x = memory.take(ids.length * c);
  const segment = weights.get("segment");
  ids.forEach((id, i) => {
    x.set(words.row(id), i * c);
    for (const vector of [segment, position.vector?.(i)]) {
      if (vector) for (let channel = 0; channel < c; channel++) x[i * c + channel] += vector[channel];
    }
  });
  if (kind === "Encoder") layerNorm(model, "norm", x, ids.length, x, sizes.eps);
  return x;
}

/** Scores over the vocabulary behind the last token: norm, then a linear layer.
 * @param {BrowserModel} model @param {string} norm @param {Float32Array} x (n, c)
 */
function nextToken(model, norm, x) {
  const { d_model: c, vocabulary } = model.sizes;
  const [last, logits] = [c, vocabulary].map((length) => model.memory.take(length));
  layerNorm(model, norm, x.subarray(x.length - c), 1, last, EPS);
  linear(model, "out", last, 1, logits);
  return logits.slice();
}

/** Scores of the classes: the row of [CLS] or the mean, and two linear layers with ReLU.
 * @param {BrowserModel} model @param {Float32Array} x (n, c)
 */
function classify(model, x) {
  const { sizes, weights, memory, classes } = model;
  const [c, width] = [sizes.d_model, weights.get("connected.bias")?.length ?? 0];
  const [pooled, wide, logits] = [c, width, classes.length].map((length) => memory.take(length));
  const rows = sizes.pooling === "mean" ? x.length / c : 1;
  pooled.fill(0);
  for (let at = 0; at < rows * c; at++) pooled[at % c] += x[at] / rows;
  linear(model, "connected", pooled, 1, wide);
  wide.set(wide.map((value) => Math.max(0, value)));
  linear(model, "out", wide, 1, logits);
  return logits.slice();
}

/** START and the ids of characters; what is not known has the last id.
 * @param {BrowserModel} model @param {string[]} characters
 */
function targetIds({ ids }, characters) {
  return [START, ...characters].map((token) => ids.get(token) ?? ids.size - 1);
}

/** START and the greedy translation. @param {BrowserModel} model @param {Float32Array} encoded (m, c) */
function translate(model, encoded) {
  const ids = targetIds(model, []);
  while (ids.length < (model.sizes.target_len ?? 0)) {
    const { x } = forward(model, ids, decoderParts(model, ids.length, encoded));
    const logits = nextToken(model, "out_norm", x);
    const next = logits.indexOf(Math.max(...logits));
    if (model.tokenizer.vocabulary[next] === END) break;
    ids.push(next);
  }
  return ids;
}

/** @param {BrowserModel} model @param {string} group @param {number} n @param {Options} options @returns {Part} */
function stackPart(model, group, n, options) {
  const position = encoding(model, options.position ?? "trained");
  return { name: "layers", memory: null, m: n, switches: switchesOf(model, options, group, n, n, position) };
}

/** The two kinds of blocks of a decoder; the options are those of one group.
 * @param {BrowserModel} model @param {number} n @param {Float32Array} encoded @param {string} group @param {Options} options
 * @returns {Part[]}
 */
function decoderParts(model, n, encoded, group = "", options = {}) {
  const { mlpsOff, layersOff } = options; // the MLP and the layer are parts of both kinds of attention
  const [own, cross] = ["decoder", "cross"].map((kind) => (kind === group ? options : { mlpsOff, layersOff }));
  const position = encoding(model, own.position ?? "trained", "target_position.table");
  const m = encoded.length / model.sizes.d_model;
  return [
    { name: "back_layers", memory: null, m: n, switches: switchesOf(model, own, "decoder", n, n, position) },
    { name: "cross_layers", memory: encoded, m, switches: switchesOf(model, cross, "cross", n, m, {}) },
  ];
}

/** Check options and make them the switches of a pass.
 * @param {BrowserModel} model @param {Options} options @param {string} group @param {number} n @param {number} m
 * @param {import("./positions.js").Position} position
 * @returns {Part["switches"]}
 */
function switchesOf(model, options, group, n, m, position) {
  const { allow = null, headsOff, temperature = 1, valuesOff, mlpsOff, layersOff } = options;
  const { n_layers: layers, n_heads: heads } = model.sizes;
  if (!(temperature > 0 && temperature < Infinity)) {
    throw new Error(`The temperature ${temperature} cannot divide the scores; choose a number above 0.`);
  }
  const off = new Set(headsOff);
  for (let layer = 0; layer < layers; layer++) for (let head = 0; head < heads; head++) off.delete(`${layer}.${head}`);
  if (off.size)
    throw new Error(`There is no head ${[...off][0]}; heads are “layer.head”, 0.0 to ${layers - 1}.${heads - 1}.`);
  if (allow && allow.length !== n * m && allow.length !== heads * n * m) {
    throw new Error(`The mask has ${allow.length} cells; it needs ${n} × ${m}, or as many for each of ${heads} heads.`);
  }
  // the model's own mask is "none" or "causal"
  const isCausal = model.groups[group].ownMask !== "none";
  const causal = Uint8Array.from({ length: allow?.length ?? n * m }, (_, cell) =>
    cell % m <= Math.floor(cell / m) % n ? (allow?.[cell] ?? 1) : 0,
  );
  return {
    allow: isCausal ? causal : allow,
    position,
    temperature,
    headsOff: new Set(headsOff),
    valuesOff: new Set(valuesOff),
    mlpsOff: new Set(mlpsOff),
    layersOff: new Set(layersOff),
  };
}
