// A run of a model on one text, as Model.run of mha_core: every map, the hidden states and the logits.

import { block, layerNorm, linear } from "./layers.js";
import { encoding } from "./positions.js";
import { tokenize } from "./tokenizer.js";

export { tokenize };

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
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
  const mark = model.memory.used;
  try {
    const group = options.group ?? Object.keys(model.groups)[0];
    if (!model.groups[group]) throw new Error(`${model.title} has no attention of the kind “${group}”.`);
    const source = tokenize(model, text);
    if (model.kind === "EncoderDecoder" && group !== "encoder") return decoderRun(model, source, group, options);
    const { hidden, weights } = encode(model, source.ids, options, group);
    const { n_layers: layers, n_heads: heads } = model.sizes;
    const n = source.ids.length;
    const last = hidden.subarray(hidden.length - n * model.sizes.d_model);
    const logits = model.kind === "LanguageModel" ? head(model, "norm", last, n) : null;
    const classLogits = model.kind === "Classifier" ? classify(model, last, n) : null;
    return { ...source, n, m: n, keyTokens: null, layers, heads, weights, hidden, logits, classLogits };
  } finally {
    model.memory.used = mark;
  }
}

/** Embed tokens and run them through the layers of the stack.
 * @param {BrowserModel} model @param {number[]} ids @param {Options} options @param {string} group
 */
function encode(model, ids, options, group) {
  const n = ids.length;
  const position = encoding(model, options.position ?? "trained");
  const layerSwitches = switchesOf(model, options, group, n, n, position);
  const x = embed(model, ids, position);
  const { n_layers: layers, n_heads: heads } = model.sizes;
  const weights = new Float32Array(layers * heads * n * n);
  const hidden = new Float32Array((layers + 1) * x.length);
  hidden.set(x);
  for (let layer = 0; layer < layers; layer++) {
    const maps = weights.subarray(layer * heads * n * n, (layer + 1) * heads * n * n);
    block(model, `layers.${layer}`, x, null, { n, m: n }, layerSwitches(layer), maps);
    hidden.set(x, (layer + 1) * x.length);
  }
  return { hidden, weights };
}

/** Return the first hidden state (n, c): embeddings of the tokens and positions, in MiniLM normed.
 * @param {BrowserModel} model @param {number[]} ids @param {import("./positions.js").Position} position
 */
function embed(model, ids, position) {
  const { sizes, tables, weights } = model;
  const c = sizes.d_model;
  const x = model.memory.take(ids.length * c);
  ids.forEach((id, place) => x.set(/** @type {any} */ (tables.get("words.weight")).row(id), place * c));
  const segment = weights.get("segment");
  if (segment) for (let at = 0; at < x.length; at++) x[at] += segment[at % c];
  position.add?.(x, ids.length);
  if (model.kind === "Encoder") layerNorm(model, "norm", x, ids.length, x, sizes.eps);
  return x;
}

/** Scores over the vocabulary behind the last token: norm, then a linear layer.
 * @param {BrowserModel} model @param {string} norm @param {Float32Array} x (n, c) @param {number} n
 */
function head(model, norm, x, n) {
  const { d_model: c, vocabulary } = model.sizes;
  const [last, logits] = [model.memory.take(c), model.memory.take(vocabulary)];
  last.set(x.subarray((n - 1) * c, n * c));
  layerNorm(model, norm, last, 1, last, 1e-5); // of nn.LayerNorm
  linear(model, "out", last, 1, logits);
  return logits.slice();
}

/** Scores of the classes: the row of [CLS] or the mean, and two linear layers with ReLU.
 * @param {BrowserModel} model @param {Float32Array} x (n, c) @param {number} n
 */
function classify(model, x, n) {
  const { d_model: c, pooling } = model.sizes;
  const hiddenWidth = (model.weights.get("connected.bias") ?? []).length;
  const [pooled, wide, logits] = [c, hiddenWidth, model.classes.length].map((length) => model.memory.take(length));
  pooled.fill(0);
  const rows = pooling === "mean" ? n : 1;
  for (let at = 0; at < rows * c; at++) pooled[at % c] += x[at] / rows;
  linear(model, "connected", pooled, 1, wide);
  wide.forEach((value, at) => {
    wide[at] = Math.max(0, value);
  });
  linear(model, "out", wide, 1, logits);
  return logits.slice();
}

/** A run of the decoder or of its attention to the source; the rows are START and the translation, or the target.
 * @param {BrowserModel} model @param {ReturnType<typeof tokenize>} source @param {string} group @param {Options} options
 * @returns {Run}
 */
function decoderRun(model, source, group, options) {
  const isCross = group === "cross";
  if (isCross && (options.position ?? "trained") !== "trained") throw new Error(model.groups.cross.reasons.positions);
  const { n_layers: layers, n_heads: heads, target_len: limit = 0 } = model.sizes;
  const memory = encodeSource(model, source.ids);
  const ids = targetIds(model, memory, options.target);
  if (ids.length > limit)
    throw new Error(`The target has ${ids.length} tokens with its start; the decoder reads ${limit}.`);
  const [n, m] = [ids.length, isCross ? source.ids.length : ids.length];
  const position = encoding(model, (!isCross && options.position) || "trained", "target_position.table");
  const own = switchesOf(model, options, group, n, m, isCross ? {} : position);
  // the MLP and the layer are parts of both kinds of attention
  const { mlpsOff, layersOff } = options;
  const [other, otherKeys] = isCross ? ["decoder", n] : ["cross", source.ids.length];
  const others = switchesOf(model, { mlpsOff, layersOff }, other, n, otherKeys, isCross ? position : {});
  const run = isCross
    ? decode(model, ids, memory, position, others, own)
    : decode(model, ids, memory, position, own, others);
  return {
    tokens: ids.map((id, place) => {
      const token = model.tokenizer.vocabulary[id];
      return options.target && place ? [...options.target][place - 1] : token;
    }),
    ids,
    ends: [1, 0],
    n,
    m,
    keyTokens: isCross ? source.tokens : null,
    layers,
    heads,
    weights: isCross ? run.cross : run.decoder,
    hidden: run.hidden,
    logits: head(model, "out_norm", run.hidden.subarray(layers * n * model.sizes.d_model), n),
    classLogits: null,
  };
}

