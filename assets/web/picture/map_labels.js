// The token labels of an enlarged map: as many as fit, and always those in focus.

import { isolated, visibleText } from "../base/token_text.js";

export const LEAN = Math.PI / 3; // angle of the column labels
const MAX_LENGTH = 12; // characters
const AWAY = 7; // pixels between labels and cells

/** The interval between labelled tokens, for the space of one token.
 * @param {number} font @param {number} room pixels */
export const everyOf = (font, room) => Math.max(1, Math.ceil((1.05 * font) / room));

/** The indices of labelled tokens: the required ones, and as many others as fit beside them.
 * @param {number} count @param {number} interval @param {number[]} required
 */
export function labelled(count, interval, required) {
  const must = required.filter((index) => index >= 0 && index < count);
  const isFree = (/** @type {number} */ index) =>
    must.every((other) => index === other || Math.abs(index - other) >= interval);
  return [...Array(count).keys()].filter(
    (index) => must.includes(index) || (index % interval === 0 && (interval === 1 || isFree(index))),
  );
}

/** @param {string} token */
export function clip(token) {
  const text = visibleText(token);
  return isolated(text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text);
}

/** Draw the label of a token. @param {CanvasRenderingContext2D} context @param {BigMap} map
 * @param {number} index index among the visible tokens @param {{asRow: boolean, ink: string, ground?: string, strong?: boolean}} how
 */
function write(context, { left, top, step, wide, visible, seen, font, inks }, index, { asRow, ink, ground, strong }) {
  const text = clip((asRow ? visible : seen)[index]);
  context.save();
  context.font = `${strong ? "bold " : ""}${font}px ${inks.mono}`;
  context.textBaseline = "middle";
  context.textAlign = asRow ? "right" : "left";
  context.translate(asRow ? left - AWAY : left + (index + 0.5) * wide, asRow ? top + (index + 0.5) * step : top - AWAY);
  if (!asRow) context.rotate(-LEAN);
  if (ground) {
    const width = context.measureText(text).width;
    const box = /** @type {const} */ ([asRow ? -width - 4 : -4, -0.7 * font, width + 8, 1.4 * font]);
    context.fillStyle = ground;
    context.fillRect(...box);
    context.strokeStyle = inks.muted;
    context.lineWidth = 1;
    context.strokeRect(...box);
  }
  context.fillStyle = ink;
  context.fillText(text, 0, 0);
  context.restore();
}

/** Draw as many labels as fit, including those in focus.
 * @param {CanvasRenderingContext2D} context @param {BigMap} map @returns {number} the interval between labels
 */
export function drawLabels(context, map) {
  const { step, wide, inks, font, visible, seen } = map;
  const { first, row, key: keyIndex, best = null } = /** @type {MapPicture} */ (map.picture);
  const key = keyIndex ?? best;
  const [down, across] = [step, wide].map((size) => everyOf(font, size));
  for (const index of labelled(visible.length, down, [row - first]))
    write(context, map, index, { asRow: true, ink: index + first === row ? inks.query : inks.muted });
  for (const index of labelled(seen.length, across, key === null ? [] : [key - first])) {
    const isChosen = index + first === key;
    context.globalAlpha = key === null || isChosen ? 1 : 0.8;
    write(context, map, index, { asRow: false, ink: inks.key, strong: isChosen });
    context.globalAlpha = 1;
  }
  return Math.max(down, across);
}

/** Draw the labels of the pointed row and column over the others.
 * @param {CanvasRenderingContext2D} context @param {BigMap} map @param {Cell} at
 */
export function drawPointedLabels(context, map, [i, j]) {
  const { panel, text } = map.inks;
  const first = map.picture?.first ?? 0;
  for (const [index, asRow] of /** @type {[number, boolean][]} */ ([
    [i - first, true],
    [j - first, false],
  ]))
    if (index >= 0 && index < (asRow ? map.visible : map.seen).length)
      write(context, map, index, { asRow, ink: text, ground: panel });
}
