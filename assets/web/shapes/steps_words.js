// What a step is, how it came from the one before, and why it is there, in words that follow from the tensors themselves;
// and which lesson shows what happens without it.

import { many } from "../base/words.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {import("./tensor.js").Trace} Trace */
/** @typedef {{step: Tensor, one: Tensor, trace: Trace, at: (letter: string) => number, rows: number, matrix: string}} Scene
 * a step and the first that it was made from; sizes by letter; the rows of a head's matrix, and the matrix as words
 */

/** The groups of the list: title, and whether a step of this base and ending belongs to it.
 * @type {[string, (base: string, ending: string) => boolean][]}
 */
const GROUPS = [
  [
    "Project",
    (base, ending) =>
      base === "x" || (base !== "out" && ending === "project") || /^[qkv]\.head/.test(`${base}.${ending}`),
  ],
  ["Split", (base) => /^(q|k|v|qkv)$/.test(base)],
  ["Score", (base) => /^(scores|masked|weights)$/.test(base)],
  ["Mix", (base, ending) => base === "mixed" && (!ending || ending.startsWith("head"))],
  ["Join", () => true],
];
export const GROUP_TITLES = GROUPS.map(([title]) => title);

/** The place of a step's group. */
export function groupOf({ name }) {
  const [base, ending = ""] = name.split(".");
  return GROUPS.findIndex(([, holds]) => holds(base, ending));
}

const AXES = {
  b: "batch",
  i: "queries",
  j: "keys",
  h: "heads",
  g: "key/value heads",
  d: "features",
  c: "channels",
  v: "words",
};

/** An axis as words: "heads", "3 × channels", and of the axis of three "q, k, v". */
export function axisName({ text, letter }) {
  if (!letter) return text === "1" ? "the same for all heads" : "q, k, v";
  const parts = text.split(" ").map((part) => AXES[part] ?? part);
  return parts.join(" × ");
}

const whole = (/** @type {number} */ count) => count.toLocaleString("en");
const OF = { q: "queries", k: "keys", v: "values", qkv: "queries, keys and values", x: "input", mixed: "mixed values" };
const ONE = { q: "query", k: "key", v: "value" };
const MEETING = (/** @type {Trace} */ { heads }) =>
  `Wᵒ is the one place where heads meet: until here none of the ${heads} knows of another.`;

/** Heads stand before the two axes that a matrix product works on. @param {Scene} scene */
function split({ step, one, trace, at, matrix }) {
  const heads = step.axis("h");
  if (heads < 0) return "";
  if (one?.name.endsWith(".transpose") && one.sizes.join() === step.sizes.join()) return placed(step);
  if (step.expression.includes("einsum("))
    return `einsum names the axes of its result, so it writes this order at once: no view, no transpose. Each head has its own ${matrix} matrix.`;
  if (heads !== step.sizes.length - 3)
    return `This order, ${step.letters.join(" ")}, needs no transpose: einsum names the axes that it multiplies, so heads may stand behind the tokens.`;
  if (step.onlyHead === null && trace.implementation === "naive")
    return `The paper’s own way: every head has its own matrices, so there is nothing to split. ${at("h")} results of ${matrix}.`;
  return `matmul works on the last two axes. So the ${many(at("h"), "head")} must stand before them, and each head sees its own ${matrix} matrix.`;
}

/** The place where a rotary encoding acts. @param {Tensor} step */
function placed(step) {
  if (!step.view)
    return "The positions act here: q and k are turned by their place, so that q · k follows the distance.";
  if (step.name === "v") return "The same tensor under its final name: positions never turn a value.";
  return "A rotary encoding would turn q and k here. None is in use, so it is the same tensor under its final name.";
}

/** @param {Scene} scene */
function view({ step, trace, one }) {
  const { heads, dHead } = trace;
  const own = `${step.sizes.length > 4 ? "3 × " : ""}${heads} × ${dHead}`;
  const size = whole(step.count / step.sizes[0] / step.sizes[1]);
  return `A head is a part of the channels: ${size} = ${own}. A head’s ${dHead} lie side by side (stride ${one.strides.at(-1)}), so view reads the same memory in another shape.`;
}

/** @param {Scene} scene */
function project({ step, one, trace, at }) {
  const [name] = step.name.split(".");
  const wide = at("c") || at("d");
  const from = one?.sizes.at(-1) ?? wide;
  if (name === "qkv")
    return `One ${from} × ${wide} matrix makes queries, keys and values at once: x is read only once.`;
  if (name === "out") return MEETING(trace);
  return `A learned ${from} × ${wide} matrix makes each token’s ${ONE[name]} from its ${from} channels.`;
}

