// The line under the gallery (the mask's meaning, its numbers, and the joins of rules), and the toolbars of the grids:
// painting tools above the mask, more options below it, and the head under the weights.

import { isUsed, JOINS } from "./gallery.js";
import { choice, group, mapOrTable, namedPart } from "../base/choice.js";
import { button, div, setAttribute, h, setAttributes, setField, setText, span } from "../base/dom.js";
import { canUndo } from "../link/link.js";
import { SCOPES } from "../picture/mask_paint.js";
import { mapChoice } from "../picture/map_choice.js";

/** @type {[Tool, string, string][]} */
const TOOLS = [
  ["block", "block", "paint: blocks the cells that you touch"],
  ["allow", "allow", "erase: allows the cells that you touch"],
  ["row", "row", "flip whole rows"],
  ["column", "column", "flip whole columns"],
];
/** @type {[boolean, string][]} */
const TOUCHES = [
  [false, "paint"],
  [true, "scroll"],
];
const SIDES = ["before", "after"].map((side) => /** @type {[string, string]} */ ([side, side]));
const EMPTY = "block every cell of the row in focus: what happens to a word that may attend to no key?";

export class PainterBar {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.undo = button("undo", () => view.undo());
    this.clear = button("clear", () => view.clear());
    this.empty = button("block this row", () => view.emptyRow(), { title: EMPTY });
    this.choice = mapChoice(view);
    this.tools = choice("Tool", TOOLS, (tool) => view.set(view.mask, { tool }));
    this.scopes = choice("Heads to paint", SCOPES, (scope) => view.set(view.mask, { scope }));
    this.modes = mapOrTable((asTable) => view.set(view, { asTable }));
    this.sides = choice("Weights before or after the mask", SIDES, (side) => view.set(view, { side }));
    this.touches = choice("Brush", TOUCHES, (scrolls) => view.set(view, { scrolls }));
    this.touch = namedPart("touch:", this.touches.element);
    const painting = group("Painting", this.undo, this.clear);
    this.topBar = div("bar tools", this.tools.element);
    this.brushes = div("bar brushes", painting, this.scopes.element, this.empty, this.touch);
    this.places = div("bar places", ...this.choice.elements, this.sides.element, this.modes.element);
  }

  draw() {
    const { view } = this;
    const { mask, paintable } = view;
    this.tools.press(mask.tool);
    this.scopes.press(mask.scope);
    this.modes.press(view.asTable);
    this.choice.draw();
    this.sides.press(view.side);
    this.sides.element.hidden = !view.narrow;
    this.touches.press(view.scrolls);
    this.touch.hidden = !view.narrow && !matchMedia("(pointer: coarse)").matches;
    for (const element of [...this.tools.buttons, this.empty]) setAttribute(element, "disabled", !paintable);
    setAttribute(this.undo, "disabled", !canUndo() && !view.tooLong);
    setAttribute(this.clear, "disabled", mask.isEmpty);
  }
}

const WAYS = "& and · | or · ! not";

export class MaskLine {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.opened = /** @type {boolean | null} */ (null); // by the user; null: as the rule needs it
    this.name = h("b");
    this.meaning = h("span");
    this.combine = button("combine", () => view.set(this, { opened: !this.isOpen }), {
      title: "combine masks with and, or, not",
    });
    this.joins = choice("What a click on a mask does", JOINS, (join) => view.set(view, { join }));
    this.rule = /** @type {HTMLInputElement} */ (
      h("input", {
        class: "rule",
        type: "text",
        spellcheck: "false",
        autocomplete: "off",
        onchange: () => view.useRule(this.rule.value),
      })
    );
    this.rule.addEventListener("keydown", (event) => event.stopPropagation()); // letters here are no shortcuts
    this.ruleName = h("span", { class: "label", "aria-hidden": "true" });
    const ruleText = span("named rule-text", this.ruleName, this.rule, span("label", WAYS));
    this.row = div("joins", namedPart("a click on a mask", this.joins.element), ruleText);
    const meaning = h("p", { class: "meaning" }, this.name, this.meaning);
    this.element = div("mask-line", meaning, div("bar", view.switches.numbers, this.combine), this.row);
  }

  /** Return whether the section is open, as always for a joined rule. */
  get isOpen() {
    const { picture, join } = this.view;
    const isJoined = /[&|!]/.test(picture.rule);
    return this.opened ?? (isJoined || join !== "use");
  }

  draw() {
    const { picture, join } = this.view;
    const usedCard = picture.cards.find((card) => isUsed(picture, card));
    setText(this.name, usedCard?.name ?? (picture.painted ? "painted" : picture.rule));
    setText(this.meaning, picture.meaning);
    setAttributes(this.combine, { "aria-expanded": this.isOpen, "aria-pressed": join !== "use" });
    this.row.hidden = !this.isOpen;
    this.joins.press(join);
    const name = picture.painted ? "Rule under the painted cells" : "Rules combined with & (and), | (or), ! (not)";
    setAttribute(this.rule, "aria-label", name);
    setText(this.ruleName, picture.painted ? "painted cells on the rule" : "rule in use");
    const { writtenKey, refused, controls } = this.view;
    const isRefused = refused.has(writtenKey);
    const ruleValue = isRefused ? (controls[writtenKey] ?? "") : picture.rule; // stays editable
    setAttribute(this.rule, "aria-invalid", isRefused ? "true" : null);
    setField(this.rule, ruleValue);
  }
}
