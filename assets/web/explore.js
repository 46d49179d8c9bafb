// @ts-check
// The map view: a sentence, every head of a layer, or of all, and one of them enlarged.

import { ChangeChips } from "./change_chips.js";
import { ChangeTiles } from "./change_tiles.js";
import { inks } from "./colour.js";
import { h, setText, styles } from "./dom.js";
import { ExploreBar } from "./explore_bar.js";
import { Figures } from "./figures.js";
import { FirstSteps } from "./first_steps.js";
import { assumedOf, isOf, unpackPicture } from "./explore_picture.js";
import { FocusPanel } from "./focus_panel.js";
import { HeadsGrid } from "./heads.js";
import { columns, order, sortKey } from "./heads_order.js";
import { without } from "./link.js";
import { ASKED, parseAt, parseLook, writeAt, writeLook } from "./look.js";
import { MeanMap } from "./mean_map.js";
import { ModelChanges } from "./model_changes.js";
import { mount } from "./mount.js";
import { NextTokens, SAMPLING } from "./next_tokens.js";
import { specials, unpackMaps } from "./packets.js";
import { PinnedPanel } from "./pinned_panel.js";
import { SentenceBox } from "./sentence.js";
import { ValueLengths } from "./value_lengths.js";
import { fillNotices, notices } from "./view_base.js";
import { WireView } from "./wire_view.js";

/** @typedef {import("./explore_picture.js").ExplorePicture} Picture */
/** @typedef {import("./messages.js").ExploreState} State */

const HELP = [
  "Layers, heads and tokens are counted from 0. Attention shows where a head looks, not why the model answers.",
  "Keys: arrows walk heads and cells, Enter enlarges or picks, s shows a head alone, h hides it, o switches it off in the model.",
].join(" ");
const PLACE = ["at", "pin", "look", ...SAMPLING]; // keys that change what is looked at, and no number of a map

const STYLES = await styles("./view.css", "./explore.css", "./next.css");

