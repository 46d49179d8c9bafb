// How large the three maps of the Masks view are: their rows line up, and what is projected fills the window.

import { heightLeft } from "../base/curtain.js";
import { LETTERS } from "../base/dom.js";
import { contentWidth, rem } from "../base/view_base.js";

/** @typedef {import("../picture/map.js").BigMap} BigMap */
/** @typedef {import("../picture/map.js").Room} Room */

const NUMBER = { small: LETTERS, projected: 16 }; // pixels of a number
const CELL = { small: 18.5, projected: 30 }; // of a cell that holds one
const SHARE = { small: 0.45, projected: 0.4 }; // of the cell that its number is high
const READABLE = 1.5; // rem of such a cell
const AROUND = 1.1; // rem of a panel that are no cells, beside its labels
const LABEL = 0.43; // rem of a letter of a label

/** True when two maps side by side have numbers that can be read from the last row.
 * @param {number} width pixels of the view @param {string[]} tokens @param {number} beside pixels of one of them that are no cells
 */
export function fitsTwo(width, tokens, beside) {
  const letters = Math.min(12, Math.max(...tokens.map((token) => token.length)));
  const labels = 1.5 * letters * LABEL * rem() + 12;
  return (width / 2 - AROUND * rem() - labels - beside) / tokens.length >= CELL.projected;
}

/** The room of each map: those in sight have cells of one size, so that their rows line up.
 * @param {BigMap[]} maps @param {import("./painter.js").Painter} view @param {number} n tokens
 * @returns {(map: BigMap) => Room}
 */
export function roomsOf(maps, { alone, foot }, n) {
  const isLarge = foot.isOn || alone !== "";
  const kind = isLarge ? "projected" : "small";
  const unit = isLarge ? rem() / 16 : 1; // a map counts in these
  for (const map of maps) {
    Object.assign(map, { smallest: NUMBER[kind] / unit, roomy: CELL[kind] / unit, share: SHARE[kind] });
    map.project(foot.isOn);
  }
  const rooms = maps.map((map) => [map, /** @type {HTMLElement} */ (map.element.parentElement)]);
  const seen = /** @type {[BigMap, HTMLElement][]} */ (rooms).filter(([, room]) => room.clientWidth);
  const cells = Math.min(...seen.map(([map, room]) => contentWidth(room) - map.beside));
  const left = alone ? heightLeft : (/** @type {Element} */ room) => foot.heightOver(room);
  const height = isLarge && seen.length ? Math.max(220, left(seen[0][1]) - AROUND * rem()) : usualHeight(n);
  return (map) => ({ width: cells + map.beside, height });
}

/** On the first screen with the gallery above, unless the numbers need more. @param {number} n */
const usualHeight = (n) => Math.max(260, window.innerHeight - 400, Math.min(640, n * READABLE * rem() + 100));
