// The numbers of a drawing as a table that a press unfolds; it is filled while it is open.

import { fill, h, setText } from "../base/dom.js";

export class FoldedTable {
  /** @param {string} label @param {() => void} toggled it was opened or closed */
  constructor(label, toggled) {
    this.caption = h("p", { class: "label" });
    this.head = h("tr");
    this.rows = h("tbody");
    const scrolls = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label });
    scrolls.append(h("table", {}, h("thead", {}, this.head), this.rows));
    this.element = h("details", { ontoggle: toggled }, h("summary", {}, "As a table"), this.caption, scrolls);
  }

  get isOpen() {
    return this.element.open;
  }

  /** @param {string[]} columns @param {string[][]} rows of a text a column, the first one names the row @param {string} [caption] */
  fill(columns, rows, caption = "") {
    setText(this.caption, caption);
    fill(this.head, columns, () => h("th", { scope: "col" }), setText);
    const makeCell = (/** @type {number} */ at) =>
      /** @type {HTMLElement} */ (at ? h("td") : h("th", { scope: "row" }));
    fill(this.rows, rows, "tr", (line, texts) => fill(line, texts, makeCell, setText));
  }
}
