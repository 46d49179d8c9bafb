// @ts-check
// The head in focus, enlarged: its map or table, what the row in focus looks at, and what that means; and the pinned map.

import { gradient, mostOf } from "./colour.js";
import { button, fill, h, setAttribute, setText } from "./dom.js";
import { parseAt } from "./look.js";
import { BigMap, wholeMap } from "./map.js";
import { MapPanel } from "./map_panel.js";
import { trimmed } from "./packets.js";
import { forbids } from "./painted.js";
import { contentWidth, panel } from "./view_base.js";
import { number, quoted, ranked, story, total } from "./words.js";

/** @typedef {import("./explore.js").Explore} Explore */
/** @typedef {import("./colour.js").Inks} Inks */

const PARTS = ["query", "key", "value"];
const LAWS = {
  root: "colour: √ of the weight",
  linear: "colour: the weight",
  own: "colour: the weight, each map up to its own largest",
};
const MOST_LOOKS = 5; // keys that a row is said to look at
const toggle = { class: "toggle" };

const roomFor = (element) => ({
  width: contentWidth(element),
  height: Math.max(260, Math.min(640, window.innerHeight - 250)),
});

export class FocusPanel {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    const hover = (/** @type {string | null} */ text) => this.read(text);
    this.map = new MapPanel(new BigMap({ pick: (row, key) => view.go({ row, key }), hover }), "Weights as a table");
    this.title = h("h2");
    this.label = h("span", { class: "label" });
    this.queries = h("span", { class: "badge query" });
    this.keys = h("span", { class: "badge key" });
    this.solo = button("solo", () => view.toggleSolo(view.at.layer, view.at.head), toggle);
    this.hide = button("hide", () => view.toggleHidden(view.at.layer, view.at.head), toggle);
    this.lamp = button("", () => view.toggleOff(view.at.layer, view.at.head), toggle);
    this.readout = h("div", { class: "readout" });
    this.legend = ["low", "ramp", "high", "law"].map((kind) => h("span", { class: kind }));
    this.who = h("span", { class: "who" });
    this.list = h("span", { class: "list" });
    this.looks = h("div", { class: "looks" }, this.who, this.list);
    this.sum = h("p", { class: "sum" });
    this.lines = PARTS.map(() => h("dd"));
    const lines = PARTS.flatMap((part, at) => [h("dt", { class: part }, part), this.lines[at]]);
    const under = h(
      "div",
      { class: "under-title" },
      this.label,
      h("span", { class: "sizes" }, this.queries, this.keys),
    );
    this.element = panel(
      "large",
      "Head in focus",
      [
        h("div", { class: "titles" }, this.title, under),
        h("div", { class: "actions" }, this.solo, this.hide, this.lamp),
      ],
      this.map.element,
      h("div", { class: "under" }, h("div", { class: "legend" }, ...this.legend), this.readout),
      this.looks,
      this.sum,
      h("dl", { class: "story" }, ...lines),
    );
  }

  /** Says what is pointed at, in any of the maps. @param {string | null} text */
  read(text) {
    setText(this.readout, text ?? "");
  }

  /** @param {Inks} inks */
  draw(inks) {
    const { maps, state, at, look, off, weights, theme, matching } = this.view;
    const [first, last] = this.view.cut;
    const id = `${at.layer}.${at.head}`;
    setText(this.title, `Layer ${at.layer} · Head ${at.head}`);
    setText(this.label, `${state.label}, ${state.origin} weights`);
    setText(this.queries, `${maps.n} queries`);
    setText(this.keys, `${maps.n} keys`);
    setAttribute(this.solo, "aria-pressed", String(look.solo === id));
    setAttribute(this.hide, "aria-pressed", String(look.hidden.has(id)));
    setText(this.lamp, off.has(id) ? "off in the model" : "on in the model");
    setAttribute(this.lamp, "aria-pressed", String(!off.has(id)));
    const shown = {
      tokens: maps.tokens,
      name: `Layer ${at.layer} head ${at.head}`,
      map: maps.map(at.layer, at.head),
      whole: maps.isWhole(at.layer),
      weights,
      row: at.row,
      key: at.key,
      scale: look.scale,
      theme,
      first,
      last,
      forbids: forbids(matching ? state.forbidden : [""], at.head, maps.n),
    };
    this.map.draw(shown, look.table, inks, roomFor(this.map.element));
    this.drawLegend(shown);
    if (weights) this.drawWords(weights.subarray(at.row * maps.n, (at.row + 1) * maps.n), first, last);
  }

  /** @param {import("./map.js").Shown} shown */
  drawLegend({ map, whole, scale, theme, first, last }) {
    const [low, ramp, high, law] = this.legend;
    const most = mostOf((whole ? trimmed(map, first, last) : map).bytes, scale) / 255;
    setText(low, "0");
    ramp.style.backgroundImage = gradient(theme);
    setText(high, most === 1 ? "1" : most.toFixed(2));
    setText(law, LAWS[scale] + (whole ? "" : "; a thumbnail until this layer has come"));
  }

  /** @param {Float32Array} row @param {number} first @param {number} last */
  drawWords(row, first, last) {
    const { maps, at } = this.view;
    const own = maps.tokens[at.row];
    const best = ranked(row)
      .slice(0, MOST_LOOKS)
      .filter(([, weight]) => weight > 0);
    const looks = best.map(([key, weight]) => `${maps.tokens[key]} ${number(weight)}`);
    setText(this.who, own);
    setAttribute(this.looks, "data-empty", best.length ? null : "");
    fill(this.list, looks, () => h("span", { class: "badge key" }), setText);
    const isHidden = at.row < first || at.row >= maps.n - last;
    const part = isHidden
      ? `row ${quoted(own)} itself is not shown.`
      : `what is shown of row ${quoted(own)} sums to ${total(row.subarray(first, maps.n - last))} of ${total(row)}.`;
    setText(this.sum, first || last ? `[CLS] and [SEP] are not shown; rows are not renormalised: ${part}` : "");
    story(maps.tokens, at.row, row).forEach((line, index) => setText(this.lines[index], line));
    this.view.say(`Layer ${at.layer}, head ${at.head}. ${own} looks at ${looks.join(", ") || "nothing"}.`);
  }
}

