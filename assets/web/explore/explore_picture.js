// What the wire says of Explore's picture, with its float32 maps.

import { asBytes } from "../picture/differences.js";
import { parseLook, reads } from "../link/look.js";
import { toBytes, unpackFloats } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").ExplorePicture} Said */
/** @typedef {Omit<Said, "before"> & {
 *   before: ReturnType<typeof beside> | null, weights: Float32Array | null, ofRow: Float32Array | null, bytes: () => Uint8Array, reads: string,
 *   pinWeights: Float32Array,
 * }} ExplorePicture weights: of the map in focus, of a long text the row in focus alone; reads: how its map is read
 */

/** The head in focus, the same head before the changes where there are any, the pinned one where there is one.
 * @param {Uint8Array} packed @returns {ExplorePicture}
 */
export function unpackPicture(packed) {
  const { header, floats } = unpackFloats(packed);
  const said = /** @type {Said} */ (header);
  const { pin, tile } = said;
  const read = reads(parseLook(said.look));
  if (tile) {
    const none = { before: null, weights: null, pinWeights: floats.subarray(0, 0) };
    return { ...said, ...none, ofRow: floats, bytes: () => new Uint8Array(), reads: read };
  }
  const own = floats.length - (pin ? pin.tokens.length * (pin.columns ?? pin.tokens).length : 0);
  const weights = floats.subarray(0, said.before ? own / 2 : own);
  const pinWeights = floats.subarray(own);
  const before = said.before && beside(said.before, weights, floats.subarray(own / 2, own));
  let made = /** @type {Uint8Array | null} */ (null);
  const bytes = () => (made ??= toBytes(weights));
  return { ...said, before, weights, ofRow: null, bytes, reads: read, pinWeights };
}

/** The head in focus before the changes; the difference is made when it is first looked at.
 * @param {NonNullable<Said["before"]>} said @param {Float32Array} now @param {Float32Array} weights
 */
function beside(said, now, weights) {
  let made = /** @type {{change: Float32Array, bytes: Uint8Array} | null} */ (null);
  const make = (/** @type {Float32Array} */ change) => ({ change, bytes: asBytes(change) });
  const difference = () => (made ??= make(now.map((weight, at) => weight - weights[at])));
  return { ...said, weights, difference };
}
