// A picture as its model sees it, and over its patches the row in focus.

import { h, setAttribute, urlOf } from "../base/dom.js";
import { drawChoice, makeChoice } from "../sheets/patches.js";

const HOW =
  "Press a patch, or a token of none, for its row. The darker a patch, the less the row looks at it: √ of the weight, the strongest patch as it is.";

export class PictureBoard {
  /** @param {import("./given.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.image = h("img", { alt: "" });
    this.choice = makeChoice(this.image);
    const how = h("p", { class: "label" }, HOW);
    this.element = h("section", { class: "patches board", "aria-label": "Picture" }, this.choice, how);
  }

  /** @param {import("./given.js").Shown} shown */
  draw({ name, file, row, weights, isNew }) {
    const { picture, maps, focus } = this.view;
    setAttribute(this.image, "src", urlOf(`api/seen?${file}`));
    if (!isNew || !picture.patches) return;
    const { own, columns: across } = picture.patches;
    const most = Math.max(...weights.subarray(own)); // of a patch: a token of none often has more than all of them
    const drawn = { name, own, across, tokens: maps.tokens, row, weights, most, inside: [] };
    drawChoice(this.choice, drawn, (token) => focus.pickRow(token));
  }
}
