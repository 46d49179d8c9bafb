// Measures of all heads: the selected ones, their order, and means over several texts.

/** @typedef {{x: string, y: string, by: string, up: boolean, on: string}} Settings
 * measures of both axes and of the sort order; ascending or not; the text that is measured
 */

export const HEAD = "head"; // sort column of the head names, in order of layers and heads
export const SOURCES = ["random", "ours"]; // texts that a link can name, besides the sentence
const isSwitch = (/** @type {string} */ word) => word === "up" || word.startsWith("by-") || SOURCES.includes(word);

/** @param {string} state as in the link: `previous.entropy.by-first.up.ours`
 * @param {string[]} names of the measures; empty while they are pending @returns {Settings}
 */
export function readShown(state, names) {
  const words = state.split(".");
  const isName = (/** @type {string} */ word) => (names.length ? names.includes(word) : !isSwitch(word));
  const [x = "previous", y = "entropy"] = words.filter((word) => word && isName(word));
  const sortKey = words.find((word) => word.startsWith("by-"))?.slice(3) ?? x;
  const measuredOn = SOURCES.find((source) => words.includes(source)) ?? "";
  return { x, y, by: sortKey === HEAD || isName(sortKey) ? sortKey : x, up: words.includes("up"), on: measuredOn };
}

/** @param {Settings} settings */
export const writeShown = ({ x, y, by, up, on }) =>
  [x, y, by === x ? "" : `by-${by}`, up ? "up" : "", on].filter(Boolean).join(".");

/** Sort heads by a measure; ties and missing values keep the order of the model.
 * @param {number} count @param {ArrayLike<number> | null | undefined} values @param {boolean} up ascending
 */
export function ordered(count, values, up) {
  const all = [...Array(count).keys()];
  if (values) all.sort((a, b) => (up ? values[a] - values[b] : values[b] - values[a]) || a - b);
  else if (up) all.reverse();
  return all;
}

/** Format a value with four digits, as in every table. @param {number} value */
export const digits = (value) => (value > 0 && value < 0.00005 ? "<0.0001" : value.toFixed(4));

/** @param {import("../base/messages.js").HeadsOverview} header @param {Float32Array} floats @returns {Measure[]} */
export function withValues({ measures, layers, heads }, floats) {
  const present = measures.filter(({ rows }) => rows);
  const valuesOf = (/** @type {number} */ index) =>
    floats.subarray(index * layers * heads, (index + 1) * layers * heads);
  return measures.map((measure) => ({ ...measure, values: measure.rows ? valuesOf(present.indexOf(measure)) : null }));
}

/** Mean measures over several texts, each text weighted by its rows. */
export class Pool {
  /** @type {Map<string, {sums: Float64Array, rows: number}>} */
  #sums = new Map();
  #made = /** @type {Measure[] | null} */ (null);
  texts = 0;

  /** @param {Measure[]} measures of another text */
  add(measures) {
    this.texts += 1;
    this.#made = null;
    for (const { name, rows, values } of measures) {
      if (!values || !rows) continue;
      const had = this.#sums.get(name) ?? { sums: new Float64Array(values.length), rows: 0 };
      for (let index = 0; index < values.length; index += 1) had.sums[index] += rows * values[index];
      had.rows += rows;
      this.#sums.set(name, had);
    }
  }

  /** The measures pooled over all texts so far; cached.
   * @param {Omit<Measure, "values">[]} measures @returns {Measure[]} */
  pooled(measures) {
    this.#made ??= measures.map((measure) => {
      const had = this.#sums.get(measure.name);
      if (!had) return { ...measure, rows: 0, values: null };
      return { ...measure, missing: "", rows: had.rows, values: Float32Array.from(had.sums, (sum) => sum / had.rows) };
    });
    return this.#made;
  }
}
