// The grid of heads: real elements for names, lamps and focus, one canvas over all of them for the maps.

import { contextOf, fill, frame, h, setAttribute, setText } from "./dom.js";
import { picture } from "./colour.js";
import { pooled, trimmed } from "./packets.js";

const nameOf = ([layer, head], all) => (all ? `L${layer} H${head}` : `head ${head}`);

export class HeadsGrid {
  /** `act` has focus(layer, head), lamp(layer, head), hide(layer, head), solo(layer, head), hover(text | null). */
  constructor(act) {
    this.act = act;
    this.images = new Map();
    this.at = 0;
    this.grid = h("div", { class: "heads", role: "grid" });
    this.canvas = h("canvas", { class: "over", "aria-hidden": "true" });
    this.element = h("div", { class: "heads-holder" }, this.grid, this.canvas);
    this.grid.onkeydown = (event) => this.key(event);
    this.grid.addEventListener("focusin", (event) => this.rove(this.tiles().indexOf(event.target.closest(".tile"))));
    this.element.onpointermove = (event) => this.hover(event);
    this.element.onpointerleave = () => this.act.hover(null);
  }

  tiles() {
    return [...this.grid.querySelectorAll(".tile")];
  }

  /** Lays the tiles out; `shown` is a list of [layer, head] in the order wanted. */
  update(state, maps, shown, columns) {
    Object.assign(this, { state, maps, shown });
    if (this.columns !== columns || this.count !== shown.length) {
      this.columns = columns;
      this.count = shown.length;
      this.rects = null;
    }
    setAttribute(this.grid, "style", `--columns:${columns}`);
    setAttribute(this.grid, "aria-label", state.all ? "All heads of all layers" : `Heads of layer ${state.layer}`);
    setAttribute(this.element, "class", `heads-holder${state.all ? " many" : ""}`);
    const rows = [];
    for (let at = 0; at < shown.length; at += columns) rows.push(shown.slice(at, at + columns));
    fill(
      this.grid,
      rows,
      () => h("div", { role: "row", class: "row" }),
      (row, pairs, r) =>
        fill(
          row,
          pairs,
          () => this.makeTile(),
          (tile, pair, c) => this.updateTile(tile, pair, r * columns + c),
        ),
    );
    this.rove(Math.min(this.at, shown.length - 1));
  }

  makeTile() {
    const tile = h(
      "div",
      { class: "tile", role: "gridcell" },
      h(
        "div",
        { class: "tile-head" },
        h("span", { class: "name" }),
        h("button", { class: "lamp", type: "button", tabindex: "-1" }),
      ),
      h("div", { class: "square" }, h("span", { class: "note" })),
    );
    const pair = () => this.shown[this.tiles().indexOf(tile)];
    tile.onclick = () => this.act.focus(...pair());
    tile.querySelector(".lamp").onclick = (event) => {
      event.stopPropagation();
      this.act.lamp(...pair());
    };
    return tile;
  }

  updateTile(tile, pair, index) {
    const { state } = this;
    const id = pair.join(".");
    const off = state.off.has(id);
    const away = this.isAway(id);
    const focused = id === `${state.layer}.${state.head}`;
    setAttribute(tile, "class", `tile${focused ? " focused" : ""}${off ? " off" : ""}${away ? " away" : ""}`);
    setAttribute(tile, "aria-selected", String(focused));
    setAttribute(tile, "data-head", id);
    const condition = `${off ? ", off in the model" : ""}${away ? ", hidden" : ""}`;
    setAttribute(tile, "aria-label", `layer ${pair[0]} head ${pair[1]}${condition}`);
    setText(tile.querySelector(".name"), nameOf(pair, state.all));
    setText(tile.querySelector(".note"), away ? "hidden" : "");
    const lamp = tile.querySelector(".lamp");
    setAttribute(lamp, "aria-pressed", String(!off));
    setAttribute(
      lamp,
      "aria-label",
      `layer ${pair[0]} head ${pair[1]} ${off ? "is off in the model: switch on" : "is on: switch off in the model"}`,
    );
    setAttribute(lamp, "title", off ? "off in the model: its output is 0" : "on: click to switch it off in the model");
    tile.style.setProperty("--index", index);
  }