/** @param {Scene} scene */
function copied({ step, one, trace }) {
  const { dHead } = trace;
  const apart = one.strides[one.axis("h")];
  if (apart === dHead || one.contiguous) return "It is in order already, so nothing has to be copied.";
  return `From one head of a token to its next is a jump of ${whole(apart)} places, not ${dHead}, and view cannot join what does not lie side by side. contiguous() copies it into order: now ${step.strides[step.axis("h")]}.`;
}

/** @param {Scene} scene */
function product({ step, one, at, matrix }) {
  const [high, wide] = one ? [one.sizes[one.axis("i")], one.sizes[one.axis("d")]] : ["", ""];
  const turned = step.expression.includes("einsum(")
    ? "einsum sums over the one letter that is missing on the right, so nothing is turned round for it."
    : "k.transpose(2, 3) stands its rows up as columns.";
  return `Each query meets each key: ${high} × ${wide} times ${wide} × ${at("j")} gives ${matrix} in every head. ${turned}`;
}

/** What softmax runs over. @param {Scene} scene */
function weights({ step, at }) {
  const sum = step.memory.reduce((all, value) => all + value, 0);
  const isFull = !step.here || Math.abs(sum - step.count / at("j")) < 0.5;
  const keys = step.axis("j");
  const last = keys === step.sizes.length - 1 ? ", the last one" : "";
  return `softmax runs over the keys, axis ${keys}${last}: each query has ${at("j")} weights that sum to 1${isFull ? "" : ", or to 0 where none is allowed"}. Over any other axis they would not.`;
}

/** How many numbers of a step's memory are this one. @param {Tensor} step @param {number} wanted */
const counted = ({ memory }, wanted) => whole(memory.filter((value) => value === wanted).length);

/** Of each step, or of each that ends so: what it is, and why it is there.
 * @type {Record<string, [string | ((of: string, trace: Trace, step: Tensor) => string), string | ((scene: Scene) => string)]>}
 */
const STEPS = {
  x: [
    "Input",
    ({ at, rows }) => `${rows} tokens with ${at("c")} channels each: all that this layer knows of the sentence.`,
  ],
  "x.transpose": ["Time first", "This spelling counts time first, as old recurrent code did. No number moves for it."],
  q: ["Queries", split],
  k: ["Keys", split],
  v: ["Values", split],
  "scores.product": ["Every query times every key", product],
  scores: [
    "Scores, scaled",
    ({ trace: { dHead } }) =>
      `A sum of ${dHead} products spreads like √${dHead} = ${Math.sqrt(dHead).toFixed(2)}. Undivided, softmax would pick nearly one key alone.`,
  ],
  "masked.allow": [
    "The mask, one for all heads",
    ({ step }) =>
      `True where a query may look: ${counted(step, 0)} of ${whole(step.count)} places are closed. Its last axis is 1, so it stretches over all heads: none has a mask of its own.`,
  ],
  masked: [
    "Scores, masked",
    ({ step }) =>
      `${counted(step, -Infinity)} of ${whole(step.count)} scores are −∞ now: softmax makes a weight of 0 of each, so nothing is taken in from there.`,
  ],
  "weights.exp": [
    "Powers of the scores",
    "Each number over the sum of its row is a weight. softmax subtracts the largest score of a row first, which changes no weight: exp alone would be ∞ for a score of 88.7 and more.",
  ],
  weights: ["Softmax over the keys", weights],
  "weights.dropout": [
    "Weights after dropout",
    "Some weights are 0 now, drawn by chance, and the others grew by one factor: a row sums to 1 on average only. In use, after training, nothing is dropped.",
  ],
  "weights.values_off": [
    "Weights, 0 where the value is off",
    "After the softmax, the weights on a value that is off are set to 0, except in its own row. The map stays; a row takes in less.",
  ],
  mixed: [
    "Values, mixed by the weights",
    ({ trace }) =>
      `Each token takes in the values of the tokens that it looks at, by its row of ${trace.tokens.length} weights. Every head mixes its own ${trace.dHead} features.`,
  ],
  "mixed.transpose": [
    "Tokens before heads again",
    ({ trace }) =>
      `The way back: a token’s ${many(trace.heads, "head")} must stand side by side, before its ${trace.dHead} features, to be read as one row.`,
  ],
  "mixed.contiguous": ["Written in reading order", copied],
  joined: [
    "Heads joined",
    ({ trace, at }) =>
      `${many(trace.heads, "head")} of ${trace.dHead} features are ${at("c")} channels again, one head behind the other: the size that the layer began with.`,
  ],
  "out.project": ["Output projection, time first", project],
  out: ["Output", ({ trace, step, one }) => (step.view && one ? "Batch first again, as it came in." : MEETING(trace))],
  project: [(of) => `Project to ${of}`, project],
  view: [
    (_of, { heads, dHead }, step) =>
      `Read ${step.sizes.slice(2).reduce((a, b) => a * b)} channels as ${step.sizes.length > 4 ? "3 × " : ""}${heads} × ${dHead}`,
    view,
  ],
  transpose: ["Heads before tokens", split],
  shared: [(of) => `${of[0].toUpperCase()}${of.slice(1)} that several heads share`, split],
  repeat: [(of) => `The same ${of} for each head of a group`, split],
};

