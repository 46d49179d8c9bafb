// The view "flow": the input tokens that the row in focus is composed of, layer by layer, by rollout or attention ×
// value norm.

import { clip, everyOf, labelled, LEAN } from "../picture/map_labels.js";
import { choice } from "../base/choice.js";
import { contentWidth, div, h, LETTERS, render, setAttribute, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { FoldedTable } from "../picture/listing.js";
import { isolated } from "../base/token_text.js";
import { percent, quoted, sortByWeight } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {[number, number, number, number]} Line upper level, its token, token one level below, share */
/** @typedef {{tokens: string[], layers: number, row: number, lines: Line[], path: number[], masses: Float32Array}} Flow masses: level by level, from the input up */
/** @typedef {import("../base/messages.js").FlowAnswer & {masses: Float32Array}} Answer */

const NORM = "norm"; // value in the link
const [ROLLOUT, BY_NORM] = ["rollout", "attention × value norm"];
/** @type {[string, string, string][]} */
const MEASURES = [
  ["", ROLLOUT, "the mean of the heads’ weights"],
  [NORM, BY_NORM, "how much the heads pass on"],
];
const MAX_ROWS = 20; // tokens in the table
const HIGH = 460; // pixels of the drawing with few layers
const LEGEND =
  "a thicker line carries a larger share; vertical lines are what a token keeps; the strongest path is orange";

export class FlowView {
  name = "flow";
  title = "Trace a word through the layers";
  about = "which words reach it, over all layers?";
  route = "flow";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.measure = choice("Method", MEASURES, (state) => view.others.show(this, state));
    this.status = div("view-status");
    this.left = div("label");
    this.readout = div("readout");
    this.grid = new DrawnGrid({
      pick: (row, token) => this.pick(row, token ?? 0),
      hover: (text) => setText(this.readout, text ?? ""),
    });
    this.table = new FoldedTable("Flow as a table", () => view.redraw());
    this.notes = div("label");
    const more = h("a", { class: "page-link", href: "glossary" }, "Glossary →");
    const parts = [div("scrolls", this.grid.element), div("map-foot", div("label", LEGEND), this.readout)];
    this.element = div("flow-view", div("actions", this.measure.element), this.status, ...parts);
    this.element.append(this.left, this.table.element, this.notes, more);
  }

  /** The link parameters of the view, which covers all heads. */
  params() {
    const { at, state } = this.view;
    return { at: writeAt({ ...at, layer: 0, head: 0 }, true), view: state.panel };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    this.answer = { ...header, masses: floats };
  }

  /** Select a node, a layer and a row; at the input level, the key of the flow.
   * @param {number} row @param {number} token */
  pick(row, token) {
    const { answer, view } = this;
    if (!answer) return;
    const level = answer.layers - row;
    if (level) return view.focus.pickRow(token, level - 1);
    return view.setCursor({ row: answer.row, key: token }, { keys: [] });
  }

  draw() {
    const { answer, grid, view } = this;
    const { inks } = view;
    const { state } = view.others;
    this.measure.press(state === NORM ? NORM : "");
    const [, norm] = this.measure.buttons;
    norm.disabled = Boolean(answer?.noNorm);
    if (answer?.noNorm) setAttribute(norm, "title", answer.noNorm);
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const { tokens, layers, row } = answer;
    render(this.status, ...answer.sentences.map((text) => ["p", text]));
    render(this.notes, ...answer.assumes.map((text) => ["p", text]));
    setText(this.left, answer.left);
    const layout = layOutFlow(answer, { width: contentWidth(this.element), height: HIGH });
    const { layer } = view.at;
    grid.drawGrid(
      {
        name: `Flow into ${quoted(tokens[row])} by ${answer.norm ? BY_NORM : ROLLOUT}`,
        how: "levels from the output down to the input, and tokens",
        size: [layers + 1, tokens.length],
        say: ([up, token]) => this.say(answer, layers - up, token),
        boxOf: ([up, token]) => boxOfNode(layout, [layers - up, token]),
        at: (x, y) => {
          const node = nodeAt(layout, x, y);
          return node && [layers - node[0], node[1]];
        },
      },
      layout,
      inks,
      [answer, layer, inks.text],
      (context) => drawFlow(context, layout, answer, inks, layer),
    );
    if (this.table.isOpen) this.fillTable(answer);
  }

  /** Show the readout of a node. @param {Answer} answer @param {number} level @param {number} token */
  say({ tokens, masses, row }, level, token) {
    const share = `${percent(masses[level * tokens.length + token])} of ${quoted(tokens[row])}`;
    return `${quoted(tokens[token])}, ${level ? `after layer ${level - 1}` : "input"}: ${share}`;
  }

  /** @param {Answer} answer */
  fillTable({ tokens, layers, masses, row }) {
    const levels = [...Array(layers + 1).keys()];
    const listed = sortByWeight(masses.subarray(0, tokens.length)).slice(0, MAX_ROWS);
    const rest =
      tokens.length > listed.length ? ` Only the ${listed.length} largest of ${tokens.length} are listed.` : "";
    const rows = listed.map(([token]) => {
      const shares = levels.map((level) => percent(masses[level * tokens.length + token]));
      return [`${token} ${isolated(tokens[token])}`, ...shares];
    });
    const caption = `Share of ${quoted(tokens[row])} that passes through each token at each level.${rest}`;
    this.table.fill(["token", ...levels.map(levelName)], rows, caption);
  }
}

