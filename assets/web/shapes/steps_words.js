// The group of a step in the list, and a sentence on how it was made from the previous one, derived from the tensors.

/** The groups of the list: title, and whether a step of this base name and suffix belongs to it.
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

/** The index of a step's group. */
export function groupOf({ name }) {
  const [base, ending = ""] = name.split(".");
  return GROUPS.findIndex(([, holds]) => holds(base, ending));
}

const formatCount = (/** @type {number} */ count) => count.toLocaleString("en");
/** The steps that this one was computed from; of steps per head that of the head in focus. */
export function sourcesOf(step, trace, head) {
  const from = step.parents.map((n) => trace.steps[n]);
  return from.filter(({ onlyHead }) => onlyHead === null || step.onlyHead !== null || onlyHead === head);
}

/** The sentence on memory: a view moves nothing, a copy writes the same numbers again, all else computes. */
export function madeFrom(step, trace) {
  const from = step.parents.map((n) => trace.steps[n]);
  const names = from.map(({ name }) => name).join(" and ");
  if (!from.length) return `${formatCount(step.count)} numbers come in.`;
  const [source] = from;
  if (from.length > 1 && from.every(({ onlyHead }) => onlyHead !== null) && step.onlyHead === null) {
    return step.name === "joined"
      ? `The ${from.length} heads’ own tensors, side by side.`
      : `The ${from.length} heads' own tensors, stacked only for this display; the computation has no such tensor.`;
  }
  if (step.view) {
    const place = (/** @type {Tensor} */ { sizes, strides, offset }) => [sizes, strides, offset].join();
    if (place(step) === place(source)) return `Nothing happens here; this is ${names} itself.`;
    const order = step.contiguous
      ? "in the order of memory"
      : "in another order than in memory, so it is not contiguous";
    const isPart = step.count < source.count;
    const part = isPart ? `${formatCount(step.count)} of the ${formatCount(source.count)} numbers` : "the same numbers";
    return `No number was moved. It reads ${part} of ${names} ${order}.`;
  }
  if (from.length === 1 && /^(mixed\.contiguous|joined)$/.test(step.name))
    return `No value changed. ${names} was copied (${formatCount(step.bytes)} bytes) so that it is contiguous.`;
  return `${formatCount(step.count)} numbers, computed from ${names}.`;
}
