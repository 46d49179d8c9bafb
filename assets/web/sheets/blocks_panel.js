// Blocks of text, matrices, tables and bars (headlight/ui/sheet.py), in the server's order.

import { PLAIN } from "./blocks.js";
import { div } from "../base/dom.js";
import { MATRICES } from "./matrix.js";

/** @type {Record<string, {make: (panel: BlocksPanel) => HTMLElement, update: (element: HTMLElement, block: any, panel: BlocksPanel) => void}>} */
const KINDS = { ...PLAIN, ...MATRICES };

export class BlocksPanel {
  /** @param {(event: any) => number | void} tell sends an edit or click; returns the number, if any, that `acknowledged`
   * reaches with the response
   */
  constructor(tell = () => {}) {
    this.tell = tell;
    this.acknowledged = 0;
    this.theme = /** @type {Theme} */ ("dark");
    this.stack = div("stack");
    this.element = div("sheet", this.stack); // styled by sheet.css
  }

  /** @param {Block[]} blocks @param {Theme} theme */
  draw(blocks, theme) {
    this.theme = theme;
    this.place(this.stack, blocks);
  }

  /** Draw an element for each block; those of the same kind and name are reused, so that focus and input survive.
   * @param {HTMLElement} parent @param {Block[]} blocks
   */
  place(parent, blocks) {
    const keys = blocks.map((block) => `${block.kind} ${block.name ?? block.heading ?? ""}`);
    const childAt = (/** @type {number} */ index) => /** @type {HTMLElement | undefined} */ (parent.children[index]);
    const keySet = new Set(keys);
    for (const child of [...parent.children])
      if (!keySet.has(/** @type {HTMLElement} */ (child).dataset.block ?? "")) child.remove();
    blocks.forEach((block, index) => {
      let element = childAt(index);
      if (element?.dataset.block !== keys[index]) {
        element = KINDS[block.kind].make(this);
        element.dataset.block = keys[index];
        parent.insertBefore(element, parent.children[index] ?? null);
      }
      KINDS[block.kind].update(element, block, this);
    });
    while (parent.children.length > blocks.length) parent.lastElementChild?.remove();
  }
}
