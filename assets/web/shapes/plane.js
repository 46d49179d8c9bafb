// The values of one head as a grid: pointing reads a number, a click or the arrow keys choose a row and a column.

import { palette, pixel, signedColour } from "../base/colour.js";
import { contextOf, div, h, LETTERS, setText } from "../base/dom.js";
import { GridCell, isShortcut, nearest, walked } from "../base/grid_keys.js";
import { FoldedTable } from "../picture/folded_table.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */

const MOST_ROWS = 40; // in sight at once, around the chosen one
const MOST_COLUMNS = 64; // of the table
const LABEL = 78; // pixels of the tokens beside the rows
const LEVELS = 127; // of a sign
const AXES = { i: "queries", j: "keys", d: "channels of the head", c: "channels" };

/** How a value is painted, as CSS; null for what is forbidden. */
function painter(tensor, theme, inks) {
  const css = (pixels) => Array.from(pixels, (own) => `rgb(${own & 255} ${(own >> 8) & 255} ${(own >> 16) & 255})`);
  if (tensor.isWeights) {
    const ramp = css(palette(theme, "root", 255));
    return (value) => (value === -Infinity ? null : ramp[Math.round(255 * Math.min(1, value))]);
  }
  const shares = Array.from({ length: 2 * LEVELS + 1 }, (_, n) => n / LEVELS - 1);
  const ramp = css(shares.map((share) => pixel(signedColour(share, inks))));
  const level = (value) => Math.round(LEVELS * (1 + Math.max(-1, Math.min(1, value / tensor.scale))));
  return (value) => (value === -Infinity ? null : ramp[level(value)]);
}

/** @param {number} value */
const written = (value) => (value === -Infinity ? "−∞" : value.toPrecision(4).replaceAll("-", "−"));

export class Plane {
  constructor(pick) {
    this.pick = pick;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.cell = new GridCell();
    this.grid = h("div", { class: "grid", role: "grid" }, this.canvas, this.cell.row);
    this.readout = h("p", { class: "readout" });
    this.caption = h("p", { class: "label" });
    this.table = new FoldedTable("Values as a table", () => this.fillTable());
    this.element = div("plane", this.caption, this.grid, this.readout, this.table.element);
    this.tensor = /** @type {Tensor} */ ({});
    this.plane = /** @type {ReturnType<Tensor["plane"]>} */ ({});
    this.tokens = /** @type {string[]} */ ([]);
    this.at = /** @type {import("../base/grid_keys.js").Place} */ ([0, 0]);
    this.first = this.side = this.high = this.top = this.label = 0; // the first row in sight; pixels
    this.scale = 1; // of letters
    this.grid.onmousemove = (event) => this.read(this.under(event));
    this.grid.onmouseleave = () => this.read(null);
    this.grid.onclick = (event) => {
      const at = this.under(event);
      if (at) this.pick(...at);
    };
    this.cell.element.onkeydown = (event) => this.walk(event);
  }

  draw({ tensor, tokens, head, row, column, theme, colours, width, scale }) {
    const plane = /** @type {Tensor} */ (tensor).plane(head);
    Object.assign(this, { tensor, plane, tokens, scale, label: LABEL * scale });
    this.at = nearest([row, column], [0, plane.height - 1], [0, plane.width - 1]);
    this.first = Math.max(0, Math.min(this.at[0] - MOST_ROWS / 2, plane.height - MOST_ROWS));
    const rows = Math.min(MOST_ROWS, plane.height);
    const whose = tensor.ofHeads || plane.cols === "j" ? `head ${head}: ` : "";
    const name = `${whose}${plane.height} ${AXES[plane.rows]} × ${plane.width} ${AXES[plane.cols]}`;
    const piece = plane.cols === "c" ? `, ${plane.first} to ${plane.first + plane.width - 1}` : "";
    const cut = rows < plane.height ? `; rows ${this.first} to ${this.first + rows - 1} in sight` : "";
    setText(this.caption, tensor.here ? `values of ${name}${piece}${cut}` : "these numbers were too many to send");
    this.grid.hidden = this.readout.hidden = this.table.element.hidden = !tensor.here;
    if (!tensor.here) return;
    this.side = Math.max(1, Math.min(30 * scale, (width - this.label) / plane.width));
    this.high = (rows > 24 ? LETTERS : 15) * scale;
    const leaning = plane.cols === "j" && this.side >= 13 * scale;
    this.top = (leaning ? 58 : 16) * scale;
    const context = contextOf(this.canvas, this.label + this.side * plane.width, this.top + this.high * rows);
    context.textBaseline = "middle";
    context.font = `${LETTERS * scale}px ${colours.mono}`;
    this.drawRows(context, rows, painter(tensor, theme, colours), colours);
    this.drawColumns(context, colours, leaning);
    this.describe(`${tensor.name}, ${name}`);
    this.read(null);
    this.fillTable();
  }

