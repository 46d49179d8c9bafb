// The gallery of masks: each rule drawn for the visitor's own sentence; a click uses it or joins it to the rule in use.

import { isPlain } from "../base/colour.js";
import { button, contextOf, fill, h, pixelRatio, setAttribute, setText, span } from "../base/dom.js";
import { readCells } from "../link/painted.js";

const SIDE = 84; // pixels of a picture
/** What a click on a card does: its name in the link and on the button. @type {[string, string][]} */
export const JOINS = ["use", "and", "or", "and not", "or not"].map((join) => [join, join]);

/** @typedef {import("../base/messages.js").Card} Card */
/** @typedef {import("../base/messages.js").Masks} Masks */

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
    else if (gap && !isPlain) {
      context.rect(x + 0.5, y + 0.5, width - 1, height - 1);
      context.moveTo(x + 1, y + height - 1);
      context.lineTo(x + width - 1, y + 1);
    }
  });
  context.stroke();
}

/** Which cells, size and colours a canvas shows. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/** True for the card of the mask in use. @param {Masks} picture @param {Card} card */
export const isUsed = (picture, { rule, painted, why_not }) =>
  picture.painted ? painted === picture.painted : !painted && !why_not && rule === picture.rule;

/** Puts the picture's cards into `parent`.
 * @param {Masks} picture @param {object} how @param {{line: string}} how.inks @param {string} how.accent
 * @param {string} how.join what a click does @param {(at: number) => void} how.choose
 * @param {(at: number | null) => void} how.meet the pointer or the focus is on a card, or has left it
 */
export function drawGallery(parent, picture, { inks, accent, join, choose, meet }) {
  const n = picture.tokens.length;
  const make = (/** @type {number} */ at) => {
    const [onMeet, onLeave] = [() => meet(at), () => meet(null)];
    const met = { onpointerenter: onMeet, onpointerleave: onLeave, onfocus: onMeet, onblur: onLeave };
    const card = button("", () => choose(at), { class: "card", ...met });
    card.append(h("canvas", { "aria-hidden": "true" }), h("b"), h("span"), span("counted"));
    return card;
  };
  fill(parent, picture.cards, make, (card, own) => {
    const [canvas, name, line, counted] = card.children;
    const kind = `${n} ${own.cells} ${accent} ${inks.line} ${pixelRatio()}`;
    if (canvas instanceof HTMLCanvasElement && drawn.get(canvas) !== kind)
      drawMask(canvas, readCells(own.cells, n * n), n, inks, accent);
    drawn.set(canvas, kind);
    setText(name, own.name);
    setText(line, own.why_not || own.line);
    setText(counted, own.counted);
    setAttribute(card, "title", own.meaning);
    setAttribute(card, "aria-pressed", String(isUsed(picture, own)));
    setAttribute(card, "disabled", !(join in own.clicks));
  });
}
