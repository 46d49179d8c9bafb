// @ts-check
// The pair view: the same head under two settings, and right − left. Pointing at a cell reads it in all three.

import { gradient, inks } from "./colour.js";
import { DifferenceMap, asBytes, signedGradient } from "./differences.js";
import { button, fill, h, setAttribute, setText, styles } from "./dom.js";
import { parseLook, writeAt, writeLook } from "./look.js";
import { BigMap, wholeMap } from "./map.js";
import { MapPanel } from "./map_panel.js";
import { specials, toBytes, unpackFloats } from "./packets.js";
import { forbids } from "./painted.js";
import {
  View,
  fillChoice,
  fillNotices,
  group,
  mapOrTable,
  mount,
  named,
  notices,
  numbers,
  panel,
} from "./view_base.js";
import { number, signed } from "./words.js";

/** @typedef {import("./messages.js").Pair} Pair */
/** @typedef {import("./grid_keys.js").Place} Place */

const SIDES = ["Left", "Right", "Right − left"];
const CLASSES = ["left", "right", "difference"];
const DIFFERENCE = 2; // the panel of it
const HELP =
  "Layers, heads and tokens are counted from 0. Pointing at a cell reads it in all three maps; arrow keys walk, Enter marks. Attention shows where a head looks, not why the model answers.";
const signedDigits = (/** @type {number} */ value) => signed(value, (size) => size.toFixed(4));

const STYLES = await styles("./view.css", "./pair.css");

