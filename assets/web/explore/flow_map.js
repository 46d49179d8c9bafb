// The flow into one output token: tokens as columns, levels as rows, the input below and the output on top; the lines
// between them are as wide as what goes along them, and one way stands out.

import { LETTERS } from "../base/dom.js";
import { clip, everyOf, labelled, LEAN } from "../picture/map_labels.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {import("../base/grid_keys.js").Place} Place */
/** @typedef {[number, number, number, number]} Line level of the upper end, its token, the lower one's, share */
/** @typedef {{tokens: string[], layers: number, row: number, lines: Line[], path: number[], masses: Float32Array}} Flow masses: a level after another, from the input up */

const FONT = LETTERS;
const LEFT = 68; // of the names of the levels
const WIDEST = 16; // pixels of a line that carries all
const SMALLEST_MASS = 0.004; // of a token that is drawn as a dot
const [LEAST_HIGH, MOST_HIGH] = [20, 54]; // pixels from level to level

/** Where the tokens and levels stand. @param {Pick<Flow, "tokens" | "layers">} flow @param {{width: number, height: number}} room */
export function layOutFlow({ tokens, layers }, { width, height }) {
  const longest = Math.min(
    12,
    tokens.reduce((most, token) => Math.max(most, token.length), 1),
  );
  const below = Math.sin(LEAN) * longest * 0.62 * FONT + 12;
  const right = 14;
  const [top, step] = [1.8 * FONT, Math.max(1, (width - LEFT - right) / tokens.length)];
  const high = Math.max(LEAST_HIGH, Math.min(MOST_HIGH, (height - top - below) / layers));
  const wide = LEFT + step * tokens.length + right;
  return {
    count: tokens.length,
    layers,
    left: LEFT,
    top,
    step,
    high,
    width: wide,
    height: top + layers * high + below,
  };
}

/** @typedef {ReturnType<typeof layOutFlow>} Layout */

/** The middle of a token at a level. @param {Layout} layout @param {number} level @param {number} token @returns {[number, number]} */
export const spotOf = ({ left, top, step, high, layers }, level, token) => [
  left + (token + 0.5) * step,
  top + (layers - level) * high,
];

/** The level and token nearest to a pixel, null beside them. @param {Layout} layout @param {number} x @param {number} y @returns {Place | null} */
export function nodeAt({ left, top, step, high, layers, count }, x, y) {
  const token = Math.floor((x - left) / step);
  const level = layers - Math.round((y - top) / high);
  return token < 0 || token >= count || level < 0 || level > layers ? null : [level, token];
}

/** The room of a node. @param {Layout} layout @param {Place} at level and token */
export function boxOfNode(layout, [level, token]) {
  const [x, y] = spotOf(layout, level, token);
  const [width, height] = [Math.max(6, Math.min(layout.step, 28)), Math.min(layout.high - 4, 22)];
  return { left: x - width / 2, top: y - height / 2, width, height };
}

/** Pixels of a line. @param {number} share */
export const widthOf = (share) => Math.max(1, WIDEST * share);

/** What a level is called. @param {number} level */
export const levelName = (level) => (level ? `layer ${level - 1}` : "input");

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Flow} flow @param {Inks} inks
 * @param {number} layer in focus
 */
export function drawFlow(context, layout, flow, inks, layer) {
  const { tokens, layers, row, lines, path, masses } = flow;
  drawLevels(context, layout, inks, layer);
  for (const [level, above, below, share] of [...lines].reverse()) {
    context.globalAlpha = 0.7 + 0.3 * Math.min(1, 3 * share); // 3 : 1 and more in both themes
    line(context, layout, level, above, below, above === below ? inks.muted : inks.key, widthOf(share));
  }
  context.globalAlpha = 1;
  drawDots(context, layout, masses, tokens.length, inks);
  for (let level = 1; level < path.length; level += 1) {
    line(context, layout, level, path[level], path[level - 1], inks.panel, 5);
    line(context, layout, level, path[level], path[level - 1], inks.accent, 2.5);
  }
  const ends = path.length ? [path[0]] : [];
  context.textBaseline = "middle";
  for (const token of labelled(layout.count, everyOf(FONT, layout.step), [row, ...ends])) {
    const isOwn = token === row;
    const [x, y] = spotOf(layout, 0, token);
    context.save();
    context.translate(x, y + 10);
    context.rotate(-LEAN);
    context.textAlign = "right";
    context.font = `${isOwn || ends.includes(token) ? "bold " : ""}${FONT}px ${inks.mono}`;
    context.fillStyle = isOwn ? inks.query : ends.includes(token) ? inks.accent : inks.key;
    context.fillText(clip(tokens[token]), 0, 0);
    context.restore();
  }
  const [x, y] = spotOf(layout, layers, row);
  Object.assign(context, { textAlign: "center", fillStyle: inks.query, font: `bold ${FONT}px ${inks.mono}` });
  const half = context.measureText(clip(tokens[row])).width / 2;
  context.fillText(clip(tokens[row]), Math.max(half, Math.min(layout.width - half, x)), y - 14);
}

/** The levels' names, the one of the layer in focus marked. */
function drawLevels(context, { left, top, high, layers, width }, inks, layer) {
  Object.assign(context, { textBaseline: "middle", textAlign: "left" });
  for (let level = 0; level <= layers; level += 1) {
    const y = top + (layers - level) * high;
    const isFocused = level === layer + 1;
    context.fillStyle = isFocused ? inks.accent : inks.line;
    context.fillRect(left, y - 0.5, width - left, 1);
    context.font = `${isFocused ? "bold " : ""}${FONT}px ${inks.mono}`;
    context.fillStyle = isFocused ? inks.text : inks.muted;
    context.fillText(levelName(level), 0, y);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {number} level @param {number} above @param {number} below @param {string} colour @param {number} wide */
function line(context, layout, level, above, below, colour, wide) {
  const [x, y] = spotOf(layout, level, above);
  const [to, end] = spotOf(layout, level - 1, below);
  const middle = (y + end) / 2;
  context.strokeStyle = colour;
  context.lineWidth = wide;
  context.beginPath();
  context.moveTo(x, y);
  if (x === to) context.lineTo(to, end);
  else context.bezierCurveTo(x, middle, to, middle, to, end);
  context.stroke();
}

/** The tokens that something passes, as large as what does. */
function drawDots(context, layout, masses, count, inks) {
  context.fillStyle = inks.text;
  context.beginPath();
  masses.forEach((mass, at) => {
    if (mass < SMALLEST_MASS) return;
    const [x, y] = spotOf(layout, Math.floor(at / count), at % count);
    const radius = 1 + 5 * Math.sqrt(mass);
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  });
  context.fill();
}
