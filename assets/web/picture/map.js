// An enlarged map: rows are queries, columns are keys, with token labels at both sides and numbers in cells that fit
// them.

import { drawHatch, inkOn, isPlain, mostOf, picture } from "../base/colour.js";
import { contextOf, frame, h, LETTERS, pixelRatio, setAttribute, setText, span } from "../base/dom.js";
import { clamp } from "../base/grid_keys.js";
import { DrawnGrid } from "./drawn_grid.js";
import { clip, drawLabels, drawPointedLabels, LEAN } from "./map_labels.js";
import { pooled, toBytes, trimmed } from "../wire/packets.js";
import { isolated } from "../base/token_text.js";
import { BLOCKED, number, sortByWeight, short } from "../base/words.js";

const MEASURE = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
const HATCH = 0.35; // of the cell height, between two lines of the hatching
const ABOVE = 48; // pixels from the centre of a finger to that of the bubble
export const TALL = 1.7; // height of a cell in its width, at most, of two maps beside a lesson
const ON_PHONE = 24; // pixels of a cell that fits a number on a phone
const EDGE = 4; // pixels between the bubble and the edges

/** A map with float32 weights, fully visible unless `more` differs.
 * @param {string[]} tokens @param {Float32Array} weights
 * @param {Partial<MapPicture> & Pick<MapPicture, "name" | "row" | "theme">} more @returns {MapPicture}
 */
export const wholeMap = (tokens, weights, { map = { size: tokens.length, bytes: toBytes(weights) }, ...more }) => ({
  ...{ whole: true, key: null, scale: "root", first: 0, last: 0, forbids: () => false },
  ...{ tokens, keys: tokens, weights, map },
  ...more,
});

/** The legend of blocked cells. */
export const blockedMark = () =>
  h("span", { class: "blocked-mark" }, span(`swatch ${isPlain ? "plain" : "blocked"}`), "blocked");

export class BigMap extends DrawnGrid {
  /** @param {GridActions} actions */
  constructor(actions) {
    super(actions, "map");
    this.bubble = h("div", { class: "bubble", "aria-hidden": "true", hidden: "" });
    this.tapped = /** @type {Cell | null} */ (null); // cell tapped by a finger
    this.element.append(this.bubble);
    this.picture = /** @type {MapPicture | null} */ (null);
    this.visible = /** @type {string[]} */ ([]); // visible row tokens
    this.seen = /** @type {string[]} */ ([]); // visible column tokens
    this.left = this.top = this.right = 0; // pixels
    this.side = this.step = this.across = this.wide = 0; // pixels of all rows, one row, all columns, one column
    // Maximum aspect ratio of a cell, its maximum height in pixels (numbers grow with it), and the smallest printed
    // weight; `usual` is that outside the projector.
    this.limits = this.usual = { stretch: 1, maxCell: 54, minCell: 0 };
    this.roomy = 20; // pixels of a cell that fits a number
    this.breadth = 1.45; // width of a number in its font size
    this.smallest = LETTERS; // minimum font size of a number in pixels
    this.font = LETTERS; // font size of a label in pixels
    this.labelInterval = 1; // every which token has a label
    this.share = 0.4; // font size of a number in cell heights
    this.reservedWidth = 0; // pixels kept free on the right, besides the labels
    this.element.onpointerleave = () => this.tapped || this.point(null); // a tapped readout stays
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
    const isFocused = this.cell.element.matches(":focus");
    const chosen = /** @type {Cell} */ ([row, key ?? picture.best ?? first]);
    if (!isFocused && row >= first) this.active = chosen; // Tab begins there
    this.active = clamp(this.active ?? chosen, ...this.ends);
    this.describe();
    this.putBubble(this.tapped);
  }

