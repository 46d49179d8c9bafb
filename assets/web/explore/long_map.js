// The large map of a long text: a window that is panned and zoomed, and an overview beside it.

import { picture } from "../base/colour.js";
import { button, contextOf, div, frame, h, setText, span } from "../base/dom.js";
import { isShortcut, walked } from "../base/grid_keys.js";
import { setParam } from "../link/link.js";
import { BigMap } from "../picture/map.js";
import { cellsOf, including, pieceOf, previewOf, stepOf, clampWindow, zoomed } from "../picture/window.js";
import { toBytes, unpackFloats } from "../wire/packets.js";
import { ApiClient } from "../wire/api_client.js";

/** @typedef {{header: import("../base/messages.js").Tile, floats: Float32Array}} Piece */

const MAX_PIECES = 16; // 4 MiB
const WHOLE = 128; // pixels of the overview
const DRAGGED = 5; // pixels from which a press is a drag
const KEYS = /** @type {Record<string, number>} */ ({ "+": -1, "=": -1, "-": 1, "−": 1, 0: Infinity });

export class LongMap extends BigMap {
  /** @param {Explore} view @param {GridActions} actions */
  constructor(view, actions) {
    super({
      pick: (row, key) => actions.pick(row + this.window.row, key === null ? null : key + this.window.column),
      hover: (text, cell) => actions.hover(text, cell),
    });
    this.view = view;
    this.window = /** @type {MapWindow} */ ({ row: 0, column: 0, size: 0 });
    this.digest = ""; // of the map in the window
    this.placed = ""; // row and key that the window was last moved to
    this.pieces = /** @type {Map<string, Piece>} */ (new Map()); // by query
    const handlers = {
      take: (bytes, question) => this.take(bytes, question),
      refuse: (sentence) => setText(this.status, sentence),
    };
    this.wire = new ApiClient(handlers, view.lifetime.signal);
    this.again = () => {}; // redraws only this map, with its last arguments
    this.from = /** @type {{x: number, y: number, window: MapWindow} | null} */ (null); // where a drag began
    this.wasDragged = false;
    this.overview = h("canvas", { class: "whole-map", "aria-hidden": "true" });
    this.status = span("label");
    const zoom = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {number} */ factor) =>
      button(sign, () => this.zoom(factor), { "aria-label": name, title: name });
    const buttons = h("span", { class: "actions", role: "group", "aria-label": "Visible part of the map" });
    buttons.append(zoom("−", "show more of the map", 1), zoom("+", "show a smaller part, enlarged", -1));
    buttons.append(zoom("whole", "show the whole map", Infinity));
    this.bar = div("long-bar", this.overview, div("", buttons, this.status));
    this.element.classList.add("long");
    this.listen();
  }

  listen() {
    const { element, overview } = this;
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("pointerdown", (event) => this.grab(event));
    element.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"]))
      element.addEventListener(end, () => {
        this.from = null;
      });
    // the end of a drag is no click on a cell
    element.addEventListener("click", (event) => this.wasDragged && event.stopImmediatePropagation(), true);
    overview.addEventListener("pointerdown", (event) => this.center(event));
  }

  get n() {
    return this.view.maps.n;
  }

  /** @param {MapPicture} mapPicture thumbnail of the whole map @param {Inks} inks @param {Room} room */
  draw(mapPicture, inks, room) {
    this.again = () => this.draw(mapPicture, inks, room);
    this.place(mapPicture);
    const { row, column, size } = this.window;
    const piece = this.pieces.get(`tile?${this.query()}`);
    if (!piece) this.ask();
    const key =
      mapPicture.key === null || mapPicture.key < column || mapPicture.key >= column + size
        ? null
        : mapPicture.key - column;
    const part = {
      ...mapPicture,
      ...this.cells(mapPicture, piece),
      tokens: mapPicture.tokens.slice(row, row + size),
      keys: mapPicture.keys.slice(column, column + size),
      row: mapPicture.row - row < size ? mapPicture.row - row : -1,
      key,
      best: null,
      first: 0,
      last: 0,
    };
    super.draw(part, inks, room);
    this.drawWhole(mapPicture, inks);
    const places = (/** @type {number} */ from) => `${from}–${Math.min(from + size, this.n) - 1}`;
    const n = mapPicture.tokens.length.toLocaleString("en");
    setText(this.status, `rows ${places(row)}, keys ${places(column)} of ${n}${this.law(piece)}`);
  }

  /** Move the window to the row and key in focus, if they have changed. @param {MapPicture} picture */
  place({ row, key, name }) {
    const { n } = this;
    const { digest } = this.view.maps;
    const label = `${row} ${key}`;
    if (this.digest !== digest) {
      this.window = { row: 0, column: 0, size: n }; // the whole: a part may have no weight that can be seen
      this.active = null;
    } else if (label !== this.placed) this.moveWindow(including(this.window, n, [row, key ?? this.window.column]));
    Object.assign(this, { digest, placed: label, name });
  }

  /** The cells in the window, as far as they have arrived. @param {MapPicture} picture @param {Piece | undefined} piece
   * @returns {Pick<MapPicture, "map" | "weights" | "whole" | "forbids">}
   */
  cells({ map }, piece) {
    const { window, n } = this;
    const open = () => false;
    if (!piece) return { map: previewOf(map, window, n), weights: null, whole: false, forbids: open };
    const { rows: size, values: cells } = cellsOf(piece.floats, piece.header.columns, piece.header, window, n);
    if (stepOf(window.size) > 1)
      return { map: { size, bytes: toBytes(cells) }, weights: null, whole: false, forbids: open };
    const weights = cells.map((weight) => weight || 0);
    const forbids = (/** @type {number} */ i, /** @type {number} */ j) =>
      Number.isNaN(cells[i * (cells.length / size) + j]);
    return { map: { size, bytes: toBytes(weights) }, weights, whole: true, forbids };
  }

  /** The legend of cells that stand for several cells of the map. @param {Piece | undefined} piece */
  law(piece) {
    const step = stepOf(this.window.size);
    if (!this.isComputed) return "; not computed yet";
    if (!piece) return "; preview while this part loads";
    return step > 1 ? `; each cell is the largest weight of ${step} × ${step}` : "";
  }

  get isComputed() {
    return this.view.maps.isHere(this.view.at.layer);
  }

  query() {
    const { view, window } = this;
    const { row, column, step } = pieceOf(window);
    const query = view.queryOfRun();
    setParam(query, "at", `${view.at.layer}.${view.at.head}`);
    setParam(query, "look", view.look.mean ? "mean" : null);
    setParam(query, "tile", `${row}.${column}.${step}`);
    return query;
  }

  ask() {
    if (this.view.matching && this.isComputed) this.wire.ask("tile", this.query(), this.view.visit);
  }

  /** @param {Uint8Array} bytes @param {string} question */
  take(bytes, question) {
    const { header, floats } = unpackFloats(bytes);
    this.pieces.set(question, { header, floats });
    if (this.pieces.size > MAX_PIECES) this.pieces.delete([...this.pieces.keys()][0]);
    this.again();
  }

  /** Draw the overview with the frame of the window. @param {MapPicture} picture @param {Inks} inks */
  drawWhole({ map, theme, scale }, inks) {
    const { row, column, size } = this.window;
    const context = contextOf(this.overview, WHOLE, WHOLE);
    context.imageSmoothingEnabled = false;
    context.drawImage(picture(map, theme, scale), 0, 0, WHOLE, WHOLE);
    const scaled = (/** @type {number} */ cells) => (cells * WHOLE) / this.n;
    frame(context, scaled(column), scaled(row), Math.max(4, scaled(size)), Math.max(4, scaled(size)), inks.query);
  }

  /** @param {MapWindow} place */
  moveWindow(place) {
    const { row, column } = this.window;
    const { active } = this;
    if (active)
      this.active = /** @type {[number, number]} */ ([active[0] + row - place.row, active[1] + column - place.column]);
    this.window = place;
  }

  /** @param {number} factor steps of size: positive zooms out @param {[number, number]} [cell] fixed cell */
  zoom(factor, cell = this.middle) {
    this.moveWindow(zoomed(this.window, this.n, factor, cell));
    this.again();
  }

  /** The cell with the focus, in the whole map. @returns {[number, number]} */
  get middle() {
    const { row, column, size } = this.window;
    const [i, j] = this.active ?? [size / 2, size / 2];
    return [row + i, column + j];
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.metaKey) return; // the browser zooms the page
    if (this.pan(event.deltaY / this.step, event.deltaX / this.wide)) event.preventDefault(); // at the edge of the map the page scrolls
  }

  /** Move the window by a number of cells and return whether it moved. @param {number} rows @param {number} columns */
  pan(rows, columns, from = this.window) {
    const far = (/** @type {number} */ cells) => Math.sign(cells) * Math.ceil(Math.abs(cells));
    const next = clampWindow(
      { row: from.row + far(rows), column: from.column + far(columns), size: from.size },
      this.n,
    );
    const moves = next.row !== this.window.row || next.column !== this.window.column;
    if (moves) {
      this.moveWindow(next);
      this.again();
    }
    return moves;
  }

  /** @param {PointerEvent} event */
  grab(event) {
    this.wasDragged = false;
    this.from = { x: event.clientX, y: event.clientY, window: this.window };
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (!this.from) return;
    const [x, y] = [event.clientX - this.from.x, event.clientY - this.from.y];
    if (!this.wasDragged && Math.hypot(x, y) < DRAGGED) return;
    if (!this.wasDragged) this.element.setPointerCapture(event.pointerId);
    this.wasDragged = true;
    this.pan(-y / this.step, -x / this.wide, this.from.window);
  }

  /** Center the window at a point of the overview. @param {PointerEvent} event */
  center(event) {
    const box = this.overview.getBoundingClientRect();
    const { size } = this.window;
    const toCell = (/** @type {number} */ share) => share * this.n - size / 2;
    const [row, column] = [
      toCell((event.clientY - box.top) / box.height),
      toCell((event.clientX - box.left) / box.width),
    ];
    this.moveWindow(clampWindow({ row, column, size }, this.n));
    this.again();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const factor = KEYS[event.key];
    if (factor !== undefined && !isShortcut(event)) {
      event.preventDefault();
      return this.zoom(factor);
    }
    const { n } = this;
    const next = this.active && !isShortcut(event) && walked(event, this.middle, [0, n - 1], [0, n - 1]);
    if (!next) return super.key(event);
    event.preventDefault();
    this.moveWindow(including(this.window, n, next));
    const offset = /** @type {[number, number]} */ ([next[0] - this.window.row, next[1] - this.window.column]);
    this.active = offset;
    this.again();
    this.moveTo(offset);
  }

  /** Describe the cell by its place in the whole map. */
  describe() {
    const { grid, active, n } = this;
    if (!grid || !active) return;
    this.cell.put(this.element, this.label, [n, n], this.middle, this.say(active), this.boxOf(active));
  }
}
