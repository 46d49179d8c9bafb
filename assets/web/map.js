// One enlarged map: rows are queries, columns are keys, with tokens at both sides and numbers where they fit.

import { contextOf, frame, h, setAttribute } from "./dom.js";
import { inkOn, picture } from "./colour.js";
import { pooled, trimmed } from "./packets.js";
import { number } from "./words.js";

const LEAN = Math.PI / 3; // of the column labels
const LONGEST_LABEL = 12;
const clip = (token) => (token.length > LONGEST_LABEL ? `${token.slice(0, LONGEST_LABEL - 1)}…` : token);

export class BigMap {
  /** `act` has pick(i, j) and hover(text | null, cell | null). */
  constructor(act) {
    this.act = act;
    this.base = h("canvas", { "aria-hidden": "true" });
    this.over = h("canvas", { class: "over", "aria-hidden": "true" });
    this.cell = h("div", { class: "cell", role: "gridcell", tabindex: "0" });
    this.row = h("div", { role: "row" }, this.cell);
    this.element = h("div", { class: "map", role: "grid" }, this.base, this.over, this.row);
    this.active = null;
    this.roomy = 22; // pixels of a cell that a number fits into
    this.beside = 0; // pixels to keep free on the right, besides what the labels take
    this.element.onpointermove = (event) => this.point(this.cellAt(event));
    this.element.onpointerleave = () => this.point(null);
    this.element.onclick = (event) => {
      const at = this.cellAt(event);
      if (at) {
        this.active = at;
        this.act.pick(...at);
        this.point(at); // a finger has left by now, and its cell is not read out any more
      }
    };
    this.cell.onkeydown = (event) => this.key(event);
    this.cell.onfocus = () => this.point(this.active);
    this.cell.onblur = () => this.point(null);
  }

