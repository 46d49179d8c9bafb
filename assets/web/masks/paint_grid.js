// The painting grid for the mask of one head: pointer strokes, labels for whole rows and columns, and keys.

import { isShortcut, walked } from "../base/grid_keys.js";
import { BigMap, wholeMap } from "../picture/map.js";

/** @typedef {import("../base/grid_keys.js").Place} Place */
/** @typedef {Pick<import("../picture/map.js").MapPicture, "tokens" | "row" | "key" | "theme" | "name"> & {allow: Uint8Array, scrolls: boolean}} ShownMask */

const GLOW = { dark: 190, light: 105 }; // brightness of an allowed cell, as a byte of the ramp

export class PaintGrid extends BigMap {
  /** @param {import("./painter.js").Painter} view */
  constructor(view) {
    super({ pick: () => {}, hover: (text) => view.readOut(text) });
    this.view = view;
    this.scrolls = false; // a finger scrolls instead of painting
    this.stroke = /** @type {Place | null} */ (null); // last cell of the current stroke
    this.tap = /** @type {Place | null} */ (null); // start of a touch that may still become a scroll
    this.element.onclick = null;
    this.element.onpointerdown = (event) => this.down(event);
    this.element.onpointermove = (event) => this.move(event);
    this.element.onpointerup = () => this.up(true);
    this.element.onpointercancel = () => this.up(false);
  }

  /** Draw the mask of a head, cells of 0 and 1. @param {ShownMask} mask @param {any} inks @param {any} room */
  drawMask({ allow, scrolls, ...shown }, inks, room) {
    const n = shown.tokens.length;
    const map = { size: n, bytes: allow.map((cell) => cell * GLOW[shown.theme]) };
    const forbids = (/** @type {number} */ i, /** @type {number} */ j) => !allow[i * n + j];
    this.scrolls = scrolls;
    this.draw(
      { ...wholeMap(shown.tokens, new Float32Array(), { ...shown, map, forbids, scale: "linear" }), weights: null },
      inks,
      room,
    );
    this.element.style.touchAction = scrolls ? "auto" : "none";
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

  /** @param {Place} cell */
  begin(cell) {
    this.paintOver([cell], true);
    this.stroke = this.active = cell;
    this.cell.element.focus({ preventScroll: true });
  }

  /** @param {Place[]} cells @param {boolean} [begins] whether the first cell starts a stroke */
  paintOver(cells, begins = false) {
    this.view.stroke((mask) => {
      if (begins) mask.begin(cells[0]);
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
    const { tokens, forbids } = /** @type {import("../picture/map.js").MapPicture} */ (this.picture);
    return `row ${tokens[i]}, key ${tokens[j]}: ${forbids(i, j) ? "blocked" : "allowed"}`;
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
