// Visible heads, their order, and the number of columns.

import { ranked } from "../base/words.js";

/** @typedef {{maps: import("../wire/packets.js").Maps, at: {layer: number, head: number, row: number, key: number | null}, look: {sort: boolean}}} Sight */

/** The key that heads are sorted by: the selected one, otherwise the strongest of the row in focus.
 * @param {Pick<Sight, "maps" | "at">} view */
export function sortKey({ at, maps }) {
  if (at.key !== null) return at.key;
  if (!maps.isWhole(at.layer)) return null;
  return ranked(maps.row(at))[0][0];
}

const MAX_DOWN = 12; // layers in rows; deeper models have one column per layer

/** Return whether the grid of all heads has one column per layer. @param {{layers: number}} maps */
export const isAcross = ({ layers }) => layers > MAX_DOWN;

/** The visible heads in their order.
 * @param {Sight} view @param {boolean} all @param {boolean} [across] one column per layer
 * @returns {[number, number][]}
 */
export function order(view, all, across = isAcross(view.maps)) {
  const { maps, at, look } = view;
  const layers = all ? [...Array(maps.layers).keys()] : [at.layer];
  const key = sortKey(view);
  const ordered = layers.map((layer) => {
    const pairs = Array.from({ length: maps.heads }, (_, head) => /** @type {[number, number]} */ ([layer, head]));
    if (!look.sort || key === null || !maps.isWhole(layer)) return pairs;
    const byteOf = (/** @type {number} */ head) => maps.row({ ...at, layer, head })[key];
    return pairs.sort(([, a], [, b]) => byteOf(b) - byteOf(a) || a - b);
  });
  return all && across ? ordered[0].flatMap((_, place) => ordered.map((pairs) => pairs[place])) : ordered.flat();
}

/** The number of columns; two for few heads, so that they fill the space.
 * @param {{layers: number, heads: number}} maps @param {boolean} all @param {boolean} wide @param {boolean} [across] one column per layer
 */
export function columns({ layers, heads }, all, wide, across = isAcross({ layers })) {
  if (all && across) return layers;
  return all || wide || heads <= 2 ? heads : heads <= 4 ? 2 : 3;
}
