// All heads as points of two measures that are chosen; a point opens its head.

import { div, fill, h, setAttribute, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { digits, most } from "./head_measures.js";
import { atTheSamePlace, boxOfPoint, drawScatter, layOutScatter, pointAt } from "./head_scatter.js";
import { contentWidth, named } from "../base/view_base.js";

/** @typedef {import("./head_measures.js").Measure} Measure */
/** @typedef {import("../base/grid_keys.js").Place} Place */

const HIGH = 360; // pixels
const MOST_NAMED = 3; // heads that lie over one

export class HeadPlot {
  /** @param {import("./heads_view.js").HeadsView} of */
  constructor(of) {
    this.of = of;
    this.axes = /** @type {("x" | "y")[]} */ (["x", "y"]).map((axis) => {
      const choose = (/** @type {any} */ { target }) => of.change({ [axis]: target.value });
      return h("select", { "aria-label": axis === "x" ? "Measure across" : "Measure up", onchange: choose });
    });
    this.readout = div("readout");
    this.grid = new DrawnGrid({
      pick: ([layer, head]) => of.view.all.open(layer, head),
      hover: (text) => setText(this.readout, text || this.sayFocus()),
    });
    const [across, up] = this.axes;
    this.chosen = div("actions", named("across", across), named("up", up));
    this.element = div("head-plot", this.chosen, this.grid.element, this.readout);
    this.shown = /** @type {Measure[]} */ ([]);
    this.layout = /** @type {import("./head_scatter.js").Scatter | null} */ (null);
  }

  /** @param {Place} place */
  at([layer, head]) {
    return layer * this.of.view.maps.heads + head;
  }

  /** @param {number} at */
  say(at) {
    const texts = this.shown.map(({ title, unit, values }) => `${title} ${digits(values?.[at] ?? 0)} ${unit}`);
    return `${this.of.nameOf(at)}: ${texts.join(", ")}${this.sayOthers(at)}`;
  }

  /** Which points lie over this one. @param {number} at */
  sayOthers(at) {
    const others = this.layout ? atTheSamePlace(this.layout, at) : [];
    if (!others.length) return "";
    const named = others.slice(0, MOST_NAMED).map((one) => this.of.nameOf(one));
    const rest = others.length > named.length ? ` and ${others.length - named.length} more` : "";
    return `; over it ${named.join(", ")}${rest}`;
  }

  sayFocus() {
    return this.say(this.of.head);
  }

  /** @param {Measure[]} columns @param {import("../base/colour.js").Inks} inks */
  draw(columns, inks) {
    const { view, shown, head } = this.of;
    const [x, y] = [shown.x, shown.y].map(
      (name, at) => columns.find((one) => one.name === name) ?? columns[at] ?? columns[0],
    );
    this.shown = [x, y];
    this.axes.forEach((select, at) => {
      fill(select, columns, "option", (option, { name, title }) => {
        setText(option, title);
        setAttribute(option, "value", name);
      });
      select.value = this.shown[at].name;
      setAttribute(select, "title", this.shown[at].says);
    });
    const { layers, heads } = view.maps;
    const layout = layOutScatter(x, y, { width: contentWidth(this.element), height: HIGH });
    this.layout = layout;
    const off = [...view.off].map((id) => this.at(/** @type {Place} */ (id.split(".").map(Number))));
    const marked = {
      focus: head,
      off: new Set(off),
      names: new Map(
        [...new Set([head, most(x.values ?? []), most(y.values ?? [])])].map((at) => [at, this.of.nameOf(at)]),
      ),
    };
    if (!this.grid.element.matches(":focus-within")) this.grid.active = [view.at.layer, view.at.head];
    this.grid.draw(
      {
        name: `Heads by ${x.title} and ${y.title}`,
        how: "arrows up and down go through layers, left and right through their heads",
        size: [layers, heads],
        say: (place) => this.say(this.at(place)),
        boxOf: (place) => boxOfPoint(layout, this.at(place)),
        at: (left, top) => {
          const found = pointAt(layout, left, top);
          return found === null ? null : [Math.floor(found / heads), found % heads];
        },
      },
      layout,
      inks,
      [x.name, y.name, x.values, y.values, head, String(off), inks.text],
      (pen) => drawScatter(pen, layout, inks, marked),
    );
    if (!this.grid.element.matches(":hover, :focus-within")) setText(this.readout, this.sayFocus());
  }
}
