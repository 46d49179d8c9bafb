// The map that was pinned, beside the head in focus; or what that is more or less than it, where both have as many tokens.

import { isDrawn } from "../base/curtain.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { fillLooks, large, looksOf, roomFor } from "./focus_panel.js";
import { parseAt } from "../link/look.js";
import { asBytes, DifferenceMap, IN_TABLE } from "../picture/differences.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { distancesOf, rowOf, specials } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { panel } from "../base/view_base.js";
import { number } from "../base/words.js";

/** The map that was pinned, with its own numbers. */
export class PinnedPanel {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    const hover = (/** @type {string | null} */ text) => setText(this.readout, text ?? "");
    const actions = { pick: () => {}, hover };
    this.plain = large(new BigMap(actions));
    this.difference = large(new DifferenceMap(actions));
    this.isApart = false; // the difference is looked at
    this.map = new MapPanel(/** @type {BigMap} */ (this.plain), "Pinned weights as a table");
    this.title = h("h2");
    this.label = span("label");
    this.readout = div("readout");
    this.who = span("who");
    this.list = h("div", { class: "bars", role: "list", "aria-label": "The pinned row looks at" });
    this.looks = div("looks", this.who, this.list);
    const turn = () => {
      this.isApart = !this.isApart;
      view.redraw();
    };
    this.apart = button("difference", turn, { title: "the large map − the pinned one: blue less, orange more" });
    const unpin = button("unpin", () => view.togglePin());
    const header = [div("titles", this.title, this.label), div("actions", this.apart, unpin)];
    this.element = panel("pinned", "Pinned picture", header, this.map.element, div("under", this.readout), this.looks);
  }

  /** The map in focus, where it can be taken from the pinned one. @returns {Float32Array | null} */
  get now() {
    const { picture, sight } = this.view;
    const { pin } = picture;
    const keys = pin?.columns ?? pin?.tokens;
    const fits = pin && sight.tokens.length === pin.tokens.length && sight.keys.length === keys?.length;
    return fits && !isDrawn() ? sight.weights : null;
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { picture, look, theme } = this.view;
    const { pin, pinWeights, pinBytes } = picture;
    if (!pin) return;
    const { layer, head, row, key } = parseAt(pin.at);
    setText(this.title, `Layer ${layer} · Head ${head}, pinned`);
    const most = number(pinWeights.reduce((a, b) => Math.max(a, b), 0));
    setText(this.label, pin.label + (look.scale === "own" ? `; colour up to ${most}` : ""));
    const [first, last] = specials(pin, look);
    const keys = pin.columns ?? pin.tokens;
    const shown = wholeMap(pin.tokens, pinWeights, {
      keys,
      map: { size: pin.tokens.length, bytes: pinBytes },
      name: `Pinned: layer ${layer} head ${head}`,
      row: row ?? -1,
      key,
      scale: look.scale,
      theme,
      first,
      last,
      forbids: forbids(pin.forbidden, head, pin.tokens.length, keys.length),
    });
    this.looks.hidden = row === null;
    setText(this.who, pin.tokens[row ?? 0]);
    fillLooks(this.list, keys, looksOf(rowOf(pinWeights, row ?? 0, keys.length)));
    const { now } = this;
    this.apart.hidden = !now;
    setAttribute(this.apart, "aria-pressed", String(this.isApart));
    const isApart = this.isApart && now !== null;
    this.map.use(isApart ? this.difference : this.plain);
    this.map.map.project(this.view.foot.isOn);
    const room = roomFor(this.view, this.map.element);
    if (!isApart) return this.map.draw(shown, look.table, inks, room);
    const change = now.map((weight, at) => weight - pinWeights[at]);
    setText(this.title, `Large map − layer ${layer} head ${head}`);
    setText(this.label, "blue: less, orange: more");
    Object.assign(shown, {
      name: `Large map − pinned, layer ${layer} head ${head}`,
      weights: change,
      map: { size: pin.tokens.length, bytes: asBytes(change) },
      sides: [pinWeights, now],
      distances: distancesOf(change, keys.length),
      forbids: () => false,
    });
    this.map.draw(shown, look.table, inks, room, IN_TABLE);
  }
}
