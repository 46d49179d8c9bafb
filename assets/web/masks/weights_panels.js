// The weights before and after a mask, as maps or tables; what each row sums to stands at the right edge of "after".

import { gradient } from "../base/colour.js";
import { div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { fadeMap } from "../picture/fade.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { meanOf, parseLook } from "../link/look.js";
import { forbids } from "../link/painted.js";
import { rowOf } from "../wire/packets.js";
import { panel, rem } from "../base/view_base.js";
import { total } from "../base/words.js";

/** @typedef {import("../base/messages.js").Masks} Masks */
/** @typedef {{weights: Float32Array, bytes: Uint8Array}} Weights */

const SIGMA = "at the right edge: what each row sums to";
const LAW = "colour: √ of the weight";
const SUMS = 1.7; // rem that the sums take beside the last label
const LEAST = 0.7; // rem of a cell beside which a sum has room

/** A heading and what stands beside it, in the header of a panel. @param {(Node | string)} title */
export const heading = (title) => div("titles", title instanceof Node ? title : h("h2", {}, title));

export class WeightsPanels {
  /** @param {{pick: (row: number, key: number | null) => void, hover: (text: string | null) => void}} actions */
  constructor({ pick, hover }) {
    this.maps = ["before", "after"].map((when) => {
      const map = new BigMap({ pick, hover: (text) => hover(text && `${when}: ${text}`) });
      return new MapPanel(map, `weights ${when} as a table`);
    });
    this.without = span("label");
    this.sums = span("label");
    this.rows = h("ol", { class: "sums", "aria-label": "What each row of the weights after sums to", start: "0" });
    this.ramp = span("ramp");
    this.label = h("p", { class: "foot" });
    const [before, after] = this.maps;
    after.element.append(this.rows); // beside the grid, which may hold rows of cells only
    this.laws = [LAW, SIGMA].map((law) => h("span", {}, law));
    const legend = h("p", { class: "legend" }, "0", this.ramp, "1", this.laws[0]);
    const sigma = h("p", { class: "legend" }, this.laws[1]);
    this.elements = [
      panel("before", null, [heading("Weights before"), this.without], before.element, legend),
      panel("after", null, [heading("Weights after"), this.sums], after.element, sigma),
      this.label,
    ];
  }

  /** Pixels that the sums take beside the cells of "after". */
  get beside() {
    return SUMS * rem();
  }

  /** Draws both maps.
   * @param {Masks} picture @param {{row: number, key: number | null}} at the cell in focus
   * @param {Weights[]} weights @param {boolean} asTable @param {import("../base/colour.js").Theme} theme
   * @param {import("../base/colour.js").Inks} colours @param {(map: BigMap) => import("../picture/map.js").Room} roomFor
   */
  draw(picture, { row, key }, weights, asTable, theme, colours, roomFor) {
    const { tokens, layer, head, look } = picture;
    const keys = picture.columns ?? tokens;
    const isMean = meanOf(parseLook(look)) !== "";
    setText(this.without, picture.without);
    setText(this.elements[0].querySelector("h2"), picture.cards.length ? "Weights before" : "Weights");
    setText(this.sums, picture.sums);
    this.maps.forEach((own, at) => {
      const map = { size: tokens.length, bytes: weights[at].bytes };
      const of = isMean ? "Mean over heads" : `Layer ${layer} head ${head}`;
      const name = `${of}, weights ${at ? "after" : "before"}`;
      const forbidden = at ? picture.forbidden : picture.forbiddenBefore;
      const each = (isMean ? [...forbidden.keys()] : [head]).map((own) =>
        forbids(forbidden, own, tokens.length, keys.length),
      );
      const isBlocked = (/** @type {number} */ i, /** @type {number} */ j) => each.every((blocks) => blocks(i, j));
      const shown = wholeMap(tokens, weights[at].weights, { keys, map, name, row, key, theme, forbids: isBlocked });
      if (!asTable) fadeMap(own.map.base, shown);
      own.draw(shown, asTable, colours, roomFor(own.map));
      setText(this.laws[at], [LAW, SIGMA][at] + own.map.omits);
    });
    this.drawSums(weights[1].weights, tokens.length, keys.length, asTable);
    this.ramp.style.backgroundImage = gradient(theme);
    setText(this.label, `${picture.label}. Layers, heads and tokens are counted from 0.`);
  }

  /** What each row sums to, beside it, where there is room for a line of text. @param {Float32Array} weights */
  drawSums(weights, n, keys, asTable) {
    const { left, top, side, step, across, right, element } = this.maps[1].map;
    this.rows.hidden = asTable || step < LEAST * rem();
    const place = { left: element.offsetLeft + left + across, top, width: right, height: side };
    for (const [name, pixels] of Object.entries(place)) this.rows.style.setProperty(name, `${pixels}px`);
    const rows = this.rows.hidden ? [] : Array.from({ length: n }, (_, row) => rowOf(weights, row, keys));
    fill(this.rows, rows, "li", (line, own) => {
      const sum = total(own);
      setText(line, own.some((weight) => weight > 0) ? sum : "empty");
      setAttribute(line, "class", own.some((weight) => weight > 0) ? null : "empty");
    });
  }
}