  isAway(id) {
    return this.state.solo ? this.state.solo !== id : this.state.hidden.has(id);
  }

  measure() {
    const origin = this.element.getBoundingClientRect();
    this.width = origin.width;
    this.height = this.grid.getBoundingClientRect().height;
    this.rects = [...this.grid.querySelectorAll(".square")].map((square) => {
      const box = square.getBoundingClientRect();
      return { x: box.left - origin.left, y: box.top - origin.top, side: box.width };
    });
  }

  draw(theme, inks) {
    if (!this.rects) this.measure();
    const context = contextOf(this.canvas, this.width, this.height);
    context.imageSmoothingEnabled = false;
    this.shown.forEach((pair, index) => {
      const id = pair.join(".");
      if (this.isAway(id)) return;
      const { x, y, side } = this.rects[index];
      context.globalAlpha = this.state.off.has(id) ? 0.3 : 1;
      context.drawImage(this.image(pair, theme), x, y, side, side);
    });
    context.globalAlpha = 1;
    const index = this.shown.findIndex(([layer, head]) => layer === this.state.layer && head === this.state.head);
    const { row, first, last } = this.state;
    const size = this.maps.n - first - last;
    if (index >= 0 && row >= first && row - first < size && !this.isAway(this.shown[index].join("."))) {
      const { x, y, side } = this.rects[index];
      frame(context, x, y + ((row - first) * side) / size, side, side / size, inks.query);
    }
  }

  /** The coloured map of one head, made once for each picture, scale and theme. */
  image([layer, head], theme) {
    const { scale, first, last } = this.state;
    const kind = `${this.maps.digest} ${theme} ${scale} ${first}${last}`;
    if (this.kind !== kind) {
      this.images.clear();
      this.kind = kind;
    }
    const id = `${layer}.${head} ${this.maps.isWhole(layer)}`;
    if (!this.images.has(id)) {
      const map = this.maps.map(layer, head);
      const cut = this.maps.isWhole(layer) ? trimmed(map, first, last) : map;
      this.images.set(id, picture(pooled(cut, 128), theme, scale));
    }
    return this.images.get(id);
  }

  hover(event) {
    if (!this.rects || !this.maps) return;
    const origin = this.element.getBoundingClientRect();
    const [px, py] = [event.clientX - origin.left, event.clientY - origin.top];
    const index = this.rects.findIndex(({ x, y, side }) => px >= x && px < x + side && py >= y && py < y + side);
    const pair = this.shown[index];
    if (!pair || this.isAway(pair.join(".")) || !this.maps.isWhole(pair[0])) return this.act.hover(null);
    const { x, y, side } = this.rects[index];
    const { first, last } = this.state;
    const size = this.maps.n - first - last;
    const i = first + Math.min(size - 1, Math.floor(((py - y) / side) * size));
    const j = first + Math.min(size - 1, Math.floor(((px - x) / side) * size));
    const byte = this.maps.map(...pair).bytes[i * this.maps.n + j];
    return this.act.hover(
      `${nameOf(pair, true)}: ${this.maps.tokens[i]} → ${this.maps.tokens[j]} ${(byte / 255).toFixed(2)}`,
    );
  }

  /** Roving tabindex: one tile at a time can be reached with Tab. */
  rove(index) {
    if (index < 0) return;
    this.at = index;
    this.tiles().forEach((tile, i) => setAttribute(tile, "tabindex", i === index ? "0" : "-1"));
  }

  key(event) {
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: this.columns,
      ArrowUp: -this.columns,
      Home: -this.at,
      End: this.count - 1 - this.at,
    }[event.key];
    const pair = this.shown[this.at];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(".lamp") && (event.key === "Enter" || event.key === " ")) return; // the lamp's own click
    if (step !== undefined) {
      const to = this.at + step;
      if (to >= 0 && to < this.count) {
        this.rove(to);
        this.tiles()[to].focus();
      }
    } else if (event.key === "Enter") this.act.focus(...pair);
    else if (event.key === " " || event.key === "o") this.act.lamp(...pair);
    else if (event.key === "s") this.act.solo(...pair);
    else if (event.key === "h") this.act.hide(...pair);
    else return;
    event.preventDefault();
  }
}
