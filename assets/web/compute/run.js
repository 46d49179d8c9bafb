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
 *   "encoder", "decoder" or "cross" of an encoder-decoder; `target`: what its decoder reads, not its translation */
/** @typedef {{
 *   tokens: string[], ids: number[], ends: [number, number], n: number, m: number, keyTokens: string[] | null,
 *   layers: number, heads: number, weights: Float32Array, hidden: Float32Array,
 *   logits: Float32Array | null, classLogits: Float32Array | null,
 * }} Run `weights` (layers, h, n, m); `hidden` (layers + 1, n, c); `keyTokens` of cross-attention, m of them;
 *   `logits` of the token behind the last; `classLogits` of a classifier */

/** Compute every map and hidden state of one text.
 * @param {BrowserModel} model @param {string} text @param {Options} options
 * @returns {Run}
 * @throws {Error} with a sentence, as `tokenize`, or about an option */
export function computeRun(model, text, options = {}) {
  const { kind, sizes, groups, arena } = model;
  const group = options.group ?? Object.keys(groups)[0];
  if (!groups[group]) throw new Error(`${model.title} has no attention of the kind “${group}”.`);
  const source = tokenize(model, text);
  const isDecoder = kind === "EncoderDecoder" && group !== "encoder";
  const mark = arena.used;
  try {
    const stack = () => ({ ...source, parts: [stackPart(model, group, source.ids.length, options)] });
    const { tokens, ids, ends, parts } = isDecoder ? decoderRows(model, source, group, options) : stack();
    const { x, hidden, weights } = forward(model, ids, parts);
    const place = group === "cross" ? 1 : 0;
    return {
      tokens,
      ids,
      ends,
      n: ids.length,
      m: parts[place].m,
      keyTokens: group === "cross" ? source.tokens : null,
      layers: sizes.n_layers,
      heads: sizes.n_heads,
      weights: weights[place],
      hidden,
      logits: isDecoder || kind === "LanguageModel" ? nextToken(model, x) : null,
      classLogits: kind === "Classifier" ? classify(model, x) : null,
    };
  } finally {
    arena.used = mark;
  }
}

/** The rows of a decoder and its blocks; the rows are START and the translation, or the target.
 * @param {BrowserModel} model @param {Tokens} source @param {string} group @param {Options} options
 * @returns {Tokens & {parts: Part[]}} */
function decoderRows(model, source, group, options) {
  const { sizes, tokenizer, groups } = model;
  if (group === "cross" && (options.position ?? "trained") !== "trained") {
    throw new Error(`${groups.cross.reasons.positions}.`);
  }
  const encoded = forward(model, source.ids, [stackPart(model, "encoder", source.ids.length, {})]).x;
  layerNorm(model, "norm", encoded, source.ids.length, encoded, EPS);
  const written = typeof options.target === "string" ? [...options.target] : null;
  const ids = written ? targetIds(model, written) : translate(model, encoded);
  if (ids.length > (sizes.target_len ?? 0)) {
    throw new Error(`The target has ${ids.length} tokens with its start; the decoder reads ${sizes.target_len}.`);
  }
  const tokens = written ? [START, ...written] : ids.map((id) => tokenizer.vocabulary[id]);
  return { tokens, ids, ends: [1, 0], parts: decoderParts(model, ids.length, encoded, group, options) };
}

/** Embed tokens and run them through the layers, each of one block or, in a decoder, of two.
 * @param {BrowserModel} model @param {number[]} ids @param {Part[]} parts */
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
 * @param {BrowserModel} model @param {number[]} ids @param {import("./positions.js").Position} position */
function embed(model, ids, position) {
  const { sizes, tables, weights, arena, kind } = model;
  const c = sizes.d_model;
  const x = arena.allocate(ids.length * c);
  ids.forEach((id, i) => {
    x.set(tables["words.weight"].row(id), i * c);
    for (const vector of [weights.segment, position.vector?.(i)]) {
      if (vector) for (let channel = 0; channel < c; channel++) x[i * c + channel] += vector[channel];
    }
  });
  if (kind === "Encoder") layerNorm(model, "norm", x, ids.length, x, sizes.eps);
  return x;
}

/** Scores over the vocabulary behind the last token: norm, then a linear layer.
 * @param {BrowserModel} model @param {Float32Array} x (n, c) */
function nextToken(model, x) {
  const { d_model: c, vocabulary } = model.sizes;
  const [last, logits] = [c, vocabulary].map((length) => model.arena.allocate(length));
  const norm = model.kind === "EncoderDecoder" ? "out_norm" : "norm";
  layerNorm(model, norm, x.subarray(x.length - c), 1, last, EPS);
  linear(model, "out", last, 1, logits);
  return logits.slice();
}

/** Scores of the classes: the row of [CLS] or the mean, and two linear layers with ReLU.
 * @param {BrowserModel} model @param {Float32Array} x (n, c) */
function classify(model, x) {
  const { sizes, weights, arena, classes } = model;
  const c = sizes.d_model;
  const [pooled, wide, logits] = [c, weights["connected.bias"].length, classes.length].map((length) =>
    arena.allocate(length),
  );
  const rows = sizes.pooling === "mean" ? x.length / c : 1;
  pooled.fill(0);
  for (let at = 0; at < rows * c; at++) pooled[at % c] += x[at] / rows;
  linear(model, "connected", pooled, 1, wide);
  wide.set(wide.map((value) => Math.max(0, value)));
  linear(model, "out", wide, 1, logits);
  return logits.slice();
}

/** START and the ids of characters; what is not known has the last id.
 * @param {BrowserModel} model @param {string[]} characters */
function targetIds({ ids }, characters) {
  return [START, ...characters].map((token) => ids.get(token) ?? ids.size - 1);
}

/** START and the greedy translation. @param {BrowserModel} model @param {Float32Array} encoded (m, c) */
function translate(model, encoded) {
  const [ids, mark] = [targetIds(model, []), model.arena.used];
  while (ids.length < (model.sizes.target_len ?? 0)) {
    model.arena.used = mark;
    const { x } = forward(model, ids, decoderParts(model, ids.length, encoded));
    const logits = nextToken(model, x);
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
 * @param {BrowserModel} model @param {number} n @param {Float32Array} encoded @param {string} group
 * @param {Options} options @returns {Part[]} */
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
 * @param {import("./positions.js").Position} position @returns {Part["switches"]} */
function switchesOf(model, options, group, n, m, position) {
  const { allow = null, headsOff, temperature = 1, valuesOff, mlpsOff, layersOff } = options;
  const { n_layers: layers, n_heads: heads } = model.sizes;
  if (!(temperature > 0 && temperature < Infinity)) {
    throw new Error(`The temperature ${temperature} cannot divide the scores; choose a number above 0.`);
  }
  const off = new Set(headsOff);
  for (let index = 0; index < layers * heads; index++) off.delete(`${Math.floor(index / heads)}.${index % heads}`);
  if (off.size) throw new Error(`There is no head ${[...off][0]}; heads are 0.0 to ${layers - 1}.${heads - 1}.`);
  if (allow && allow.length !== n * m && allow.length !== heads * n * m) {
    throw new Error(`The mask has ${allow.length} cells; it needs ${n} × ${m}, or as many for each of the heads.`);
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
