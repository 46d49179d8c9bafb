// A sheet: blocks of text, matrices, tables and bars, drawn in the order in which the server sends them
// (pages/kit/draw/sheet.py). What the visitor edits or presses goes back as numbered events, until the server has heard it.

import { PLAIN } from "./blocks.js";
import { h, styles } from "./dom.js";
import { MATRICES } from "./matrix.js";
import { mount } from "./mount.js";
import { View } from "./view_base.js";

// the colours, buttons and notices are those of the map view
const STYLES = await styles("./view.css", "./sheet.css");
const KINDS = { ...PLAIN, ...MATRICES };

/** @extends {View<import("./messages.js").SheetState>} */
export class Sheet extends View {
  constructor(root) {
    super(root, STYLES, "sheet");
    this.blocks = h("div", { class: "stack" });
    this.show(this.blocks);
  }

  draw() {
    this.place(this.blocks, this.state.blocks);
  }

  /** One element a block. Those of the same kind and name stay, so that focus and half-typed text survive. */
  place(parent, blocks) {
    const keys = blocks.map((block) => `${block.kind} ${block.name ?? block.heading ?? ""}`);
    const wanted = new Set(keys);
    for (const child of [...parent.children]) if (!wanted.has(child.dataset.block)) child.remove();
    blocks.forEach((block, at) => {
      let element = parent.children[at];
      if (element?.dataset.block !== keys[at]) {
        element = KINDS[block.kind].make(this);
        element.dataset.block = keys[at];
        parent.insertBefore(element, parent.children[at] ?? null);
      }
      KINDS[block.kind].update(element, block, this);
    });
    while (parent.children.length > blocks.length) parent.lastElementChild.remove();
  }

  /** Sends an event, and with it every earlier one that the server has not heard yet; returns its number. */
  tell(event) {
    this.turn += 1;
    this.element.dataset.turn = String(this.turn);
    this.wishes.push({ turn: this.turn, wish: event });
    this.send({ wishes: this.wishes.map(({ turn, wish }) => ({ turn, event: wish })) });
    return this.turn;
  }
}

export default mount(Sheet);
