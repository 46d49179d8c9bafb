// @ts-check
// What the wire says of Explore's picture, with its float32 maps, and what a link says until the script does.

import { asBytes } from "../picture/differences.js";
import { toBytes, unpackFloats } from "../wire/packets.js";

/** @typedef {{weights: Float32Array, change: Float32Array, bytes: Uint8Array}} Difference bytes: of the change */
/** @typedef {import("../base/messages.js").ExplorePicture} Said */
/** @typedef {Omit<Said, "before"> & {before: (NonNullable<Said["before"]> & Difference) | null, weights: Float32Array,
 *   pinWeights: Float32Array, pinBytes: Uint8Array}} ExplorePicture
 */

/** The head in focus, the same head before the changes where that was asked for, the pinned one where there is one.
 * @param {Uint8Array} bytes @returns {ExplorePicture}
 */
export function unpackPicture(bytes) {
  const { header, floats } = unpackFloats(bytes);
  const said = /** @type {Said} */ (header);
  const own = floats.length - (said.pin ? said.pin.tokens.length ** 2 : 0);
  const weights = floats.subarray(0, said.before ? own / 2 : own);
  const pinWeights = floats.subarray(own);
  const before = said.before && { ...said.before, ...difference(weights, floats.subarray(own / 2, own)) };
  return { ...said, before, weights, pinWeights, pinBytes: toBytes(pinWeights) };
}

/** @param {Float32Array} now @param {Float32Array} weights before @returns {Difference} */
function difference(now, weights) {
  const change = now.map((weight, at) => weight - weights[at]);
  return { weights, change, bytes: asBytes(change) };
}

/** Whether a picture's numbers are those of the map that is looked at.
 * @param {ExplorePicture} picture @param {{layer: number, head: number}} at @param {import("../link/look.js").Look} look
 */
export const isOf = ({ layer, head, mean }, at, look) =>
  layer === at.layer && head === at.head && (mean !== null) === look.mean;
