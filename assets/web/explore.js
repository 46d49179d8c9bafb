// @ts-check
// The map view: every head of a layer, or of all, and one of them enlarged.
// `maps` is mounted where it is seen; `focus` carries the state and the float32 maps in focus.

import { inks } from "./colour.js";
import { button, fill, h, setText, styles } from "./dom.js";
import { ExploreBar } from "./explore_bar.js";
import { FocusPanel, PinnedPanel } from "./focus_panel.js";
import { HeadsGrid } from "./heads.js";
import { parseAt, parseLook, writeAt, writeLook } from "./look.js";
import { specials, toBytes, unpackFloats, unpackMaps } from "./packets.js";
import { View, fillNotices, mountWithCarrier, notices } from "./view_base.js";
import { ranked } from "./words.js";

/** @typedef {import("./messages.js").Focus & {weights: Float32Array, pinWeights: Float32Array, pinBytes: Uint8Array}} Focus */

const HELP = [
  "Layers, heads and tokens are counted from 0. Attention shows where a head looks, not why the model answers.",
  "Keys: arrows walk heads and cells, Enter enlarges or picks, s shows a head alone, h hides it, o switches it off in the model.",
].join(" ");
const FEW = 420; // pixels of the view; below, three tiles side by side

const STYLES = await styles("./view.css");

