// The gallery of masks: each rule drawn for the current sentence; a click uses it or joins it to the current rule.

import { pixel, pixels, rgb } from "../base/colour.js";
import { button, contextOf, fill, h, pixelRatio, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { readCells } from "../link/painted.js";

const SIDE = 84; // pixels of a thumbnail
/** The action of a click on a card: its name in the link and on the button. @type {[string, string][]} */
export const JOINS = ["use", "and", "or", "and not", "or not"].map((join) => [join, join]);

/** Draw the mask of a card: allowed cells in colour, forbidden ones in the line colour.
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} cells @param {number} n @param {string[]} colours colours of an allowed and a forbidden cell
 */
function drawMask(canvas, cells, n, colours) {
  const context = contextOf(canvas, SIDE, SIDE);
  context.imageSmoothingEnabled = false;
  const ramp = Uint32Array.from(colours, (colour) => pixel(rgb(colour)));
  context.drawImage(pixels({ size: n, bytes: cells }, ramp), 0, 0, SIDE, SIDE);
}

/** Canvas -> key of its drawing: cells, size and colours. @type {WeakMap<Element, string>} */
const cache = new WeakMap();

/** Return whether the card's mask is the current one. @param {Masks} picture @param {Card} card */
export const isUsed = (picture, { rule, painted, why_not }) =>
  picture.painted ? painted === picture.painted : !painted && !why_not && rule === picture.rule;

/** Fill `parent` with the picture's cards.
 * @param {Masks} picture @param {object} how @param {{line: string}} how.inks @param {string} how.accent
 * @param {string} how.join action of a click @param {(at: number) => void} how.choose
 */
export function drawGallery(parent, picture, { inks, accent, join, choose }) {
  const n = picture.tokens.length;
  const make = (/** @type {number} */ index) => {
    const parts = [h("canvas", { "aria-hidden": "true" }), h("b"), h("span"), span("counted")];
    return button("", () => choose(index), { class: "card" }, ...parts);
  };
  fill(parent, picture.cards, make, (card, rule) => {
    const [canvas, name, line, counted] = card.children;
    const kind = `${n} ${rule.cells} ${accent} ${inks.line} ${pixelRatio()}`;
    if (canvas instanceof HTMLCanvasElement && cache.get(canvas) !== kind)
      drawMask(canvas, readCells(rule.cells, n * n), n, [accent, inks.line]);
    cache.set(canvas, kind);
    setText(name, rule.name);
    setText(line, rule.why_not || rule.line);
    setText(counted, rule.counted);
    setAttributes(card, { title: rule.meaning, "aria-pressed": String(isUsed(picture, rule)) });
    setAttribute(card, "disabled", !(join in rule.clicks));
  });
}
