// Why a step is there: one sentence each, with the sizes and numbers of the tensor that is shown. And which lesson shows
// what happens without it.

import { many } from "../base/words.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {import("./tensor.js").Trace} Trace */
/** @typedef {{step: Tensor, one: Tensor, trace: Trace, at: (letter: string) => number, rows: number, matrix: string}} Scene
 * a step and the first that it was made from; sizes by letter; the rows of a head's matrix, and the matrix as words
 */

const whole = (/** @type {number} */ count) => count.toLocaleString("en");
const WORDS = { q: "query", k: "key", v: "value" };

/** Heads stand before the two axes that a matrix product works on. @param {Scene} scene */
function split({ step, one, trace, at, matrix }) {
  const heads = step.axis("h");
  const { length } = step.sizes;
  if (heads < 0) return "";
  if (one?.name.endsWith(".transpose") && one.sizes.join() === step.sizes.join()) return placed(step);
  if (step.expression.includes("einsum("))
    return `einsum names the axes of its result, so it writes this order at once: no view, no transpose. Each head has its own ${matrix} matrix.`;
  if (heads !== length - 3)
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
  const size = step.count / step.sizes[0] / step.sizes[1];
  const own = step.sizes.length > 4 ? `3 × ${heads} × ${dHead}` : `${heads} × ${dHead}`;
  return `A head is a part of the channels: ${whole(size)} = ${own}. A head’s ${dHead} lie side by side (stride ${one.strides[one.strides.length - 1]}), so view reads the same memory in another shape.`;
}

/** @param {Scene} scene */
function project({ step, one, trace, at }) {
  const [name] = step.name.split(".");
  const wide = at("c") || at("d");
  const from = one?.sizes[one.sizes.length - 1] ?? wide;
  if (name === "qkv")
    return `One ${from} × ${wide} matrix makes queries, keys and values at once: x is read only once.`;
  const word = WORDS[/** @type {"q"} */ (name)] ?? "output";
  if (name === "out")
    return `Wᵒ is the one place where heads meet: until here none of the ${trace.heads} knows of another.`;
  return `A learned ${from} × ${wide} matrix makes each token’s ${word} from its ${from} channels.`;
}

/** What is found in the memory of a step, looked for once. @template Found @param {(step: Tensor, one: Tensor) => Found} find */
function once(find) {
  const known = /** @type {WeakMap<Float32Array, Found>} */ (new WeakMap());
  return (/** @type {Tensor} */ step, one = step) => {
    const found = known.get(step.memory) ?? find(step, one);
    known.set(step.memory, found);
    return found;
  };
}

const sumOf = once(({ memory }) => memory.reduce((all, value) => all + value, 0));
const hiddenIn = once(({ memory }) => memory.filter((value) => value === -Infinity).length);

/** What softmax runs over. @param {Scene} scene */
function weights({ step, at }) {
  const full = !step.here || Math.abs(sumOf(step) - step.count / at("j")) < 0.5;
  const keys = step.axis("j");
  const last = keys === step.sizes.length - 1 ? ", the last one" : "";
  return `softmax runs over the keys, axis ${keys}${last}: each query has ${at("j")} weights that sum to 1${full ? "" : ", or to 0 where none is allowed"}. Over any other axis they would not.`;
}

/** @param {Scene} scene */
function masked({ step }) {
  return `${whole(hiddenIn(step))} of ${whole(step.count)} scores are −∞ now: softmax makes a weight of 0 of each, so nothing is taken in from there.`;
}

/** What a mask leaves out. @param {Scene} scene */
function allowed({ step }) {
  const closed = step.here ? step.memory.filter((value) => !value).length : 0;
  return `True where a query may look: ${whole(closed)} of ${whole(step.count)} places are closed. Its last axis is 1, so it stretches over all heads: none has a mask of its own.`;
}

/** How many weights dropout took, and what the rows sum to since. */
const dropped = once((step, one) => {
  const sums = /** @type {Map<number, number>} */ (new Map());
  const keys = step.axis("j");
  let [taken, there] = [0, 0];
  step.each((place, index) => {
    const row = step.place(index.with(keys, 0));
    sums.set(row, (sums.get(row) ?? 0) + step.memory[place]);
    if (!one.value(index)) return;
    there += 1;
    if (!step.memory[place]) taken += 1;
  });
  const all = [...sums.values()];
  const ends = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const [low, high] = ends.map((sum) => sum.toFixed(2));
  return `${whole(taken)} of the ${whole(there)} weights above 0 are 0 now, drawn by chance, and the others grew by one factor: a row sums to 1 on average only, here to anything from ${low} to ${high}. In use, after training, nothing is dropped.`;
});