/** @extends {View<Focus>} */
export class Explore extends View {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, STYLES, "");
    this.maps = /** @type {import("./packets.js").Maps} */ (/** @type {unknown} */ (null));
    this.at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
    this.rowChosen = false; // by the visitor, not by the page
    this.look = parseLook("");
    this.off = /** @type {Set<string>} */ (new Set()); // heads switched off in the model
    this.asked = 0; // the turn that asked for a comparison
    this.cut = /** @type {[number, number]} */ ([0, 0]); // tokens left out at both ends
    this.matching = false; // maps and state are of one picture
    this.weights = /** @type {Float32Array | null} */ (null); // of the head in focus, once they have come
    this.bar = new ExploreBar(this);
    this.focus = new FocusPanel(this);
    this.pinned = new PinnedPanel(this);
    this.heads = new HeadsGrid({
      focus: (layer, head) => this.go({ layer, head }),
      lamp: (layer, head) => this.toggleOff(layer, head),
      hide: (layer, head) => this.toggleHidden(layer, head),
      solo: (layer, head) => this.toggleSolo(layer, head),
      hover: (text) => this.read(text),
    });
    this.parts = { notices: notices(), figures: h("div", { class: "figures" }), status: h("div", { class: "status" }) };
    const { notices: said, figures, status } = this.parts;
    this.show(
      said,
      this.bar.presets,
      this.bar.chips,
      this.bar.element,
      h("section", { class: "all-heads", "aria-label": "Heads" }, this.heads.element),
      this.focus.element,
      this.pinned.element,
      figures,
      h("footer", {}, status, h("div", { class: "help" }, HELP)),
    );
  }

  // ---- what comes in

  get ready() {
    return Boolean(this.maps && this.state);
  }

  /** @param {import("./packets.js").Maps} maps */
  takeMaps(maps) {
    this.maps = maps;
    this.redraw();
  }

  /** @param {Focus} focus */
  take(focus) {
    const answers = super.take(focus);
    if (answers) {
      const { layer, head, row } = parseAt(focus.at);
      this.at = { layer, head, row: focus.row, key: focus.key };
      this.rowChosen = row !== null;
      this.look = parseLook(focus.look);
      this.off = new Set(focus.off ? focus.off.split("-") : []);
    }
    // what the link said and could not be used must not stay in it
    if (focus.unusable.length) this.changed(focus.unusable.includes("pin") ? { pin: "" } : {});
    return answers;
  }

  // ---- what the visitor does

  /** @param {Partial<{layer: number, head: number, row: number, key: number | null}>} change */
  go(change) {
    if (change.row !== undefined) this.rowChosen = true;
    Object.assign(this.at, change);
    if (this.look.solo) this.look.solo = `${this.at.layer}.${this.at.head}`; // alone is always the head in focus
    this.changed();
  }

  /** A layer, or behind the last one all of them. @param {number} index */
  goToLayer(index) {
    this.look.all = index === this.maps.layers;
    this.go(this.look.all ? {} : { layer: index });
  }

  /** @param {Partial<import("./look.js").Look>} change */
  change(change) {
    Object.assign(this.look, change);
    this.changed();
  }

  toggleHidden(layer, head) {
    this.change({ hidden: toggled(this.look.hidden, `${layer}.${head}`), solo: null });
  }

  toggleSolo(layer, head) {
    const id = `${layer}.${head}`;
    const solo = this.look.solo === id ? null : id;
    if (solo) Object.assign(this.at, { layer, head });
    this.change({ solo });
  }

  toggleOff(layer, head) {
    this.off = toggled(this.off, `${layer}.${head}`);
    this.changed();
  }

  /** Draws, and tells the server. @param {{preset?: number, pin?: string, compare?: boolean}} wish what happens once */
  changed(wish = {}) {
    this.redraw();
    const chosen = this.rowChosen && !("preset" in { ...this.wished, ...wish }); // another sentence has other rows
    const event = { at: writeAt(this.at, chosen), look: writeLook(this.look), off: [...this.off].join("-") };
    this.tell(event, wish);
  }

  // ---- drawing

  resized() {
    this.heads.rects = [];
    this.redraw();
  }

  draw(width) {
    const { maps, state, look, at } = this;
    at.row = Math.min(at.row, maps.n - 1);
    if (at.key !== null && at.key >= maps.n) at.key = null;
    this.cut = specials(maps.tokens, look.nospecials);
    this.matching = state.digest === maps.digest;
    const fits = this.matching && state.layer === at.layer && state.head === at.head;
    this.weights = fits ? state.weights : null;
    const all = look.all && !this.narrow;
    this.kinds({ "with-pin": state.pin, "with-all": all });
    fillNotices(this.parts.notices, state.notices);
    this.bar.draw(all);
    const colours = inks(this.element);
    const [first, last] = this.cut;
    const shown = { ...at, ...look, all, off: this.off, first, last, sortKey: this.sortKey(), theme: this.theme };
    this.heads.update(shown, maps, this.order(all), this.columns(width, all));
    this.heads.draw(colours);
    this.wait(!fits); // until the numbers of this head have come, those of another one must not stand here
    this.focus.draw(colours);
    this.pinned.draw(colours);
    this.drawFigures();
    setText(this.parts.status, state.status);
    Object.assign(this.element.dataset, { digest: maps.digest, numbers: fits ? `${at.layer}.${at.head}` : "" });
  }

  /** The key that heads are sorted by: the chosen one, otherwise what the row in focus looks at most. */
  sortKey() {
    const { at, maps } = this;
    if (at.key !== null) return at.key;
    if (!maps.isWhole(at.layer)) return null;
    const { bytes } = maps.map(at.layer, at.head);
    return ranked(bytes.subarray(at.row * maps.n, (at.row + 1) * maps.n))[0][0];
  }

  /** The heads in sight, in the order wanted. @param {boolean} all @returns {[number, number][]} */
  order(all) {
    const { maps, at, look } = this;
    const layers = all ? [...Array(maps.layers).keys()] : [at.layer];
    const key = this.sortKey();
    return layers.flatMap((layer) => {
      const pairs = Array.from({ length: maps.heads }, (_, head) => /** @type {[number, number]} */ ([layer, head]));
      if (!look.sort || key === null || !maps.isWhole(layer)) return pairs;
      const byteOf = (/** @type {number} */ head) => maps.map(layer, head).bytes[at.row * maps.n + key];
      return pairs.sort(([, a], [, b]) => byteOf(b) - byteOf(a) || a - b);
    });
  }

  /** Tiles side by side; of few heads two, so that they fill the place. @param {number} width @param {boolean} all */
  columns(width, all) {
    const { heads } = this.maps;
    if (all || heads <= 2) return heads;
    if (heads <= 4) return 2;
    return width < FEW || (this.state.pin && !this.narrow) ? 3 : 4;
  }

  drawFigures() {
    const { state } = this;
    const make = () => {
      const ask = button("", () => this.askComparison(ask), { class: "toggle" });
      return h("div", { class: "panel figure" }, h("strong"), ask, h("span"));
    };
    fill(this.parts.figures, state.figures, make, (card, figure) => {
      const [value, ask, label] = /** @type {[HTMLElement, HTMLButtonElement, HTMLElement]} */ ([...card.children]);
      setText(value, figure.value);
      setText(label, figure.label);
      value.hidden = !figure.value;
      ask.hidden = Boolean(figure.value) || !figure.ask;
      if (figure.value || state.heard >= this.asked) ask.disabled = false;
      if (!ask.disabled) setText(ask, figure.ask ?? "");
    });
  }

  /** @param {HTMLButtonElement} element */
  askComparison(element) {
    element.disabled = true;
    setText(element, "comparing …");
    this.changed({ compare: true });
    this.asked = this.turn;
  }

  read(text) {
    this.focus.read(text);
  }
}

/** A set without an element that it has, or with one that it has not. @param {Set<string>} set @param {string} id */
function toggled(set, id) {
  const changed = new Set(set);
  if (!changed.delete(id)) changed.add(id);
  return changed;
}

/** @param {Uint8Array} packed @returns {Focus} */
function unpackFocus(packed) {
  const { header, floats } = unpackFloats(packed);
  const pinned = header.pin ? header.pin.tokens.length ** 2 : 0;
  const pinWeights = floats.subarray(floats.length - pinned);
  const weights = floats.subarray(0, floats.length - pinned);
  return { ...header, weights, pinWeights, pinBytes: toBytes(pinWeights) };
}

export const { view: maps, carrier: focus } = mountWithCarrier(
  Explore,
  (view, packed) => view.takeMaps(unpackMaps(packed)),
  (view, packed) => view.take(unpackFocus(packed)),
);
