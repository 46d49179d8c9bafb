// A drawing whose places are rows and columns: pointed at, pressed, and walked by the arrows from one of them.

import { areSame, contextOf, h } from "../base/dom.js";
import { GridCell, isShortcut, clamp, walked } from "../base/grid_keys.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {import("../base/grid_keys.js").Place} Place */
/** @typedef {{left: number, top: number, width: number, height: number}} Box pixels */
/** @typedef {{pick(row: number, column: number | null, adds?: boolean): void, hover(text: string | null, at: Place | null): void}} Actions */
/** @typedef {{name: string, how: string, size: Place, say: (at: Place) => string, boxOf: (at: Place) => Box, at: (x: number, y: number) => Place | null}} Grid
 * what it is called and how it is read, its rows and columns, what a place says, where it stands, and which one stands at a pixel
 */

export class DrawnGrid {
  /** @param {Actions} actions @param {string} [kind] its class */
  constructor(actions, kind = "drawn map") {
    this.actions = actions;
    this.base = h("canvas", { "aria-hidden": "true" });
    this.overlay = h("canvas", { class: "over", "aria-hidden": "true" });
    this.cell = new GridCell();
    this.element = h("div", { class: kind, role: "grid" }, this.base, this.overlay, this.cell.row);
    this.grid = /** @type {Grid | null} */ (null);
    this.inks = /** @type {Inks} */ ({});
    this.active = /** @type {Place | null} */ (null);
    this.inputs = /** @type {unknown[]} */ ([]); // what the drawing was made from
    this.element.onpointermove = (event) => this.point(this.cellAt(event));
    this.element.onpointerleave = () => this.point(null);
    this.element.onclick = (event) => {
      const cell = this.cellAt(event);
      if (cell) this.press(cell, event);
    };
    this.cell.element.onkeydown = (event) => this.key(event);
    this.cell.element.onfocus = () => this.point(this.active);
    this.cell.element.onblur = () => this.point(null);
  }

  /** Draw where something of what it is made from has changed.
   * @param {Grid} grid @param {{width: number, height: number}} size pixels @param {Inks} inks
   * @param {unknown[]} from what it is made from @param {(context: CanvasRenderingContext2D) => void} paint
   */
  drawGrid(grid, { width, height }, inks, from, paint) {
    Object.assign(this, { grid, inks });
    this.element.dataset.name = grid.name;
    this.active = clamp(this.active ?? [0, 0], ...this.ends);
    const inputs = [width, height, devicePixelRatio, document.fonts.status, ...from];
    if (!areSame(inputs, this.inputs)) {
      this.inputs = inputs;
      Object.assign(this.element.style, { width: `${width}px`, height: `${height}px` });
      contextOf(this.overlay, width, height);
      paint(contextOf(this.base, width, height));
    }
    this.describe();
  }

  /** The accessible name of the grid. */
  get label() {
    return `${this.grid?.name}: ${this.grid?.how}`;
  }

  /** The first and the last row that the keys reach, and column. @returns {[Place, Place]} */
  get ends() {
    const [rows, columns] = this.grid?.size ?? [1, 1];
    return [
      [0, rows - 1],
      [0, columns - 1],
    ];
  }

  /** The place that a pointer means. @param {MouseEvent} event @returns {Place | null} */
  cellAt(event) {
    const box = this.element.getBoundingClientRect();
    return this.grid?.at(event.clientX - box.left, event.clientY - box.top) ?? null;
  }

  /** Marks a place and says it. @param {Place | null} cell */
  point(cell) {
    this.mark(cell);
    if (cell && this.grid) this.actions.hover(this.grid.say(cell), cell);
    else this.actions.hover(null, null);
  }

  /** Marks a place on a canvas of its own, so that nothing else is painted again. @param {Place | null} cell */
  mark(cell) {
    const context = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    context.clearRect(0, 0, this.overlay.width, this.overlay.height);
    if (!cell || !this.grid) return;
    const { left, top, width, height } = this.grid.boxOf(cell);
    Object.assign(context, { lineWidth: 2, strokeStyle: this.inks.text });
    context.strokeRect(left, top, Math.max(2, width), Math.max(2, height));
  }

  /** @param {Place} cell @param {MouseEvent | KeyboardEvent} event */
  press(cell, event) {
    this.moveTo(cell);
    this.actions.pick(...cell, event.shiftKey);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.active || isShortcut(event)) return;
    const next = walked(event, this.active, ...this.ends);
    if (!next && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (next) this.moveTo(next);
    else this.press(this.active, event);
  }

  /** @param {Place} cell */
  moveTo(cell) {
    this.active = cell;
    this.describe();
    this.point(cell);
  }

  /** Move the cell that has the focus to the active place. */
  describe() {
    const { grid, active } = this;
    if (grid && active)
      this.cell.put(this.element, this.label, grid.size, active, grid.say(active), grid.boxOf(active));
  }
}
