// Heads that others have named, where they are in this model; and those most like the head in focus.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { digits, most, nearestHeads } from "./head_measures.js";
import { number } from "../base/words.js";

/** @typedef {import("./head_measures.js").Measure} Measure */

const ALIKE = 5;
const RULE = "Distance over all measures of the table, each divided by its spread over the heads.";

export class HeadNames {
  /** @param {import("./heads_view.js").HeadsView} of */
  constructor(of) {
    this.of = of;
    this.known = h("ul", { class: "named-heads", "aria-label": "Heads that others have named" });
    this.who = span("label");
    this.alike = h("div", { class: "actions", role: "group", "aria-label": "Heads most like it", title: RULE });
    this.element = div("head-names", this.known, div("actions", this.who, this.alike));
  }

  /** @param {Measure[]} columns @param {[string, string, string][]} names measure, name, who gave it */
  draw(columns, names) {
    const found = names.flatMap(([measure, title, who]) => {
      const values = columns.find(({ name }) => name === measure)?.values;
      return values ? [{ title, who, at: most(values), value: values[most(values)] }] : [];
    });
    const make = () =>
      h(
        "li",
        {},
        button("", () => {}),
        span("label"),
      );
    fill(this.known, found, make, (item, { title, who, at, value }) => {
      const [press, said] = /** @type {HTMLButtonElement[]} */ ([...item.children]);
      setText(press, this.of.nameOf(at));
      press.onclick = () => this.of.open(at);
      setText(said, `comes nearest to ${title} (${who}): ${digits(value)}`);
    });
    this.drawAlike(nearestHeads(columns, this.of.head, ALIKE));
  }

  /** @param {[number, number][]} near */
  drawAlike(near) {
    setText(this.who, near.length ? `Most like ${this.of.nameOf(this.of.head)}, and how far from it` : "");
    const make = () => /** @type {HTMLElement} */ (button("", () => {}));
    fill(this.alike, near, make, (press, [at, far]) => {
      setText(press, `${this.of.nameOf(at)}  ${number(far)}`);
      setAttribute(press, "aria-label", `show ${this.of.nameOf(at)} ${number(far)} away`);
      press.onclick = () => this.of.open(at);
    });
  }
}
