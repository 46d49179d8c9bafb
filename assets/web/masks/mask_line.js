// The line under the gallery: the meaning of the mask, its numbers, and behind "combine" the joins and the current rule
// as text.

import { button, div, fill, h, setAttribute, setField, setText, span } from "../base/dom.js";
import { isUsed, JOINS } from "./gallery.js";
import { choice, namedPart } from "../base/view_base.js";

/** @typedef {import("./painter.js").Painter} Painter */
/** @typedef {import("../base/messages.js").MaskNumber} MaskNumber */

const WAYS = "& and · | or · ! not";

export class MaskLine {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.opened = /** @type {boolean | null} */ (null); // by the user; null: as the rule needs it
    this.name = h("b");
    this.meaning = h("span");
    this.numbers = span("numbers");
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
    this.element = div("line", meaning, div("bar", this.numbers, this.combine), this.row);
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
    this.fillNumbers(usedCard && join === "use" ? usedCard.numbers : []);
    setAttribute(this.combine, "aria-expanded", String(this.isOpen));
    setAttribute(this.combine, "aria-pressed", String(join !== "use"));
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

  /** @param {MaskNumber[]} numbers */
  fillNumbers(numbers) {
    const make = () => {
      const field = h("input", { type: "number", step: "1" });
      return h("label", { class: "number" }, h("span"), field);
    };
    fill(this.numbers, numbers, make, (label, { key, name, label: help, value, ends }) => {
      const [text, field] = label.children;
      if (!(field instanceof HTMLInputElement)) return;
      setText(text, name.toLowerCase());
      setAttribute(label, "title", help);
      setAttribute(field, "aria-label", help);
      setAttribute(field, "min", ends[0]);
      setAttribute(field, "max", ends[1]);
      field.onkeydown = (event) => event.stopPropagation();
      field.onchange = () => {
        if (field.value && field.checkValidity()) return this.view.useNumber(key, field.value);
        field.reportValidity();
        field.value = String(value);
      };
      setField(field, String(value));
    });
  }
}
