// A sheet of blocks (blocks.js) as a Streamlit component. Edits and clicks are sent as numbered events, repeated
// until the server acknowledges them.

import { BlocksPanel } from "./blocks.js";
import { mount } from "../base/mount.js";
import { View } from "../base/view_base.js";
import listingCss from "../picture/listing.css" with { type: "css" };
import patchesCss from "./patches.css" with { type: "css" };
import sheetCss from "./sheet.css" with { type: "css" };

// colours, buttons and notices are those of the map view

/** @extends {View<import("../base/messages.js").SheetState & Ack>} */
export class Sheet extends View {
  constructor(root) {
    super(root, [listingCss, sheetCss, patchesCss], "sheet");
    this.panel = new BlocksPanel((event) => this.tell(event));
    this.show(this.panel.stack);
  }

  draw() {
    this.panel.acknowledged = this.acknowledged;
    this.panel.draw(this.state.blocks, this.theme);
  }

  /** Send an event together with every unacknowledged earlier one; returns its number. */
  tell(event) {
    this.turn += 1;
    this.element.dataset.turn = String(this.turn);
    this.wishes.push({ turn: this.turn, wish: event });
    this.send({ wishes: this.wishes.map(({ turn, wish }) => ({ turn, event: wish })) });
    return this.turn;
  }
}

export const view = mount(Sheet);
