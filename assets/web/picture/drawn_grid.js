// A drawing whose places are rows and columns: pointed at, pressed, and walked by the arrows from one of them.

import { areSame, contextOf, h } from "../base/dom.js";
import { fade } from "./fade.js";
import { GridCell, isShortcut, nearest, walked } from "../base/grid_keys.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {import("../base/grid_keys.js").Place} Place */
/** @typedef {{left: number, top: number, width: number, height: number}} Box pixels */
/** @typedef {{name: string, how: string, size: Place, say: (at: Place) => string, boxOf: (at: Place) => Box, at: (x: number, y: number) => Place | null}} Grid
 * what it is called and how it is read, its rows and columns, what a place says, where it stands, and which one stands at a pixel
 */

/** The drawings of the page by their elements. @type {WeakMap<Element, DrawnGrid>} */
export const drawings = new WeakMap();

export class DrawnGrid {
  /** @param {{pick: (at: Place) => void, hover: (text: string) => void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.base = h("canvas", { "aria-hidden": "true" });
    this.over = h("canvas", { class: "over", "aria-hidden": "true" });
    this.cell = new GridCell();
    this.element = h("div", { class: "drawn map", role: "grid" }, this.base, this.over, this.cell.row);
    this.grid = /** @type {Grid | null} */ (null);
    this.inks = /** @type {Inks | null} */ (null);
    this.active = /** @type {Place} */ ([0, 0]);
    this.drawn = /** @type {unknown[]} */ ([]); // what the drawing was made from
    drawings.set(this.element, this);
    this.element.onpointermove = (event) => this.point(this.under(event));
    this.element.onpointerleave = () => this.point(null);
    this.element.onclick = (event) => {
      const at = this.under(event);
      if (at) this.press(at);
    };
    this.cell.element.onkeydown = (event) => this.key(event);
    this.cell.element.onfocus = () => this.point(this.active);
    this.cell.element.onblur = () => this.point(null);
  }

  /** Draws where something of what it is made from has changed.
   * @param {Grid} grid @param {{width: number, height: number}} size pixels @param {Inks} inks
   * @param {unknown[]} from what it is made from @param {(context: CanvasRenderingContext2D) => void} paint
   */
  draw(grid, { width, height }, inks, from, paint) {
    Object.assign(this, { grid, inks });
    this.active = nearest(this.active, [0, grid.size[0] - 1], [0, grid.size[1] - 1]);
    const made = [width, height, devicePixelRatio, document.fonts.status, ...from];
    if (!areSame(made, this.drawn)) {
      this.drawn = made;
      Object.assign(this.element.style, { width: `${width}px`, height: `${height}px` });
      fade(this.base, [width, height].join(), made);
      contextOf(this.over, width, height);
      paint(contextOf(this.base, width, height));
    }
    this.describe();
  }

  get name() {
    return this.grid?.name ?? "";
  }

  get isThere() {
    return Boolean(this.grid);
  }

  /** @param {MouseEvent} event */
  under(event) {
    const box = this.element.getBoundingClientRect();
    return this.grid?.at(event.clientX - box.left, event.clientY - box.top) ?? null;
  }

  /** Marks a place on a canvas of its own and says it. @param {Place | null} at */
  point(at) {
    const { grid, inks } = this;
    const context = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    context.clearRect(0, 0, this.over.width, this.over.height);
    if (!grid || !inks) return;
    this.actions.hover(at ? grid.say(at) : "");
    if (!at) return;
    const { left, top, width, height } = grid.boxOf(at);
    Object.assign(context, { lineWidth: 2, strokeStyle: inks.text });
    context.strokeRect(left, top, width, height);
  }

  /** @param {Place} at */
  press(at) {
    this.moveTo(at);
    this.actions.pick(at);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.grid || isShortcut(event)) return;
    const [rows, columns] = this.grid.size;
    const to = walked(event, this.active, [0, rows - 1], [0, columns - 1]);
    if (!to && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (to) this.moveTo(to);
    else this.press(this.active);
  }

  /** @param {Place} at */
  moveTo(at) {
    this.active = at;
    this.describe();
    this.point(at);
  }

  /** Moves the cell that has the focus to the active place. */
  describe() {
    if (!this.grid) return;
    const { name, how, size, say, boxOf } = this.grid;
    this.cell.put(this.element, `${name}: ${how}`, size, this.active, say(this.active), boxOf(this.active));
  }
}
