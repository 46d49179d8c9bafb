// The picture of one run in a standalone file (mha_core/show): all heads, one of them enlarged, as in Maps.

import { gradient } from "../base/colour.js";
import { fillChoice, group, mapOrTable, numbers } from "../base/choice.js";
import { button, contentWidth, div, h, panel, render, setAttribute, setText, span } from "../base/dom.js";
import { HeadsGrid, columns, isAcross, order } from "../picture/heads.js";
import { parseLook } from "../link/look.js";
import { BigMap, blockedMark, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { mapsOf, parts, rowOf, unpack, unpackFloats } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { View } from "../base/view_base.js";
import { number, OFF, quoted, sortByWeight } from "../base/words.js";
import exploreCss from "../explore/explore.css" with { type: "css" };
import standaloneCss from "./standalone.css" with { type: "css" };
import { isolated } from "../base/token_text.js";

/** @typedef {(at: Spot) => void} OnMove called when the cursor moves */

const ROUNDED = "this head’s weights are stored in one byte each, ± 0.002";
const LIGHT = matchMedia("(prefers-color-scheme: light)");

/** @extends {View<StandaloneRun & Ack>} */
export class Standalone extends View {
  /** @param {HTMLElement | ShadowRoot} root @param {Uint8Array} bytes @param {OnMove} [onMove] */
  constructor(root, bytes, onMove = () => {}) {
    super(root, [exploreCss, standaloneCss], "explore standalone");
    this.onMove = onMove;
    const [focus, maps] = parts(bytes);
    const { header, floats } = unpackFloats(focus);
    this.state = /** @type {StandaloneRun & Ack} */ ({ visit: "", acknowledged: 0, ...header });
    this.off = new Set(this.state.off);
    this.maps = mapsOf(unpack(maps));
    this.floats = floats;
    const { layer, head, row } = this.state;
    this.at = /** @type {Spot} */ ({ layer, head, row, key: null });
    this.asTable = false;
    this.all = false;
    this.themed = true;
    this.theme = /** @type {Theme} */ (LIGHT.matches ? "light" : "dark");
    LIGHT.addEventListener("change", () => this.setDisplay({ theme: LIGHT.matches ? "light" : "dark" }));
    this.title = h("h2");
    this.label = span("label");
    this.readout = h("div", { class: "readout", role: "status" });
    this.ramp = span("ramp");
    this.layers = group("Layer");
    this.allHeads = button("", () => this.setDisplay({ all: !this.all }), { class: "toggle all-toggle" });
    this.modes = mapOrTable((asTable) => this.setDisplay({ asTable }));
    this.other = button("", () => this.setDisplay({ theme: this.theme === "dark" ? "light" : "dark" }));
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Tokens: choose the query row" });
    const hover = (/** @type {string | null} */ text) => setText(this.readout, text ?? "");
    this.heads = new HeadsGrid({
      focus: (layer, head) => this.setCursor({ layer, head }),
      lamp: (layer, head) => this.setCursor({ layer, head }), // without a model there is nothing to ablate
      hide: () => {},
      solo: () => {},
      hover,
    });
    const pick = (/** @type {number} */ row, /** @type {number | null} */ key) => this.setCursor({ row, key });
    this.map = new MapPanel(new BigMap({ pick, hover }), "Weights as a table");
    this.heading = h("h1");
    this.changes = h("p", { class: "model-changes" });
    this.origin = h("div");
    this.top = div("top", this.heading, this.changes);
    this.legend = div("legend");
    this.blocked = blockedMark();
    this.actions = div("actions", this.modes.element);
    this.large = this.makeLarge();
    this.build();
  }

  makeLarge() {
    const law = h("span", {}, "colour scale widened for small weights (√ of the weight)");
    this.legend.append("0", this.ramp, "1", law);
    return panel(
      "large",
      "Head in focus",
      [div("titles", this.title, div("subtitle", this.label)), this.actions],
      h("div", {}, this.map.element, div("map-foot", this.legend, this.readout)),
    );
  }

  build() {
    const { link } = this.state;
    const layer = h("span", { class: "label", "aria-hidden": "true" }, "layer");
    const push = () => span("push");
    const bar = h("div", { class: "bar", role: "group", "aria-label": "Layers" });
    bar.append(layer, this.layers, push(), this.allHeads);
    this.show(
      this.top,
      div("words", this.chips, push(), this.other),
      h("section", { class: "all-heads", "aria-label": "Heads" }, bar, this.heads.element),
      this.large,
      h(
        "footer",
        {},
        this.origin,
        link ? h("div", {}, "The same picture, live: ", h("a", { href: link, rel: "noreferrer" }, link)) : null,
      ),
    );
  }

  /** @param {Partial<Spot>} place */
  setCursor(place) {
    Object.assign(this.at, place);
    this.onMove(this.at);
    this.redraw();
  }

  /** @param {{all?: boolean, asTable?: boolean, theme?: Theme}} change */
  setDisplay(change) {
    Object.assign(this, change);
    this.heads.rects = [];
    this.redraw();
  }

  resized() {
    this.setDisplay({});
  }

  /** The weights of the head in focus, and whether they are the original float32 values. */
  weights() {
    const { layer, head } = this.at;
    const size = this.maps.n * this.maps.keys.length;
    const place = this.state.exact.findIndex(([l, h]) => l === layer && h === head);
    if (place >= 0) return { exact: true, weights: this.floats.subarray(place * size, (place + 1) * size) };
    return { exact: false, weights: Float32Array.from(this.maps.map(layer, head).bytes, (byte) => byte / 255) };
  }

  draw() {
    const { at, maps, theme, narrow, off } = this;
    const { forbidden } = this.state;
    const all = this.all && !narrow;
    this.setClasses({ "with-all": all });
    setText(this.heading, this.state.title);
    setText(this.changes, this.state.changed);
    setText(
      this.origin,
      `${this.state.origin}. Rows are queries, columns are keys; layers, heads and tokens are counted from 0.`,
    );
    if (forbidden.some(Boolean)) this.legend.append(this.blocked);
    else this.blocked.remove();
    this.drawBar(all);
    const look = { ...parseLook(""), all, off, first: 0, last: 0, theme, kinds: [], kv: 0 };
    const state = { ...look, ...at, forbidden, across: isAcross(maps) };
    this.heads.update(state, maps, order({ maps, at, look: { sort: false } }, all), columns(maps, all, false));
    this.heads.draw(this.inks);
    this.drawFocus();
    Object.assign(this.element.dataset, { layer: at.layer, head: at.head });
  }

  /** @param {boolean} all */
  drawBar(all) {
    const { at, maps, theme } = this;
    const choose = (/** @type {number} */ layer) => {
      this.all = false;
      this.setCursor({ layer });
    };
    setAttribute(this.layers, "class", isAcross(maps) ? "segments strip" : "segments");
    fillChoice(this.layers, numbers(maps.layers), all ? -1 : at.layer, choose, "layer");
    setText(this.allHeads, all ? "one layer" : `all ${maps.layers * maps.heads} heads`);
    setText(this.other, theme === "dark" ? "light theme" : "dark theme");
    const drawChip = (/** @type {string} */ token, /** @type {number} */ row) => {
      const onclick = () => this.setCursor({ row, key: null });
      return ["button.chip", { "aria-pressed": row === at.row, onclick }, isolated(token)];
    };
    render(this.chips, ...maps.tokens.map(drawChip));
  }

  drawFocus() {
    const { at, maps, theme } = this;
    const { tokens, keys, n } = maps;
    const { exact, weights } = this.weights();
    const [best, weight] = sortByWeight(rowOf(weights, at.row, keys.length))[0];
    const key = at.key ?? best;
    const share = at.key === null ? weight : weights[at.row * keys.length + key];
    const isBlocked = forbids(this.state.forbidden, at.head, n, keys.length);
    const query = quoted(tokens[at.row]);
    const isBlind = keys.every((_, j) => isBlocked(at.row, j));
    const sentence = isBlind
      ? "attends to no token: all its weights are 0"
      : `attends most to ${quoted(keys[key])}: ${number(share)}`;
    const isOff = this.off.has(`${at.layer}.${at.head}`);
    render(this.title, `${query} ${sentence}`, ...(isOff ? [" ", ["span.off-note", OFF]] : []));
    this.large.classList.toggle("is-off", isOff);
    const label = `layer ${at.layer}, head ${at.head}: ${number(share)}`;
    setText(this.label, exact ? label : `${label}; ${ROUNDED}`);
    this.ramp.style.backgroundImage = gradient(theme);
    this.modes.press(this.asTable);
    const name = `Layer ${at.layer} head ${at.head}${isOff ? `, ${OFF}` : ""}`;
    const map = maps.map(at.layer, at.head);
    const marked = isBlind ? null : best;
    const more = { map, row: at.row, key: at.key, best: marked, theme, forbids: isBlocked };
    const mapPicture = wholeMap(tokens, weights, { keys, name, ...more });
    const room = { width: contentWidth(this.map.element), height: Math.max(400, window.innerHeight - 260) };
    this.map.draw(mapPicture, this.asTable, this.inks, room);
    this.say(`${name}. ${query} ${sentence}`);
  }
}

/** Draw a run. @param {HTMLElement | ShadowRoot} place @param {Uint8Array} bytes packed by mha_core/show/html.py
 * @param {OnMove} onMove
 */
export function open(place, bytes, onMove) {
  const view = new Standalone(place, bytes, onMove);
  view.drawNow();
  return view;
}
