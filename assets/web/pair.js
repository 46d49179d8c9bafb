// @ts-check
// The pair view: the same head under two settings, and right − left. Pointing at a cell reads it in all three. On a phone
// one of the maps is in sight, in the projector one is large.

import { inks } from "./colour.js";
import { asBytes } from "./differences.js";
import { button, h, setAttribute, setText, styles } from "./dom.js";
import { Figures } from "./figures.js";
import { isShortcut, isTyped } from "./grid_keys.js";
import { parseAt, parseLook, writeAt, writeLook } from "./look.js";
import { mount } from "./mount.js";
import { hasSpecials, toBytes, unpackFloats } from "./packets.js";
import { PairNext } from "./pair_next.js";
import { PairPanels } from "./pair_panels.js";
import { Switches } from "./pair_switches.js";
import { SentenceBox } from "./sentence.js";
import { SideControls } from "./side_controls.js";
import { TokenVectors } from "./token_vectors.js";
import { fillChoice, fillNotices, group, mapOrTable, named, notices, numbers } from "./view_base.js";
import { WireView } from "./wire_view.js";

/** @typedef {import("./messages.js").Pair} Picture */
/** @typedef {import("./messages.js").PairState} State */
/** @typedef {import("./grid_keys.js").Place} Place */

const HELP =
  "Layers, heads and tokens are counted from 0. Pointing at a cell reads it in all three maps; arrow keys walk, Enter marks. In the projector 1, 2 and 3 choose the large map. Attention shows where a head looks, not why the model answers.";
const DIFFERENCE = "Difference";
const BOXES = [
  ["Sentence", "Type a sentence"],
  ["Sentence, right", "Right: the same sentence, or type another"],
];

const STYLES = await styles("./view.css", "./pair.css", "./next.css");

