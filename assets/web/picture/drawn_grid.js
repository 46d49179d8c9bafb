// A drawing with places in rows and columns, for pointer, click and arrow keys.

import { areSame, contextOf, h, setAttribute, setAttributes } from "../base/dom.js";
import { isShortcut, clamp, walked } from "../base/grid_keys.js";

/** @typedef {{left: number, top: number, width: number, height: number}} Box pixels */
/** @typedef {{name: string, how: string, size: Cell, say: (at: Cell) => string, boxOf: (at: Cell) => Box, at: (x: number, y: number) => Cell | null}} Grid
 * name and description, size, text and box of a place, and the place at a pixel
 */

/** The focusable cell of a canvas grid: an invisible element at the position of the cell. */
class GridCell {
  element = h("div", { class: "cell", role: "gridcell", tabindex: "0" });
  row = h("div", { role: "row" }, this.element);
  place = ""; // key of the current cell
  former = /** @type {Element | null} */ (null); // row element of the previous cell

  /** @param {string} name accessible name of the grid @param {Cell} size its rows and columns @param {Cell} cell
   * @param {string} text accessible text of the cell
   * @param {{left: number, top: number, width: number, height: number}} box pixels
   */
  put(grid, name, size, cell, text, box) {
    const { row, element } = this;
    const passes = this.place !== String(cell) && element.matches(":focus");
    this.place = String(cell);
    if (passes) {
      this.row = /** @type {HTMLDivElement} */ (row.cloneNode(true));
      this.element = /** @type {HTMLDivElement} */ (this.row.firstElementChild);
    } else if (text !== element.getAttribute("aria-label")) this.forget();
    setAttributes(grid, { "aria-label": name, "aria-rowcount": size[0], "aria-colcount": size[1] });
    setAttribute(this.row, "aria-rowindex", cell[0] + 1);
    setAttributes(this.element, { "aria-colindex": cell[1] + 1, "aria-label": text });
    for (const [side, pixels] of Object.entries(box)) this.element.style.setProperty(side, `${pixels}px`);
    if (passes) this.pass(row, element);
  }

  /** Move the focus to another cell without removing the focused element, so that a screen reader reads only the new
   * cell.
   * @param {Element} row @param {HTMLElement} previous the focused cell, removed once the next one has the focus
   */
  pass(row, previous) {
    const { onkeydown, onfocus, onblur } = previous;
    previous.onblur = null; // the focus stays in the grid
    row.before(this.row);
    this.element.focus({ preventScroll: true });
    Object.assign(this.element, { onkeydown, onfocus, onblur });
    this.forget();
    this.former = row;
    setAttributes(previous, { class: "former", tabindex: "-1" });
  }

  /** Remove the row of the previous cell. */
  forget() {
    this.former?.remove();
    this.former = null;
  }
}

export class DrawnGrid {
  /** @param {GridActions} actions @param {string} [kind] CSS class */
  constructor(actions, kind = "drawn map") {
    this.actions = actions;
    this.base = h("canvas", { "aria-hidden": "true" });
    this.overlay = h("canvas", { class: "overlay", "aria-hidden": "true" });
    this.cell = new GridCell();
    this.element = h("div", { class: kind, role: "grid" }, this.base, this.overlay, this.cell.row);
    this.grid = /** @type {Grid | null} */ (null);
    this.inks = /** @type {Inks} */ ({});
    this.active = /** @type {Cell | null} */ (null);
    this.inputs = /** @type {unknown[]} */ ([]); // inputs of the last drawing
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

  /** Redraw if an input of the drawing has changed.
   * @param {Grid} grid @param {{width: number, height: number}} size pixels @param {Inks} inks
   * @param {unknown[]} from its inputs @param {(context: CanvasRenderingContext2D) => void} paint
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

  /** The first and last row, and column, that the keys reach. @returns {[Cell, Cell]} */
  get ends() {
    const [rows, columns] = this.grid?.size ?? [1, 1];
    return [
      [0, rows - 1],
      [0, columns - 1],
    ];
  }

  /** The place under a pointer. @param {MouseEvent} event @returns {Cell | null} */
  cellAt(event) {
    const box = this.element.getBoundingClientRect();
    return this.grid?.at(event.clientX - box.left, event.clientY - box.top) ?? null;
  }

  /** Highlight a place and show its readout. @param {Cell | null} cell */
  point(cell) {
    this.mark(cell);
    if (cell && this.grid) this.actions.hover(this.grid.say(cell), cell);
    else this.actions.hover(null, null);
  }

  /** Highlight a place on a separate canvas, so that the drawing is not repainted. @param {Cell | null} cell */
  mark(cell) {
    const context = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    context.clearRect(0, 0, this.overlay.width, this.overlay.height);
    if (!cell || !this.grid) return;
    const { left, top, width, height } = this.grid.boxOf(cell);
    Object.assign(context, { lineWidth: 2, strokeStyle: this.inks.text });
    context.strokeRect(left, top, Math.max(2, width), Math.max(2, height));
  }

  /** @param {Cell} cell @param {MouseEvent | KeyboardEvent} event */
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

  /** @param {Cell} cell */
  moveTo(cell) {
    this.active = cell;
    this.describe();
    this.point(cell);
  }

  /** Move the focusable cell to the active place. */
  describe() {
    const { grid, active } = this;
    if (grid && active)
      this.cell.put(this.element, this.label, grid.size, active, grid.say(active), grid.boxOf(active));
  }
}
