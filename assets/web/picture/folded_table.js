// The numbers of a drawing as a table that a press unfolds; it is filled while it is open.

import { h } from "../base/dom.js";
import { makeListing, updateListing } from "./listing.js";

export class FoldedTable {
  /** @param {string} label @param {() => void} toggled it was opened or closed */
  constructor(label, toggled) {
    this.label = label;
    this.listing = makeListing();
    this.element = h("details", { ontoggle: toggled }, h("summary", {}, "As a table"), this.listing);
  }

  get isOpen() {
    return this.element.open;
  }

  /** @param {string[]} head @param {string[][]} rows of a text a column, the first one names the row */
  fill(head, rows, caption = this.label) {
    updateListing(this.listing, { caption, head, rows, marks: [], right: head.map((_, at) => at > 0) }, () => {});
  }
}