/** The name without the head that it is of. @param {Tensor} step */
const shared = ({ name }) => name.replace(/\.head\d+$/, "");

/** @param {Tensor} step */
const wordsOf = (step) => STEPS[shared(step)] ?? STEPS[shared(step).split(".")[1]];

/** @param {Tensor} step @param {Trace} trace */
export function titleOf(step, trace) {
  const [base] = step.name.split(".");
  const [title] = wordsOf(step);
  const text = typeof title === "string" ? title : title(OF[base] ?? base, trace, step);
  return step.onlyHead === null ? text : `${text.split(",")[0]} of head ${step.onlyHead}`;
}

/** One sentence on what a step is for. @param {Tensor} step @param {Trace} trace */
export function whyOf(step, trace) {
  const one = trace.steps[step.parents[0]];
  const at = (/** @type {string} */ letter) => step.sizes[step.axis(letter)] ?? 0;
  const rows = at("i") || at("j");
  const columns = step.hasKeys ? at("j") : at("d") || at("c");
  const scene = { step, one, trace, at, rows, matrix: `${rows} × ${columns}` };
  const isProjection = step.onlyHead !== null && "qkv".includes(shared(step));
  const why = isProjection ? project : wordsOf(step)[1];
  return typeof why === "string" ? why : why(scene);
}

/** The steps that this one was made from; of the heads' own steps the one of the head in focus. */
export function sourcesOf(step, trace, head) {
  const from = step.parents.map((n) => trace.steps[n]);
  return from.filter(({ onlyHead }) => onlyHead === null || step.onlyHead !== null || onlyHead === head);
}

/** One sentence: a view moves nothing, a copy writes the same numbers anew, everything else computes. */
export function madeFrom(step, trace) {
  const from = step.parents.map((n) => trace.steps[n]);
  const names = from.map(({ name }) => name).join(" and ");
  if (!from.length) return `${whole(step.count)} numbers come in.`;
  const [one] = from;
  if (from.length > 1 && from.every(({ onlyHead }) => onlyHead !== null) && step.onlyHead === null) {
    return step.name === "joined"
      ? `The ${from.length} heads' own tensors, one beside the other.`
      : `The ${from.length} heads' own tensors, stacked only for this display; the computation has no such tensor.`;
  }
  if (step.view) {
    const place = (/** @type {Tensor} */ { sizes, strides, offset }) => [sizes, strides, offset].join();
    if (place(step) === place(one)) return `Nothing happened here: this is ${names} itself.`;
    const order = step.contiguous ? "in the order of memory" : "in another order than memory, so it is not contiguous";
    const isPart = step.count < one.count;
    const part = isPart ? `${whole(step.count)} of the ${whole(one.count)} numbers` : "the same numbers";
    return `No number moved: it reads ${part} of ${names} ${order}.`;
  }
  if (from.length === 1 && /^(mixed\.contiguous|joined)$/.test(step.name))
    return `No value changed: ${names} was copied (${whole(step.bytes)} bytes) so that it is contiguous.`;
  return `${whole(step.count)} numbers, computed from ${names}.`;
}

/** The lesson on what happens without a step of this ending, or on the way to it. @type {Record<string, string>} */
const LESSON_OF = {
  view: "no transpose",
  transpose: "no transpose",
  product: "products are loops",
  weights: "wrong axis",
  contiguous: "contiguous",
  joined: "contiguous",
  allow: "mask shapes",
  out: "write it",
  dropout: "dropout",
};

/** The lesson that belongs to a step, null where there is none. @param {Tensor} step @param {string} implementation */
export function lessonOf(step, implementation) {
  const name = shared(step);
  if (implementation === "sequence_first" && name.startsWith("scores")) return "relative";
  if (/^(mixed|out|x)\.transpose$/.test(name)) return name.startsWith("mixed") ? "contiguous" : null;
  if (/^scores(\.|$)/.test(name)) return "products are loops";
  return LESSON_OF[name.split(".").at(-1) ?? ""] ?? null;
}
