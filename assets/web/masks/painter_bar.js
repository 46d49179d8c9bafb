// The toolbars of the grids: painting tools above the mask, more options below it, and the head under the weights.

import { button, div, setAttribute } from "../base/dom.js";
import { groupChoice, meanChoice } from "../picture/map_choice.js";
import { choice, fillChoice, group, mapOrTable, namedPart, numbers } from "../base/view_base.js";

/** @typedef {import("./painter.js").Painter} Painter */
/** @typedef {import("./mask_paint.js").Tool} Tool */
/** @typedef {import("./mask_paint.js").Scope} Scope */

/** @type {[Tool, string, string][]} */
const TOOLS = [
  ["block", "block", "paint: blocks the cells that you touch"],
  ["allow", "allow", "erase: allows the cells that you touch"],
  ["row", "row", "flip whole rows"],
  ["column", "column", "flip whole columns"],
];
/** @type {[Scope, string][]} */
const SCOPES = [
  ["all", "all heads"],
  ["one", "this head"],
];
/** @type {[boolean, string][]} */
const TOUCHES = [
  [false, "paint"],
  [true, "scroll"],
];
const SIDES = ["before", "after"].map((side) => /** @type {[string, string]} */ ([side, side]));
const EMPTY = "block every cell of the row in focus: what happens to a word that may look at no key?";

export class PainterBar {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.undo = button("undo", () => view.undo());
    this.clear = button("clear", () => view.clear());
    this.empty = button("block this row", () => view.emptyRow(), { title: EMPTY });
    this.groups = groupChoice(view);
    this.layers = group("Layer");
    this.heads = group("Head");
    this.means = meanChoice(view);
    this.tools = choice("Tool", TOOLS, (tool) => view.set(view.mask, { tool }));
    this.scopes = choice("Heads to paint", SCOPES, (scope) => view.set(view.mask, { scope }));
    this.modes = mapOrTable("Weights as map or table", "", (asTable) => view.set(view, { asTable }));
    this.sides = choice("Weights before or after the mask", SIDES, (side) => view.set(view, { side }));
    this.touches = choice("Brush", TOUCHES, (scrolls) => view.set(view, { scrolls }));
    this.touch = namedPart("touch:", this.touches.element);
    const painting = group("Painting", this.undo, this.clear);
    this.topBar = div("bar tools", this.tools.element);
    this.brushes = div("bar brushes", painting, this.scopes.element, this.empty, this.touch);
    this.places = div(
      "bar places",
      this.groups.element,
      namedPart("layer", this.layers),
      namedPart("head", this.heads),
      this.means.element,
      this.sides.element,
      this.modes.element,
    );
  }

  draw() {
    const { view } = this;
    const { picture, mask, at, paintable } = view;
    this.tools.press(mask.tool);
    this.scopes.press(mask.scope);
    this.modes.press(view.asTable);
    this.means.draw();
    this.groups.draw();
    this.sides.press(view.side);
    this.sides.element.hidden = !view.narrow;
    this.touches.press(view.scrolls);
    this.touch.hidden = !view.narrow && !matchMedia("(pointer: coarse)").matches;
    for (const element of [...this.tools.buttons, this.empty]) setAttribute(element, "disabled", !paintable);
    setAttribute(this.undo, "disabled", !mask.undone.length);
    setAttribute(this.clear, "disabled", mask.isEmpty);
    fillChoice(this.layers, numbers(picture.layers), at.layer, (layer) => view.setCursor({ layer }), "layer");
    fillChoice(this.heads, numbers(picture.heads), at.head, (head) => view.setCursor({ head }), "head");
  }
}
