// The view "lens": the likeliest next token after each layer, by the final norm and the head.

import { contentWidth, div, h, LETTERS, render, setText } from "../base/dom.js";
import { clip } from "../picture/map_labels.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { FoldedTable } from "../picture/listing.js";
import { isolated } from "../base/token_text.js";
import { percent, quoted } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {import("../base/messages.js").LensAnswer & {chances: Float32Array}} Answer chances: by level, column and place */

const LEGEND = "each cell: the likeliest next token; the stronger the colour, the more probable";

export class LensView {
  name = "lens";
  title = "Read the next word after each layer";
  about = "from which layer on is the answer there? (logit lens)";
  route = "lens";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.gloss = h("p", { class: "gloss" });
    this.status = div("view-status");
    this.readout = div("readout");
    this.grid = new DrawnGrid({
      pick: (level, column) => this.pick(level, column ?? 0),
      hover: (text) => setText(this.readout, text ?? ""),
    });
    this.left = div("label");
    this.table = new FoldedTable("Lens as a table", () => view.redraw());
    this.element = div("lens-view", this.gloss, this.status);
    this.element.append(div("scrolls", this.grid.element), div("map-foot", div("label", LEGEND), this.readout));
    this.element.append(this.left, this.table.element);
  }

  /** The link parameters of the view, which covers all layers and heads. */
  params() {
    return { at: writeAt({ ...this.view.at, layer: 0, head: 0, key: null }, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    this.answer = { ...header, chances: floats };
  }

  /** Select the token of a column, and the layer of a row below the first. @param {number} level @param {number} column */
  pick(level, column) {
    const { answer, view } = this;
    if (answer) view.focus.pickRow(answer.first + column, Math.max(0, level - 1));
  }

  draw() {
    const { answer, grid, view } = this;
    const { inks } = view;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    setText(this.gloss, answer.gloss);
    render(this.status, ...answer.sentences.map((text) => ["p", text]));
    setText(this.left, answer.left);
    const layout = layOutLens(answer, contentWidth(this.element));
    const { layer } = view.at;
    grid.drawGrid(
      {
        name: "Logit lens",
        how: "layers from the input down, and tokens",
        size: [answer.layers + 1, layout.count],
        say: ([level, column]) => this.say(answer, level, column),
        boxOf: ([level, column]) => boxOfCell(layout, level, column),
        at: (x, y) => cellAt(layout, x, y),
      },
      layout,
      inks,
      [answer, layer, inks.text],
      (context) => drawLens(context, layout, answer, inks, layer),
    );
    if (this.table.isOpen) this.fillTable(answer);
  }

  /** Describe a cell with its likeliest tokens. @param {Answer} answer @param {number} level @param {number} column */
  say({ tokens, first, labels, chances }, level, column) {
    const top = labels[level][column];
    const from = (level * labels[level].length + column) * top.length;
    const parts = top.map((label, place) => `${isolated(label)} ${percent(chances[from + place])}`);
    return `${quoted(tokens[first + column])}, ${levelName(level)}: ${parts.join(", ")}`;
  }

  /** @param {Answer} answer */
  fillTable({ tokens, first, labels, chances }) {
    const head = ["after", ...labels[0].map((_, column) => `${first + column} ${isolated(tokens[first + column])}`)];
    const rows = labels.map((level, number) => {
      const cells = level.map(([label], column) => {
        const chance = chances[(number * level.length + column) * level[column].length];
        return `${isolated(label)} ${percent(chance)}`;
      });
      return [levelName(number), ...cells];
    });
    this.table.fill(head, rows);
  }
}

// ---- the drawing: tokens are columns, levels are rows, the input at the top

const LEFT = 66; // pixels of the level labels
const [LEAST_WIDE, MAX_WIDE, LEAST_HIGH, MAX_HIGH, HIGH] = [62, 132, 19, 30, 560]; // pixels of a cell, and of the drawing

/** The label of a level. @param {number} level */
const levelName = (level) => (level ? `layer ${level - 1}` : "input");

/** @param {{labels: string[][][], layers: number}} lens @param {number} width */
export function layOutLens({ labels, layers }, width) {
  const count = labels[0].length;
  const wide = Math.max(LEAST_WIDE, Math.min(MAX_WIDE, (width - LEFT) / count));
  const [top, high] = [1.8 * LETTERS, Math.max(LEAST_HIGH, Math.min(MAX_HIGH, HIGH / (layers + 1)))];
  return { count, layers, wide, high, top, width: LEFT + count * wide, height: top + (layers + 1) * high };
}

/** @typedef {ReturnType<typeof layOutLens>} Layout */

/** @param {Layout} layout @param {number} level @param {number} column */
export const boxOfCell = ({ wide, high, top }, level, column) => ({
  left: LEFT + column * wide,
  top: top + level * high,
  width: wide,
  height: high,
});

/** The level and the column at a pixel; null outside.
 * @param {Layout} layout @param {number} x @param {number} y @returns {Cell | null} */
export function cellAt({ wide, high, top, count, layers }, x, y) {
  const [level, column] = [Math.floor((y - top) / high), Math.floor((x - LEFT) / wide)];
  return level < 0 || level > layers || column < 0 || column >= count ? null : [level, column];
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Answer} lens @param {Inks} inks
 * @param {number} layer the layer in focus
 */
export function drawLens(context, layout, { tokens, first, row, labels, chances }, inks, layer) {
  context.textBaseline = "middle";
  labels.forEach((level, number) => {
    const isFocused = number === layer + 1;
    const { top } = boxOfCell(layout, number, 0);
    Object.assign(context, { textAlign: "left", fillStyle: isFocused ? inks.accent : inks.muted });
    context.font = `${isFocused ? "bold " : ""}${LETTERS}px ${inks.mono}`;
    context.fillText(levelName(number), 0, top + layout.high / 2);
    context.textAlign = "center";
    context.font = `${LETTERS}px ${inks.mono}`;
    level.forEach(([label, ...others], column) => {
      const box = boxOfCell(layout, number, column);
      const chance = chances[(number * level.length + column) * (1 + others.length)];
      context.fillStyle = inks.accent;
      context.globalAlpha = 0.05 + 0.5 * chance;
      context.fillRect(box.left, box.top, box.width - 1, box.height - 1);
      Object.assign(context, { globalAlpha: 1, fillStyle: inks.text });
      context.fillText(clip(label), box.left + box.width / 2, box.top + box.height / 2, box.width - 6);
    });
  });
  labels[0].forEach((_, column) => {
    const { left } = boxOfCell(layout, 0, column);
    const isRow = first + column === row;
    context.fillStyle = isRow ? inks.query : inks.key;
    context.font = `${isRow ? "bold " : ""}${LETTERS}px ${inks.mono}`;
    context.fillText(clip(tokens[first + column]), left + layout.wide / 2, layout.top / 2, layout.wide - 6);
  });
}
