// What switching off each head alone does to the sentence vector: a bar a head, and a click opens the head.

import { button, fill, h, setAttribute, setText, styles } from "./dom.js";
import { isShortcut, walkedTiles } from "./grid_keys.js";
import { View, mount, panel } from "./view_base.js";

const ABOUT = "left side; cosine of the sentence vector to itself without the head; a click opens the head";

const STYLES = await styles("./view.css", "./pair.css");

/** @extends {View<import("./messages.js").HeadCosines>} */
class HeadBars extends View {
  constructor(root) {
    super(root, STYLES, "bars-of-heads");
    this.at = 0; // the cell that Tab reaches; arrows walk
    this.columns = 1;
    this.text = h("p");
    this.grid = h("div", { class: "head-bars", role: "grid", "aria-label": "Cosine without each head" });
    this.note = h("p", { class: "label" });
    this.grid.onkeydown = (event) => this.walk(event);
    const title = "One head at a time";
    const header = [h("h2", {}, title), h("span", { class: "label" }, ABOUT)];
    this.show(panel("all-bars", title, header, this.text, this.grid, this.note));
  }

  draw() {
    const { cosines, off, said } = this.state;
    const rows = cosines.map((own, layer) => own.map((_, head) => [layer, head]));
    const places = this.narrow ? rows[0].map((_, head) => rows.map((own) => own[head])) : rows;
    this.columns = places[0].length;
    const most = Math.max(...cosines.flat().map((cosine) => 1 - cosine), 1e-9);
    const scale = `Bars: √ of 1 − cosine; the tallest stands for ${most.toFixed(4)}.`;
    setText(this.text, said);
    setText(this.note, `${scale} Layers (L) and heads (H) are counted from 0.`);
    this.grid.style.setProperty("--columns", String(this.columns));
    const offNow = new Set(off.split("-"));
    const drawCell = (cell, pair, index) => this.drawCell(cell, pair, index, most, offNow.has(pair.join(".")));
    fill(
      this.grid,
      places,
      () => h("div", { role: "row", class: "row" }),
      (row, pairs, r) =>
        fill(
          row,
          pairs,
          () => this.makeCell(),
          (cell, pair, c) => drawCell(cell, pair, r * this.columns + c),
        ),
    );
  }

  makeCell() {
    const bar = h("span", { class: "bar-of" }, h("span"));
    const cell = button("", () => this.tell({ at: cell.dataset.head }), { role: "gridcell" });
    cell.append(h("span", { class: "name" }), bar, h("span", { class: "number" }));
    cell.onfocus = () => this.rove(this.cells().indexOf(cell));
    return cell;
  }

  drawCell(cell, [layer, head], index, most, off) {
    const { state } = this;
    const [name, bar, number] = cell.children;
    const shown = state.shown[layer][head];
    setText(name, `L${layer} H${head}`);
    setText(number, off ? "off" : shown);
    bar.firstChild.style.height = `${100 * Math.sqrt(Math.max(0, 1 - state.cosines[layer][head]) / most)}%`;
    setAttribute(cell, "aria-label", `layer ${layer} head ${head}: ${off ? "off already, " : ""}cosine ${shown}`);
    setAttribute(cell, "aria-selected", String(layer === state.layer && head === state.head));
    setAttribute(cell, "data-head", `${layer}.${head}`);
    setAttribute(cell, "tabindex", index === this.at ? "0" : "-1");
  }

  cells() {
    return [.../** @type {NodeListOf<HTMLElement>} */ (this.grid.querySelectorAll("[role=gridcell]"))];
  }

  rove(index) {
    this.at = index;
    this.cells().forEach((cell, n) => setAttribute(cell, "tabindex", n === index ? "0" : "-1"));
  }

  walk(event) {
    const cells = this.cells();
    const to = isShortcut(event) ? null : walkedTiles(event, this.at, cells.length, this.columns);
    if (to === null) return;
    event.preventDefault();
    cells[to].focus();
  }
}

export default mount(HeadBars);
