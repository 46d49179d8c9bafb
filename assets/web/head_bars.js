// What switching off each head alone does to the sentence vector: a cell a head, and a click opens the head.

import { button, fill, h, setAttribute, setText, styles } from "./dom.js";
import { isShortcut, walkedTiles } from "./grid_keys.js";
import { mount } from "./mount.js";
import { View, panel } from "./view_base.js";

const ABOUT = "one head at a time is switched off on the left side; a click opens it";
const LAW = "Colour: √ of 1 − cosine of the sentence vector to itself without the head; the strongest stands for";
const LIGHT = 0.04; // the share of the colour that no head goes below, so that each cell is seen

const STYLES = await styles("./view.css", "./pair.css");

/** @extends {View<import("./messages.js").HeadCosines>} */
class HeadBars extends View {
  constructor(root) {
    super(root, STYLES, "bars-of-heads");
    this.at = 0; // the cell that Tab reaches; arrows walk
    this.read = -1; // the one that is pointed at
    this.columns = 1;
    this.title = h("h2");
    this.text = h("p");
    this.grid = h("div", { class: "head-bars", role: "grid", "aria-label": "Cosine without each head" });
    this.readout = h("p", { class: "readout" });
    this.note = h("p", { class: "label" });
    this.grid.onkeydown = (event) => this.walk(event);
    this.grid.onpointerleave = () => this.point(-1);
    const header = [this.title, h("span", { class: "label" }, ABOUT)];
    this.show(panel("all-bars", "One head at a time", header, this.text, this.grid, this.readout, this.note));
  }

  draw() {
    const { cosines, off, said, title } = this.state;
    const rows = cosines.map((own, layer) => own.map((_, head) => [layer, head]));
    const places = this.narrow ? rows[0].map((_, head) => rows.map((own) => own[head])) : rows;
    this.columns = places[0].length;
    const most = Math.max(...cosines.flat().map((cosine) => 1 - cosine), 1e-9);
    setText(this.title, title);
    setText(this.text, said);
    setText(this.note, `${LAW} ${most.toFixed(4)}. Layers (L) and heads (H) are counted from 0.`);
    this.grid.style.setProperty("--columns", String(this.columns));
    const offNow = new Set(off.split("-"));
    const [down, across] = this.narrow ? ["H", "L"] : ["L", "H"];
    fill(
      this.grid,
      [["", ...places[0].map((_, at) => `${across}${at}`)], ...places],
      () => h("div", { role: "row", class: "row" }),
      (row, pairs, r) =>
        r
          ? this.drawRow(row, `${down}${r - 1}`, pairs, (r - 1) * this.columns, most, offNow)
          : fill(row, pairs, (at) => h("span", { class: "name", role: at ? "columnheader" : "cell" }), setText),
    );
    this.point(this.read);
  }

  drawRow(row, name, pairs, first, most, offNow) {
    const make = (at) => (at ? this.makeCell() : h("span", { class: "name", role: "rowheader" }));
    fill(row, [name, ...pairs], make, (cell, pair, at) => {
      if (at) this.drawCell(cell, pair, first + at - 1, most, offNow.has(pair.join(".")));
      else setText(cell, pair);
    });
  }

  makeCell() {
    const cell = button("", () => this.tell({ at: cell.dataset.head }), { role: "gridcell" });
    const point = () => this.point(this.cells().indexOf(cell));
    cell.onpointerenter = point;
    cell.onfocus = () => {
      this.rove(this.cells().indexOf(cell));
      point();
    };
    return cell;
  }

  drawCell(cell, [layer, head], index, most, off) {
    const { state } = this;
    const share = Math.sqrt(Math.max(0, 1 - state.cosines[layer][head]) / most);
    setText(cell, off ? "off" : "");
    cell.style.setProperty("--share", String(Math.max(LIGHT, 0.85 * share)));
    const said = `${off ? "off already, " : ""}cosine ${state.shown[layer][head]}`;
    setAttribute(cell, "aria-label", `layer ${layer} head ${head}: ${said}`);
    setAttribute(cell, "aria-selected", String(layer === state.layer && head === state.head));
    setAttribute(cell, "data-head", `${layer}.${head}`);
    setAttribute(cell, "tabindex", index === this.at ? "0" : "-1");
  }

  /** Says the number of a cell; without one, of the head in focus. */
  point(index) {
    this.read = index;
    const cells = this.cells();
    const cell = cells[index] ?? cells.find((own) => own.getAttribute("aria-selected") === "true");
    setText(this.readout, cell?.getAttribute("aria-label") ?? "");
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
