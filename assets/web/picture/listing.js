// A table of texts and numbers from headlight/ui/sheet.py, with sortable columns and clickable rows.

import { button, fill, fold, h, setAttribute, setAttributes, setText } from "../base/dom.js";

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

export function makeListing() {
  const table = h("table", {}, h("caption"), h("thead", {}, h("tr")), h("tbody"));
  return h("div", { class: "scroll listing", tabindex: "0", role: "group" }, table);
}

/** Fill a column header; of a sortable table a button, with an arrow at the sorted column.
 * @param {HTMLElement} cell @param {string} text @param {number} column @param {[number, boolean] | null | undefined} order
 * @param {(at: number) => void} sort
 */
function fillColumn(cell, text, column, order, sort) {
  setAttribute(cell, "aria-sort", order && column === order[0] ? (order[1] ? "descending" : "ascending") : null);
  if (!order || !text) return setText(cell, text);
  const arrow = column === order[0] ? (order[1] ? " ↓" : " ↑") : "";
  fillButton(cell, text + arrow, () => sort(column));
}

/** @param {HTMLElement} cell @param {string} text @param {() => void} act */
function fillButton(cell, text, act) {
  if (!cell.firstElementChild) cell.replaceChildren(button(""));
  const press = /** @type {HTMLButtonElement} */ (cell.firstElementChild);
  setText(press, text);
  press.onclick = act;
}

/** @param {HTMLElement} element @param {Listing} block
 * @param {(at: number) => void} sort called for a clicked column @param {(row: number) => void} [open] called for a clicked row
 */
export function updateListing(element, block, sort, open) {
  setAttribute(element, "aria-label", block.caption || block.head.join(", "));
  element.classList.toggle("prose", Boolean(block.prose));
  const table = /** @type {HTMLTableElement} */ (element.firstElementChild);
  const [caption, head, body] = /** @type {[HTMLElement, HTMLTableSectionElement, HTMLElement]} */ ([
    ...table.children,
  ]);
  setText(caption, block.caption);
  caption.hidden = !block.caption;
  const marks = new Map(block.marks.map(([i, j, mark]) => [`${i}.${j}`, mark]));
  const side = (/** @type {number} */ column) => block.right[column] && "right";
  const makeColumn = () => h("th", { scope: "col" });
  fill(head.rows[0], block.head, makeColumn, (cell, text, column) => {
    fillColumn(cell, text, column, block.order, sort);
    setAttribute(cell, "role", text ? null : "cell"); // an empty corner is no header
    setAttribute(cell, "class", classes(side(column)));
  });
  fill(body, block.rows, "tr", (line, texts, i) => {
    setAttribute(line, "class", marks.get(`${i}.-1`));
    const make = (/** @type {number} */ j) => /** @type {HTMLElement} */ (j ? h("td") : h("th", { scope: "row" }));
    fill(line, texts, make, (cell, text, j) => {
      if (open && !j) fillButton(cell, text, () => open(i));
      else setText(cell, text);
      setAttributes(cell, { title: text.length > 40 ? text : null, class: classes(side(j), marks.get(`${i}.${j}`)) });
    });
  });
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