/** The encoder's normed output (m, c), without any option. @param {BrowserModel} model @param {number[]} ids */
function encodeSource(model, ids) {
  const { hidden } = encode(model, ids, {}, "encoder");
  const length = ids.length * model.sizes.d_model;
  const memory = model.memory.take(length);
  layerNorm(model, "norm", hidden.subarray(hidden.length - length), ids.length, memory, 1e-5);
  return memory;
}

/** START and the characters of a target, or the greedy translation.
 * @param {BrowserModel} model @param {Float32Array} memory @param {string | null} [target]
 */
function targetIds(model, memory, target) {
  const { ids, sizes } = model;
  const [start, end] = ["[START]", "[END]"].map((token) => /** @type {number} */ (ids.get(token)));
  if (typeof target === "string") return [start, ...Array.from(target, (token) => ids.get(token) ?? ids.size - 1)];
  const [written, position] = [[start], encoding(model, "trained", "target_position.table")];
  const { target_len: limit = 0, n_layers: layers, d_model: c } = sizes;
  while (written.length < limit) {
    const n = written.length;
    const own = switchesOf(model, {}, "decoder", n, n, position);
    const cross = switchesOf(model, {}, "cross", n, memory.length / c, {});
    const { hidden } = decode(model, written, memory, position, own, cross);
    const logits = head(model, "out_norm", hidden.subarray(layers * n * c), n);
    const next = logits.indexOf(Math.max(...logits));
    if (next === end) break;
    written.push(next);
  }
  return written;
}

/** Run target tokens through all layers of the decoder: attention to themselves, then to the source.
 * @param {BrowserModel} model @param {number[]} ids @param {Float32Array} memory (m, c)
 * @param {import("./positions.js").Position} position
 * @param {(layer: number) => Switches} own @param {(layer: number) => Switches} crossed
 */
function decode(model, ids, memory, position, own, crossed) {
  const { n_layers: layers, n_heads: heads, d_model: c } = model.sizes;
  const [n, m] = [ids.length, memory.length / c];
  const x = embed(model, ids, position);
  const hidden = new Float32Array((layers + 1) * n * c);
  const [decoder, cross] = [n, m].map((keys) => new Float32Array(layers * heads * n * keys));
  const layerOf = (/** @type {Float32Array} */ maps, /** @type {number} */ layer) =>
    maps.subarray((layer * maps.length) / layers, ((layer + 1) * maps.length) / layers);
  hidden.set(x);
  for (let layer = 0; layer < layers; layer++) {
    block(model, `back_layers.${layer}`, x, null, { n, m: n }, own(layer), layerOf(decoder, layer));
    block(model, `cross_layers.${layer}`, x, memory, { n, m }, crossed(layer), layerOf(cross, layer));
    hidden.set(x, (layer + 1) * x.length);
  }
  return { hidden, decoder, cross };
}

/** @typedef {import("./layers.js").Switches} Switches */

/** The switches of each layer, checked.
 * @param {BrowserModel} model @param {Options} options @param {string} group @param {number} n @param {number} m
 * @param {import("./positions.js").Position} position
 * @returns {(layer: number) => Switches}
 */
function switchesOf(model, options, group, n, m, position) {
  const { allow = null, headsOff = [], temperature = 1, valuesOff = [], mlpsOff = [], layersOff = [] } = options;
  const { n_layers: layers, n_heads: heads } = model.sizes;
  if (!(temperature > 0 && Number.isFinite(temperature))) {
    throw new Error(`The temperature ${temperature} cannot divide the scores; choose a number above 0.`);
  }
  const off = [...headsOff].map((pair) => pair.split(".").map(Number));
  const isThere = (/** @type {number} */ place, /** @type {number} */ size) =>
    Number.isInteger(place) && place >= 0 && place < size;
  if (!off.every(([layer, head]) => isThere(layer, layers) && isThere(head, heads)))
    throw new Error(`Heads are “layer.head”, up to ${layers - 1}.${heads - 1}.`);
  const [mlps, whole] = [new Set(mlpsOff), new Set(layersOff)];
  const combined = combinedMask(model.groups[group].ownMask, allow, heads, n, m);
  return (layer) => ({
    allow: combined,
    position,
    temperature,
    headsOff: new Set(off.filter(([place]) => place === layer).map(([, head]) => head)),
    valuesOff: [...valuesOff].filter((place) => place < m),
    mlpOff: mlps.has(layer),
    layerOff: whole.has(layer),
  });
}

/** A mask and the model's own together; null where nothing is masked.
 * @param {string} own @param {Uint8Array | null} allow @param {number} heads @param {number} n @param {number} m
 */
function combinedMask(own, allow, heads, n, m) {
  if (allow && allow.length !== n * m && allow.length !== heads * n * m) {
    throw new Error(
      `The mask has ${allow.length} cells; ${n} × ${m} are needed, or as many for each of ${heads} heads.`,
    );
  }
  if (own === "none") return allow;
  const combined = new Uint8Array(allow?.length ?? n * m);
  for (let cell = 0; cell < combined.length; cell++) {
    const [i, j] = [Math.floor(cell / m) % n, cell % m];
    combined[cell] = j <= i && (allow?.[cell] ?? 1) ? 1 : 0;
  }
  return combined;
}