  /** Around the chosen row and column, as far as a table can be read. */
  fillTable() {
    const { tensor, plane, tokens, at, first } = this;
    if (!this.table.isOpen || !tensor.here) return;
    const [high, wide] = [Math.min(MOST_ROWS, plane.height), Math.min(MOST_COLUMNS, plane.width)];
    const left = Math.max(0, Math.min(at[1] - wide / 2, plane.width - wide));
    const columns = Array.from({ length: wide }, (_, x) => left + x);
    const names = columns.map((x) => (plane.cols === "j" ? `${x} ${tokens[x]}` : String(plane.first + x)));
    const rows = Array.from({ length: high }, (_, y) => {
      const i = first + y;
      return [`${i} ${tokens[i]}`, ...columns.map((x) => written(tensor.value(plane.index(i, x))))];
    });
    const isCut = high < plane.height || wide < plane.width;
    const rest = isCut ? ` Around the chosen one, ${high} × ${wide} of ${plane.height} × ${plane.width}.` : "";
    this.table.fill(
      [AXES[plane.rows], ...names],
      rows,
      `Rows are ${AXES[plane.rows]}, columns ${AXES[plane.cols]}.${rest}`,
    );
  }

  drawRows(context, rows, colourOf, colours) {
    const { tensor, plane, side, high, top, label } = this;
    context.textAlign = "right";
    for (let y = 0; y < rows; y++) {
      const i = this.first + y;
      context.fillStyle = i === this.at[0] ? colours.query : colours.muted;
      context.fillText(this.tokens[i].slice(0, 10), label - 6, top + (y + 0.5) * high);
      for (let x = 0; x < plane.width; x++) {
        const colour = colourOf(tensor.value(plane.index(i, x)));
        if (!colour) continue;
        context.fillStyle = colour;
        context.fillRect(label + x * side, top + y * high, Math.ceil(side) - (side > 5 ? 1 : 0), high - 1);
      }
    }
  }

  /** Tokens over the keys where they fit, otherwise the number of every eighth column. */
  drawColumns(context, colours, leaning) {
    const { plane, side, top, at, tokens, label, scale } = this;
    context.textAlign = leaning ? "left" : "center";
    for (let x = 0; x < plane.width; x++) {
      const middle = label + (x + 0.5) * side;
      context.fillStyle = x === at[1] ? colours.text : colours.muted;
      if (leaning) {
        context.save();
        context.translate(middle, top - 6);
        context.rotate(-Math.PI / 3);
        context.fillText(tokens[x].slice(0, 8), 0, 0);
        context.restore();
      } else if (side * 8 > 26 * scale && (x % 8 === 0 || x === plane.width - 1))
        context.fillText(String(plane.first + x), middle, 7 * scale);
    }
  }

  describe(name) {
    const { plane, side, high, at } = this;
    const [left, top] = [this.label + at[1] * side, this.top + (at[0] - this.first) * high];
    const box = { left, top, width: Math.max(3, side), height: high };
    this.cell.put(this.grid, name, [plane.height, plane.width], at, this.say(at), box);
  }

  under(event) {
    const box = this.grid.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.label) / this.side);
    const y = Math.floor((event.clientY - box.top - this.top) / this.high);
    const i = this.first + y;
    return j >= 0 && j < this.plane.width && y >= 0 && i < this.plane.height ? [i, j] : null;
  }

  /** What a cell says: its number, and where it lies in memory. */
  say([i, j]) {
    const { tensor, plane, tokens } = this;
    const index = plane.index(i, j);
    const value = tensor.value(index);
    const column = plane.cols === "j" ? `key “${tokens[j]}”` : `channel ${plane.first + j}`;
    const shown = value === -Infinity ? `${written(value)}: not allowed` : written(value);
    const place = tensor.place(index).toLocaleString("en");
    return `“${tokens[i]}”, ${column}: ${shown} · [${index.join(", ")}] lies at place ${place}`;
  }

  read(at) {
    setText(this.readout, this.say(at ?? this.at));
  }

  walk(event) {
    const to = isShortcut(event) ? null : walked(event, this.at, [0, this.plane.height - 1], [0, this.plane.width - 1]);
    if (!to) return;
    event.preventDefault();
    this.at = to; // at once: the next key may come before the next frame
    this.pick(...to);
  }
}
