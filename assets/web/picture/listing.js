// A table of texts and numbers from headlight/ui/sheet.py, with sortable columns and clickable rows.

import { fold, h, render, setAttribute } from "../base/dom.js";

/** @typedef {object} Listing
 * @property {string} caption
 * @property {string[]} head
 * @property {string[][]} rows
 * @property {[number, number, string][]} marks row, column (-1 = all) and CSS class
 * @property {boolean[]} right whether each column is right-aligned
 * @property {boolean} [prose]
 * @property {[number, boolean] | null} [order] sorted column, and whether it is descending
 */

/** The class attribute of some of these names. */
export const classes = (...names) => names.filter(Boolean).join(" ") || null;

export const makeListing = () => h("div", { class: "scroll listing", tabindex: "0", role: "group" }, h("table"));

/** @param {HTMLElement} element @param {Listing} block
 * @param {(at: number) => void} sort called for a clicked column @param {(row: number) => void} [open] called for a clicked row
 */
export function updateListing(element, { caption, head, rows, marks, right, prose, order }, sort, open) {
  setAttribute(element, "aria-label", caption || head.join(", "));
  element.classList.toggle("prose", Boolean(prose));
  const classOf = new Map(marks.map(([i, j, mark]) => [`${i}.${j}`, mark]));
  const side = (/** @type {number} */ column) => right[column] && "right";
  const press = (/** @type {string} */ text, /** @type {() => void} */ onclick) => ["button", { onclick }, text];
  const drawHead = (/** @type {string} */ text, /** @type {number} */ column) => {
    const sorted = order && column === order[0] ? (order[1] ? "descending" : "ascending") : null;
    const arrow = sorted ? (order?.[1] ? " ↓" : " ↑") : "";
    const role = text ? null : "cell"; // an empty corner is no header
    const props = { scope: "col", role, class: classes(side(column)), "aria-sort": sorted };
    return ["th", props, order && text ? press(text + arrow, () => sort(column)) : text];
  };
  const drawRow = (/** @type {string[]} */ texts, /** @type {number} */ i) => {
    const cells = texts.map((text, j) => {
      const props = { title: text.length > 40 ? text : null, class: classes(side(j), classOf.get(`${i}.${j}`)) };
      if (j) return ["td", props, text];
      return ["th", { ...props, scope: "row" }, open ? press(text, () => open(i)) : text];
    });
    return ["tr", { class: classOf.get(`${i}.-1`) }, ...cells];
  };
  const table = /** @type {Element} */ (element.firstElementChild);
  const body = ["tbody", ...rows.map(drawRow)];
  render(table, ["caption", { hidden: !caption }, caption], ["thead", ["tr", ...head.map(drawHead)]], body);
}

/** The numbers of a drawing as a collapsible table, filled only while it is open. */
export class FoldedTable {
  /** @param {string} label @param {() => void} toggle called when it is opened or closed */
  constructor(label, toggle) {
    this.label = label;
    this.listing = makeListing();
    this.element = fold("As a table", { ontoggle: toggle }, this.listing);
  }

  get isOpen() {
    return this.element.open;
  }

  /** @param {string[]} head @param {string[][]} rows one text per column; the first is the row header */
  fill(head, rows, caption = this.label) {
    updateListing(this.listing, { caption, head, rows, marks: [], right: head.map((_, index) => index > 0) }, () => {});
  }
}