/** @extends {View<Pair>} */
class PairView extends View {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, STYLES, "pair", ["layer", "head", "row", "key", "chosen", "look"]);
    this.seen = parseLook("");
    this.drawn = { layer: 0, head: 0 }; // the head that the maps are of
    this.maps = /** @type {(Float32Array | null)[]} */ ([]); // left, right, and their difference where they have one size
    this.bytes = /** @type {(Uint8Array | null)[]} */ ([]);
    this.pointed = { panel: -1, at: /** @type {Place | null} */ (null) };
    this.parts = {
      notices: notices(),
      tries: h("div", { class: "presets", role: "group", "aria-label": "Comparisons to try" }),
      layers: group("Layer"),
      heads: group("Head"),
      specials: button("show [CLS] [SEP]", () => this.see({ nospecials: !this.seen.nospecials }), { class: "toggle" }),
      figures: h("div", { class: "figures" }),
      sentences: h("div", { class: "sentences" }),
    };
    this.modes = mapOrTable("Maps or tables", "s", (table) => this.see({ table }));
    this.panels = SIDES.map((name, at) => this.makePanel(name, at));
    const { parts: p } = this;
    const bar = h(
      "div",
      { class: "bar" },
      named("layer", p.layers),
      named("head", p.heads),
      this.modes.element,
      p.specials,
      h("span", { class: "push" }),
      button("copy link", () => this.copyLink(), { class: "toggle" }),
    );
    const panels = this.panels.map(({ element }) => element);
    this.show(p.notices, p.tries, bar, ...panels, p.figures, p.sentences, h("footer", {}, HELP));
  }

  makePanel(name, at) {
    const actions = {
      pick: (/** @type {number} */ row, /** @type {number | null} */ key) =>
        this.change({ row: Math.max(0, row), key, chosen: true }),
      hover: (/** @type {string | null} */ _, /** @type {Place | null} */ to) => this.point(at, to),
    };
    const map = at === DIFFERENCE ? new DifferenceMap(actions) : new BigMap(actions);
    const own = {
      map: new MapPanel(map, `${name} as a table`),
      head: h("span", { class: "label" }),
      label: h("p", { class: "label" }),
      readout: h("p", { class: "readout" }),
      legend: h("p", { class: "legend" }, h("span"), h("span", { class: "ramp" }), h("span"), h("span")),
    };
    const { head, label, readout, legend } = own;
    const title = h("h2", {}, name);
    return { ...own, element: panel(CLASSES[at], name, [title, head], label, own.map.element, readout, legend) };
  }

  // ---- what comes in

  /** @param {Pair} state */
  take(state) {
    const answers = super.take(state);
    this.seen = parseLook(this.state.look);
    return answers;
  }

  // ---- what the visitor does

  /** @param {Partial<import("./look.js").Look>} change */
  see(change) {
    Object.assign(this.seen, change);
    this.change({ look: writeLook(this.seen) });
  }

  /** @param {Partial<Pair>} change @param {{try?: string}} wish */
  change(change, wish = {}) {
    const own = Object.assign(this.state, change);
    if (change.row !== undefined) own.marked = [own.row, own.key ?? 0];
    this.redraw();
    this.tell({ at: writeAt(own, own.chosen), look: own.look }, wish);
  }

  /** Another layer or head: a key that the page chose is chosen anew. @param {Partial<Pair>} change */
  goTo(change) {
    this.change({ ...change, ...(this.state.chosen ? {} : { key: null }) });
  }

  /** Reads a cell in every map that has it; without one, the marked cell. @param {number} own @param {Place | null} at */
  point(own, at) {
    this.pointed = { panel: own, at }; // stays read when the maps are drawn again
    this.panels.forEach(({ map: { map }, readout }, n) => {
      const here = at ?? this.state.marked;
      const has = n === own || (this.state.fits && map.shown) || !at;
      const inside = has && map.shown && Math.max(...here) < map.shown.tokens.length;
      if (n !== own) map.mark(at && inside ? at : null);
      setText(readout, inside ? map.say(here) : "");
    });
  }

  // ---- drawing

  draw() {
    const { state, parts: p, drawn } = this;
    const fits = drawn.layer === state.layer && drawn.head === state.head; // else the numbers are on their way
    this.kinds({ apart: !state.fits });
    this.wait(!fits);
    fillNotices(p.notices, state.notices);
    this.drawBar();
    const colours = inks(this.element);
    this.panels.forEach((_, n) => this.drawPanel(n, colours));
    this.point(this.pointed.panel, this.pointed.at);
    fill(
      p.figures,
      state.figures,
      () => h("div", { class: "panel figure" }, h("strong"), h("span")),
      (card, { value, label }) => {
        setText(card.children[0], value);
        setText(card.children[1], label);
      },
    );
    fillNotices(p.sentences, state.sentences);
    this.say(`Layer ${state.layer}, head ${state.head}. ${this.panels[DIFFERENCE].readout.textContent}`);
    Object.assign(this.element.dataset, { digest: state.digest, numbers: fits ? `${state.layer}.${state.head}` : "" });
  }

  drawBar() {
    const { state, seen, parts: p } = this;
    const wish = (/** @type {number} */ at) => this.change({}, { try: this.state.try[at] });
    fillChoice(p.tries, state.try, state.try.indexOf(state.tried), wish);
    fillChoice(p.layers, numbers(state.layers), state.layer, (layer) => this.goTo({ layer }), "layer");
    fillChoice(p.heads, numbers(state.heads), state.head, (head) => this.goTo({ head }), "head");
    this.modes.press(seen.table);
    setAttribute(p.specials, "aria-pressed", String(!seen.nospecials));
  }

  /** @param {number} n @param {import("./colour.js").Inks} colours */
  drawPanel(n, colours) {
    const { state, seen, drawn, theme } = this;
    const { map, head, label, legend, readout } = this.panels[n];
    const difference = n === DIFFERENCE;
    const [weights, bytes] = [this.maps[n], this.bytes[n]];
    const side = state.sides[n];
    setText(head, `layer ${drawn.layer} · head ${drawn.head}`);
    setText(label, difference ? state.said : [side.label, side.fitness].filter(Boolean).join(". "));
    map.element.hidden = legend.hidden = readout.hidden = !weights;
    if (!weights || !bytes) {
      map.map.shown = null;
      return;
    }
    const tokens = difference ? state.tokens : side.tokens;
    const [first, last] = specials(tokens, seen.nospecials);
    const inside = (/** @type {number} */ place) => place < tokens.length; // the other sentence may be longer
    const shown = wholeMap(tokens, weights, {
      map: { size: tokens.length, bytes },
      name: `${SIDES[n]}, layer ${drawn.layer} head ${drawn.head}`,
      row: inside(state.row) ? state.row : -1,
      key: state.chosen && state.key !== null && inside(state.key) ? state.key : null,
      scale: seen.scale === "linear" ? "linear" : "root",
      theme,
      first,
      last,
      forbids: this.forbids(n),
    });
    Object.assign(shown, { sides: this.maps, distances: state.distances });
    const writing = difference ? { what: "change", write: signedDigits } : {};
    map.draw(shown, seen.table, colours, this.roomFor(n), writing);
    this.drawLegend(legend, difference, colours);
  }

  /** Which cells are hatched: in the difference those that neither side allows. @param {number} n */
  forbids(n) {
    const each = this.state.sides.map((side) => forbids(side.forbidden, this.drawn.head, side.tokens.length));
    if (n !== DIFFERENCE) return each[n];
    return (/** @type {number} */ i, /** @type {number} */ j) => each.every((forbidden) => forbidden(i, j));
  }

  /** All three maps have cells of one size: each gets the room of the narrowest. @param {number} n */
  roomFor(n) {
    const seen = this.panels.map(({ map }) => map).filter(({ element }) => !element.hidden);
    const narrowest = Math.min(...seen.map(({ element, map }) => element.clientWidth - map.beside));
    const { element, map } = this.panels[n].map;
    const height = Math.max(260, Math.min(560, window.innerHeight - 330));
    return { width: Math.min(narrowest + map.beside, element.clientWidth), height };
  }

  /** @param {Element} legend @param {boolean} difference @param {import("./colour.js").Inks} colours */
  drawLegend(legend, difference, colours) {
    const { state, theme } = this;
    const { table } = this.seen;
    const [low, ramp, high, law] = /** @type {HTMLElement[]} */ ([...legend.children]);
    /** @type {HTMLElement} */ (legend).hidden = table && !difference; // nothing in a table is told by colour
    for (const part of [low, ramp, high]) part.hidden = table;
    setText(low, difference ? "−1, less on the right" : "0");
    setText(high, difference ? "+1, more" : "1");
    ramp.style.backgroundImage = difference ? signedGradient(colours) : gradient(theme);
    const own = `“${state.tokens[state.row]}” ${number(state.distances[state.row] ?? 0)}`;
    const distances = `${table ? "" : "bars: "}total variation of each row, 0 to 1; ${own}`;
    setText(law, difference ? distances : "colour: √ of the weight");
  }
}

export default mount(PairView, (view, packed) => {
  const { header, floats } = unpackFloats(packed);
  const first = header.sides[0].tokens.length ** 2;
  const [left, right] = [floats.subarray(0, first), floats.subarray(first)];
  const difference = header.fits ? left.map((weight, at) => right[at] - weight) : null;
  view.maps = [left, right, difference];
  view.bytes = [toBytes(left), toBytes(right), difference && asBytes(difference)];
  view.drawn = { layer: header.layer, head: header.head };
  view.take(header);
});
