// The message of Explore's picture, with its float32 maps.

import { asBytes } from "../picture/differences.js";
import { parseLook, reads } from "../link/look.js";
import { toBytes, unpackFloats } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").ExplorePicture} Said */
/** @typedef {Omit<Said, "baseline"> & {
 *   baseline: ReturnType<typeof compareWithBaseline> | null, weights: Float32Array | null, ofRow: Float32Array | null, bytes: () => Uint8Array, reads: string,
 *   pinWeights: Float32Array,
 * }} ExplorePicture weights: of the map in focus, of a long text only its row in focus; reads: its transformations
 */

/** Unpack the head in focus, its baseline if anything is changed, and the pinned head if there is one.
 * @param {Uint8Array} packed @returns {ExplorePicture}
 */
export function unpackPicture(packed) {
  const { header, floats } = unpackFloats(packed);
  const message = /** @type {Said} */ (header);
  const { pin, tile } = message;
  const read = reads(parseLook(message.look));
  if (tile) {
    const none = { baseline: null, weights: null, pinWeights: floats.subarray(0, 0) };
    return { ...message, ...none, ofRow: floats, bytes: () => new Uint8Array(), reads: read };
  }
  const length = floats.length - (pin ? pin.tokens.length * (pin.columns ?? pin.tokens).length : 0);
  const weights = floats.subarray(0, message.baseline ? length / 2 : length);
  const pinWeights = floats.subarray(length);
  const baseline =
    message.baseline && compareWithBaseline(message.baseline, weights, floats.subarray(length / 2, length));
  let cached = /** @type {Uint8Array | null} */ (null);
  const bytes = () => (cached ??= toBytes(weights));
  return { ...message, baseline, weights, ofRow: null, bytes, reads: read, pinWeights };
}

/** The head in focus before the changes; the difference is computed lazily.
 * @param {NonNullable<Said["baseline"]>} baseline @param {Float32Array} now @param {Float32Array} weights
 */
function compareWithBaseline(baseline, now, weights) {
  let cached = /** @type {{change: Float32Array, bytes: Uint8Array} | null} */ (null);
  const make = (/** @type {Float32Array} */ change) => ({ change, bytes: asBytes(change) });
  const difference = () => (cached ??= make(now.map((weight, index) => weight - weights[index])));
  return { ...baseline, weights, difference };
}