/** @param {Scene} scene */
function dropout({ step, one }) {
  if (step.onlyHead === null && one.onlyHead !== null) return "What dropout left of each head’s weights, side by side.";
  return step.here && one.here ? dropped(step, one) : "";
}

/** @param {Scene} scene */
function copied({ step, one, trace }) {
  const { dHead } = trace;
  const apart = one.strides[one.axis("h")];
  if (apart === dHead || one.contiguous) return "It is in order already, so nothing has to be copied.";
  return `From one head of a token to its next is a jump of ${whole(apart)} places, not ${dHead}, and view cannot join what does not lie side by side. contiguous() copies it into order: now ${step.strides[step.axis("h")]}.`;
}

/** @type {Record<string, (scene: Scene) => string>} */
const WHY = {
  x: ({ at, rows }) => `${rows} tokens with ${at("c")} channels each: all that this layer knows of the sentence.`,
  "x.transpose": () => "This spelling counts time first, as old recurrent code did. No number moves for it.",
  "scores.product": ({ step, one, at, matrix }) =>
    `Each query meets each key: ${one ? one.sizes[one.axis("i")] : ""} × ${one ? one.sizes[one.axis("d")] : ""} times ${one ? one.sizes[one.axis("d")] : ""} × ${at("j")} gives ${matrix} in every head. ${step.expression.includes("einsum(") ? "einsum sums over the one letter that is missing on the right, so nothing is turned round for it." : "k.transpose(2, 3) stands its rows up as columns."}`,
  scores: ({ trace }) =>
    `A sum of ${trace.dHead} products spreads like √${trace.dHead} = ${Math.sqrt(trace.dHead).toFixed(2)}. Undivided, softmax would pick nearly one key alone.`,
  "masked.allow": allowed,
  masked,
  "weights.exp": () =>
    "Each number over the sum of its row is a weight. softmax subtracts the largest score of a row first, which changes no weight: exp alone would be ∞ for a score of 88.7 and more.",
  weights,
  "weights.dropout": dropout,
  "weights.values_off": () =>
    "After the softmax, the weights on a value that is off are set to 0, except in its own row. The map stays; a row takes in less.",
  mixed: ({ trace }) =>
    `Each token takes in the values of the tokens that it looks at, by its row of ${trace.tokens.length} weights. Every head mixes its own ${trace.dHead} features.`,
  "mixed.transpose": ({ trace }) =>
    `The way back: a token’s ${many(trace.heads, "head")} must stand side by side, before its ${trace.dHead} features, to be read as one row.`,
  "mixed.contiguous": copied,
  joined: ({ trace, at }) =>
    `${many(trace.heads, "head")} of ${trace.dHead} features are ${at("c")} channels again, one head behind the other: the size that the layer began with.`,
  out: ({ trace, step, one }) =>
    step.view && one
      ? "Batch first again, as it came in."
      : `Wᵒ is the one place where heads meet: until here none of the ${trace.heads} knows of another.`,
};

/** @type {Record<string, (scene: Scene) => string>} */
const ENDINGS = { project, view, transpose: split };

/** One sentence on what a step is for. @param {Tensor} step @param {Trace} trace */
export function whyOf(step, trace) {
  const name = step.name.replace(/\.head\d+$/, "");
  const [base, ending] = name.split(".");
  const one = trace.steps[step.parents[0]];
  const at = (/** @type {string} */ letter) => step.sizes[step.axis(letter)] ?? 0;
  const rows = at("i") || at("j");
  const columns = step.hasKeys ? at("j") : at("d") || at("c");
  const scene = { step, one, trace, at, rows, matrix: `${rows} × ${columns}` };
  if (step.onlyHead !== null && "qkv".includes(base)) return project(scene);
  const own = WHY[name] ?? ENDINGS[ending] ?? ("qkv".includes(base) ? split : null);
  return own ? own(scene) : "";
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

/** The lesson that belongs to a step, null where there is none.
 * @param {string} name @param {string} implementation @returns {string | null}
 */
export function lessonOf(name, implementation) {
  if (implementation === "sequence_first" && name.startsWith("scores")) return "relative";
  if (/^(mixed|out|x)\.transpose$/.test(name)) return name.startsWith("mixed") ? "contiguous" : null;
  if (/^scores(\.|$)/.test(name)) return "products are loops";
  const [base, ending = base] = name.replace(/\.head\d+$/, "").split(".");
  return LESSON_OF[ending] ?? null;
}
