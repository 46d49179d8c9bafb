// Positional encodings, each with one of three places to act, as in mha_core/positions: a vector is added to each
// embedding, queries and keys are rotated, or the scores get a bias.

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** @typedef {import("./model_file.js").StoredTensor} StoredTensor */
/** `vector` of token i; `rotate` the head of token i that begins at `start`; `bias` of a head's score of query i, whose
 * channels begin at `start`, and key j.
 * @typedef {{
 *   vector?: (i: number) => ArrayLike<number>,
 *   rotate?: (values: Float32Array, start: number, i: number) => void,
 *   bias?: (head: number, i: number, j: number, q: Float32Array, start: number) => number,
 * }} Position */

const BASE = 10000; // of the angles of sinusoids and rotations
const T5_BUCKETS = 32;
const T5_DISTANCE = 128;
const SHAW_DISTANCE = 16;

/** The encoding for a `position` of `Model.run`, in place of the trained one, whose table has that name.
 * @param {BrowserModel} model @param {string} name @param {string} table
 * @returns {Position} */
export function encoding(model, name, table = "position.table") {
  const { sizes, tables } = model;
  const trained = sizes.position === "learned" ? tables[table] : undefined;
  if (name === "shuffled" || name.startsWith("scaled:")) {
    const [factor, order] = name === "shuffled" ? [1, model.shuffled[table]] : [Number(name.slice(7) || "x"), null];
    if (trained && Number.isFinite(factor)) return learned(trained, factor, order);
    throw new Error(`The positions “${name}” need a learned table and a number; one of them is missing.`);
  }
  const isTrained = name === "trained";
  const kind = isTrained ? sizes.position : name;
  const stored = () => tables[isTrained ? table : `random.${kind}`];
  /** @type {Record<string, () => Position>} */
  const kinds = {
    none: () => ({}),
    sinusoidal: () => sinusoidal(sizes.d_model, isTrained ? sizes.amplitude : trained ? amplitudeOf(trained) : 1),
    learned: () => learned(stored()),
    rotary: () => rotary(sizes.d_model / sizes.n_heads),
    alibi: () => alibi(sizes.n_heads),
    t5: () => t5(stored()),
    shaw: () => shaw(stored()),
  };
  if (Object.hasOwn(kinds, kind)) return kinds[kind]();
  throw new Error(`There are no positions “${kind}”; choose ${Object.keys(kinds).join(", ")}.`);
}

/** The amplitude of waves as large as the rows of a table: its root mean square times √2. @param {StoredTensor} table */
function amplitudeOf(table) {
  const values = table.read(0, table.length);
  return Math.sqrt((2 * values.reduce((sum, value) => sum + value * value, 0)) / values.length);
}

/** Vaswani et al. 2017, 3.5: sines in the even channels, cosines in the odd ones.
 * @param {number} c @param {number} amplitude @returns {Position} */
function sinusoidal(c, amplitude) {
  const wave = (/** @type {number} */ i, /** @type {number} */ channel) => {
    const angle = i * BASE ** (-(channel - (channel % 2)) / c);
    return Math.fround(amplitude * (channel % 2 ? Math.cos(angle) : Math.sin(angle)));
  };
  return { vector: (i) => Array.from({ length: c }, (_, channel) => wave(i, channel)) };
}

/** A vector for each position.
 * @param {StoredTensor} table @param {number} factor @param {number[] | null} order @returns {Position} */
function learned(table, factor = 1, order = null) {
  return { vector: (i) => table.row(order ? order[i] : i).map((value) => value * factor) };
}

/** Su et al. 2021: channels m and m + d/2 rotate as a pair. @param {number} d @returns {Position} */
function rotary(d) {
  /** @type {{cos: number, sin: number}[][]} */
  const turns = [];
  const turn = (/** @type {number} */ angle) => ({
    cos: Math.fround(Math.cos(angle)),
    sin: Math.fround(Math.sin(angle)),
  });
  return {
    rotate(values, start, i) {
      turns[i] ??= Array.from({ length: d / 2 }, (_, m) => turn(i * BASE ** ((-2 * m) / d)));
      turns[i].forEach(({ cos, sin }, m) => {
        const [first, second] = [start + m, start + m + d / 2];
        const [a, b] = [values[first], values[second]];
        values[first] = a * cos - b * sin;
        values[second] = b * cos + a * sin;
      });
    },
  };
}

/** Press et al. 2022: the further away, the lower the score. @param {number} heads @returns {Position} */
function alibi(heads) {
  const lower = 2 ** Math.floor(Math.log2(heads));
  const exponent = (/** @type {number} */ head) =>
    (head < lower ? -8 * (head + 1) : -4 * (2 * (head - lower) + 1)) / lower;
  const slopes = Array.from({ length: heads }, (_, head) => 2 ** exponent(head));
  return { bias: (head, i, j) => -slopes[head] * Math.abs(i - j) };
}

/** Raffel et al. 2020: a number for each head and bucket of distances. @param {StoredTensor} table @returns {Position} */
function t5(table) {
  const side = T5_BUCKETS / 2;
  const exact = side / 2; // distances with a bucket of their own
  const bucket = (/** @type {number} */ distance) => {
    const away = Math.abs(distance);
    const part = Math.fround(Math.log(away / exact) / Math.log(T5_DISTANCE / exact));
    const far = Math.min(side - 1, exact + Math.floor(Math.max(0, part) * (side - exact)));
    return (distance > 0 ? side : 0) + (away < exact ? away : far);
  };
  const rows = Array.from({ length: T5_BUCKETS }, (_, row) => table.row(row));
  return { bias: (head, i, j) => rows[bucket(j - i)][head] };
}

/** Shaw et al. 2018: q / √d times a vector for each distance. @param {StoredTensor} table @returns {Position} */
function shaw(table) {
  const rows = Array.from({ length: 2 * SHAW_DISTANCE + 1 }, (_, row) => table.row(row));
  return {
    bias(_, i, j, q, start) {
      const row = rows[Math.max(-SHAW_DISTANCE, Math.min(SHAW_DISTANCE, j - i)) + SHAW_DISTANCE];
      let sum = 0; // a loop, as it runs for every pair of tokens
      for (let channel = 0; channel < row.length; channel++) sum += row[channel] * q[start + channel];
      return sum;
    },
  };
}
