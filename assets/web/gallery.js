// @ts-check
// The gallery of masks: each rule drawn for the visitor's own sentence; a click uses it or joins it to the rule in use.

import { button, contextOf, fill, h, setAttribute, setText } from "./dom.js";
import { readCells } from "./painted.js";

const SIDE = 84; // pixels of a picture
/** What a click on a card does: its name in the link and on the button. @type {[string, string][]} */
export const JOINS = ["use", "and", "or", "and not", "or not"].map((join) => [join, join]);

/** @typedef {import("./messages.js").Card} Card */

/** The mask of a card: allowed cells glow, forbidden ones are hatched where there is room for it.
 * @param {Uint8Array} cells @param {{line: string}} inks
 */
function drawMask(canvas, cells, n, inks, accent) {
  const context = contextOf(canvas, SIDE, SIDE);
  const step = SIDE / n;
  const gap = step > 4 ? 1 : 0;
  context.fillStyle = accent;
  context.strokeStyle = inks.line;
  context.lineWidth = 1;
  context.beginPath();
  // whole pixels: cells that share one would show as a pattern
  const edge = (/** @type {number} */ at) => Math.round(at * step);
  cells.forEach((forbidden, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    const [x, y] = [edge(j), edge(i)];
    const [width, height] = [Math.max(1, edge(j + 1) - x - gap), Math.max(1, edge(i + 1) - y - gap)];
    if (!forbidden) context.fillRect(x, y, width, height);
    else if (gap) {
      context.rect(x + 0.5, y + 0.5, width - 1, height - 1);
      context.moveTo(x + 1, y + height - 1);
      context.lineTo(x + width - 1, y + 1);
    }
  });
  context.stroke();
}

/** Which cells, size and colours a canvas shows. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/** Puts the cards into `parent`.
 * @param {Card[]} cards @param {object} how @param {number} how.n tokens @param {{line: string}} how.inks
 * @param {string} how.join what a click does @param {(card: Card) => boolean} how.used whether it is the mask in use
 * @param {(at: number) => void} how.choose
 */
export function drawGallery(parent, cards, { n, inks, accent, join, used, choose }) {
  const parts = () => [h("canvas", { "aria-hidden": "true" }), h("b"), h("span"), h("span", { class: "counted" })];
  fill(
    parent,
    cards,
    (at) => {
      const card = button("", () => choose(at), { class: "card" });
      card.append(...parts());
      return card;
    },
    (card, own) => {
      const [canvas, name, line, counted] = card.children;
      const kind = `${n} ${own.cells} ${accent} ${inks.line} ${window.devicePixelRatio}`;
      if (canvas instanceof HTMLCanvasElement && drawn.get(canvas) !== kind)
        drawMask(canvas, readCells(own.cells, n * n), n, inks, accent);
      drawn.set(canvas, kind);
      setText(name, own.name);
      setText(line, own.why_not || own.line);
      setText(counted, own.counted);
      setAttribute(card, "aria-pressed", String(used(own)));
      const joins = join === "use" || !(own.painted || own.event.kind); // only rules can be joined
      setAttribute(card, "disabled", Boolean(own.why_not) || !joins);
    },
  );
}
