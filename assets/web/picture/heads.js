// The grid of heads: DOM elements for names, toggles and focus, and one canvas over the grid for all maps.

import { drawHatch, picture } from "../base/colour.js";
import { HEAD_KINDS } from "../base/facts.js";
import { button, contextOf, div, frame, h, render, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { isShortcut, walkedTiles } from "../base/grid_keys.js";
import { pooled, trimmed } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { isolated } from "../base/token_text.js";
import { BLOCKED, number, OFF, sortByWeight } from "../base/words.js";

/** @typedef {[number, number]} Head layer and head */
/** @typedef {(layer: number, head: number) => void} Act */
/** @typedef {{focus: Act, lamp: Act, hide: Act, solo: Act, hover: (text: string | null) => void}} Actions */
/**
 * @typedef {Look & {
 *   layer: number, head: number, row: number, off: Set<string>, first: number, last: number,
 *   theme: Theme, kinds: [string, number][][], kv: number,
 *   forbidden?: string[], across?: boolean, fixed?: string,
 * }} ShownHeads forbidden: hatched cells, as in `forbids`; across: one column per layer;
 *   fixed: why no head can be ablated, "" if each can
 */

const POOLED = 128; // cells of a thumbnail

/** @param {Head} pair @param {boolean} all */
const nameOf = ([layer, head], all) => (all ? `L${layer} H${head}` : String(head));

export class HeadsGrid {
  /** @param {Actions} act */
  constructor(act) {
    this.act = act;
    /** @type {Map<string, HTMLCanvasElement>} */
    this.images = new Map();
    this.kind = ""; // key of the cached images
    this.tabStop = 0; // index of the tile that Tab reaches
    this.state = /** @type {ShownHeads} */ ({});
    this.maps = /** @type {Maps} */ ({});
    this.visible = /** @type {Head[]} */ ([]);
    this.columns = this.count = 0;
    this.width = this.height = 0; // pixels
    this.rects = /** @type {{x: number, y: number, width: number, height: number}[]} */ ([]); // of the tiles' maps, once measured
    this.made = /** @type {HTMLElement[]} */ ([]); // tiles, in the order of the grid
    this.grid = h("div", { class: "heads", role: "grid" });
    this.canvas = h("canvas", { class: "overlay", "aria-hidden": "true" });
    this.element = div("heads-holder", this.grid, this.canvas);
    this.grid.onkeydown = (event) => this.key(event);
    this.grid.addEventListener("focusin", ({ target }) => this.rove(this.indexOf(target)));
    this.element.onpointermove = (event) => this.hover(event);
    this.element.onpointerleave = () => this.act.hover(null);
  }

  /** @returns {HTMLElement[]} */
  tiles() {
    return [...this.grid.querySelectorAll(".tile")].map((tile) => /** @type {HTMLElement} */ (tile));
  }

  /** The index of the tile that contains an element. @param {EventTarget | null} target */
  indexOf(target) {
    return this.tiles().findIndex((tile) => tile.contains(/** @type {Node | null} */ (target)));
  }

  /** Update the tiles in the given order. @param {ShownHeads} state @param {Maps} maps @param {Head[]} visible */
  update(state, maps, visible, columns) {
    if (this.columns !== columns || this.count !== visible.length) this.rects = [];
    Object.assign(this, { state, maps, visible, columns, count: visible.length });
    setAttribute(this.grid, "style", `--columns:${columns};--rows:${Math.ceil(visible.length / columns)}`);
    setAttribute(this.grid, "aria-label", state.all ? "All heads of all layers" : `Heads of layer ${state.layer}`);
    setAttribute(this.element, "class", state.all ? "heads-holder all-layers" : "heads-holder");
    while (this.made.length < visible.length) this.made.push(this.makeTile());
    const tiles = this.made.slice(0, visible.length);
    const rows = Array.from({ length: Math.ceil(visible.length / columns) }, (_, r) =>
      tiles.slice(r * columns, (r + 1) * columns),
    );
    render(this.grid, ...rows.map((row) => ["div.row", { role: "row" }, ...row]));
    visible.forEach((pair, index) => this.updateTile(tiles[index], pair, index));
    const focus = visible.findIndex(([layer, head]) => layer === state.layer && head === state.head);
    const isWalked = this.grid.matches(":focus-within") || focus < 0;
    this.rove(isWalked ? Math.min(this.tabStop, visible.length - 1) : focus);
  }

  makeTile() {
    const pair = () => this.visible[this.indexOf(tile)];
    const toggle = (/** @type {MouseEvent} */ event) => {
      event.stopPropagation();
      this.act.lamp(...pair());
    };
    const lamp = button("", toggle, { class: "lamp", tabindex: "-1" });
    const inside = [div("square", span("note")), div("tile-head", span("name"), span("kind"), lamp)];
    const onclick = () => this.act.focus(...pair());
    const tile = h("div", { class: "tile", role: "gridcell", onclick }, ...inside);
    return tile;
  }

  /** @param {HTMLElement} tile @param {Head} pair @param {number} index */
  updateTile(tile, pair, index) {
    const { state } = this;
    const kind = state.kinds[pair[0]]?.[pair[1]];
    const id = pair.join(".");
    const off = state.off.has(id);
    const away = this.isAway(pair);
    const focused = id === `${state.layer}.${state.head}`;
    const name = `layer ${pair[0]} head ${pair[1]}`;
    const whole = state.off.has(String(pair[0])); // of an ablated layer no head passes anything on
    const ablation = off ? ", ablated" : whole ? ", layer ablated" : "";
    const marks = { focused, off: off || whole, away };
    for (const [mark, holds] of Object.entries(marks)) tile.classList.toggle(mark, holds);
    setAttributes(tile, { "aria-selected": focused, "data-head": id });
    const title = kind ? HEAD_KINDS[kind[0]].title : "";
    const is = state.all && kind ? `, ${title}` : "";
    setAttribute(tile, "aria-label", `${name}${is}${ablation}${away ? ", hidden" : ""}`);
    const [shortName, place, lamp] = tile.children[1].children;
    setText(shortName, nameOf(pair, state.all));
    setText(place, title);
    setAttribute(place, "title", kind ? `${title}: ${number(kind[1])}` : null);
    setAttribute(tile, "data-kind", kind?.[0] ?? null);
    setText(tile.children[0].children[0], away ? "hidden" : this.maps.isHere(pair[0]) ? "" : "not computed yet");
    const click = off ? "is ablated: restore it" : "is on: ablate it";
    setAttributes(lamp, { "aria-pressed": !off, "aria-label": `${name} ${click}` });
    setAttribute(lamp, "title", state.fixed || (off ? OFF : "on; click to ablate it (switch it off in the model)"));
    lamp.toggleAttribute("disabled", Boolean(state.fixed));
    tile.style.setProperty("--index", String(index));
    this.updateEdges(tile, pair, index);
  }

  /** Draw the edge labels: layers and heads, and the query heads that share a key/value head.
   * @param {HTMLElement} tile @param {Head} pair @param {number} index
   */
  updateEdges(tile, [layer, head], index) {
    const { columns, maps, state } = this;
    const sorted = state.sort ? "" : String(head); // then a column has heads of every number
    const [top, side] = state.across ? [String(layer), sorted] : [sorted, String(layer)];
    setAttribute(tile, "data-column", state.all && index < columns ? top : null);
    setAttribute(tile, "data-row", state.all && index % columns === 0 ? side : null);
    const groupSize = state.kv && state.kv < maps.heads ? maps.heads / state.kv : 0;
    const group = groupSize ? Math.floor(head / groupSize) : null;
    setAttribute(tile, "data-group", group === null ? null : String(group % 3));
    const shared = `query heads ${(group ?? 0) * groupSize} to ${((group ?? 0) + 1) * groupSize - 1} share key and value head ${group}`;
    const label = group === null ? null : `layer ${layer} head ${head}: ${shared}`;
    setAttribute(tile, "title", state.all ? tile.getAttribute("aria-label") : label);
  }

  /** Return whether a head is hidden, or another one is solo. @param {Head} pair */
  isAway(pair) {
    const id = pair.join(".");
    return this.state.solo ? this.state.solo !== id : this.state.hidden.has(id);
  }

  measure() {
    const origin = this.element.getBoundingClientRect();
    this.width = origin.width;
    this.height = origin.height;
    this.rects = [...this.grid.querySelectorAll(".square")].map((square) => {
      const box = square.getBoundingClientRect();
      return { x: box.left - origin.left, y: box.top - origin.top, width: box.width, height: box.height };
    });
  }

  /** @param {{query: string, hatch: string}} inks */
  draw(inks) {
    if (!this.rects.length) this.measure();
    const { off, layer, head, row, first, last, forbidden = [] } = this.state;
    const { n } = this.maps;
    const context = contextOf(this.canvas, this.width, this.height);
    const size = n - first - last;
    context.imageSmoothingEnabled = false;
    this.visible.forEach((pair, index) => {
      if (this.isAway(pair) || !this.maps.isHere(pair[0])) return;
      const rect = this.rects[index];
      const { x, y, width, height } = rect;
      context.globalAlpha = off.has(pair.join(".")) ? 0.3 : 1;
      context.drawImage(this.image(pair), x, y, width, height);
      context.globalAlpha = 1;
      const text = forbidden[pair[1]] ?? forbidden[0];
      if (text) context.drawImage(this.hatch(text, pair[1], rect, inks.hatch), x, y, width, height);
      if (pair[0] === layer && pair[1] === head && row >= first && row - first < size)
        frame(context, x, y + ((row - first) * height) / size, width, height / size, inks.query);
    });
  }

  /** The image of a head's map, cached per picture, scale and theme. @param {Head} head */
  image([layer, head]) {
    const { scale, first, last, theme } = this.state;
    const kind = `${this.maps.digest} ${theme} ${scale} ${first}${last}`;
    if (this.kind !== kind) this.images.clear();
    this.kind = kind;
    const isWhole = this.maps.isWhole(layer);
    const id = `${layer}.${head} ${isWhole}`;
    const cached = this.images.get(id);
    if (cached) return cached;
    const map = this.maps.map(layer, head);
    const image = picture(pooled(isWhole ? trimmed(map, first, last) : map, POOLED), theme, scale);
    this.images.set(id, image);
    return image;
  }

  /** The hatching of a head's map, cached per size. @param {string} text @param {number} head
   * @param {{width: number, height: number}} room @param {string} ink
   */
  hatch(text, head, room, ink) {
    const { first, last, forbidden = [] } = this.state;
    const { n, keys } = this.maps;
    const id = [text, room.width, room.height, ink].join(" ");
    const cached = this.images.get(id);
    if (cached) return cached;
    const isBlocked = forbids(forbidden, head, n, keys.length);
    const [rows, columns] = [n, keys.length].map((all) => all - first - last);
    const image = document.createElement("canvas");
    const context = contextOf(image, Math.max(1, room.width), Math.max(1, room.height)); // no size before the first layout
    drawHatch(context, rows, columns, (i, j) => isBlocked(first + i, first + j), room, ink);
    this.images.set(id, image);
    return image;
  }

  hover(event) {
    const square = event.target.closest(".square");
    const pair = this.visible[this.indexOf(square)];
    if (!square || this.isAway(pair) || !this.maps.isWhole(pair[0])) return this.act.hover(null);
    const { x, y, width, height } = square.getBoundingClientRect();
    const { first, last, forbidden = [] } = this.state;
    const { tokens, keys, n } = this.maps;
    const toPixels = (/** @type {number} */ share, /** @type {number} */ total) =>
      first + Math.min(total - first - last - 1, Math.floor(share * (total - first - last)));
    const [i, j] = [toPixels((event.clientY - y) / height, n), toPixels((event.clientX - x) / width, keys.length)];
    const weight = this.maps.map(...pair).bytes[i * keys.length + j] / 255;
    const blocked = forbids(forbidden, pair[1], n, keys.length)(i, j) ? `, ${BLOCKED}` : "";
    return this.act.hover(
      `${nameOf(pair, true)}: ${isolated(tokens[i])} → ${isolated(keys[j])} ${number(weight)}${blocked}`,
    );
  }

  /** Make one tile the tab stop (roving tabindex). @param {number} index */
  rove(index) {
    if (index < 0) return;
    this.tabStop = index;
    this.tiles().forEach((tile, i) => setAttribute(tile, "tabindex", i === index ? "0" : "-1"));
  }

  key(event) {
    const { key, target } = event;
    if (isShortcut(event)) return;
    const onLamp = target instanceof Element && target.closest(".lamp");
    if (onLamp && (key === "Enter" || key === " ")) return; // the toggle handles it
    /** @type {Record<string, Act>} */
    const acts = { Enter: this.act.focus, " ": this.act.lamp, o: this.act.lamp, s: this.act.solo, h: this.act.hide };
    if (key in acts) acts[key](...this.visible[this.tabStop]);
    else if (key.startsWith("Arrow") || key === "Home" || key === "End") {
      const next = walkedTiles(event, this.tabStop, this.count, this.columns);
      if (next !== null) this.tiles()[next].focus();
    } else return;
    event.preventDefault();
  }
}

/** @typedef {{maps: Maps, at: {layer: number, head: number, row: number, key: number | null}, look: {sort: boolean}}} Sight */

/** The key that heads are sorted by: the selected one, otherwise the strongest of the row in focus.
 * @param {Pick<Sight, "maps" | "at">} view */
export function sortKey({ at, maps }) {
  if (at.key !== null) return at.key;
  if (!maps.isWhole(at.layer)) return null;
  return sortByWeight(maps.row(at))[0][0];
}

const MAX_DOWN = 12; // layers in rows; deeper models have one column per layer

/** Return whether the grid of all heads has one column per layer. @param {{layers: number}} maps */
export const isAcross = ({ layers }) => layers > MAX_DOWN;

/** The visible heads in their order.
 * @param {Sight} view @param {boolean} all @param {boolean} [across] one column per layer
 * @returns {[number, number][]}
 */
export function order(view, all, across = isAcross(view.maps)) {
  const { maps, at, look } = view;
  const layers = all ? [...Array(maps.layers).keys()] : [at.layer];
  const key = sortKey(view);
  const ordered = layers.map((layer) => {
    const pairs = Array.from({ length: maps.heads }, (_, head) => /** @type {[number, number]} */ ([layer, head]));
    if (!look.sort || key === null || !maps.isWhole(layer)) return pairs;
    const byteOf = (/** @type {number} */ head) => maps.row({ ...at, layer, head })[key];
    return pairs.sort(([, a], [, b]) => byteOf(b) - byteOf(a) || a - b);
  });
  return all && across ? ordered[0].flatMap((_, place) => ordered.map((pairs) => pairs[place])) : ordered.flat();
}

/** The number of columns; two for few heads, so that they fill the space.
 * @param {{layers: number, heads: number}} maps @param {boolean} all @param {boolean} wide @param {boolean} [across] one column per layer
 */
export function columns({ layers, heads }, all, wide, across = isAcross({ layers })) {
  if (all && across) return layers;
  return all || wide || heads <= 2 ? heads : heads <= 4 ? 2 : 3;
}