  /**
   * shown: {tokens, map: {size, bytes}, whole, weights: Float32Array | null, row, key, scale, theme, first, last, forbids, name}
   * whole says that `map` has one cell a token; otherwise it is a thumbnail.
   */
  draw(shown, inks, room) {
    Object.assign(this, { shown, inks });
    const { tokens, first, last, row, key } = shown;
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.visible = tokens.slice(first, tokens.length - last);
    const n = this.visible.length;
    const font = 11.5 * unit;
    const measure = contextOf(this.over, 1, 1);
    measure.font = `${font}px ${inks.mono}`;
    const widths = this.visible.map((token) => measure.measureText(clip(token)).width);
    const widest = Math.max(20, ...widths);
    this.left = widest + 12;
    this.top = widest * Math.sin(LEAN) + 16;
    const right = Math.max(6, widths[n - 1] * Math.cos(LEAN) - 4) + this.beside;
    const side = Math.max(60, Math.min(room.width - this.left - right, room.height - this.top - 4, 54 * unit * n));
    this.side = side;
    this.step = side / Math.max(1, n);
    this.right = right;
    const [width, height] = [this.left + side + right, this.top + side + 4];
    this.element.style.width = `${width}px`;
    this.element.style.height = `${height}px`;
    contextOf(this.over, width, height);
    const context = contextOf(this.base, width, height);
    this.cell.hidden = !n;
    if (!n) {
      this.active = null;
      return;
    }

    const cut = shown.whole ? trimmed(shown.map, first, last) : shown.map;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image(cut, side * (window.devicePixelRatio || 1)), this.left, this.top, side, side);
    this.drawCells(context, cut, unit);
    this.drawLabels(context, font);
    if (row >= first && row - first < n) {
      frame(context, this.left, this.top + (row - first) * this.step, side, this.step, inks.query);
    }
    if (key !== null && key >= first && key - first < n) {
      frame(context, this.left + (key - first) * this.step, this.top, this.step, side, inks.key);
    }
    const inside = (at) => Math.min(tokens.length - last - 1, Math.max(first, at));
    const [i, j] = this.active ?? [row, key ?? first];
    this.active = [inside(i), inside(j)];
    this.describe();
  }

  /** The cells as a picture, pooled where they are smaller than a pixel. */
  image(cut, room) {
    return picture(pooled(cut, room), this.shown.theme, this.shown.scale);
  }

  /** Lines between cells, hatching on forbidden ones, and the numbers, from float32 only. */
  drawCells(context, cut, unit) {
    const { shown, step, left, top, side, inks } = this;
    const n = this.visible.length;
    const { first, weights, forbids } = shown;
    if (step >= 12) {
      context.fillStyle = inks.panel;
      for (let at = 1; at < n; at++) {
        context.fillRect(left + at * step - 0.5, top, 1, side);
        context.fillRect(left, top + at * step - 0.5, side, 1);
      }
    }
    if (step >= 5) {
      context.strokeStyle = inks.line;
      context.lineWidth = 1;
      context.beginPath();
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          if (!forbids(i + first, j + first)) continue;
          const [x, y] = [left + j * step, top + i * step];
          for (let at = 0.25; at < 2; at += 0.35) {
            context.moveTo(x + Math.max(0, at - 1) * step, y + Math.min(1, at) * step);
            context.lineTo(x + Math.min(1, at) * step, y + Math.max(0, at - 1) * step);
          }
        }
      }
      context.stroke();
    }
    if (!weights || !shown.whole || step < this.roomy * unit) return;
    const size = Math.min(13 * unit, Math.max(10 * unit, step * 0.4));
    const most = shown.scale === "own" ? cut.bytes.reduce((a, b) => Math.max(a, b), 0) : 255;
    context.font = `${size}px ${inks.mono}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const text = this.written(weights[(i + first) * shown.tokens.length + j + first]);
        if (!text) continue;
        context.fillStyle = this.inkOn(cut.bytes[i * n + j], most);
        context.fillText(text, left + (j + 0.5) * step, top + (i + 0.5) * step);
      }
    }
  }

  /** The number inside a cell; nothing for what would read .00. */
  written(weight) {
    if (weight < 0.005) return "";
    const text = weight.toFixed(2);
    return text.startsWith("0") ? text.slice(1) : weight === 1 ? "1" : "≈1";
  }

  inkOn(byte, most) {
    return inkOn(byte, this.shown.theme, this.shown.scale, most);
  }

  drawLabels(context, font) {
    const { step, left, top, inks, shown } = this;
    const every = Math.max(1, Math.ceil((font * 1.05) / step));
    context.font = `${font}px ${inks.mono}`;
    context.textBaseline = "middle";
    this.visible.forEach((token, at) => {
      const [isRow, isKey] = [at + shown.first === shown.row, at + shown.first === shown.key];
      const [showRow, showKey] = [at % every === 0 || isRow, at % every === 0 || isKey];
      const crowded = (other) =>
        every > 1 && other !== null && at + shown.first !== other && Math.abs(at + shown.first - other) < every;
      if (showRow && !crowded(shown.row)) {
        context.textAlign = "right";
        context.fillStyle = isRow ? inks.query : inks.muted;
        context.fillText(clip(token), left - 7, top + (at + 0.5) * step);
      }
      if (showKey && !crowded(shown.key)) {
        context.save();
        context.translate(left + (at + 0.5) * step, top - 7);
        context.rotate(-LEAN);
        context.textAlign = "left";
        context.fillStyle = inks.key;
        context.globalAlpha = shown.key === null || isKey ? 1 : 0.8;
        context.fillText(clip(token), 0, 0);
        context.restore();
      }
    });
  }

  cellAt(event) {
    if (!this.shown) return null;
    const box = this.element.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.left) / this.step);
    const i = Math.floor((event.clientY - box.top - this.top) / this.step);
    const n = this.visible.length;
    if (j >= n || i >= n || (i < 0 && j < 0)) return null;
    // a label stands for its whole row or column
    if (j < 0) return i < 0 ? null : [i + this.shown.first, this.shown.key ?? this.bestOf(i + this.shown.first)];
    if (i < 0) return [this.shown.row, j + this.shown.first];
    return [i + this.shown.first, j + this.shown.first];
  }

  bestOf(i) {
    const { weights, tokens, first, last } = this.shown;
    let best = first;
    for (let j = first; weights && j < tokens.length - last; j++) {
      if (weights[i * tokens.length + j] > weights[i * tokens.length + best]) best = j;
    }
    return best;
  }

  /** Marks a cell and says its number. */
  point(at) {
    this.mark(at);
    return at && this.shown ? this.act.hover(this.say(at), at) : this.act.hover(null, null);
  }

  /** Marks a cell on a canvas of its own, so that nothing else is painted again. */
  mark(at) {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.over.width, this.over.height);
    if (!at || !this.shown) return;
    const { step, left, top, inks, shown } = this;
    const [x, y] = [left + (at[1] - shown.first) * step, top + (at[0] - shown.first) * step];
    context.lineWidth = 2;
    context.strokeStyle = inks.text;
    context.strokeRect(x, y, Math.max(2, step), Math.max(2, step));
  }

  say([i, j]) {
    const { tokens, weights, forbids } = this.shown;
    const weight = weights ? number(weights[i * tokens.length + j]) : "…";
    return `${tokens[i]} → ${tokens[j]} ${weight}${forbids(i, j) ? ", not allowed by the mask" : ""}`;
  }

  describe() {
    const { tokens, name } = this.shown;
    const [i, j] = this.active;
    setAttribute(this.element, "aria-label", `${name}: rows are queries, columns are keys`);
    setAttribute(this.element, "aria-rowcount", tokens.length);
    setAttribute(this.element, "aria-colcount", tokens.length);
    setAttribute(this.row, "aria-rowindex", i + 1);
    setAttribute(this.cell, "aria-colindex", j + 1);
    setAttribute(this.cell, "aria-label", this.say(this.active));
    const { step, left, top, shown } = this;
    Object.assign(this.cell.style, {
      left: `${left + (j - shown.first) * step}px`,
      top: `${top + (i - shown.first) * step}px`,
      width: `${step}px`,
      height: `${step}px`,
    });
  }

  key(event) {
    const [di, dj] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [
      0, 0,
    ];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { first, last, tokens } = this.shown;
    const clamp = (at) => Math.min(tokens.length - 1 - last, Math.max(first, at));
    let [i, j] = this.active;
    if (di || dj) [i, j] = [clamp(i + di), clamp(j + dj)];
    else if (event.key === "Home") j = first;
    else if (event.key === "End") j = tokens.length - 1 - last;
    else if (event.key === "Enter" || event.key === " ") this.act.pick(i, j);
    else return;
    event.preventDefault();
    this.active = [i, j];
    this.describe();
    this.point(this.active);
  }
}
