// What a step is, and how it came from the one before, in words that follow from the tensors themselves.

const OF = { q: "queries", k: "keys", v: "values", qkv: "queries, keys and values", x: "input", mixed: "mixed values" };
const TITLES = {
  x: () => "Input",
  "x.transpose": () => "Time first",
  q: () => "Queries",
  k: () => "Keys",
  v: () => "Values",
  "scores.product": () => "Every query times every key",
  scores: () => "Scores, scaled",
  masked: () => "Scores, masked",
  weights: () => "Softmax over the keys",
  mixed: () => "Values, mixed by the weights",
  "mixed.transpose": () => "Tokens before heads again",
  "mixed.contiguous": () => "Written in reading order",
  joined: () => "Heads joined",
  "out.project": () => "Output projection, time first",
  out: () => "Output",
};
const ENDINGS = {
  project: (of) => `Project to ${of}`,
  view: (_of, { heads, dHead }, step) =>
    `Read ${step.sizes.slice(2).reduce((a, b) => a * b)} channels as ${step.sizes.length > 4 ? "3 × " : ""}${heads} × ${dHead}`,
  transpose: () => "Heads before tokens",
};

export function titleOf(step, trace) {
  if (TITLES[step.name]) return TITLES[step.name]();
  const [base, ending] = step.name.split(".");
  if (step.onlyHead !== null) return `${TITLES[base]().split(",")[0]} of head ${step.onlyHead}`;
  return ENDINGS[ending](OF[base] ?? base, trace, step);
}

/** The steps that this one was made from; of the heads' own steps the one of the head in focus. */
export function sourcesOf(step, trace, head) {
  const from = step.from.map((n) => trace.steps[n]);
  return from.filter(({ onlyHead }) => onlyHead === null || step.onlyHead !== null || onlyHead === head);
}

/** One sentence: a view moves nothing, a copy writes the same numbers anew, everything else computes. */
export function madeFrom(step, trace) {
  const from = step.from.map((n) => trace.steps[n]);
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
    const order = step.contiguous
      ? "in the order in which they lie"
      : "in another order than they lie, so it is not contiguous";
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
