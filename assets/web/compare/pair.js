// The Compare page: one head under two settings, and the difference right − left. Pointing at a cell shows it in all
// three maps. A phone shows one map, the projector two maps or their difference.

import { curtain, isDrawn } from "../base/curtain.js";
import { asBytes } from "../picture/differences.js";
import { fillChoice, group, mapOrTable, namedPart, numbers } from "../base/choice.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { MODEL } from "../base/facts.js";
import { makeFigures } from "../picture/figures.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { mapChoice } from "../picture/map_choice.js";
import { HeadBars, Several, ShuffleTest } from "./pair_tests.js";
import { setParam, omit } from "../link/link.js";
import { parseAt, parseLook, reads, writeAt, writeLook } from "../link/look.js";
import { mount } from "../base/mount.js";
import { hasSpecials, toBytes, unpackFloats } from "../wire/packets.js";
import { drawNext, makeWord } from "../picture/next_bars.js";
import { keysOf, PairPanels } from "./pair_panels.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { SentenceBox } from "../picture/sentence.js";
import { SideControls } from "./side_controls.js";
import { arrival } from "../link/navigation.js";
import { PlaceView } from "../wire/place_view.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import pairCss from "./pair.css" with { type: "css" };
import nextCss from "../picture/next.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

const HELP =
  "Layers, heads and tokens are counted from 0. Pointing at a cell shows its weight in all three maps. Arrow keys move by a cell, with Shift by ten, and Enter selects. In the projector, − switches between the difference and the maps. Attention shows where a head looks, not why the model answers.";
const DIFFERENCE = "Difference";
const TEXTS = ["s", "s2"]; // keys of the sentences
const SEVERAL = ["three", "kin", "mean"]; // keys of the panel with more than two maps
const BESIDE = ["look", "order", "shuffle", ...SEVERAL]; // keys that do not change the maps
const NOT_BENEATH = ["s2", "model2", "at2", "at", "word", ...BESIDE]; // keys that do not change the tests under the maps
const STILL = { s: "Left: still", s2: "Right: still" };
const BOXES = [
  ["Sentence", "Type a sentence"],
  ["Sentence, right", "Right: same sentence, or type another"],
];

