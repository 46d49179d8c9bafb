// The curtain of a lesson: what a view must not tell before the question is answered. What is covered cannot be seen,
// focused or heard; a view covers what it cannot cover in part as a whole, so that nothing tells by an oversight.

import { topOf } from "./dom.js";

/** @typedef {Record<string, string>} Parts name of a curtain -> the parts of a view that tell what it hides */

/** @typedef {{part: string, words: string[]}} Hidden what is hidden: "map", "rows" (all but these), "row" (these), "numbers",
 * "second" or "all"; the rows as words of the sentence or as places
 */

const MAPS = ["map", "rows", "row"]; // those that hide cells of maps

// what Explore says of its maps, and where a sheet's numbers may be changed
const WORDS = ".large h2, .large-words, .under, .next-tokens, .changed .said, .try-and-change, .other-views, .proof";
const SUMS = ":is(.before, .after) .label, .foot, .readout, .outcomes > .sheet";
const EDITED = ".matrix :is(input, td button)";
const COMPUTED = [
  `:scope > .stack > .panel:not(:has(${EDITED}))`,
  `:scope > .stack > .side-by-side > .panel:not(:has(${EDITED}))`,
  ":scope > .stack > :not(.panel, .side-by-side, .choice, .notices)",
  ".panel .matrix:not(:has(input, td button))",
].join(", ");

/** Selectors of the parts that give an answer away, by the kind of a view. A map's own cells have a veil (map_panel.js). @type {Record<string, Parts>} */
const TELLING = {
  explore: {
    map: `.all-heads, .lines, .pinned, ${WORDS}`,
    numbers: `.kind, .all-heads small, ${WORDS}`,
    second: `.pinned, .all-heads small, ${WORDS}`,
    // what is typed stands in the large map's heading on a projector
    all: ".all-heads, .large > :not(header), .large > header > :not(.titles), .large .titles > :not(.typed), .pinned, .chips:has([data-loss]), .next-list, .next-tokens .word-said, .changed .said, .try-and-change, .other-views, .proof",
  },
  pair: {
    map: ".panel > .words, .readout, .panel > p.label, .difference, .outcome, .tests",
    numbers: ".panel > .words, .readout, .panel > p.label, .difference, .outcome, .tests",
    second: ".right > :is(.words, .readout, p.label), .difference, .outcome, .tests",
    all: ".panel:not(.settings), .outcome, .tests",
  },
  painter: { map: SUMS, numbers: SUMS, second: `.after > :not(.room), ${SUMS}` },
  sheet: { numbers: COMPUTED },
};

let hidden = /** @type {Hidden[]} */ ([]);
let lit = false; // the row in focus is lit, as by a lamp
let alone = ""; // what a lesson shows of the page

/** Tell whether anything is hidden. */
export const isDrawn = () => hidden.length > 0;

/** Tell whether a lesson stands beside the page. */
export const isLearning = () => document.documentElement.classList.contains("learning");

/** Tell whether the row in focus is to be lit. */
export const isLit = () => lit && !isDrawn();

/** The only part of the page that is shown, as a lesson's file names it; "" for all of it (picture/stage.css). */
export const shownAlone = () => alone;

/** Pixels of the window from the top of an element down, without what a lesson takes of them: for what is shown alone.
 * @param {Element} element
 */
export function heightLeft(element) {
  const panel = document.getElementById("headlight-lesson")?.getBoundingClientRect();
  const bottom = panel && panel.width >= window.innerWidth ? panel.top : window.innerHeight;
  return Math.max(160, bottom - topOf(element));
}

/** Hide this from now on, in all that is drawn, before the next frame.
 * @param {Hidden[]} parts @param {boolean} [lamp] @param {string} [picture] what alone is shown
 */
export function draw(parts, lamp = false, picture = "") {
  const previous = JSON.stringify([hidden, lit, alone]);
  hidden = [...parts];
  lit = lamp;
  alone = picture;
  const { dataset } = document.documentElement;
  if (alone) dataset.picture = alone;
  else delete dataset.picture;
  if (hidden.length) dataset.curtain = [...new Set(hidden.map(({ part }) => part))].join(" ");
  else delete dataset.curtain;
  if (previous !== JSON.stringify([hidden, lit, alone])) dispatchEvent(new Event("headlight-curtain"));
}

/** Tell whether one of these words, or places, names a row; the mark of a piece is no part of its name.
 * @param {string[]} tokens @param {number} row @param {string[]} words
 */
export function names(tokens, row, words) {
  const lowered = tokens.map((token) => token.toLowerCase().replace(/^##(?=.)/, ""));
  const nth = lowered.slice(0, row + 1).filter((other) => other === lowered[row]).length;
  const labels = [String(row), String(row - tokens.length), lowered[row], `${lowered[row]}#${nth}`];
  return words.some((word) => labels.includes(word.toLowerCase()));
}

/** Tell whether a curtain hides the cells of a row of a map. @param {string[]} tokens @param {number} row
 * @param {boolean} second it is the second picture's @param {Hidden[]} curtain the one that is drawn, if none is named
 */
export const hidesRow = (tokens, row, second, curtain = hidden) =>
  curtain.some(({ part, words }) => {
    const isNamed = names(tokens, row, words);
    if (part === "row" || part === "rows") return isNamed === (part === "row");
    return part === "map" || part === "all" || (part === "second" && second);
  });

/** The parts of a view of this kind that tell what is hidden. @param {string} kind */
function telling(kind) {
  const parts = TELLING[kind] ?? {};
  const kinds = hidden.map(({ part }) => (MAPS.includes(part) ? "map" : part));
  const hiding = kinds.filter((name) => parts[name]);
  return hiding.length < kinds.length
    ? ":scope > :not(.aloud, .notices, .top)"
    : hiding.map((name) => parts[name]).join(", ");
}

/** Covers what tells, and uncovers what may be seen again. @param {Element} view @param {string} kind */
export function cover(view, kind) {
  const selector = isDrawn() ? telling(kind) : "";
  const targets = new Set(selector ? view.querySelectorAll(selector) : []);
  for (const part of view.querySelectorAll("[data-covered]"))
    if (!targets.has(part)) part.removeAttribute("data-covered");
  for (const part of targets) part.setAttribute("data-covered", "");
}
