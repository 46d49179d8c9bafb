// The weights before and after a mask, as maps or tables, and the row sums after.

import { gradient } from "../base/colour.js";
import { div, h, panel, setText, span } from "../base/dom.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { meanOf, parseLook } from "../link/look.js";
import { forbids } from "../link/painted.js";

/** @typedef {{weights: Float32Array, bytes: Uint8Array}} Weights */

/** A heading for the header of a panel. @param {string} title */
export const heading = (title) => div("titles", h("h2", {}, title));

export class WeightsPanels {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.maps = ["before", "after"].map((side) => {
      const hover = (/** @type {string | null} */ text) => view.readOut(text && `${side}: ${text}`);
      const map = new BigMap({ pick: (row, key) => view.setCursor({ row, key }), hover });
      return new MapPanel(map, `weights ${side} as a table`);
    });
    this.note = span("label");
    this.sums = span("label");
    this.ramp = span("ramp");
    this.label = h("p", { class: "foot" });
    const [left, right] = this.maps;
    this.law = h("span");
    const legend = h("p", { class: "legend" }, "0", this.ramp, "1", this.law);
    this.elements = [
      panel("weights-before", null, [heading("Weights before"), this.note], left.element, legend),
      panel("weights-after", null, [heading("Weights after"), this.sums], right.element),
      this.label,
    ];
  }

  /** Draw both maps. @param {Room} room */
  draw(room) {
    const { picture, at, weights, asTable, theme, inks } = this.view;
    const { row, key } = at;
    const { tokens, layer, head, look } = picture;
    const keys = picture.columns ?? tokens;
    const isMean = meanOf(parseLook(look)) !== "";
    setText(this.note, picture.comparison);
    setText(this.elements[0].querySelector("h2"), picture.cards.length ? "Weights before" : "Weights");
    setText(this.sums, picture.sums);
    this.maps.forEach((panel, index) => {
      const map = { size: tokens.length, bytes: weights[index].bytes };
      const title = isMean ? "Mean over heads" : `Layer ${layer} head ${head}`;
      const name = `${title}, weights ${index ? "after" : "before"}`;
      const forbidden = index ? picture.forbidden : picture.forbiddenBefore;
      const tests = (isMean ? [...forbidden.keys()] : [head]).map((headIndex) =>
        forbids(forbidden, headIndex, tokens.length, keys.length),
      );
      const isBlocked = (/** @type {number} */ i, /** @type {number} */ j) => tests.every((blocks) => blocks(i, j));
      const mapPicture = wholeMap(tokens, weights[index].weights, {
        keys,
        map,
        name,
        row,
        key,
        theme,
        forbids: isBlocked,
      });
      panel.draw(mapPicture, asTable, inks, room);
    });
    const laws = ["colour scale widened for small weights", this.maps[0].map.omits];
    setText(this.law, laws.filter(Boolean).join("; "));
    this.ramp.style.backgroundImage = gradient(theme);
    setText(this.label, `${picture.label}. Layers, heads and tokens are counted from 0.`);
  }
}