// ---- the drawing: tokens are columns, levels are rows, the input at the bottom; line width is the share, and the path
// with the largest shares is highlighted

const LEFT = 68; // pixels of the level labels
const MAX_LINE_WIDTH = 16; // pixels of a line with share 1
const MIN_MASS = 0.004; // mass of a token that has a dot, at least
const [LEAST_HIGH, MAX_HIGH] = [20, 54]; // pixels between two levels

/** The layout of tokens and levels.
 * @param {Pick<Flow, "tokens" | "layers">} flow @param {{width: number, height: number}} room */
export function layOutFlow({ tokens, layers }, room) {
  const count = tokens.length;
  const labelLength = tokens.reduce((max, token) => Math.max(max, Math.min(12, token.length)), 1);
  const labelHeight = Math.sin(LEAN) * labelLength * 0.62 * LETTERS + 12;
  const right = 14;
  const [top, step] = [1.8 * LETTERS, Math.max(1, (room.width - LEFT - right) / count)];
  const high = Math.max(LEAST_HIGH, Math.min(MAX_HIGH, (room.height - top - labelHeight) / layers));
  const [width, height] = [LEFT + step * count + right, top + layers * high + labelHeight];
  return { count, layers, left: LEFT, top, step, high, width, height };
}

/** @typedef {ReturnType<typeof layOutFlow>} Layout */

/** The centre of a token at a level.
 * @param {Layout} layout @param {number} level @param {number} token @returns {[number, number]} */
export const spotOf = ({ left, top, step, high, layers }, level, token) => [
  left + (token + 0.5) * step,
  top + (layers - level) * high,
];

/** The level and token nearest to a pixel; null outside.
 * @param {Layout} layout @param {number} x @param {number} y @returns {Cell | null} */
export function nodeAt({ left, top, step, high, layers, count }, x, y) {
  const token = Math.floor((x - left) / step);
  const level = layers - Math.round((y - top) / high);
  return token < 0 || token >= count || level < 0 || level > layers ? null : [level, token];
}

/** The bounding box of a node. @param {Layout} layout @param {Cell} at level and token */
export function boxOfNode(layout, [level, token]) {
  const [x, y] = spotOf(layout, level, token);
  const [width, height] = [Math.max(6, Math.min(layout.step, 28)), Math.min(layout.high - 4, 22)];
  return { left: x - width / 2, top: y - height / 2, width, height };
}

