// The painting grid for the mask of one head: pointer strokes, labels for whole rows and columns, and keys.

import { pixel, pixels, rgb } from "../base/colour.js";
import { isShortcut, walked } from "../base/grid_keys.js";
import { BigMap, wholeMap } from "./map.js";
import { isolated } from "../base/token_text.js";

/** @typedef {import("./mask_paint.js").MaskPaint} MaskPaint */
/** @typedef {Pick<MapPicture, "tokens" | "row" | "key" | "theme" | "name"> & {allow: Uint8Array, scrolls: boolean}} ShownMask */

/** @typedef {{readOut(text: string | null): void, stroke(act: (mask: MaskPaint) => void, ends?: boolean): void, undo(): void}} Paints */

export class PaintGrid extends BigMap {
  /** @param {Paints} view */
  constructor(view) {
    super({ pick: () => {}, hover: (text) => view.readOut(text) });
    this.view = view;
    this.scrolls = false; // a finger scrolls instead of painting
    this.stroke = /** @type {Cell | null} */ (null); // last cell of the current stroke
    this.tap = /** @type {Cell | null} */ (null); // start of a touch that may still become a scroll
    this.element.onclick = null;
    this.element.onpointerdown = (event) => this.down(event);
    this.element.onpointermove = (event) => this.move(event);
    this.element.onpointerup = () => this.up(true);
    this.element.onpointercancel = () => this.up(false);
  }

  /** Draw the mask of a head, cells of 0 and 1. @param {ShownMask} mask @param {any} inks @param {any} room */
  drawMask({ allow, scrolls, ...picture }, inks, room) {
    const n = picture.tokens.length;
    const map = { size: n, bytes: allow };
    const forbids = (/** @type {number} */ i, /** @type {number} */ j) => !allow[i * n + j];
    this.scrolls = scrolls;
    this.draw(
      { ...wholeMap(picture.tokens, new Float32Array(), { ...picture, map, forbids, scale: "linear" }), weights: null },
      inks,
      room,
    );
    this.element.style.touchAction = scrolls ? "auto" : "none";
  }

  /** Allowed cells in their colour, blocked ones without, under the hatching; of a map with weights those.
   * @param {Bytes} cut @param {number} room */
  image(cut, room) {
    if (this.picture?.weights) return super.image(cut, room);
    return pixels(cut, Uint32Array.of(...[this.inks.none, this.inks.allowed].map((ink) => pixel(rgb(ink)))));
  }

  down(event) {
    const cell = this.cellUnder(event);
    if (event.button || !cell) return;
    if (cell[1] < 0) this.view.stroke((mask) => mask.line("row", cell[0]));
    else if (cell[0] < 0) this.view.stroke((mask) => mask.line("column", cell[1]));
    else if (event.pointerType === "touch" && this.scrolls) this.tap = cell;
    else {
      event.preventDefault(); // no text selection
      this.element.setPointerCapture(event.pointerId);
      this.begin(cell);
    }
  }

  /** @param {Cell} cell */
  begin(cell) {
    this.paintOver([cell], true);
    this.stroke = this.active = cell;
    this.cell.element.focus({ preventScroll: true });
  }

  /** @param {Cell[]} cells @param {boolean} [starts] whether the first cell starts a stroke */
  paintOver(cells, starts = false) {
    this.view.stroke((mask) => {
      if (starts) mask.begin(cells[0]);
      for (const cell of cells) mask.paint(cell);
    }, false);
  }

  move(event) {
    const hit = this.cellUnder(event);
    const cell = hit && Math.min(...hit) >= 0 ? hit : null;
    this.point(cell);
    if (!this.stroke || !cell) return;
    // a fast pointer skips cells: interpolate the straight line between them
    const [i, j] = this.stroke;
    const steps = Math.max(Math.abs(cell[0] - i), Math.abs(cell[1] - j));
    const range = (/** @type {number} */ from, /** @type {number} */ end, /** @type {number} */ step) =>
      Math.round(from + ((end - from) * step) / steps);
    this.paintOver(Array.from({ length: steps }, (_, n) => [range(i, cell[0], n + 1), range(j, cell[1], n + 1)]));
    this.stroke = this.active = cell;
  }

  up(isCommitted) {
    if (this.tap && isCommitted) this.begin(this.tap);
    if (this.stroke) this.view.stroke(() => {});
    this.stroke = this.tap = null;
  }

  say([i, j]) {
    const { tokens, forbids } = /** @type {MapPicture} */ (this.picture);
    return `row ${isolated(tokens[i])}, key ${isolated(tokens[j])}: ${forbids(i, j) ? "blocked" : "allowed"}`;
  }

  get label() {
    return `${super.label}; Space flips a cell, Shift and arrows paint`;
  }

  key(event) {
    const from = this.active;
    if (!from) return;
    const undoes = event.key === "z" && (event.ctrlKey || event.metaKey);
    if (isShortcut(event) && !undoes) return;
    const next = walked({ key: event.key }, from, ...this.ends); // with Shift the arrows paint
    if (undoes) this.view.undo();
    else if (next && event.shiftKey && event.key.startsWith("Arrow")) {
      this.paintOver([from, next], true);
      this.view.stroke(() => {});
    } else if (event.key === "Enter" || event.key === " ") this.view.stroke((mask) => mask.toggle(from));
    else if (!next) return;
    event.preventDefault();
    this.moveTo(next ?? from);
  }
}
