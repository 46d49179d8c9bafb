// The tokens at both sides of an enlarged map: as many as there is room for, and always those that are pointed at.

/** @typedef {import("./map.js").BigMap} BigMap */

export const LEAN = Math.PI / 3; // of the column labels
const MAX_LENGTH = 12; // characters
const AWAY = 7; // pixels from the cells

/** Of how many tokens one is named, where each has so much room. @param {number} font @param {number} room pixels */
export const everyOf = (font, room) => Math.max(1, Math.ceil((1.05 * font) / room));

/** The tokens that are named: those that must be, and of the others as many as there is room for beside them.
 * @param {number} count @param {number} every @param {number[]} wanted
 */
export function labelled(count, every, wanted) {
  const must = wanted.filter((at) => at >= 0 && at < count);
  const isFree = (/** @type {number} */ at) => must.every((own) => at === own || Math.abs(at - own) >= every);
  return [...Array(count).keys()].filter(
    (at) => must.includes(at) || (at % every === 0 && (every === 1 || isFree(at))),
  );
}

/** @param {string} token */
export const clip = (token) => (token.length > MAX_LENGTH ? `${token.slice(0, MAX_LENGTH - 1)}…` : token);

/** Writes a token at one of the sides. @param {CanvasRenderingContext2D} context @param {BigMap} map
 * @param {number} at the token, from 0 among those in sight @param {{asRow: boolean, ink: string, ground?: string, strong?: boolean}} how
 */
function write(context, { left, top, step, wide, visible, seen, font, inks }, at, { asRow, ink, ground, strong }) {
  const text = clip((asRow ? visible : seen)[at]);
  context.save();
  context.font = `${strong ? "bold " : ""}${font}px ${inks.mono}`;
  context.textBaseline = "middle";
  context.textAlign = asRow ? "right" : "left";
  context.translate(asRow ? left - AWAY : left + (at + 0.5) * wide, asRow ? top + (at + 0.5) * step : top - AWAY);
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

/** Writes as many tokens as there is room for, those in focus among them.
 * @param {CanvasRenderingContext2D} context @param {BigMap} map @returns {number} every which token is written
 */
export function drawLabels(context, map) {
  const { step, wide, inks, font, visible, seen } = map;
  const { first, row, key: chosen, best = null } = /** @type {import("./map.js").MapPicture} */ (map.shown);
  const key = chosen ?? best;
  const [down, along] = [step, wide].map((size) => everyOf(font, size));
  for (const at of labelled(visible.length, down, [row - first]))
    write(context, map, at, { asRow: true, ink: at + first === row ? inks.query : inks.muted });
  for (const at of labelled(seen.length, along, key === null ? [] : [key - first])) {
    const isChosen = at + first === key;
    context.globalAlpha = key === null || isChosen ? 1 : 0.8;
    write(context, map, at, { asRow: false, ink: inks.key, strong: isChosen });
    context.globalAlpha = 1;
  }
  return Math.max(down, along);
}

/** Writes the row and the column that are pointed at over what stands there.
 * @param {CanvasRenderingContext2D} context @param {BigMap} map @param {import("../base/grid_keys.js").Place} at
 */
export function drawPointedLabels(context, map, [i, j]) {
  const { panel, text } = map.inks;
  const first = map.shown?.first ?? 0;
  for (const [at, asRow] of /** @type {[number, boolean][]} */ ([
    [i - first, true],
    [j - first, false],
  ]))
    if (at >= 0 && at < (asRow ? map.visible : map.seen).length)
      write(context, map, at, { asRow, ink: text, ground: panel });
}
