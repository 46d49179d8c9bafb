// The place of the model that a page looks at, and who chose it: the visitor, or the page itself.

import { parseAt } from "./look.js";

/** @typedef {import("./look.js").At} At */
/** @typedef {{layer: number, head: number, row: number, key: number | null}} Spot */
/** `placed`: the visitor, not the page, has chosen layer and head; `rowChosen`: and the row.
 * @typedef {{at: Spot, placed: boolean, rowChosen: boolean}} Place
 */

/** The place that a link names; what it leaves out is where the picture stands.
 * @param {string | null} link @param {(Spot & {defaults: Record<string, unknown>}) | null} picture @returns {Place}
 */
export function placeOf(link, picture) {
  const { layer, head, row, key } = parseAt(link ?? String(picture?.defaults.at ?? "0.0"));
  const cursor = { layer, head, row: row ?? picture?.row ?? 0, key: row === null ? (picture?.key ?? null) : key };
  return { at: cursor, placed: link !== null, rowChosen: row !== null };
}

/** A copy of the place with another layer, head, row or key; the row is the page's choice where it is null.
 * @param {Place} place @param {Partial<At>} change @returns {Place}
 */
export function moved(place, { row, ...change }) {
  const rowChosen = row === undefined ? place.rowChosen : row !== null;
  return {
    at: { ...place.at, ...change, ...(row === null ? {} : { row: row ?? place.at.row }) },
    placed: true,
    rowChosen,
  };
}

/** The place in a picture that has come: what the visitor did not choose is where the picture stands, and a shorter
 * sentence lacks the row that was chosen.
 * @param {Place} place @param {Spot} picture @param {number} tokens @param {number} keys @returns {Place}
 */
export function arrived(place, { layer, head, row, key }, tokens, keys) {
  const { placed } = place;
  const rowChosen = place.rowChosen && place.at.row < tokens;
  const cursor = { ...place.at, ...(placed ? {} : { layer, head }), ...(rowChosen ? {} : { row, key }) };
  return { at: withKey(cursor, keys), placed, rowChosen };
}

/** The place within the picture that is drawn: a row or key that it lacks is no choice.
 * @param {Place} place @param {Spot} picture @param {number} tokens @param {number} keys @returns {Place}
 */
export function clampPlace({ at, placed, rowChosen }, { row, key }, tokens, keys) {
  if (at.row < tokens) return { at: withKey(at, keys), placed, rowChosen };
  return { at: withKey({ ...at, row: Math.min(row, tokens - 1), key }, keys), placed, rowChosen: false };
}

/** @param {Spot} cursor @param {number} keys @returns {Spot} */
const withKey = (cursor, keys) => (cursor.key === null || cursor.key < keys ? cursor : { ...cursor, key: null });
