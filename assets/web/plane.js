// The values of one head as a grid: pointing reads a number, a click or the arrow keys choose a row and a column.

import { palette } from "./colour.js";
import { contextOf, h, setAttribute, setText } from "./dom.js";

const MOST_ROWS = 40; // in sight at once, around the chosen one
const LABEL = 78;
const SIGNED = {
  dark: { less: [110, 168, 255], none: [21, 28, 46], more: [255, 154, 107] },
  light: { less: [27, 89, 198], none: [255, 255, 255], more: [178, 58, 11] },
};

export class Plane {
  constructor(pick) {
    this.pick = pick;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.cell = h("div", { class: "cell", role: "gridcell", tabindex: "0" });
    this.grid = h("div", { class: "grid", role: "grid" }, this.canvas, h("div", { role: "row" }, this.cell));
    this.readout = h("p", { class: "readout" });
    this.caption = h("p", { class: "label" });
    this.element = h("div", { class: "plane" }, this.caption, this.grid, this.readout);
    this.grid.onmousemove = (event) => this.read(this.under(event));
    this.grid.onmouseleave = () => this.read(null);
    this.grid.onclick = (event) => {
      const at = this.under(event);
      if (at) this.pick(...at);
    };
    this.cell.onkeydown = (event) => this.walk(event);
  }

  draw({ tensor, tokens, head, row, column, theme, colours, width }) {
    const plane = tensor.plane(head);
    Object.assign(this, { tensor, tokens, plane, head });
    this.at = [Math.min(row, plane.height - 1), Math.min(column, plane.width - 1)];
    this.grid.hidden = this.readout.hidden = !tensor.here;
    const words = { i: "queries", j: "keys", d: "channels of the head", c: "channels" };
    const size = `${plane.height} ${words[plane.rows]} × ${plane.width} ${words[plane.cols]}`;
    const own = tensor.ofHeads || plane.cols === "j" ? `head ${head}: ` : "";
    const piece = plane.cols === "c" ? `, ${plane.first} to ${plane.first + plane.width - 1}` : "";
    this.first = Math.max(0, Math.min(this.at[0] - MOST_ROWS / 2, plane.height - MOST_ROWS));
    const shown = Math.min(MOST_ROWS, plane.height);
    const cut = shown < plane.height ? `; rows ${this.first} to ${this.first + shown - 1} in sight` : "";
    setText(
      this.caption,
      tensor.here ? `values of ${own}${size}${piece}${cut}` : "these numbers were too many to send",
    );
    if (!tensor.here) return;
    this.side = Math.max(1, Math.min(30, (width - LABEL) / plane.width));
    this.high = shown > 24 ? 11 : 15;
    const names = plane.cols === "j" && this.side >= 13;
    this.top = names ? 58 : 16;
    const context = contextOf(this.canvas, LABEL + this.side * plane.width, this.top + this.high * shown);
    this.paint(context, shown, theme, colours, names);
    const [i, j] = this.at;
    Object.assign(this.cell.style, {
      left: `${LABEL + j * this.side}px`,
      top: `${this.top + (i - this.first) * this.high}px`,
      width: `${Math.max(3, this.side)}px`,
      height: `${this.high}px`,
    });
    setAttribute(this.grid, "aria-label", `${tensor.name}, ${own}${size}`);
    setAttribute(this.grid, "aria-rowcount", plane.height);
    setAttribute(this.grid, "aria-colcount", plane.width);
    setAttribute(this.cell, "aria-label", this.words(i, j));
    setAttribute(this.cell.parentElement, "aria-rowindex", i + 1);
    setAttribute(this.cell, "aria-colindex", j + 1);
    this.read(null);
  }

  paint(context, shown, theme, colours, names) {
    const { tensor, plane, side, high, top } = this;
    const glow = tensor.isWeights ? palette(theme, "root", 255) : null;
    const { less, none, more } = SIGNED[theme];
    context.textBaseline = "middle";
    context.font = `11px ${colours.mono}`;
    for (let y = 0; y < shown; y++) {
      const i = this.first + y;
      context.fillStyle = i === this.at[0] ? colours.query : colours.muted;
      context.textAlign = "right";
      context.fillText(this.tokens[i].slice(0, 10), LABEL - 6, top + (y + 0.5) * high);
      for (let x = 0; x < plane.width; x++) {
        const value = tensor.value(plane.index(i, x));
        if (value === -Infinity) continue;
        if (glow) {
          const colour = glow[Math.round(255 * value)];
          context.fillStyle = `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
        } else {
          const share = Math.max(-1, Math.min(1, value / tensor.scale));
          const to = share < 0 ? less : more;
          context.fillStyle = `rgb(${none.map((part, c) => Math.round(part + (to[c] - part) * Math.abs(share))).join(" ")})`;
        }
        context.fillRect(LABEL + x * side, top + y * high, Math.ceil(side) - (side > 5 ? 1 : 0), high - 1);
      }
    }
    this.heads(context, colours, names);
  }

  heads(context, colours, names) {
    const { plane, side, top } = this;
    context.textAlign = names ? "left" : "center";
    for (let x = 0; x < plane.width; x++) {
      const middle = LABEL + (x + 0.5) * side;
      context.fillStyle = x === this.at[1] ? colours.text : colours.muted;
      if (names) {
        context.save();
        context.translate(middle, top - 6);
        context.rotate(-Math.PI / 3);
        context.fillText(this.tokens[x].slice(0, 8), 0, 0);
        context.restore();
      } else if (side * 8 > 26 && (x % 8 === 0 || x === plane.width - 1))
        context.fillText(String(plane.first + x), middle, 7);
    }
  }

  under(event) {
    const box = this.grid.getBoundingClientRect();
    const [j, y] = [
      Math.floor((event.clientX - box.left - LABEL) / this.side),
      Math.floor((event.clientY - box.top - this.top) / this.high),
    ];
    const i = this.first + y;
    return j >= 0 && j < this.plane.width && y >= 0 && i < this.plane.height ? [i, j] : null;
  }

  words(i, j) {
    const { tensor, plane, tokens } = this;
    const index = plane.index(i, j);
    const value = tensor.value(index);
    const column = plane.cols === "j" ? `key “${tokens[j]}”` : `channel ${plane.first + j}`;
    const shown = value === -Infinity ? "−∞: not allowed" : value.toPrecision(4).replace("-", "−");
    return `“${tokens[i]}”, ${column}: ${shown} · [${index.join(", ")}] lies at place ${tensor.place(index).toLocaleString("en")}`;
  }

  read(at) {
    setText(this.readout, this.words(...(at ?? this.at)));
  }

  walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const limit = (value, size) => Math.max(0, Math.min(size - 1, value));
    // kept at once: the next key may come before the next frame
    this.at = [limit(this.at[0] + step[0], this.plane.height), limit(this.at[1] + step[1], this.plane.width)];
    this.pick(...this.at);
  }
}
