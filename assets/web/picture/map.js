// One enlarged map: rows are queries, columns are keys, with tokens at both sides and numbers where they fit.

import { inkOn, isPlain, mostOf, picture } from "../base/colour.js";
import { contextOf, frame, h, LETTERS, pixelRatio, setAttribute, setText } from "../base/dom.js";
import { clamp } from "../base/grid_keys.js";
import { DrawnGrid } from "./drawn_grid.js";
import { hatchOf } from "./hatch.js";
import { clip, drawLabels, drawPointedLabels, LEAN } from "./map_labels.js";
import { pooled, toBytes, trimmed } from "../wire/packets.js";
import { BLOCKED, number, ranked, short } from "../base/words.js";

/** @typedef {import("../base/colour.js").Bytes} Bytes */
/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {import("../base/grid_keys.js").Place} Place */
/** `labels`: of a map beside it, as wide as whose labels its own are taken, so that the rows of both line up.
 * @typedef {{width: number, height: number, labels?: string[]}} Room
 */
/** @typedef {import("./drawn_grid.js").Actions} Actions */
/**
 * @typedef {object} MapPicture
 * @property {string[]} tokens a row each
 * @property {string[]} keys a column each: the tokens themselves, or others that they look at
 * @property {string} name
 * @property {Bytes} map
 * @property {boolean} whole `map` has one cell a token; otherwise it is a thumbnail
 * @property {Float32Array | null} weights null until they have come
 * @property {Float32Array | null} [ofRow] its row in focus, where that is all that is here
 * @property {number} row the query in focus; −1 = none
 * @property {number | null} key
 * @property {number[]} [others] keys that are chosen beside it
 * @property {number | null} [best] what the row looks at most, marked at its column while no key is chosen
 * @property {import("../base/colour.js").Scale} scale
 * @property {import("../base/colour.js").Theme} theme
 * @property {number} first tokens left out at the start
 * @property {number} last tokens left out at the end
 * @property {(i: number, j: number) => boolean} forbids
 */

const MEASURE = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
const HATCH = 0.35; // of the side of a cell, from one line over forbidden ones to the next
const ABOVE = 48; // pixels from the middle of the finger to the middle of the bubble
const EDGE = 4; // pixels that stay free at the sides

/** A map that is there as float32, all of it in sight unless `more` says otherwise.
 * @param {string[]} tokens @param {Float32Array} weights
 * @param {Partial<MapPicture> & Pick<MapPicture, "name" | "row" | "theme">} more @returns {MapPicture}
 */
export const wholeMap = (tokens, weights, { map = { size: tokens.length, bytes: toBytes(weights) }, ...more }) => ({
  ...{ whole: true, key: null, scale: "root", first: 0, last: 0, forbids: () => false },
  ...{ tokens, keys: tokens, weights, map },
  ...more,
});

export class BigMap extends DrawnGrid {
  /** @param {Actions} actions */
  constructor(actions) {
    super(actions, "map");
    this.bubble = h("div", { class: "bubble", "aria-hidden": "true", hidden: "" });
    this.tapped = /** @type {Place | null} */ (null); // by a finger
    this.element.append(this.bubble);
    this.picture = /** @type {MapPicture | null} */ (null);
    this.visible = /** @type {string[]} */ ([]); // tokens of the rows in sight
    this.seen = /** @type {string[]} */ ([]); // and of the columns
    this.left = this.top = this.right = 0; // pixels
    this.side = this.step = this.across = this.wide = 0; // of all rows and of one, of all columns and of one
    // how much wider than high a cell may be; pixels that it may be high, and its number grows with it; the smallest weight
    // that is written: now, and out of the projector
    this.limits = this.usual = { stretch: 1, maxCell: 54, minCell: 0 };
    this.roomy = 18; // pixels of a cell that a number fits into
    this.breadth = 1.45; // of a number, in its own size
    this.smallest = LETTERS; // pixels of a number
    this.font = LETTERS; // pixels of a label
    this.labelInterval = 1; // of how many tokens one is written at the sides
    this.share = 0.4; // of a cell that its number is high
    this.reservedWidth = 0; // pixels to keep free on the right, besides what the labels take
    this.element.onpointerleave = () => this.tapped || this.point(null); // what a finger tapped stays said
  }

  /** @param {MapPicture} picture @param {Inks} inks @param {Room} room */
  draw(picture, inks, room) {
    const { tokens, keys, first, last, row, key, name } = picture;
    const legend = "rows are queries, columns are keys";
    const places = {
      size: [tokens.length, keys.length],
      say: (cell) => this.say(cell),
      boxOf: (cell) => this.boxOf(cell),
    };
    Object.assign(this, { picture, inks, grid: { name, how: legend, ...places } });
    this.visible = tokens.slice(first, tokens.length - last);
    this.seen = keys === tokens ? this.visible : keys.slice(first, keys.length - last);
    const n = this.visible.length;
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.paint(unit, room);
    this.cell.element.hidden = !n;
    if (!n) {
      this.active = null;
      return;
    }
    this.active = clamp(this.active ?? [row, key ?? first], ...this.ends);
    this.describe();
    this.putBubble(this.tapped);
  }