/** The width of a line in pixels. @param {number} share */
export const widthOf = (share) => Math.max(1, MAX_LINE_WIDTH * share);

/** The label of a level. @param {number} level */
export const levelName = (level) => (level ? `layer ${level - 1}` : "input");

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Flow} flow @param {Inks} inks
 * @param {number} layer the layer in focus
 */
export function drawFlow(context, layout, flow, inks, layer) {
  const { tokens, layers, row, lines, path, masses } = flow;
  drawLevels(context, layout, inks, layer);
  for (const [level, upper, lower, share] of [...lines].reverse()) {
    context.globalAlpha = 0.7 + 0.3 * Math.min(1, 3 * share); // a contrast of 3 : 1 and more in both themes
    line(context, layout, level, upper, lower, upper === lower ? inks.muted : inks.key, widthOf(share));
  }
  context.globalAlpha = 1;
  drawDots(context, layout, masses, tokens.length, inks);
  for (let level = 1; level < path.length; level += 1) {
    line(context, layout, level, path[level], path[level - 1], inks.panel, 5);
    line(context, layout, level, path[level], path[level - 1], inks.accent, 2.5);
  }
  const ends = path.length ? [path[0]] : [];
  context.textBaseline = "middle";
  for (const token of labelled(layout.count, everyOf(LETTERS, layout.step), [row, ...ends])) {
    const isOwn = token === row;
    const [x, y] = spotOf(layout, 0, token);
    context.save();
    context.translate(x, y + 10);
    context.rotate(-LEAN);
    context.textAlign = "right";
    context.font = `${isOwn || ends.includes(token) ? "bold " : ""}${LETTERS}px ${inks.mono}`;
    context.fillStyle = isOwn ? inks.query : ends.includes(token) ? inks.accent : inks.key;
    context.fillText(clip(tokens[token]), 0, 0);
    context.restore();
  }
  const [x, y] = spotOf(layout, layers, row);
  Object.assign(context, { textAlign: "center", fillStyle: inks.query, font: `bold ${LETTERS}px ${inks.mono}` });
  const half = context.measureText(clip(tokens[row])).width / 2;
  context.fillText(clip(tokens[row]), Math.max(half, Math.min(layout.width - half, x)), y - 14);
}

/** Draw the level labels; that of the layer in focus is highlighted. */
function drawLevels(context, { left, top, high, layers, width }, inks, layer) {
  Object.assign(context, { textBaseline: "middle", textAlign: "left" });
  for (let level = 0; level <= layers; level += 1) {
    const y = top + (layers - level) * high;
    const isFocused = level === layer + 1;
    context.fillStyle = isFocused ? inks.accent : inks.line;
    context.fillRect(left, y - 0.5, width - left, 1);
    context.font = `${isFocused ? "bold " : ""}${LETTERS}px ${inks.mono}`;
    context.fillStyle = isFocused ? inks.text : inks.muted;
    context.fillText(levelName(level), 0, y);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {number} level @param {number} upper @param {number} lower @param {string} colour @param {number} wide */
function line(context, layout, level, upper, lower, colour, wide) {
  const [x, y] = spotOf(layout, level, upper);
  const [start, end] = spotOf(layout, level - 1, lower);
  const middle = (y + end) / 2;
  context.strokeStyle = colour;
  context.lineWidth = wide;
  context.beginPath();
  context.moveTo(x, y);
  if (x === start) context.lineTo(start, end);
  else context.bezierCurveTo(x, middle, start, middle, start, end);
  context.stroke();
}

/** Draw the tokens with a mass; the size is the mass. */
function drawDots(context, layout, masses, count, inks) {
  context.fillStyle = inks.text;
  context.beginPath();
  masses.forEach((mass, index) => {
    if (mass < MIN_MASS) return;
    const [x, y] = spotOf(layout, Math.floor(index / count), index % count);
    const radius = 1 + 5 * Math.sqrt(mass);
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  });
  context.fill();
}
