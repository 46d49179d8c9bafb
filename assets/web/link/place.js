// The cursor of a page in the model, and which parts of it the user chose.

import { parseAt } from "./look.js";

const PLACE = /^\d+(\.\d+){1,3}$/; // layer.head.row.key

/** The cursor in a link; missing parts come from the picture.
 * @param {string | null} link @param {(Spot & {defaults: Record<string, unknown>}) | null} picture @returns {Cursor}
 */
export function placeOf(link, picture) {
  const isPlace = link !== null && PLACE.test(link); // otherwise as without one
  const { layer, head, row, key } = parseAt((isPlace && link) || String(picture?.defaults.at ?? "0.0"));
  const cursor = { layer, head, row: row ?? picture?.row ?? 0, key: row === null ? (picture?.key ?? null) : key };
  return { at: cursor, placed: isPlace, rowChosen: row !== null };
}

/** A copy of the cursor with another layer, head, row or key; a null row leaves the row to the page.
 * @param {Cursor} place @param {Partial<At>} change @returns {Cursor}
 */
export function movePlace(place, { row, ...change }) {
  const rowChosen = row === undefined ? place.rowChosen : row !== null;
  return {
    at: { ...place.at, ...change, ...(row === null ? {} : { row: row ?? place.at.row }) },
    placed: true,
    rowChosen,
  };
}

/** The cursor in a new picture: parts that the user did not choose follow the picture, and a row beyond a shorter
 * sentence is reset.
 * @param {Cursor} place @param {Spot} picture @param {number} tokens @param {number} keys @returns {Cursor}
 */
export function arrived(place, { layer, head, row, key }, tokens, keys) {
  const { placed } = place;
  const rowChosen = place.rowChosen && place.at.row < tokens;
  const cursor = { ...place.at, ...(placed ? {} : { layer, head }), ...(rowChosen ? {} : { row, key }) };
  return { at: withKey(cursor, keys), placed, rowChosen };
}

/** The cursor clamped to the drawn picture: a row or key beyond it counts as not chosen.
 * @param {Cursor} place @param {Spot} picture @param {number} tokens @param {number} keys @returns {Cursor}
 */
export function clampPlace({ at, placed, rowChosen }, { row, key }, tokens, keys) {
  if (at.row < tokens) return { at: withKey(at, keys), placed, rowChosen };
  return { at: withKey({ ...at, row: Math.min(row, tokens - 1), key }, keys), placed, rowChosen: false };
}

/** @param {Spot} cursor @param {number} keys @returns {Spot} */
const withKey = (cursor, keys) => (cursor.key === null || cursor.key < keys ? cursor : { ...cursor, key: null });
