// A model's file (mha_core/show/model_file.py has its format): checked, and its weights made float32.

import { Arena, roomFor } from "./arena.js";

const FORMAT = "headlight model ";
const VERSION = "1";
const HEADER_BYTES = 128; // bytes of the first line
const BLOCK = 96; // values of a block, which share a scale

/** @typedef {{name: string, shape: number[], type: "float32" | "int18"}} Tensor */
/** @typedef {{vocabulary: number, d_model: number, n_heads: number, n_layers: number, max_len: number,
 *   position: string, amplitude: number, d_feed_forward: number, residual: boolean, norm: boolean, norm_after: boolean,
 *   eps: number, target_len?: number, pooling?: string}} Sizes */
/** @typedef {{reasons: Record<string, string>, ownMask: string}} Abilities */
/** @typedef {{split: string, vocabulary: string[], unknown: string, special: string[]}} Vocabulary */
/** @typedef {{name: string, title: string, kind: "Encoder" | "Classifier" | "LanguageModel" | "EncoderDecoder",
 *   sizes: Sizes, ends: [number, number], groups: Record<string, Abilities>, classes: string[], tokenizer: Vocabulary,
 *   shuffled: Record<string, number[]>, tensors: Tensor[]}} Header */
/** The header of a model's file, its weights by name, and its tables, of which a run reads a few rows.
 * @typedef {Header & {ids: Map<string, number>, arena: Arena, weights: Record<string, Float32Array>,
 *   tables: Record<string, StoredTensor>}} BrowserModel */

/** Open the bytes of a model's file.
 * @param {Uint8Array} bytes @param {{wasm?: boolean}} options without WebAssembly plain JavaScript computes the same
 * @returns {Promise<BrowserModel>}
 * @throws {Error} with a sentence: no such file, another version, cut off or changed */
export async function openModel(bytes, { wasm = true } = {}) {
  const line = new TextDecoder("latin1").decode(bytes.subarray(0, HEADER_BYTES));
  if (!line.startsWith(FORMAT)) throw new Error("This is not a model file of Headlight.");
  const [version, length, digest] = line.slice(FORMAT.length).trim().split(" ");
  if (version !== VERSION) {
    throw new Error(`This model file has format ${version}, and this page reads format ${VERSION}; export both again.`);
  }
  const content = new Uint8Array(bytes.subarray(HEADER_BYTES)); // copied: aligned, and nobody changes it
  if (content.length < Number(length) || !digest) {
    const sizes = `${bytes.length.toLocaleString("en")} of ${(Number(length) + HEADER_BYTES).toLocaleString("en")} bytes`;
    throw new Error(`The model file is cut off: ${sizes} are here. Load it again.`);
  }
  if (((await sha256(content)) ?? digest) !== digest) {
    throw new Error("The model file is damaged or was exchanged: its bytes do not have the SHA-256 that it states.");
  }
  const start = 4 + new DataView(content.buffer).getUint32(0, true);
  /** @type {Header} */
  const header = JSON.parse(new TextDecoder().decode(content.subarray(4, start)));
  return { ...header, ...placeWeights(header, content.subarray(start), wasm) };
}

/** SHA-256 as 64 hexadecimal digits. A page that came over plain http has none; there the length alone is checked.
 * @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A tensor as it is in the file. */
export class StoredTensor {
  /** @param {Tensor} tensor @param {Uint8Array<ArrayBuffer>} body @param {number} start of its first byte */
  constructor({ shape, type }, body, start) {
    this.shape = shape;
    this.length = shape.reduce((product, size) => product * size, 1);
    const floats = type === "float32" ? this.length : this.length / BLOCK;
    const first = body.byteOffset + start;
    this.floats = new Float32Array(body.buffer, first, floats); // the values, or the scales of blocks
    this.bytes = 4 * floats;
    if (type === "float32") return;
    this.integers = new Int16Array(body.buffer, first + this.bytes, this.length);
    this.bits = new Uint8Array(body.buffer, first + this.bytes + 2 * this.length, this.length / 4);
    this.bytes += 2 * this.length + this.length / 4;
  }

  /** Read values, into an arena if given. @param {number} first @param {number} count @param {Arena} [arena] */
  read(first, count, arena) {
    const { floats, integers, bits } = this;
    const values = arena ? arena.allocate(count) : new Float32Array(count);
    if (!integers || !bits) values.set(floats.subarray(first, first + count));
    for (let at = 0; integers && bits && at < count; at++) {
      const place = first + at;
      const low = (bits[place >> 2] >> (2 * (place & 3))) & 3;
      values[at] = (4 * integers[place] + low) * floats[Math.floor(place / BLOCK)];
    }
    return values;
  }

  /** Read one row of a table. @param {number} row */
  row(row) {
    return this.read(row * this.shape[1], this.shape[1]);
  }
}

/** Place the weights of a file in the arena in which they are multiplied, and its tables.
 * @param {Header} header @param {Uint8Array<ArrayBuffer>} body @param {boolean} wasm */
function placeWeights({ tensors, sizes, tokenizer }, body, wasm) {
  let start = 0;
  const stored = tensors.map((tensor) => {
    const values = new StoredTensor(tensor, body, start);
    start += values.bytes;
    return /** @type {const} */ ([tensor.name, values]);
  });
  const isTable = (/** @type {string} */ name) => /^words\.|^random\.|table$/.test(name);
  const matrices = stored.filter(([name]) => !isTable(name));
  const length = matrices.reduce((sum, [, { length }]) => sum + roomFor(length), scratch(sizes));
  const arena = new Arena(length, wasm);
  return {
    arena,
    weights: Object.fromEntries(matrices.map(([name, values]) => [name, values.read(0, values.length, arena)])),
    tables: Object.fromEntries(stored.filter(([name]) => isTable(name))),
    ids: new Map(tokenizer.vocabulary.map((token, id) => [token, id])),
  };
}

/** How many floats the longest run needs beside the weights. @param {Sizes} sizes */
function scratch({ d_model, n_heads, d_feed_forward, max_len, target_len = 0, vocabulary }) {
  const n = roomFor(max_len + target_len);
  return n * (10 * d_model + d_feed_forward + n) + (d_model / n_heads) * n + vocabulary + 1024;
}
