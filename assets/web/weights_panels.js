// @ts-check
// The weights before and after a mask, as maps or tables, and row by row.

import { gradient } from "./colour.js";
import { fill, h, setAttribute, setText } from "./dom.js";
import { BigMap, wholeMap } from "./map.js";
import { MapPanel } from "./map_panel.js";
import { forbids } from "./painted.js";
import { panel } from "./view_base.js";
import { many, total } from "./words.js";

/** @typedef {import("./messages.js").Masks} Masks */
/** @typedef {{weights: Float32Array, bytes: Uint8Array}} Weights */

const LAW = "colour: √ of the weight; hatched: blocked";
const SUMS = "Σ: what the row of weights sums to, before → after";

/** A heading and what stands beside it, in the header of a panel. @param {(Node | string)} title */
export const heading = (title) => h("div", { class: "titles" }, title instanceof Node ? title : h("h2", {}, title));

export class WeightsPanels {
  /** @param {{pick: (row: number, key: number | null) => void, hover: (text: string | null) => void}} actions */
  constructor({ pick, hover }) {
    this.maps = ["before", "after"].map((when) => {
      const map = new BigMap({ pick, hover: (text) => hover(text && `${when}: ${text}`) });
      return new MapPanel(map, `weights ${when} as a table`);
    });
    this.title = h("h2");
    this.sums = h("span", { class: "label" });
    this.rows = h("ol", { class: "rows", start: "0" });
    this.ramp = h("span", { class: "ramp" });
    this.label = h("p", { class: "label" });
    const [before, after] = this.maps.map(({ element }) => element);
    const rows = h("div", { class: "all-rows", tabindex: "0", role: "region", "aria-label": "Row by row" }, this.rows);
    const legend = h("p", { class: "legend" }, "0", this.ramp, "1", h("span", {}, LAW));
    this.elements = [
      panel("before", null, [heading(this.title)], before),
      panel("after", null, [heading("weights after"), this.sums], after),
      panel("by-row", null, [heading("row by row")], rows, legend, this.label),
    ];
  }

  /** Draws both maps.
   * @param {Masks} state @param {Weights[]} weights @param {boolean} asTable @param {import("./colour.js").Theme} theme
   * @param {import("./colour.js").Inks} colours @param {(element: Element) => import("./map.js").Room} roomFor
   */
  draw(state, weights, asTable, theme, colours, roomFor) {
    const { tokens, row, key, drawn } = state;
    setText(this.title, `weights before: ${state.without}`);
    setText(this.sums, state.sums);
    this.maps.forEach((own, at) => {
      const map = { size: tokens.length, bytes: weights[at].bytes };
      const name = `Layer ${drawn[0]} head ${drawn[1]}, weights ${at ? "after" : "before"}`;
      const forbidden = forbids(at ? state.forbidden : state.forbiddenBefore, drawn[1], tokens.length);
      const shown = wholeMap(tokens, weights[at].weights, { map, name, row, key, theme, forbids: forbidden });
      own.draw(shown, asTable, colours, roomFor(own.element));
    });
    this.ramp.style.backgroundImage = gradient(theme);
  }

  /** Draws each row: how many keys it may look at, and what its weights sum to.
   * @param {Masks} state @param {Weights[]} weights @param {Uint8Array} allow
   */
  drawRows({ tokens, label }, weights, allow) {
    const n = tokens.length;
    fill(
      this.rows,
      tokens,
      () => h("li", {}, h("span", { class: "badge query" }), h("span", {}), h("span", { class: "sum" })),
      (line, token, row) => {
        const [name, keys, sum] = line.children;
        const allowed = allow.subarray(row * n, (row + 1) * n).reduce((count, cell) => count + cell, 0);
        const sums = weights.map((own) => total(own.weights.subarray(row * n, (row + 1) * n)));
        setText(name, token);
        setText(keys, allowed ? many(allowed, "key") : "empty");
        setText(sum, `Σ ${sums.join(" → ")}`);
        setAttribute(line, "class", allowed ? null : "empty");
      },
    );
    setText(this.label, `${label}. ${SUMS}. Layers, heads and tokens are counted from 0.`);
  }
}
