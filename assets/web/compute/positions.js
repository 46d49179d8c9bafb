// Positional encodings, each with one of three places to act, as in mha_core/positions: `add` to the embeddings,
// `rotate` queries and keys, `bias` the scores.

/** @typedef {import("./model_file.js").BrowserModel} BrowserModel */
/** @typedef {import("./model_file.js").Stored} Stored */
/** Values of one head: channel `c` of token `i` is `values[start + i * stride + c]`.
 * @typedef {{values: Float32Array, start: number, stride: number}} Head */
/** @typedef {{
 *   add?: (x: Float32Array, n: number) => void,
 *   rotate?: (head: Head, n: number) => void,
 *   bias?: (scores: Float32Array, stride: number, n: number, m: number, q: Head, head: number) => void,
 * }} Position */

const BASE = 10000; // of the angles of sinusoids and rotations
const T5_BUCKETS = 32;
const T5_DISTANCE = 128;
const SHAW_DISTANCE = 16;

/** The encoding for a `position` of `Model.run`, in place of the one in `table`.
 * @param {BrowserModel} model @param {string} name @param {string} table
 * @returns {Position}
 */
export function encoding(model, name, table = "position.table") {
  const { sizes, tables } = model;
  const [c, d] = [sizes.d_model, sizes.d_model / sizes.n_heads];
  const isTrained = name === "trained";
  const kind = isTrained ? sizes.position : name;
  const learnt = sizes.position === "learned" ? tables.get(table) : undefined;
  const tableOf = () => /** @type {Stored} */ (tables.get(isTrained ? table : `random.${kind}`));
  if (kind === "shuffled" || kind.startsWith("scaled:")) {
    const factor = kind === "shuffled" ? 1 : Number(kind.slice("scaled:".length) || "x");
    if (!learnt || !Number.isFinite(factor)) {
      throw new Error(`The positions “${kind}” need a learned table and a number; one of them is missing.`);
    }
    return learned(learnt, factor, kind === "shuffled" ? model.shuffled[table] : null);
  }
  switch (kind) {
    case "none":
      return {};
    case "sinusoidal":
      return sinusoidal(c, isTrained ? sizes.amplitude : learnt ? waveOf(learnt) : 1);
    case "learned":
      return learned(tableOf());
    case "rotary":
      return rotary(d);
    case "alibi":
      return alibi(sizes.n_heads);
    case "t5":
      return t5(tableOf());
    case "shaw":
      return shaw(tableOf(), d);
  }
  throw new Error(`There are no positions “${kind}”; choose none, sinusoidal, learned, rotary, alibi, t5 or shaw.`);
}

/** The amplitude of waves that are as large as the rows of a table: their root mean square times √2.
 * @param {Stored} table
 */
function waveOf(table) {
  const values = new Float32Array(table.length);
  table.read(0, values);
  return Math.sqrt((2 * values.reduce((sum, value) => sum + value * value, 0)) / values.length);
}

/** Vaswani et al. 2017, 3.5: sines in the even channels, cosines in the odd ones.
 * @param {number} c @param {number} amplitude @returns {Position}
 */
function sinusoidal(c, amplitude) {
  return {
    add(x, n) {
      for (let i = 0; i < n; i++) {
        for (let m = 0; m < c; m += 2) {
          const angle = i * BASE ** (-m / c);
          x[i * c + m] += Math.fround(Math.sin(angle) * amplitude);
          x[i * c + m + 1] += Math.fround(Math.cos(angle) * amplitude);
        }
      }
    },
  };
}

/** A vector for each position. @param {Stored} table @param {number} factor @param {number[] | null} order @returns {Position} */
function learned(table, factor = 1, order = null) {
  return {
    add(x, n) {
      for (let i = 0; i < n; i++) {
        const values = table.row(order ? order[i] : i);
        for (let m = 0; m < values.length; m++) x[i * values.length + m] += Math.fround(values[m] * factor);
      }
    },
  };
}

/** Su et al. 2021: channels m and m + d/2 rotate as a pair. @param {number} d @returns {Position} */
function rotary(d) {
  return {
    rotate({ values, start, stride }, n) {
      for (let i = 0; i < n; i++) {
        for (let m = 0; m < d / 2; m++) {
          const angle = i * BASE ** ((-2 * m) / d);
          const [cos, sin] = [Math.fround(Math.cos(angle)), Math.fround(Math.sin(angle))];
          const first = start + i * stride + m;
          const second = first + d / 2;
          const [a, b] = [values[first], values[second]];
          values[first] = a * cos - b * sin;
          values[second] = b * cos + a * sin;
        }
      }
    },
  };
}

/** Press et al. 2022: the further away, the lower the score. @param {number} heads @returns {Position} */
function alibi(heads) {
  const lower = 2 ** Math.floor(Math.log2(heads));
  const slope = (/** @type {number} */ head) =>
    head < lower ? 2 ** ((-8 * (head + 1)) / lower) : 2 ** ((-4 * (2 * (head - lower) + 1)) / lower);
  return {
    bias(scores, stride, n, m, _, head) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) scores[i * stride + j] -= slope(head) * Math.abs(i - j);
      }
    },
  };
}

/** Raffel et al. 2020: a number for each head and bucket of distances.
 * @param {Stored} table @returns {Position}
 */
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
  return {
    bias(scores, stride, n, m, _, head) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) scores[i * stride + j] += rows[bucket(j - i)][head];
      }
    },
  };
}

/** Shaw et al. 2018: q, already divided by √d, times a vector for each distance. @param {Stored} table @param {number} d @returns {Position} */
function shaw(table, d) {
  const rows = Array.from({ length: 2 * SHAW_DISTANCE + 1 }, (_, row) => table.row(row));
  return {
    bias(scores, stride, n, m, q) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < m; j++) {
          const row = rows[Math.max(-SHAW_DISTANCE, Math.min(SHAW_DISTANCE, j - i)) + SHAW_DISTANCE];
          let sum = 0;
          for (let channel = 0; channel < d; channel++)
            sum += q.values[q.start + i * q.stride + channel] * row[channel];
          scores[i * stride + j] += sum;
        }
      }
    },
  };
}