  /** Draw the map. @param {number} unit pixels of a size 1 @param {Room} room */
  paint(unit, room) {
    const { inks, visible, seen } = this;
    const picture = /** @type {MapPicture} */ (this.picture);
    const { first, last, row, key } = picture;
    const font = LETTERS * unit;
    const context = this.layOut(room, unit, font);
    const n = visible.length;
    if (!n) return;
    const { left, top, side, step, across, wide } = this;
    const cut = picture.whole ? trimmed(picture.map, first, last) : picture.map;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image(cut, side * pixelRatio()), left, top, across, side);
    this.drawLines(context);
    this.drawForbidden(context);
    const fits = Math.max(this.smallest * unit, Math.min((13 / 54) * this.limits.maxCell * unit, step * this.share));
    const size = Math.min(fits, wide / this.breadth);
    const numbered = picture.weights && picture.whole && wide >= this.roomy * unit && step >= 1.2 * size;
    setAttribute(this.element, "data-number", numbered ? size : null); // pixels
    if (picture.weights && numbered) this.drawNumbers(context, picture.weights, cut, size);
    this.font = font;
    this.labelInterval = drawLabels(context, this);
    if (row >= first && row - first < n) frame(context, left, top + (row - first) * step, across, step, inks.query);
    for (const column of [key, ...(picture.others ?? [])])
      if (column !== null && column >= first && column - first < seen.length)
        frame(context, left + (column - first) * wide, top, wide, side, inks.key);
  }

  /** The first and the last row in sight, and column. @returns {[Place, Place]} */
  get ends() {
    const { tokens, keys, first, last } = /** @type {MapPicture} */ (this.picture);
    return [
      [first, tokens.length - 1 - last],
      [first, keys.length - 1 - last],
    ];
  }

  /** Finds the largest cells that fit and sizes the canvases. @param {Room} room @param {number} unit @param {number} font */
  layOut(room, unit, font) {
    MEASURE.font = `${font}px ${this.inks.mono}`;
    const [rows, columns] = [Math.max(1, this.visible.length), Math.max(1, this.seen.length)];
    const widthsOf = (/** @type {string[]} */ all) => all.map((token) => MEASURE.measureText(clip(token)).width);
    const widths = widthsOf(this.visible);
    const columnWidths = this.seen === this.visible ? widths : widthsOf(this.seen);
    const rowWidth = Math.max(20, ...widthsOf(room.labels ?? []));
    this.left = Math.max(rowWidth, ...widths) + 12;
    this.top = Math.max(rowWidth, ...columnWidths) * Math.sin(LEAN) + 16;
    this.right = Math.max(6, (columnWidths.at(-1) ?? 0) * Math.cos(LEAN) - 4) + this.reservedWidth;
    const [width, height] = [room.width - this.left - this.right, room.height - this.top - 4];
    const minScale = 60 / Math.max(rows, columns); // pixels of a cell
    this.step = Math.max(minScale, Math.min(width / columns, height / rows, this.limits.maxCell * unit));
    // of many rows and few columns as wide as high, where there is room
    const widest = this.step * Math.max(this.limits.stretch, rows / columns);
    this.wide = Math.max(this.step, Math.min(width / columns, widest));
    [this.side, this.across] = [this.step * rows, this.wide * columns];
    const size = /** @type {const} */ ([this.left + this.across + this.right, this.top + this.side + 4]);
    this.element.style.width = `${size[0]}px`;
    this.element.style.height = `${size[1]}px`;
    contextOf(this.overlay, ...size);
    return contextOf(this.base, ...size);
  }

  /** The cells as a picture, pooled where they are smaller than a pixel. @param {Bytes} cut @param {number} room */
  image(cut, room) {
    const { theme, scale } = /** @type {MapPicture} */ (this.picture);
    return picture(pooled(cut, room), theme, scale);
  }

  drawLines(context) {
    const { step, wide, left, top, side, across } = this;
    if (step < 12) return;
    context.fillStyle = this.inks.panel;
    for (let index = 1; index < this.seen.length; index++) context.fillRect(left + index * wide - 0.5, top, 1, side);
    for (let index = 1; index < this.visible.length; index++)
      context.fillRect(left, top + index * step - 0.5, across, 1);
  }

  /** Hatches the cells that the mask forbids. @param {CanvasRenderingContext2D} context */
  drawForbidden(context) {
    const { step, left, top, side, across, visible, seen } = this;
    const { first, forbids } = /** @type {MapPicture} */ (this.picture);
    if (step < 5 || isPlain) return;
    const isBlocked = (/** @type {number} */ i, /** @type {number} */ j) => forbids(i + first, j + first);
    const room = { width: across, height: side };
    const lines = hatchOf(visible.length, seen.length, isBlocked, room, this.inks.line, Math.max(5, HATCH * step));
    context.drawImage(lines, left, top, across, side);
  }

  /** The numbers, from float32 only. @param {Float32Array} weights @param {Bytes} cut @param {number} size pixels */
  drawNumbers(context, weights, cut, size) {
    const { step, wide, left, top, visible, seen } = this;
    const { first, keys, scale } = /** @type {MapPicture} */ (this.picture);
    const [n, columns] = [visible.length, seen.length];
    const max = mostOf(cut.bytes, scale);
    Object.assign(context, { font: `${size}px ${this.inks.sans}`, textAlign: "center", textBaseline: "middle" });
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < columns; j++) {
        const weight = weights[(i + first) * keys.length + j + first];
        const text = Math.abs(weight) < this.limits.minCell ? "" : this.format(weight);
        if (!text) continue;
        context.fillStyle = this.inkOn(cut.bytes[i * columns + j], max);
        context.fillText(text, left + (j + 0.5) * wide, top + (i + 0.5) * step);
      }
    }
  }

  /** For who sits far away: large cells, wider than high, and no small numbers. @param {boolean} projected */
  project(projected) {
    this.limits = projected ? { stretch: 44 / 30, maxCell: 90, minCell: 0.05 } : this.usual;
  }

  /** The legend of numbers that are left out. */
  get omits() {
    return this.limits.minCell && this.element.dataset.number ? "; numbers below .05 left out" : "";
  }

  /** A number in the few letters of a cell. @param {number} weight */
  format(weight) {
    return short(weight);
  }

  /** Ink that can be read on a byte's colour. @param {number} byte @param {number} max */
  inkOn(byte, max) {
    const { theme, scale } = /** @type {MapPicture} */ (this.picture);
    return inkOn(byte, theme, scale, max);
  }

  /** Row and column under a pointer, from 0 among those in sight; negative on the labels; null elsewhere.
   * @returns {Place | null}
   */
  cellUnder(event) {
    if (!this.picture) return null;
    const box = this.element.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.left) / this.wide);
    const i = Math.floor((event.clientY - box.top - this.top) / this.step);
    return j >= this.seen.length || i >= this.visible.length || (i < 0 && j < 0) ? null : [i, j];
  }

  /** The cell that a pointer means: a label stands for its whole row or column. @returns {Place | null} */
  cellAt(event) {
    const cell = this.cellUnder(event);
    if (!cell || !this.picture) return null;
    const { first, row, key } = this.picture;
    const [i, j] = [cell[0] + first, cell[1] + first];
    if (cell[1] < 0) return [i, key ?? this.bestOf(i)];
    return cell[0] < 0 ? [row, j] : [i, j];
  }

  /** The key with the largest weight in a row. @param {number} i */
  bestOf(i) {
    const { weights, keys } = /** @type {MapPicture} */ (this.picture);
    const [, [first, last]] = this.ends;
    if (!weights) return first;
    return first + ranked(weights.subarray(i * keys.length + first, i * keys.length + last + 1))[0][0];
  }

  /** Looks at a cell, or adds its key. @param {Place} cell @param {MouseEvent | KeyboardEvent} event */
  press(cell, event) {
    this.active = cell;
    this.actions.pick(...cell, event.shiftKey || event.ctrlKey || event.metaKey);
    this.moveTo(cell); // a finger has left by now, and its cell is not read out any more
    if ("pointerType" in event && event.pointerType === "touch") this.putBubble(cell);
  }

  /** @param {Place | null} cell */
  point(cell) {
    this.putBubble(null);
    super.point(cell);
  }

  /** @param {Place | null} cell */
  mark(cell) {
    super.mark(cell);
    if (cell && this.picture && this.labelInterval > 1)
      drawPointedLabels(/** @type {any} */ (this.overlay.getContext("2d")), this, cell);
  }

  /** @param {Place} at */
  boxOf([i, j]) {
    const { step, wide } = this;
    const first = this.picture?.first ?? 0;
    return { left: this.left + (j - first) * wide, top: this.top + (i - first) * step, width: wide, height: step };
  }

  /** Tell whether the map has this cell. @param {Place} at */
  has([i, j]) {
    const { tokens = [], keys = [] } = this.picture ?? {};
    return Math.min(i, j) >= 0 && i < tokens.length && j < keys.length;
  }

  /** The readout of a cell. @param {Place} at */
  say([i, j]) {
    const { tokens, keys, weights, forbids } = /** @type {MapPicture} */ (this.picture);
    const weight = weights ? number(weights[i * keys.length + j]) : "…";
    return `${tokens[i]} → ${keys[j]} ${weight}${forbids(i, j) ? `, ${BLOCKED}` : ""}`;
  }

  /** Show the readout of a tapped cell in a bubble, or hide it; a screen reader reads the cell itself.
   * @param {Place | null} cell
   */
  putBubble(cell) {
    this.tapped = cell;
    const { element, bubble } = this;
    bubble.hidden = !cell || !this.has(cell);
    if (!cell || bubble.hidden) return;
    setText(bubble, this.say(cell));
    const { left, top, width, height } = this.boxOf(cell);
    const half = bubble.offsetWidth / 2;
    const [x, y] = [left + width / 2, top + height / 2];
    bubble.style.left = `${Math.max(half + EDGE, Math.min(element.clientWidth - half - EDGE, x))}px`;
    bubble.style.top = `${y - ABOVE > 0 ? y - ABOVE : y + ABOVE}px`;
  }
}
