// The curtain of a lesson: hides the parts of a view that give an answer away until the question is answered. A covered
// part is neither visible, focusable nor read by a screen reader; where a view cannot hide one part, the whole view is
// covered.

import { setAttribute, topOf, windowHeight } from "./dom.js";

/** @typedef {Record<string, string>} Parts name of a hidden part -> selector of the elements that reveal it */

/** @typedef {{part: string, words: string[]}} Hidden what is hidden: "map", "rows" (all but these), "row" (these), "numbers",
 * "second" or "all"; words: tokens or row numbers
 */

const ALWAYS = ".aloud, .notices, .top"; // the parts of a view that give nothing away
const VERDICT = '.panel:is([aria-label="The verdict"], [aria-label="The maps"])'; // pages/shapes/bug.py
const MAPS = ["map", "rows", "row"]; // the parts that are cells of maps

// Maps's sentences about its maps, and the inputs of a sheet.
const WORDS =
  ".large h2, .large-words, .map-foot, .next-tokens, .changed .status-line, .change-controls, .other-views, .proof";
const SUMS = ":is(.before, .after) .label, .foot, .readout, .outcomes > .sheet";
const EDITED = ".matrix :is(input, td button)";
const COMPUTED = [
  `:scope > .stack > .panel:not(:has(${EDITED}))`,
  `:scope > .stack > .side-by-side > .panel:not(:has(${EDITED}))`,
  ":scope > .stack > :not(.panel, .side-by-side, .choice, .notices)",
  ".panel .matrix:not(:has(input, td button))",
].join(", ");

/** Selectors of the elements that reveal each hidden part, by view. Cells of maps are hidden by map_panel.js instead.
 * @type {Record<string, Parts>} */
const TELLING = {
  explore: {
    map: `.all-heads, .lines, .pinned, ${WORDS}`,
    numbers: `.kind, .all-heads small, ${WORDS}`,
    second: `.pinned, .all-heads small, ${WORDS}`,
    // the projector shows the typed sentence in this heading
    all: ".all-heads, .large > :not(header), .large > header > :not(.titles), .large .titles > :not(.title-sentence), .pinned, .chips:has([data-loss]), .next-list, .stages, .next-tokens [role=status], .changed .status-line, .change-controls, .other-views, .proof",
  },
  pair: {
    map: ".panel > .words, .readout, .panel > p.label, .difference, .outcome, .tests",
    numbers: ".panel > .words, .readout, .panel > p.label, .difference, .outcome, .tests",
    second: ".right > :is(.words, .readout, p.label), .difference, .outcome, .tests",
    all: ".panel:not(.settings), .outcome, .tests",
  },
  painter: { map: SUMS, numbers: SUMS, second: `.after > :not(.room), ${SUMS}` },
  sheet: { numbers: COMPUTED },
  "model-map": { numbers: ".about .sheet", all: ".about > :not(header)" },
  // of a bug to find, the code stays
  steps: { numbers: `:scope:not(:has(${VERDICT})) > :not(${ALWAYS}), ${VERDICT}` },
};

/** The hidden parts; whether the row in focus is highlighted; and the part of the page that the lesson shows alone
 * (picture/stage.css), "" for the whole page. */
export const curtain = { hidden: /** @type {Hidden[]} */ ([]), lit: false, alone: "" };

/** Return whether anything is hidden. */
export const isDrawn = () => curtain.hidden.length > 0;

/** The height from an element to the bottom of the window or to the lesson panel, in pixels.
 * @param {Element} element
 */
export function heightLeft(element) {
  const panel = document.getElementById("headlight-lesson")?.getBoundingClientRect();
  const bottom = panel && panel.width >= window.innerWidth ? panel.top : windowHeight();
  return Math.max(160, bottom - topOf(element));
}

/** Set the hidden parts and redraw every view before the next frame.
 * @param {Hidden[]} parts @param {boolean} [lamp] @param {string} [picture] the only visible part
 */
export function draw(parts, lamp = false, picture = "") {
  const previous = JSON.stringify(curtain);
  Object.assign(curtain, { hidden: [...parts], lit: lamp, alone: picture });
  const names = [...new Set(parts.map(({ part }) => part))].join(" ");
  for (const [name, value] of Object.entries({ picture, curtain: names }))
    setAttribute(document.documentElement, `data-${name}`, value || null);
  if (previous !== JSON.stringify(curtain)) dispatchEvent(new Event("headlight-curtain"));
}

/** Return whether one of the words, or row numbers, means a row; the mark of a word piece is ignored.
 * @param {string[]} tokens @param {number} row @param {string[]} words
 */
export function names(tokens, row, words) {
  const lowered = tokens.map((token) => token.toLowerCase().replace(/^##(?=.)/, ""));
  const nth = lowered.slice(0, row + 1).filter((other) => other === lowered[row]).length;
  const labels = [String(row), String(row - tokens.length), lowered[row], `${lowered[row]}#${nth}`];
  return words.some((word) => labels.includes(word.toLowerCase()));
}

/** Return whether the curtain hides a row of a map. @param {string[]} tokens @param {number} row
 * @param {boolean} second whether it is a row of the second picture @param {Hidden[]} hiding default: the current one
 */
export const hidesRow = (tokens, row, second, hiding = curtain.hidden) =>
  hiding.some(({ part, words }) => {
    const isNamed = names(tokens, row, words);
    if (part === "row" || part === "rows") return isNamed === (part === "row");
    return part === "map" || part === "all" || (part === "second" && second);
  });

/** Selectors of the elements of a view that reveal what is hidden. @param {string} kind */
function telling(kind) {
  const parts = TELLING[kind] ?? {};
  const kinds = curtain.hidden.map(({ part }) => (MAPS.includes(part) ? "map" : part));
  const hiding = kinds.filter((name) => parts[name]);
  return hiding.length < kinds.length ? `:scope > :not(${ALWAYS})` : hiding.map((name) => parts[name]).join(", ");
}

/** Cover the revealing elements of a view, and uncover all others. @param {Element} view @param {string} kind */
export function cover(view, kind) {
  const selector = isDrawn() ? telling(kind) : "";
  const targets = new Set(selector ? view.querySelectorAll(selector) : []);
  for (const part of view.querySelectorAll("[data-covered]"))
    if (!targets.has(part)) part.removeAttribute("data-covered");
  for (const part of targets) part.setAttribute("data-covered", "");
}
