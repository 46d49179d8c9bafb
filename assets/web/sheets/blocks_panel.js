// Blocks of text, matrices, tables and bars (headlight/ui/sheet.py), drawn in the order in which the server sends them,
// wherever a view has a place for them.

import { PLAIN } from "./blocks.js";
import { div } from "../base/dom.js";
import { MATRICES } from "./matrix.js";

/** @typedef {import("../base/messages.js").Block} Block */

/** @type {Record<string, {make: (panel: BlocksPanel) => HTMLElement, update: (element: HTMLElement, block: any, panel: BlocksPanel) => void}>} */
const KINDS = { ...PLAIN, ...MATRICES };

export class BlocksPanel {
  /** @param {(event: object) => number} tell hears what is edited or pressed in them; the number of the edit, which `acknowledged` reaches once it is answered */
  constructor(tell = () => 0) {
    this.tell = tell;
    this.acknowledged = 0;
    this.theme = /** @type {import("../base/colour.js").Theme} */ ("dark");
    this.stack = div("stack");
    this.element = div("sheet", this.stack); // drawn with sheet.css
  }

  /** @param {Block[]} blocks @param {import("../base/colour.js").Theme} theme */
  draw(blocks, theme) {
    this.theme = theme;
    this.place(this.stack, blocks);
  }

  /** Draw an element for each block. Those of the same kind and name stay, so that focus and half-typed text survive.
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