/** The map that was pinned, with its own numbers. */
export class PinnedPanel {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    const hover = (/** @type {string | null} */ text) => view.read(text && `pinned: ${text}`);
    this.map = new MapPanel(new BigMap({ pick: () => {}, hover }), "Pinned weights as a table");
    this.title = h("h2");
    this.label = h("span", { class: "label" });
    const unpin = button("unpin", () => view.changed({ pin: "" }), toggle);
    this.element = panel(
      "pinned",
      "Pinned picture",
      [h("div", { class: "titles" }, this.title, this.label), h("div", { class: "actions" }, unpin)],
      this.map.element,
    );
  }

  /** @param {Inks} inks */
  draw(inks) {
    const { state, look, theme } = this.view;
    const { pin, pinWeights } = state;
    if (!pin) return;
    const { layer, head, row, key } = parseAt(pin.at);
    setText(this.title, `Layer ${layer} · Head ${head}, pinned`);
    const most = number(pinWeights.reduce((a, b) => Math.max(a, b), 0));
    setText(this.label, pin.label + (look.scale === "own" ? `; colour up to ${most}` : ""));
    const cut = look.nospecials ? 1 : 0;
    const shown = wholeMap(pin.tokens, pinWeights, {
      map: { size: pin.tokens.length, bytes: state.pinBytes },
      name: `Pinned: layer ${layer} head ${head}`,
      row: row ?? -1,
      key,
      scale: look.scale,
      theme,
      first: cut,
      last: cut,
      forbids: forbids(pin.forbidden, head, pin.tokens.length),
    });
    this.map.draw(shown, look.table, inks, roomFor(this.map.element));
  }
}
