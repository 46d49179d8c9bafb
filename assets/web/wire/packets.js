// Unpacks what headlight/ui/packing.py packed: uint32 header length, JSON header, values. And cuts of maps.

import { columnsOf } from "../base/colour.js";

/** @typedef {import("../base/colour.js").Bytes} Bytes */

/** @param {Uint8Array} bytes @returns {{header: any, body: Uint8Array}} */
export function unpack(bytes) {
  // a copy only when the values would not begin at a multiple of 4
  const aligned = bytes.byteOffset % 4 ? bytes.slice() : bytes;
  const length = new DataView(aligned.buffer, aligned.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(aligned.subarray(4, 4 + length)));
  return { header, body: aligned.subarray(4 + length) };
}

/** The messages that one holds, one after another. @param {Uint8Array} bytes @returns {Uint8Array[]} */
export function parts(bytes) {
  const { header, body } = unpack(bytes);
  let offset = 0;
  return header.parts.map((/** @type {number} */ length) => {
    offset += length;
    return body.subarray(offset - length, offset);
  });
}

/** The header and the float32 values of a message. @param {Uint8Array} bytes */
export function unpackFloats(bytes) {
  const { header, body } = unpack(bytes);
  return { header, floats: new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4) };
}

/** @typedef {ReturnType<typeof unpackMaps>} Maps */

/** All maps of one picture. @param {Uint8Array} packed */
export function unpackMaps(packed) {
  const { header, body } = unpack(packed);
  return mapsOf(header, body);
}

/** `map(layer, head)` is the whole map where it was sent, its thumbnail otherwise.
 * @param {import("../base/messages.js").Maps & {done?: number}} header @param {Uint8Array} body
 */
export function mapsOf(header, body) {
  const { tokens, columns, layers, heads, fullLayers, thumbnail, done = layers } = header;
  const keys = columns ?? tokens;
  const n = tokens.length;
  const cells = n * keys.length;
  const small = fullLayers.length * heads * cells;
  const smallCells = (body.length - small) / (layers * heads);
  return {
    ...header,
    n,
    keys, // what is looked at: the tokens themselves, or the columns of a map onto others
    isWhole: (/** @type {number} */ layer) => fullLayers.includes(layer),
    isHere: (/** @type {number} */ layer) => layer < done, // of a long text one layer comes after the other
    /** @param {number} layer @param {number} head @returns {Bytes} */
    map(layer, head) {
      const place = fullLayers.indexOf(layer);
      if (place < 0) return { size: thumbnail, bytes: pieceOf(body, small, layer * heads + head, smallCells) };
      return { size: n, bytes: pieceOf(body, 0, place * heads + head, cells) };
    },
    /** A row of a map that is whole. @param {{layer: number, head: number, row: number}} index */
    row(index) {
      return rowOf(this.map(index.layer, index.head).bytes, index.row, keys.length);
    },
  };
}

/** The piece of so many bytes that has this number. @param {Uint8Array} body @param {number} from @param {number} index @param {number} cells */
const pieceOf = (body, from, index, cells) => body.subarray(from + index * cells, from + (index + 1) * cells);

/** The total variation distance of each row, 0 to 1: half the sum of its changes. @param {Float32Array} change @param {number} keys */
export const distancesOf = (change, keys) =>
  Array.from({ length: change.length / keys }, (_, row) =>
    change.subarray(row * keys, (row + 1) * keys).reduce((sum, value) => sum + Math.abs(value) / 2, 0),
  );

/** A row of a map. @template {Uint8Array | Float32Array} Map @param {Map} map @param {number} row @param {number} wide columns of it */
export const rowOf = (map, row, wide) => /** @type {Map} */ (map.subarray(row * wide, (row + 1) * wide));

/** Weights as bytes, as the maps come. @param {Float32Array} weights */
export const toBytes = (weights) => Uint8Array.from(weights, (weight) => Math.round(255 * weight));

/** The byte farthest from `none` of each block of cells, so that a map fits into `room` pixels.
 * @param {Bytes} map @param {number} none the byte that says nothing: 0 for weights @returns {Bytes}
 */
export function pooled({ size, bytes }, room, none = 0) {
  const columns = columnsOf({ size, bytes });
  const step = Math.ceil(Math.max(size, columns) / Math.max(1, room));
  if (step <= 1) return { size, bytes };
  const [small, wide] = [Math.ceil(size / step), Math.ceil(columns / step)];
  const result = new Uint8Array(small * wide).fill(none);
  for (let i = 0; i < size; i++) {
    const rowStart = Math.floor(i / step) * wide;
    const from = i * columns;
    for (let j = 0; j < columns; j++) {
      const index = rowStart + ((j / step) | 0);
      if (Math.abs(bytes[from + j] - none) > Math.abs(result[index] - none)) result[index] = bytes[from + j];
    }
  }
  return { size: small, bytes: result };
}

/** The square map without its first and last rows and columns. @param {Bytes} map @returns {Bytes} */
export function trimmed({ size, bytes }, first, last) {
  if (!first && !last) return { size, bytes };
  const small = size - first - last;
  const result = new Uint8Array(small * small);
  for (let i = 0; i < small; i++) {
    const from = (i + first) * size + first;
    result.set(bytes.subarray(from, from + small), i * small);
  }
  return { size: small, bytes: result };
}

/** @typedef {[number, number]} Ends of the tokens in front and behind, how many are the model's own */

/** Tell whether a token belongs to the text and not to the model's special tokens.
 * @param {{tokens: string[], ends: Ends}} of @param {number} index
 */
export const isWord = ({ tokens, ends }, index) => index >= ends[0] && index < tokens.length - ends[1];

/** @typedef {{ends: Ends, columns?: string[] | null}} Framed tokens with the model's own round them, and what they look at */

/** The number of tokens to leave out at both ends: the model's own, the first one; none where nothing would be left.
 * @param {Framed & {tokens: string[]}} of @param {{nospecials: boolean, nofirst: boolean}} look @returns {Ends}
 */
export function specials({ tokens, ends, columns }, { nospecials, nofirst }) {
  if (columns) return [0, 0];
  const [front, last] = nospecials ? ends : [0, 0];
  const first = Math.max(front, Number(nofirst));
  return first + last < tokens.length ? [first, last] : [0, 0];
}

/** Tell whether the model puts special tokens round a text, on both sides of its maps. @param {Framed} of */
export const hasSpecials = ({ ends, columns }) => !columns && ends.some(Boolean);