/** @extends {PlaceView<import("../base/messages.js").ComparePicture>} */
export class PairView extends PlaceView {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, [choicesCss, listingCss, sheetCss, pairCss, nextCss, stageCss], "pair");
    this.isInitial = false; // opened from another page: the right side starts as the left one with one change
    this.sentences = /** @type {(string | null)[]} */ ([null, null]); // as in the link; null = the default
    this.right = { model2: /** @type {string | null} */ (null), at2: /** @type {string | null} */ (null) }; // model and cursor of the right side, if it has another model
    this.front = curtain.alone ? 1 : 0; // the map in front on a phone; 2 = the difference, also elsewhere. A lesson asks about the right one
    this.values = /** @type {Values} */ ({}); // link parameters of the controls; null = the default
    this.maps = /** @type {(Float32Array | null)[]} */ ([]); // left, right, and their difference if they have one size
    this.bytes = /** @type {(Uint8Array | null)[]} */ ([]);
    this.boxes = BOXES.map(([label, placeholder], side) => {
      const onInput = (/** @type {string} */ text) => this.setText(side, text);
      return new SentenceBox(this, onInput, label, placeholder);
    });
    this.next = makeNext(this);
    this.vectors = new BlocksPanel();
    this.vectors.element.classList.add("vectors");
    this.shuffle = new ShuffleTest(this);
    this.headBars = new HeadBars(this);
    this.several = new Several(this);
    this.answers = makeFigures();
    this.parts = {
      contrast: h("p", { class: "contrast", role: "status" }),
      copy: button("right = left", () => this.copySide(), { title: "copy the settings of the left side to the right" }),
      swap: button("swap", () => this.swap(), { title: "exchange the two sides" }),
      presets: h("div", { class: "presets", role: "group", "aria-label": "Comparisons to try" }),
      layers2: group("Layer, right"),
      heads2: group("Head, right"),
      of2: span("right-place"),
      specials: button("show [CLS] [SEP]", () => this.setDisplay({ nospecials: !this.look.nospecials })),
      fronts: group("Visible map"),
      flip: button("difference", () => this.flip(), { "aria-keyshortcuts": "-" }),
    };
    this.choice = mapChoice(this);
    this.modes = mapOrTable((table) => this.setDisplay({ table }));
    this.panels = new PairPanels(this);
    this.sides = [0, 1].map((side) => new SideControls(this, side));
    this.sides.forEach(({ chips }, side) => this.panels.panels[side].controls.append(chips));
    const boxes = this.boxes.map(({ element }) => element);
    this.foot = new ProjectorBar(this, div("boxes", ...boxes), this.sides[1]);
    this.foot.add(this.parts.flip);
    this.arrange();
    addEventListener("keydown", (event) => this.key(event), { signal: this.lifetime.signal });
  }

  arrange() {
    const { parts: p, modes, answers } = this;
    const bar = div("bar", ...this.choice.elements, p.of2, p.specials, modes.element);
    p.of2.append(namedPart("right: layer", p.layers2), namedPart("head", p.heads2));
    const top = div("top", this.foot.room, this.noticeList);
    const contrast = div("differs", p.contrast, p.copy, p.swap);
    answers.element.classList.add("answers");
    const fronts = div("fronts", p.fronts);
    const settings = this.sides.map(({ panel }) => panel);
    const maps = [...this.panels.panels.map(({ element }) => element), ...settings];
    this.show(
      top,
      div("lead", contrast, p.presets),
      bar,
      fronts,
      ...maps,
      div("outcome", answers.element, this.next.element, this.vectors.element),
      div("tests", this.several.element, this.shuffle.element, this.headBars.element),
    );
    this.element.append(h("footer", {}, HELP));
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.adoptPlace(link);
    this.look = parseLook(link.get("look") ?? "");
    this.sentences = TEXTS.map((key) => this.clip(link.get(key), key));
    this.right = { model2: link.get("model2"), at2: link.get("at2") };
    for (const side of this.sides) side.adopt(link);
    this.shuffle.adopt(link);
    this.several.adopt(link);
    this.next.word = link.get("word") ?? "";
    this.isInitial = arrival.byBar && ![...this.sides[1].keys, "model2"].some((key) => link.has(key));
    this.fillBoxes();
  }

  /** The texts of the sentence fields. */
  get texts() {
    const [left, right] = this.sentences;
    return [left ?? String(this.picture?.defaults.s ?? ""), right ?? ""];
  }

  fillBoxes() {
    this.texts.forEach((text, side) => {
      this.boxes[side].text = text;
    });
  }

  /** Take over the state and both float32 maps. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    const { header, floats } = unpackFloats(packed);
    const [{ tokens }] = header.sides;
    const keys = keysOf(header.sides[0]);
    const first = tokens.length * keys.length;
    const [left, right] = [floats.subarray(0, first), floats.subarray(first)];
    const difference = header.fits ? left.map((weight, index) => right[index] - weight) : null;
    this.maps = [left, right, difference];
    this.bytes = [toBytes(left), toBytes(right), difference && asBytes(difference)];
    this.picture = header;
    // a choice made meanwhile wins over the suggested right side
    const isOther = Object.keys(header.initialValues).length > 0 && !this.isInitial;
    this.pictureOf = isOther ? null : this.relevant(query);
    this.choosePlace(tokens.length, keys.length);
    this.fillBoxes();
    if (this.isInitial && String(query) === String(this.query())) this.beginRight();
  }

  /** @param {URLSearchParams} query */
  onUnchanged(query) {
    super.onUnchanged(query);
    this.askBeneath();
  }

  /** Set the right side to that of the picture. */
  beginRight() {
    this.isInitial = arrival.byBar = false;
    Object.assign(this.values, this.picture.initialValues);
    this.writeAddress();
    this.onUnchanged(this.query());
  }

  toParams() {
    const { at, look, sentences, next, placed, right, rowChosen, shuffle, values } = this;
    const [s, s2] = sentences;
    const place = { at: placed ? writeAt(at, rowChosen) : null, look: writeLook(look) || null };
    return { s, s2, ...right, ...values, ...place, ...shuffle.link, ...this.several.link, word: next.word || null };
  }

  requestParams() {
    const isOf = this.texts[0] === this.picture?.texts.s; // another sentence may lack the row
    const cursor = this.placed ? writeAt(this.at, this.rowChosen && isOf) : null;
    const none = Object.fromEntries(BESIDE.map((key) => [key, null]));
    return { ...this.toParams(), ...none, at: cursor, look: reads(this.look) || null };
  }

  /** @param {string} key */
  staleLabel(key) {
    return STILL[key] ?? "Still using";
  }

  idleKeys() {
    return BESIDE;
  }

  /** @param {URLSearchParams} query */
  route(query) {
    if (this.pictureOf === this.relevant(query)) return "";
    return this.isInitial ? "initial" : "pair";
  }

  /** The query of the tests below the maps. @param {string[]} dropped further keys without effect on them
   * @param {Values} [more]
   */
  queryOf(dropped, more = {}) {
    const query = new URLSearchParams(omit(this.query(), ...NOT_BENEATH, ...dropped));
    for (const [key, value] of Object.entries(more)) setParam(query, key, value);
    query.sort();
    return query;
  }

  ask() {
    super.ask();
    this.askBeneath();
  }

  /** Request the tests under the maps, once the maps are here and the user has stopped typing. */
  askBeneath() {
    if (!this.visit || !this.picture) return;
    const isNow = !this.waiting && !this.pause && !this.route(this.query());
    this.several.ask(isNow);
    const { fixed } = this.picture;
    if (this.hasOrders) this.shuffle.ask(isNow);
    if (!("steps" in fixed)) this.headBars.ask(isNow); // otherwise one slow forward pass per head
  }

  /** Return whether the words can be reordered: not for generated text, two models or images. */
  get hasOrders() {
    const { columns, fixed, isOfTwo } = this.picture;
    return columns === null && !isOfTwo && !("s" in fixed);
  }

  writeAddress() {
    super.writeAddress();
    this.askBeneath();
  }

  onChange(typing = false) {
    this.isInitial = false;
    super.onChange(typing);
  }

  /** @param {number} side @param {string} text */
  setText(side, text) {
    this.write(side, text);
    this.onChange(true);
  }

  /** @param {number} side @param {string} text of the right side; "" = that of the left one */
  write(side, text) {
    this.sentences[side] = this.clip(side ? text || null : text, TEXTS[side]);
    this.fillBoxes();
  }

  /** @param {Values} values of the controls @param {boolean} [typing] */
  change(values, typing) {
    Object.assign(this.values, values);
    this.onChange(typing);
  }

  /** Copy the settings of the left side to the right side. */
  copySide() {
    this.right = { model2: null, at2: null };
    this.sides[1].put(this.sides[0].all);
    this.write(1, "");
    this.onChange();
  }

  swap() {
    if (this.picture.isOfTwo) this.swapModels();
    const [all, all2] = this.sides.map((side) => side.all);
    this.sides[0].put(all2);
    this.sides[1].put(all);
    const [left, right] = this.texts;
    if (right && right !== left) [right, left].forEach((text, side) => this.write(side, text));
    this.onChange();
  }

  /** Swap the models; each keeps its head in focus. */
  swapModels() {
    const [left, { layer, head }] = this.picture.sides;
    const current = this.modelName ?? MODEL;
    this.write(0, this.texts[0]); // another model has another default sentence
    this.modelName = this.right.model2 === MODEL ? null : this.right.model2;
    this.right = { model2: current, at2: `${left.layer}.${left.head}` };
    this.place({ layer, head });
  }

  /** Select another head of the right model. @param {{layer?: number, head?: number}} change */
  goRight(change) {
    const { layer, head } = { ...this.picture.sides[1], ...change };
    this.right.at2 = `${layer}.${head}`;
    this.onChange();
  }

  /** Bring one of the three maps to the front on a phone. @param {number} front */
  scrollTo(front) {
    this.front = front;
    this.redraw();
  }

  /** Toggle between the two large maps and their difference. */
  flip() {
    this.scrollTo(this.front === 2 ? 1 : 2);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (isTyped(event) || isShortcut(event)) return;
    if (event.key === "-" && (this.projector || this.alone)) this.flip();
  }

  /** @param {string} name of a suggested comparison */
  try(name) {
    const { s, s2, at, order, ...sides } = /** @type {Record<string, string>} */ (this.picture.suggestions[name]);
    Object.assign(this.values, sides);
    this.right = { model2: null, at2: null };
    [s, s2].forEach((text, side) => this.write(side, text));
    this.shuffle.set({ order });
    this.setCursor(parseAt(at));
  }

  /** The current comparison, if it is a suggested one; the cursor does not count. */
  get preset() {
    const { picture } = this;
    const params = this.toParams();
    const isEqual = (/** @type {[string, unknown]} */ [key, value]) =>
      key === "at" || String(value) === String(params[key] ?? picture.defaults[key]);
    if (picture.isOfTwo) return undefined;
    return Object.keys(picture.suggestions).find((name) => Object.entries(picture.suggestions[name]).every(isEqual));
  }

  /** The cell in focus, read out when no pointer is over a map. @returns {Cell} */
  get marked() {
    const { row, key } = this.at;
    return row === this.picture.row && key === this.picture.key ? this.picture.marked : [row, key ?? 0];
  }

  draw() {
    const { picture, at } = this;
    const { layer, head } = picture;
    const n = picture.sides[0].tokens.length;
    for (const box of this.boxes) box.input.readOnly = "s" in picture.fixed;
    if (this.waiting && at.row >= n) return; // the response for the longer sentence that has this row is pending
    this.keepWithin(n, keysOf(picture.sides[0]).length);
    if (isDrawn() && this.front === 2) this.front = 1; // set by an earlier step of the lesson
    const isRead = reads(parseLook(picture.look)) === reads(this.look);
    const { at2 } = this.right;
    const isRight = !picture.isOfTwo || at2 === null || at2 === `${picture.sides[1].layer}.${picture.sides[1].head}`;
    const fits = layer === at.layer && head === at.head && isRead && isRight; // otherwise the weights are pending
    this.setClasses({ apart: !picture.fits });
    this.wait(!fits);
    this.drawLead();
    this.drawBar();
    for (const side of this.sides) side.draw();
    this.foot.draw();
    this.panels.draw(this.inks);
    this.answers.draw(picture.answers);
    this.next.draw();
    this.vectors.draw(picture.vectors, this.theme);
    this.shuffle.element.hidden = !this.hasOrders;
    this.headBars.element.hidden = "steps" in picture.fixed;
    for (const part of [this.several, this.shuffle, this.headBars]) part.draw();
    this.say(`Layer ${layer}, head ${head}. ${this.panels.sentence}`);
    Object.assign(this.element.dataset, { digest: picture.digest, numbers: fits ? `${layer}.${head}` : "" });
  }

  /** Draw the difference figures and the suggestions. */
  drawLead() {
    const { picture, parts: p } = this;
    setText(p.contrast, picture.contrast);
    setAttribute(p.contrast, "data-many-changes", picture.differs.length > 1 ? "" : null);
    p.copy.disabled = p.swap.disabled = !picture.differs.length;
    const names = Object.keys(picture.suggestions);
    fillChoice(p.presets, names, names.indexOf(this.preset ?? ""), (n) =>
      this.try(Object.keys(this.picture.suggestions)[n]),
    );
    const titles = [...picture.sides.map(({ title }) => title), DIFFERENCE];
    fillChoice(p.fronts, titles, this.front, (front) => this.scrollTo(front));
    setAttribute(p.flip, "aria-pressed", this.front === 2);
  }

  drawBar() {
    const { picture, look, parts: p } = this;
    this.choice.draw();
    const [, right] = picture.sides;
    p.of2.hidden = !picture.isOfTwo;
    fillChoice(p.layers2, numbers(right.layers), right.layer, (layer) => this.goRight({ layer }), "layer");
    fillChoice(p.heads2, numbers(right.heads), right.head, (head) => this.goRight({ head }), "head");
    this.modes.press(look.table);
    setAttribute(p.specials, "aria-pressed", !look.nospecials);
    p.specials.hidden = !picture.sides.some(hasSpecials);
  }
}

/** The next tokens of both sides, and the probability of a chosen word on both. @param {PairView} view */
function makeNext(view) {
  const word = makeWord((text) => {
    next.word = text;
    view.onChange(true);
  });
  const list = h("ol", { class: "next-list" });
  const props = { class: "next-tokens", "aria-label": "Next-word predictions" };
  const element = h("section", props, span("label", "Most likely next words, left → right:"), list, word.element);
  const draw = () => {
    const { next: tokens, wordSentence } = view.picture;
    element.hidden = !tokens.length;
    drawNext(list, tokens, { context: "on the left" });
    word.draw(next.word, wordSentence);
  };
  const next = { word: "", element, draw }; // word: the token to look up, as in the link
  return next;
}

export const view = mount(PairView);
