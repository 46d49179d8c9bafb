// What a step is, and how it came from the one before, in words that follow from the tensors themselves.

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
export const axisName = ({ text, letter }) =>
  letter
    ? text
        .split(" ")
        .map((part) => AXES[part] ?? part)
        .join(" × ")
    : text === "1"
      ? "the same for all heads"
      : "q, k, v";

const OF = { q: "queries", k: "keys", v: "values", qkv: "queries, keys and values", x: "input", mixed: "mixed values" };
const TITLES = {
  x: "Input",
  "x.transpose": "Time first",
  q: "Queries",
  k: "Keys",
  v: "Values",
  "scores.product": "Every query times every key",
  scores: "Scores, scaled",
  "masked.allow": "The mask, one for all heads",
  masked: "Scores, masked",
  "weights.exp": "Powers of the scores",
  weights: "Softmax over the keys",
  "weights.dropout": "Weights after dropout",
  "weights.values_off": "Weights, 0 where the value is off",
  mixed: "Values, mixed by the weights",
  "mixed.transpose": "Tokens before heads again",
  "mixed.contiguous": "Written in reading order",
  joined: "Heads joined",
  "out.project": "Output projection, time first",
  out: "Output",
};
const ENDINGS = {
  project: (of) => `Project to ${of}`,
  view: (_of, { heads, dHead }, step) =>
    `Read ${step.sizes.slice(2).reduce((a, b) => a * b)} channels as ${step.sizes.length > 4 ? "3 × " : ""}${heads} × ${dHead}`,
  transpose: () => "Heads before tokens",
  shared: (of) => `${of[0].toUpperCase()}${of.slice(1)} that several heads share`,
  repeat: (of) => `The same ${of} for each head of a group`,
};

export function titleOf(step, trace) {
  if (TITLES[step.name]) return TITLES[step.name];
  const [base, ending] = step.name.split(".");
  if (step.onlyHead !== null) {
    const own = TITLES[step.name.replace(/\.head\d+$/, "")] ?? TITLES[base];
    return `${own.split(",")[0]} of head ${step.onlyHead}`;
  }
  return ENDINGS[ending](OF[base] ?? base, trace, step);
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
  if (!from.length) return `${step.count.toLocaleString("en")} numbers come in.`;
  const [one] = from;
  if (from.length > 1 && from.every(({ onlyHead }) => onlyHead !== null) && step.onlyHead === null) {
    return step.name === "joined"
      ? `The ${from.length} heads' own tensors, one beside the other.`
      : `The ${from.length} heads' own tensors, stacked only for this display; the computation has no such tensor.`;
  }
  if (step.view) {
    const same =
      step.sizes.join() === one.sizes.join() &&
      step.strides.join() === one.strides.join() &&
      step.offset === one.offset;
    if (same) return `Nothing happened here: this is ${names} itself.`;
    const order = step.contiguous ? "in the order of memory" : "in another order than memory, so it is not contiguous";
    const part =
      step.count < one.count
        ? `${step.count.toLocaleString("en")} of the ${one.count.toLocaleString("en")} numbers`
        : "the same numbers";
    return `No number moved: it reads ${part} of ${names} ${order}.`;
  }
  if (from.length === 1 && step.holdsTheSameAs(one))
    return `No value changed: ${names} was copied (${step.bytes.toLocaleString("en")} bytes) ${step.contiguous ? "so that it is contiguous" : "to the same places"}.`;
  return `${step.count.toLocaleString("en")} numbers, computed from ${names}.`;
}