/** @extends {WireView<State, Picture>} */
export class Explore extends WireView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, STYLES, "explore");
    this.mapsOf = ""; // the query that the maps answer, but for the place in them
    this.maps = /** @type {import("./packets.js").Maps} */ (/** @type {unknown} */ (null));
    this.text = ""; // what stands in the box
    this.asked = ""; // the sentence that the wire is asked for: the last one that can be used
    this.at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
    this.rowChosen = false; // by the visitor, not by the page
    this.look = parseLook("");
    this.off = /** @type {Set<string>} */ (new Set()); // heads switched off in the model
    this.model = new ModelChanges(this);
    this.pin = ""; // the pinned picture, as in the link
    this.pinOf = ""; // the one whose numbers are here
    this.compareTurn = 0; // the turn that asked for a comparison
    this.cut = /** @type {[number, number]} */ ([0, 0]); // tokens left out at both ends
    this.matching = false; // maps and picture are of one sentence and setting
    this.weights = /** @type {Float32Array | null} */ (null); // of the head in focus, once they have come
    this.box = new SentenceBox(
      "Sentence",
      (text) => this.type(text),
      () => this.flushAfter(0),
    );
    this.changes = new ChangeChips(this);
    this.mean = new MeanMap(this);
    this.values = new ValueLengths(this);
    this.bar = new ExploreBar(this);
    this.tiles = new ChangeTiles(this);
    this.steps = new FirstSteps(this);
    this.next = new NextTokens(this);
    this.focus = new FocusPanel(this);
    this.pinned = new PinnedPanel(this);
    this.heads = new HeadsGrid({
      focus: (layer, head) => this.go({ layer, head }),
      lamp: (layer, head) => this.toggleOff(layer, head),
      hide: (layer, head) => this.toggleHidden(layer, head),
      solo: (layer, head) => this.toggleSolo(layer, head),
      hover: (text) => this.focus.read(text),
    });
    this.figures = new Figures(() => this.askComparison());
    this.parts = { notices: notices(), status: h("div", { class: "status" }), pieces: h("p", { class: "pieces" }) };
    const { notices: said, status, pieces } = this.parts;
    const proof = h("details", { class: "proof" }, h("summary", {}, "Numbers and proof"), this.figures.element, status);
    this.box.element.append(h("div", { class: "in-box" }, this.changes.undo, this.bar.tries.element));
    this.show(
      h("div", { class: "top" }, this.box.element, said),
      h("div", { class: "words" }, this.bar.chips, this.bar.empty, this.next.element, pieces),
      this.changes.element,
      h("section", { class: "all-heads", "aria-label": "Heads" }, this.bar.element, this.heads.element),
      this.focus.element,
      this.pinned.element,
      h("div", { class: "try-and-change" }, this.tiles.element, this.steps.element),
      h("footer", {}, h("div", { class: "help" }, HELP), proof),
    );
  }

  // ---- what comes in

  /** @param {State} state */
  adopt(state) {
    const { layer, head, row, key } = parseAt(state.at);
    this.at = { layer, head, row: row ?? this.picture?.row ?? 0, key };
    this.rowChosen = row !== null;
    this.look = parseLook(state.look);
    this.off = new Set(state.off ? state.off.split("-") : []);
    this.pin = state.pinned;
    this.text = this.box.text = state.box;
    this.asked = state.typed;
    this.model.overrides = {};
    this.next.overrides = {};
    this.model.keepDifference();
  }

  /** @param {URLSearchParams} link */
  assumed(link) {
    return assumedOf(this.picture, link);
  }

  /** @param {State} state */
  take(state) {
    const answers = super.take(state);
    // what the link said and could not be used must not stay in it
    if (answers && state.unusable.length) this.changed();
    return answers;
  }

  /** The state and the float32 maps in focus, then all maps where they were asked for.
   * @param {Uint8Array[]} parts @param {URLSearchParams} query
   */
  receive([focus, maps], query) {
    this.picture = unpackPicture(focus);
    if (maps) {
      this.maps = unpackMaps(maps);
      this.same(query);
    }
    if (!this.rowChosen) Object.assign(this.at, { row: this.picture.row, key: this.picture.key });
    this.pinOf = query.get("pin") ?? "";
    this.next.answered(query);
  }

  /** @param {URLSearchParams} query */
  same(query) {
    const { whole, thumbnail, layers } = this.maps;
    this.mapsOf = thumbnail || whole.length === layers ? without(query, ...PLACE) : ""; // a page begins with one layer
  }

  // ---- what goes out

  get keys() {
    return [...super.keys, ...this.model.keys, ...SAMPLING];
  }

  own() {
    const off = [...this.off].map((id) => `L${id.replace(".", " H")}`);
    return {
      s: this.asked,
      off,
      pin: this.pin || null,
      at: writeAt(this.at, false),
      look: ASKED.filter((name) => this.look[name]).join("_") || null,
      ...this.overrides,
    };
  }

  /** What was changed here and the script has not heard. */
  get overrides() {
    return { ...this.model.overrides, ...this.next.overrides };
  }

  link() {
    return { ...this.own(), s: this.text, at: writeAt(this.at, this.rowChosen), look: writeLook(this.look) || null };
  }

  /** All maps, or where they are here only those in focus; nothing where only the place in a map is another one.
   * @param {URLSearchParams} query
   */
  route(query) {
    const { maps, at, picture, look } = this;
    if (!maps || this.mapsOf !== without(query, ...PLACE) || !maps.isWhole(at.layer)) return "maps";
    const fits = isOf(picture, at, look) && picture.digest === maps.digest && (!look.values || picture.values);
    const compared = !look.difference || picture.before || !picture.effect;
    return fits && compared && this.next.isTold(query) && this.pinOf === this.pin ? "" : "focus";
  }

  /** Another head of maps that are here is drawn from their bytes. @param {string} route */
  isDrawable(route) {
    return route === "focus";
  }

  // ---- what the visitor does

  /** @param {string} text @param {boolean} [whole] it did not come key by key */
  type(text, whole = false) {
    this.text = this.asked = this.box.text = text;
    if (whole) {
      this.rowChosen = false; // another sentence has other rows
      const { layer, head } = parseAt(this.picture.places[text] ?? writeAt(this.at, false));
      Object.assign(this.at, { layer, head });
    }
    this.changed({}, !whole);
  }

  /** @param {Partial<{layer: number, head: number, row: number, key: number | null}>} change */
  go(change) {
    if (change.row !== undefined) this.rowChosen = true;
    Object.assign(this.at, change);
    if (this.look.solo) this.look.solo = `${this.at.layer}.${this.at.head}`; // alone is always the head in focus
    this.changed();
  }

  /** @param {number} layer */
  goToLayer(layer) {
    this.look.all = false;
    this.go({ layer });
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
    this.model.remember();
    this.off = toggled(this.off, `${layer}.${head}`);
    this.changed();
  }

  /** Keeps what is seen, or lets it go. */
  togglePin() {
    this.pin = this.pin ? "" : writeAt(this.at, true) + this.picture.pinTail;
    this.changed();
  }

  /** @param {{compare?: boolean}} wish what happens once */
  changed(wish = {}, typing = false) {
    if (Object.keys(wish).length) this.wishes.push({ turn: this.turn + 1, wish });
    this.model.keepDifference();
    const { at, look, off, text, pin } = this;
    const [where, heads] = [writeAt(at, this.rowChosen), [...off].join("-")];
    this.chose({ s: text, at: where, look: writeLook(look), off: heads, pin, controls: this.overrides }, typing);
  }

  // ---- drawing

  /** A row or key that the sentence lacks is dropped. */
  keepWithin() {
    const { at, maps, picture } = this;
    if (at.row >= maps.n) Object.assign(at, { row: Math.min(picture.row, maps.n - 1), key: null });
    if (at.key !== null && at.key >= maps.n) at.key = null;
  }

  resized() {
    this.heads.rects = [];
    this.redraw();
  }

  draw() {
    const { maps, picture, look, at } = this;
    fillNotices(this.parts.notices, this.notices);
    if (this.waiting && at.row >= maps.n) return; // the longer sentence that has this row is on its way
    this.keepWithin();
    this.cut = specials(maps, look.nospecials);
    this.matching = picture.digest === maps.digest;
    const fits = this.matching && isOf(picture, at, look);
    this.weights = fits ? picture.weights : null;
    const all = look.all && !this.narrow;
    this.kinds({ "with-pin": picture.pin, "with-all": all, choosing: this.narrow && this.tiles.open });
    this.bar.draw(all);
    const colours = inks(this.element);
    const [first, last] = this.cut;
    const key = sortKey(this);
    const kinds = this.matching ? picture.kinds : [];
    const { off, theme } = this;
    const shown = { ...at, ...look, all, off, first, last, sortKey: key, theme, kinds, kv: picture.kv };
    this.heads.update(shown, maps, order(this, all), columns(maps, all, Boolean(picture.pin) && !this.narrow));
    this.heads.draw(colours);
    this.wait(!fits); // until the numbers of this head have come, those of another one must not stand here
    this.focus.draw(colours);
    this.pinned.draw(colours);
    this.changes.draw();
    this.tiles.draw(colours);
    this.steps.draw();
    this.next.draw();
    this.drawFigures();
    setText(this.parts.pieces, picture.pieces.join(" "));
    setText(this.parts.status, picture.status);
    Object.assign(this.element.dataset, { digest: maps.digest, numbers: fits ? `${at.layer}.${at.head}` : "" });
  }

  drawFigures() {
    const { state, picture, figures } = this;
    const compared = picture.typed === state.typed ? state.compared : "";
    const shown = picture.figures.map((figure) => (figure.ask ? { ...figure, value: compared } : figure));
    figures.draw(shown, state.heard < this.compareTurn);
  }

  /** The comparison takes seconds, so it is the script's, and asked for by hand. */
  askComparison() {
    this.changed({ compare: true });
    this.compareTurn = this.turn;
    this.drawFigures();
    this.flush();
  }
}

/** A set without an element that it has, or with one that it has not. @param {Set<string>} set @param {string} id */
function toggled(set, id) {
  const changed = new Set(set);
  if (!changed.delete(id)) changed.add(id);
  return changed;
}

export default mount(Explore);
