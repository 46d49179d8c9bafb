// Unpacking of headlight/ui/packing.py (uint32 header length, JSON header, values), and slices of maps.

import { columnsOf } from "../base/colour.js";

/** @param {Uint8Array} bytes @returns {{header: any, body: Uint8Array}} */
export function unpack(bytes) {
  // copied only if the values are not aligned to 4 bytes
  const aligned = bytes.byteOffset % 4 ? bytes.slice() : bytes;
  const length = new DataView(aligned.buffer, aligned.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(aligned.subarray(4, 4 + length)));
  return { header, body: aligned.subarray(4 + length) };
}

/** Split a message into the messages that it contains. @param {Uint8Array} bytes @returns {Uint8Array[]} */
export function parts(bytes) {
  const { header, body } = unpack(bytes);
  let offset = 0;
  return header.parts.map((/** @type {number} */ length) => {
    offset += length;
    return body.subarray(offset - length, offset);
  });
}

/** Pack a message, the inverse of `unpack`. @param {object} header @param {...(Uint8Array | Float32Array)} bodies */
export function pack(header, ...bodies) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = 4 + 4 * Math.ceil(text.length / 4);
  const bytes = new Uint8Array(bodies.reduce((sum, body) => sum + body.byteLength, start)).fill(32, 4, start);
  new DataView(bytes.buffer).setUint32(0, start - 4, true);
  bytes.set(text, 4);
  let offset = start;
  for (const { buffer, byteOffset, byteLength } of bodies) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), offset);
    offset += byteLength;
  }
  return bytes;
}

/** Pack messages as one, the inverse of `parts`. @param {...Uint8Array} messages */
export const packParts = (...messages) => pack({ parts: messages.map(({ length }) => length) }, ...messages);

/** Unpack the header and the float32 values of a message. @param {Uint8Array} bytes */
export function unpackFloats(bytes) {
  const { header, body } = unpack(bytes);
  return { header, floats: new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4) };
}

/** @typedef {ReturnType<typeof mapsOf>} Maps */

/** The maps of a picture; `map(layer, head)` is the whole map if it was sent, otherwise its thumbnail.
 * @param {{header: import("../base/messages.js").Maps & {done?: number}, body: Uint8Array}} message
 */
export function mapsOf({ header, body }) {
  const { tokens, columns, layers, heads, fullLayers, thumbnail, done = layers } = header;
  const keys = columns ?? tokens;
  const n = tokens.length;
  const cells = n * keys.length;
  const small = fullLayers.length * heads * cells;
  const smallCells = (body.length - small) / (layers * heads);
  return {
    ...header,
    n,
    keys, // the tokens, or in cross-attention the columns
    isWhole: (/** @type {number} */ layer) => fullLayers.includes(layer),
    isHere: (/** @type {number} */ layer) => layer < done, // of a long text layers arrive one by one
    /** @param {number} layer @param {number} head @returns {Bytes} */
    map(layer, head) {
      const place = fullLayers.indexOf(layer);
      if (place < 0) return { size: thumbnail, bytes: pieceOf(body, small, layer * heads + head, smallCells) };
      return { size: n, bytes: pieceOf(body, 0, place * heads + head, cells) };
    },
    /** A row of a whole map. @param {{layer: number, head: number, row: number}} index */
    row(index) {
      return rowOf(this.map(index.layer, index.head).bytes, index.row, keys.length);
    },
  };
}

/** The piece of a body with this index; pieces have one size.
 * @param {Uint8Array} body @param {number} from @param {number} index @param {number} cells */
const pieceOf = (body, from, index, cells) => body.subarray(from + index * cells, from + (index + 1) * cells);

/** A row of a map.
 * @template {Uint8Array | Float32Array} Map @param {Map} map @param {number} row @param {number} wide its columns */
export const rowOf = (map, row, wide) => /** @type {Map} */ (map.subarray(row * wide, (row + 1) * wide));

/** Encode weights as bytes, as in the maps. @param {Float32Array} weights */
export const toBytes = (weights) => new Uint8Array(weights.map((weight) => Math.round(255 * weight)));

/** Pool a map to `room` cells: of each block the byte farthest from `none`.
 * @param {Bytes} map @param {number} none the neutral byte: 0 for weights @returns {Bytes}
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

/** The map without its first and last rows and columns. @param {Bytes} map @returns {Bytes} */
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

/** @typedef {[number, number]} Ends numbers of special tokens at the start and end */

/** Return whether a token is not a special token.
 * @param {{tokens: string[], ends: Ends}} run @param {number} index
 */
export const isWord = ({ tokens, ends }, index) => index >= ends[0] && index < tokens.length - ends[1];

/** @typedef {{ends: Ends, columns?: string[] | null}} Framed numbers of special tokens, and the columns in cross-attention */

/** The numbers of hidden tokens at both ends by the display options; 0 if nothing would be left.
 * @param {Framed & {tokens: string[]}} run @param {{nospecials: boolean, nofirst: boolean}} look @returns {Ends}
 */
export function specials({ tokens, ends, columns }, { nospecials, nofirst }) {
  if (columns) return [0, 0];
  const [front, last] = nospecials ? ends : [0, 0];
  const first = Math.max(front, Number(nofirst));
  return first + last < tokens.length ? [first, last] : [0, 0];
}

/** Return whether the model adds special tokens on both sides of its maps. @param {Framed} run */
export const hasSpecials = ({ ends, columns }) => !columns && ends.some(Boolean);
