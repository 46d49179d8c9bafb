// The pinned map, beside the head in focus.

import { button, div, h, setText, span } from "../base/dom.js";
import { fillLooks, large, looksOf, roomFor } from "./focus_panel.js";
import { parseAt } from "../link/look.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { rowOf, specials } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { panel } from "../base/view_base.js";
import { number } from "../base/words.js";

/** The panel of the pinned map, with its own numbers. */
export class PinnedPanel {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    const hover = (/** @type {string | null} */ text) => setText(this.readout, text ?? "");
    const actions = { pick: () => {}, hover };
    this.map = new MapPanel(large(new BigMap(actions)), "Pinned weights as a table");
    this.title = h("h2");
    this.label = span("label");
    this.readout = div("readout");
    this.queryLabel = span("query-label");
    this.list = h("div", { class: "bars", role: "list", "aria-label": "What the pinned row attends to" });
    this.summary = div("top-keys", this.queryLabel, this.list);
    const unpin = button("unpin", () => view.togglePin());
    const header = [div("titles", this.title, this.label), div("actions", unpin)];
    this.element = panel("pinned", "Pinned map", header, this.map.element, div("map-foot", this.readout), this.summary);
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { picture, look, theme } = this.view;
    const { pin, pinWeights } = picture;
    if (!pin) return;
    const { layer, head, row, key } = parseAt(pin.cursor);
    setText(this.title, `Layer ${layer} · Head ${head}, pinned`);
    const maximum = number(pinWeights.reduce((a, b) => Math.max(a, b), 0));
    setText(this.label, pin.label + (look.scale === "own" ? `; colour up to ${maximum}` : ""));
    const [first, last] = specials(pin, look);
    const keys = pin.columns ?? pin.tokens;
    const mapPicture = wholeMap(pin.tokens, pinWeights, {
      keys,
      name: `Pinned: layer ${layer} head ${head}`,
      row: row ?? -1,
      key,
      scale: look.scale,
      theme,
      first,
      last,
      forbids: forbids(pin.forbidden, head, pin.tokens.length, keys.length),
    });
    this.summary.hidden = row === null;
    setText(this.queryLabel, pin.tokens[row ?? 0]);
    fillLooks(this.list, keys, looksOf(rowOf(pinWeights, row ?? 0, keys.length)));
    this.map.map.project(this.view.foot.isOn);
    this.map.draw(mapPicture, look.table, inks, roomFor(this.view, this.map.element));
  }
}