  /** Draw the map. @param {number} unit pixels per unit @param {Room} room */
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
    const roomy = Math.max(this.roomy * unit, window.innerWidth < 640 ? ON_PHONE : 0);
    const numbered = picture.weights && picture.whole && wide >= roomy && step >= 1.2 * size;
    setAttribute(this.element, "data-number", numbered ? size : null); // pixels
    if (picture.weights && numbered) this.drawNumbers(context, picture.weights, cut, size);
    this.font = font;
    this.labelInterval = drawLabels(context, this);
    if (row >= first && row - first < n) frame(context, left, top + (row - first) * step, across, step, inks.query);
    for (const column of [key, ...(picture.others ?? [])])
      if (column !== null && column >= first && column - first < seen.length)
        frame(context, left + (column - first) * wide, top, wide, side, inks.key);
  }

  /** The first and last visible row, and column. @returns {[Cell, Cell]} */
  get ends() {
    const { tokens, keys, first, last } = /** @type {MapPicture} */ (this.picture);
    return [
      [first, tokens.length - 1 - last],
      [first, keys.length - 1 - last],
    ];
  }

  /** Choose the largest cells that fit and size the canvases.
   * @param {Room} room @param {number} unit @param {number} font */
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
    const tall = room.tall ?? 1;
    const highest = (tall * this.limits.maxCell * unit * Math.min(rows, room.rows ?? rows)) / rows;
    const maxScale = Math.min((tall * width) / columns, height / rows, highest);
    this.step = Math.max(minScale, maxScale);
    // a map of many rows and few columns becomes as wide as high, if there is room
    const widest = this.step * Math.max(this.limits.stretch, rows / columns);
    this.wide = Math.max(minScale, Math.min(width / columns, widest));
    [this.side, this.across] = [this.step * rows, this.wide * columns];
    const size = /** @type {const} */ ([this.left + this.across + this.right, this.top + this.side + 4]);
    this.element.style.width = `${size[0]}px`;
    this.element.style.height = `${size[1]}px`;
    contextOf(this.overlay, ...size);
    return contextOf(this.base, ...size);
  }

  /** The image of the cells, pooled where a cell is smaller than a pixel. @param {Bytes} cut @param {number} room */
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

  /** Hatch the cells that the mask forbids. @param {CanvasRenderingContext2D} context */
  drawForbidden(context) {
    const { step, left, top, side, across, visible, seen } = this;
    const { first, forbids } = /** @type {MapPicture} */ (this.picture);
    if (step < 5) return;
    const isBlocked = (/** @type {number} */ i, /** @type {number} */ j) => forbids(i + first, j + first);
    const box = { left, top, width: across, height: side };
    drawHatch(context, visible.length, seen.length, isBlocked, box, this.inks.hatch, Math.max(5, HATCH * step));
  }

  /** Draw the numbers, from float32 weights only.
   * @param {Float32Array} weights @param {Bytes} cut @param {number} size pixels */
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

  /** Use large cells, wider than high, and no small numbers in the projector. @param {boolean} projected */
  project(projected) {
    this.limits = projected ? { stretch: 44 / 30, maxCell: 90, minCell: 0.05 } : this.usual;
  }

  /** The legend of the numbers that are not printed. */
  get omits() {
    return this.limits.minCell && this.element.dataset.number ? "numbers below .05 left out" : "";
  }

  /** Format the number of a cell. @param {number} weight */
  format(weight) {
    return short(weight);
  }

  /** The text colour on the colour of a byte. @param {number} byte @param {number} max */
  inkOn(byte, max) {
    const { theme, scale } = /** @type {MapPicture} */ (this.picture);
    return inkOn(byte, theme, scale, max);
  }

  /** The visible row and column under a pointer; negative on the labels; null elsewhere. @returns {Cell | null} */
  cellUnder(event) {
    if (!this.picture) return null;
    const box = this.element.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.left) / this.wide);
    const i = Math.floor((event.clientY - box.top - this.top) / this.step);
    return j >= this.seen.length || i >= this.visible.length || (i < 0 && j < 0) ? null : [i, j];
  }

  /** The cell under a pointer: a label means its whole row or column. @returns {Cell | null} */
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
    return first + sortByWeight(weights.subarray(i * keys.length + first, i * keys.length + last + 1))[0][0];
  }

  /** Select a cell, or add its key. @param {Cell} cell @param {MouseEvent | KeyboardEvent} event */
  press(cell, event) {
    this.active = cell;
    this.actions.pick(...cell, event.shiftKey || event.ctrlKey || event.metaKey);
    this.moveTo(cell); // a finger has left already: no readout
    if ("pointerType" in event && event.pointerType === "touch") this.putBubble(cell);
  }

  /** @param {Cell | null} cell */
  point(cell) {
    this.putBubble(null);
    super.point(cell);
  }

  /** @param {Cell | null} cell */
  mark(cell) {
    super.mark(cell);
    if (cell && this.picture && this.labelInterval > 1)
      drawPointedLabels(/** @type {any} */ (this.overlay.getContext("2d")), this, cell);
  }

  /** @param {Cell} at */
  boxOf([i, j]) {
    const { step, wide } = this;
    const first = this.picture?.first ?? 0;
    return { left: this.left + (j - first) * wide, top: this.top + (i - first) * step, width: wide, height: step };
  }

  /** Return whether the map has this cell. @param {Cell} at */
  has([i, j]) {
    const { tokens = [], keys = [] } = this.picture ?? {};
    return Math.min(i, j) >= 0 && i < tokens.length && j < keys.length;
  }

  /** The readout of a cell. @param {Cell} at */
  say([i, j]) {
    const { tokens, keys, weights, forbids } = /** @type {MapPicture} */ (this.picture);
    const weight = weights ? number(weights[i * keys.length + j]) : "…";
    return `${isolated(tokens[i])} → ${isolated(keys[j])} ${weight}${forbids(i, j) ? `, ${BLOCKED}` : ""}`;
  }

  /** Show the readout of a tapped cell in a bubble, or hide it; screen readers get the cell's own text.
   * @param {Cell | null} cell
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