/** @extends {WireView<State, Picture>} */
export class PairView extends WireView {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, STYLES, "pair");
    this.pictureOf = ""; // the query that the picture answers
    this.texts = ["", ""]; // what stands in the boxes
    this.asked = ["", ""]; // the sentences that the wire is asked for: the last ones that can be used
    this.at = { layer: 0, head: 0, row: /** @type {number | null} */ (null), key: /** @type {number | null} */ (null) }; // no row: the page chooses it
    this.look = parseLook("");
    this.front = 0; // the map in sight on a phone, and large in the projector
    this.switches = new Switches(this);
    this.maps = /** @type {(Float32Array | null)[]} */ ([]); // left, right, and their difference where they have one size
    this.bytes = /** @type {(Uint8Array | null)[]} */ ([]);
    this.boxes = BOXES.map(([label, placeholder], side) => {
      const typed = (/** @type {string} */ text) => this.type(side, text);
      return new SentenceBox(label, typed, () => this.flushAfter(0), placeholder);
    });
    this.next = new PairNext(this);
    this.vectors = new TokenVectors(this);
    this.answers = new Figures();
    this.figures = new Figures();
    this.parts = {
      notices: notices(),
      contrast: h("p", { class: "contrast", role: "status" }),
      copy: button("right = left", () => this.copySide(), { title: "make the right side what the left one is" }),
      swap: button("swap", () => this.swap(), { title: "the left side becomes the right one" }),
      tries: h("div", { class: "presets", role: "group", "aria-label": "Comparisons to try" }),
      layers: group("Layer"),
      heads: group("Head"),
      specials: button("show [CLS] [SEP]", () => this.see({ nospecials: !this.look.nospecials }), { class: "toggle" }),
      fronts: group("Map in sight"),
      asides: h("div", { class: "sentences" }),
    };
    this.modes = mapOrTable("Maps or tables", "s", (table) => this.see({ table }));
    this.panels = new PairPanels(this);
    this.sides = [0, 1].map((side) => new SideControls(this, side));
    this.panels.hold(this.sides);
    this.arrange();
    const keys = (/** @type {KeyboardEvent} */ event) => this.key(event);
    addEventListener("keydown", keys, { signal: this.here.signal });
  }

  /** Puts the parts onto the page. */
  arrange() {
    const { parts: p, modes, answers, figures } = this;
    const bar = h("div", { class: "bar" }, named("layer", p.layers), named("head", p.heads), modes.element, p.specials);
    const boxes = this.boxes.map(({ element }) => element);
    const top = h("div", { class: "top" }, h("div", { class: "boxes" }, ...boxes), p.notices);
    const contrast = h("div", { class: "differs" }, p.contrast, p.copy, p.swap);
    answers.element.classList.add("answers");
    const more = h("details", { class: "more" }, h("summary", {}, "more numbers"), figures.element, p.asides);
    const fronts = h("div", { class: "fronts" }, p.fronts);
    const settings = this.sides.map(({ panel }) => panel);
    const maps = [...this.panels.elements, ...settings];
    this.show(
      top,
      h("div", { class: "lead" }, contrast, p.tries),
      bar,
      fronts,
      ...maps,
      h("div", { class: "outcome" }, answers.element, this.next.element, this.vectors.element),
      more,
    );
    this.element.append(h("footer", {}, HELP));
  }

  // ---- what comes in

  /** @param {State} state */
  adopt(state) {
    this.at = parseAt(state.at);
    this.look = parseLook(state.look);
    this.texts = [...state.boxes];
    this.asked = [...state.typed];
    this.switches.read(new URLSearchParams(state.query), new URLSearchParams(state.session));
    this.next.asked = new URLSearchParams(state.session).get("word") ?? "";
    this.fillBoxes();
  }

  /** The state and both float32 maps. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    const { header, floats } = unpackFloats(packed);
    const first = header.sides[0].tokens.length ** 2;
    const [left, right] = [floats.subarray(0, first), floats.subarray(first)];
    const difference = header.fits ? left.map((weight, at) => right[at] - weight) : null;
    this.maps = [left, right, difference];
    this.bytes = [toBytes(left), toBytes(right), difference && asBytes(difference)];
    this.picture = header;
    this.pictureOf = String(query);
  }

  /** @param {URLSearchParams} query */
  same(query) {
    const before = new URLSearchParams(this.pictureOf);
    const differs = (/** @type {string} */ key) => (before.get(key) ?? "") !== (query.get(key) ?? "");
    const { layer, head } = this.picture;
    if (!before.has("at")) before.set("at", `${layer}.${head}`);
    if (!["at", "s2", "order"].some(differs)) this.pictureOf = String(query);
  }

  /** @param {URLSearchParams} link */
  assumed(link) {
    const { layer, head, typed } = this.picture;
    const { row, key } = parseAt(link.get("at") ?? "");
    const at = writeAt({ layer, head, row, key }, true);
    return { at, look: link.get("look") ?? "", boxes: typed, typed, positions: [] };
  }

  // ---- what goes out

  /** Until the script has heard of a comparison to try, its order of the words too. */
  own() {
    const [s, s2] = this.asked;
    const tried = this.picture?.try[/** @type {any} */ (this.wished).try];
    const order = /** @type {import("./wire_view.js").Own} */ (tried ? { order: tried.order } : {});
    return {
      ...this.switches.values,
      ...order,
      s,
      s2,
      at: writeAt(this.at, true),
      ...this.next.link,
      look: null,
      shuffle: null,
    };
  }

  link() {
    const { shuffle: _, ...own } = this.own(); // which stays as it is
    const { defaults } = this.picture;
    const said = { ...own, s: this.texts[0], s2: this.texts[1], look: writeLook(this.look) || null };
    const isDefault = (/** @type {string} */ key) => String(said[key]) === String(defaults[key]);
    return Object.fromEntries(Object.entries(said).map(([key, value]) => [key, isDefault(key) ? null : value]));
  }

  /** @param {URLSearchParams} query */
  route(query) {
    return this.pictureOf === String(query) ? "" : "pair";
  }

  // ---- what the visitor does

  /** @param {number} side @param {string} text */
  type(side, text) {
    this.texts[side] = this.asked[side] = text;
    this.changed({}, true);
  }

  /** @param {Partial<PairView["at"]>} change */
  go(change) {
    Object.assign(this.at, change);
    this.changed();
  }

  /** @param {Partial<import("./look.js").Look>} change */
  see(change) {
    Object.assign(this.look, change);
    this.changed();
  }

  /** Changes the controls of a side. @param {number} side @param {Record<string, string | string[]>} change */
  switch(side, change, typing = false) {
    this.switches.set(side, change);
    this.changed({}, typing);
  }

  /** Makes the right side what the left one is. */
  copySide() {
    this.switches.copy();
    this.read([this.texts[0], ""]);
  }

  swap() {
    this.switches.swap();
    const [left, right] = this.asked;
    this.read(right && right !== left ? [right, left] : [left, right]);
  }

  /** Puts sentences into both boxes. @param {string[]} texts */
  read(texts, wish = {}) {
    this.texts = [...texts];
    this.asked = [...texts];
    this.fillBoxes();
    this.changed(wish);
  }

  /** Brings one of the three maps to the front. @param {number} front */
  bring(front) {
    this.front = front;
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = ["1", "2", "3"].indexOf(event.key);
    if (this.projector && at >= 0 && !isTyped(event) && !isShortcut(event)) this.bring(at);
  }

  /** @param {string} name of a comparison */
  try(name) {
    const { s, s2, at, order: _, ...sides } = /** @type {Record<string, string>} */ (this.picture.try[name]);
    for (const [key, value] of Object.entries(sides)) this.switches.values[key] = value;
    this.at = parseAt(at);
    this.read([s, s2], { try: name });
  }

  fillBoxes() {
    this.boxes.forEach((box, side) => {
      box.text = this.texts[side];
    });
  }

  /** @param {{try?: string}} wish what happens once */
  changed(wish = {}, typing = false) {
    if (wish.try) this.wishes.push({ turn: this.turn + 1, wish });
    const [s, s2] = this.texts;
    const { told } = this.switches;
    const controls = { ...told.controls, ...this.next.link };
    this.chose({ s, s2, at: writeAt(this.at, true), look: writeLook(this.look), ...told, controls }, typing);
  }

  // ---- drawing

  /** The query and the key in focus: the visitor's, as far as the left sentence has them, otherwise the picture's. */
  get place() {
    const { at, picture } = this;
    const count = picture.sides[0].tokens.length;
    if (at.row === null || at.row >= count) return { row: picture.row, key: picture.key };
    return { row: at.row, key: at.key !== null && at.key < count ? at.key : null };
  }

  /** The cell that is read without a pointer. @returns {Place} */
  get marked() {
    const { row, key } = this.place;
    return row === this.picture.row && key === this.picture.key ? this.picture.marked : [row, key ?? 0];
  }

  draw() {
    const { picture, at, parts: p } = this;
    const { layer, head } = picture;
    const fits = layer === at.layer && head === at.head; // else the numbers are on their way
    this.kinds({ apart: !picture.fits });
    this.wait(!fits);
    fillNotices(p.notices, this.notices);
    const colours = inks(this.element);
    this.drawLead();
    this.drawBar();
    for (const side of this.sides) side.draw(colours);
    this.panels.draw(colours);
    this.answers.draw(picture.answers);
    this.next.draw();
    this.vectors.draw();
    this.figures.draw(picture.figures);
    fillNotices(p.asides, picture.asides);
    this.say(`Layer ${layer}, head ${head}. ${this.panels.said}`);
    Object.assign(this.element.dataset, { digest: picture.digest, numbers: fits ? `${layer}.${head}` : "" });
  }

  /** What differs, and what can be tried. */
  drawLead() {
    const { picture, parts: p } = this;
    setText(p.contrast, picture.contrast);
    setAttribute(p.contrast, "data-several", picture.differs.length > 1 ? "" : null);
    p.copy.disabled = p.swap.disabled = !picture.differs.length;
    const names = Object.keys(picture.try);
    const wished = this.waiting && /** @type {any} */ (this.wished).try;
    const tried = wished || picture.tried;
    fillChoice(p.tries, names, names.indexOf(tried), (n) => this.try(Object.keys(this.picture.try)[n]));
    const titles = [...picture.sides.map(({ title }) => title), DIFFERENCE];
    fillChoice(p.fronts, titles, this.front, (front) => this.bring(front));
  }

  drawBar() {
    const { picture, at, look, parts: p } = this;
    fillChoice(p.layers, numbers(picture.layers), at.layer, (layer) => this.go({ layer }), "layer");
    fillChoice(p.heads, numbers(picture.heads), at.head, (head) => this.go({ head }), "head");
    this.modes.press(look.table);
    setAttribute(p.specials, "aria-pressed", String(!look.nospecials));
    p.specials.hidden = !picture.sides.some(hasSpecials);
  }
}

export default mount(PairView);
