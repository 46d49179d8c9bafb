// What switching off each head alone does to the sentence vector: a bar a head, and a click opens the head.

import { themeOf } from "./colour.js";
import { fill, h, setAttribute, setText, styles } from "./dom.js";
import { button } from "./elements.js";

const NARROW = 640; // pixels; below, a column a layer instead of a row

const STYLES = await styles("./view.css", "./pair.css");

class HeadBars {
  constructor(root) {
    this.root = root;
    this.at = 0;
    this.said = h("p");
    this.grid = h("div", { class: "head-bars", role: "grid", "aria-label": "Cosine without each head" });
    this.note = h("p", { class: "label" });
    this.element = h(
      "div",
      { class: "view bars-of-heads" },
      h(
        "section",
        { class: "panel", "aria-label": "One head at a time" },
        h(
          "header",
          {},
          h("h2", {}, "One head at a time"),
          h(
            "span",
            { class: "label" },
            "left side; cosine of the sentence vector to itself without the head; a click opens the head",
          ),
        ),
        this.said,
        this.grid,
        this.note,
      ),
    );
    this.grid.onkeydown = (event) => this.walk(event);
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  take(state) {
    this.state = state;
    this.draw();
  }

  /** Rows and columns as they are shown: layers × heads, turned round on a phone. */
  get places() {
    const { cosines } = this.state;
    const rows = cosines.map((own, layer) => own.map((_, head) => [layer, head]));
    return this.narrow ? rows[0].map((_, head) => rows.map((own) => own[head])) : rows;
  }

  draw() {
    const { state } = this;
    if (!state || !this.element.clientWidth) return;
    this.narrow = this.element.clientWidth < NARROW;
    setAttribute(this.element, "data-theme", themeOf(this.root.host ?? this.root));
    setAttribute(this.element, "class", `view bars-of-heads${this.narrow ? " narrow" : ""}`);
    setText(this.said, state.said);
    const most = Math.max(...state.cosines.flat().map((cosine) => 1 - cosine), 1e-9);
    setText(
      this.note,
      `Bars: √ of 1 − cosine; the tallest stands for ${most.toFixed(4)}. Layers (L) and heads (H) are counted from 0.`,
    );
    const off = new Set(state.off ? state.off.split("-") : []);
    this.grid.style.setProperty("--columns", this.places[0].length);
    fill(
      this.grid,
      this.places,
      () => h("div", { role: "row", class: "row" }),
      (row, pairs, r) =>
        fill(
          row,
          pairs,
          () => this.cell(),
          (cell, pair, c) => this.update(cell, pair, r * pairs.length + c, most, off),
        ),
    );
  }

  cell() {
    const own = button("", () => this.open(own.pair), { role: "gridcell" });
    own.append(h("span", { class: "name" }), h("span", { class: "bar-of" }, h("span")), h("span", { class: "number" }));
    own.onfocus = () => this.rove(this.cells().indexOf(own));
    return own;
  }

  update(cell, [layer, head], index, most, off) {
    const { state } = this;
    cell.pair = [layer, head];
    const [name, bar, number] = cell.children;
    const shown = state.shown[layer][head];
    const isOff = off.has(`${layer}.${head}`);
    setText(name, `L${layer} H${head}`);
    setText(number, isOff ? "off" : shown);
    bar.firstChild.style.height = `${100 * Math.sqrt(Math.max(0, 1 - state.cosines[layer][head]) / most)}%`;
    setAttribute(cell, "aria-label", `layer ${layer} head ${head}: ${isOff ? "off already, " : ""}cosine ${shown}`);
    setAttribute(cell, "aria-selected", String(layer === state.layer && head === state.head));
    setAttribute(cell, "data-head", `${layer}.${head}`);
    setAttribute(cell, "tabindex", index === this.at ? "0" : "-1"); // one stop for all; arrows walk
  }

  cells() {
    return [...this.grid.querySelectorAll("[role=gridcell]")];
  }

  rove(index) {
    this.at = index;
    this.cells().forEach((cell, n) => setAttribute(cell, "tabindex", n === index ? "0" : "-1"));
  }

  open([layer, head]) {
    this.send({ at: `${layer}.${head}`, turn: (this.turn = (this.turn ?? 0) + 1) });
  }

  walk(event) {
    const columns = this.places[0].length;
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns,
      ArrowUp: -columns,
      Home: -this.at,
      End: this.cells().length - 1 - this.at,
    }[event.key];
    const next = step === undefined ? null : this.cells()[this.at + step];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    next?.focus();
  }
}

const views = new WeakMap();

export default function headBars({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new HeadBars(parentElement));
  const view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  view.take(data);
}
