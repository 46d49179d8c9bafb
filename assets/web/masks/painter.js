// The Masks page: a sentence, the gallery, the painted mask, and the weights before and after.

import { heightLeft } from "../base/curtain.js";
import { contentWidth, div, h, LETTERS, panel, rem, setText, span } from "../base/dom.js";
import { drawGallery, MaskSwitches } from "./gallery.js";
import { MaskOutcomes } from "./mask_outcomes.js";
import { MaskPaint } from "../picture/mask_paint.js";
import { MAX_RULE_LENGTH } from "../base/facts.js";
import { controlsOf } from "../link/changes.js";
import { canUndo } from "../link/link.js";
import { headNames, headsOf, parseLook, reads, writeAt, writeLook } from "../link/look.js";
import { arrival } from "../link/navigation.js";
import { PlaceView } from "../wire/place_view.js";
import { mount } from "../base/mount.js";
import { blockedMark } from "../picture/map.js";
import { PaintGrid } from "../picture/paint_grid.js";
import { PainterBar, MaskLine } from "./painter_bar.js";
import { TALL } from "../picture/map.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { SentenceBox } from "../picture/sentence.js";
import { rowOf, toBytes, unpackFloats } from "../wire/packets.js";
import { gave, counted, sortByWeight } from "../base/words.js";
import { WeightsPanels, heading } from "./weights_panels.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import painterCss from "./painter.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

const THREE = 900; // pixels of a view with three maps in a row
const NUMBER = { small: LETTERS, projected: 16 }; // pixels of a number in a cell
const CELL = { small: 18, projected: 30 }; // pixels of a cell with a number
const READABLE = 1.5; // rem of such a cell
const AROUND = 1.1; // rem of a panel's padding
const LABEL = 0.43; // rem per letter of a label

const NO_KEYS = ["embed_options", "big"]; // parameters unrelated to the picture
const PLACE = ["at", "pad", "big"]; // parameters that do not change the maps

/** @extends {PlaceView<Masks>} */
export class Painter extends PlaceView {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, [choicesCss, listingCss, sheetCss, painterCss, stageCss], "painter");
    this.chosenText = /** @type {string | null} */ (null); // as in the link; null = the default
    this.controls = /** @type {Controls} */ ({}); // link parameters of the mask, the positions and the temperature
    this.off = /** @type {Set<string>} */ (new Set()); // ablated heads
    this.initial = /** @type {"" | "bare" | "entry"} */ (""); // the page chooses the mask: for a link without parameters, or opened by the bar
    this.isOwn = false; // whether the mask is still the page's default
    this.renews = false; // the default is to be chosen again
    this.weights = /** @type {import("./weights_panels.js").Weights[]} */ ([]); // before and after
    this.mask = new MaskPaint();
    this.requestedMask = ""; // rule and painting of the picture, or of the last request
    this.ahead = false; // the mask was changed after the weights were requested
    this.tooLong = 0; // characters of a painting that exceeds the link
    this.isFolded = false; // the gallery
    this.join = "use";
    this.tooMuch = ""; // why rules cannot be joined
    this.asTable = false;
    this.pointed = /** @type {string | null} */ (null); // readout of the pointed cell
    this.side = "after"; // weights that a phone shows
    this.scrolls = matchMedia("(pointer: coarse)").matches;
    this.box = new SentenceBox(this, (text) => this.setText(text));
    this.parts = {
      gallery: h("div", { class: "gallery", role: "group", "aria-label": "Masks" }),
      counted: span("label"),
      readout: h("p", { class: "readout" }),
    };
    this.switches = new MaskSwitches(this);
    this.line = new MaskLine(this);
    this.bar = new PainterBar(this);
    this.outcomes = new MaskOutcomes(this);
    this.foot = new ProjectorBar(this, this.box.element, this.switches, this.parts.gallery);
    this.grid = new PaintGrid(this);
    this.panels = new WeightsPanels(this);
    const p = this.parts;
    const room = div("room", this.grid.element);
    this.show(
      div("top", this.box.element, this.noticeList),
      div("controls", this.switches.chips, this.switches.panel),
      p.gallery,
      this.line.element,
      this.bar.topBar,
      this.bar.places,
      panel(
        "mask-panel",
        null,
        [heading("The mask"), p.counted],
        room,
        h("p", { class: "legend" }, span("swatch"), "may attend", blockedMark()),
      ),
      this.bar.brushes,
      ...this.panels.elements,
      p.readout,
      this.outcomes.element,
    );
    const { signal } = this.lifetime;
    document.addEventListener("headlight-onward", (event) => this.leaveOwn(/** @type {CustomEvent} */ (event)), {
      signal,
    });
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.adoptPlace(link);
    this.chosenText = this.clip(link.get("s"), "s");
    this.controls = controlsOf(link);
    this.off = headsOf(link.getAll("off"));
    this.look = parseLook(link.get("look") ?? "");
    const isBare = [...link.keys()].every((name) => NO_KEYS.includes(name));
    this.initial = link.has("mask") ? "" : arrival.byBar || this.renews ? "entry" : isBare ? "bare" : "";
    if (!this.initial) this.controls.mask ??= "none"; // the meaning of a link without a mask
    this.isOwn = false;
    this.ahead = true;
    this.tooLong = 0;
    this.tooMuch = "";
    this.outcomes.pad = this.clip(link.get("pad"), "pad");
  }

  /** The text of the sentence field. */
  get text() {
    return this.chosenText ?? this.picture?.sentence ?? "";
  }

  /** Take over the masks, with the float32 weights before and after.
   * @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    const { header, floats } = unpackFloats(packed);
    const halves = [floats.subarray(0, floats.length / 2), floats.subarray(floats.length / 2)];
    this.weights = halves.map((weights) => ({ weights, bytes: toBytes(weights) }));
    this.picture = header;
    super.onUnchanged(query);
    this.choosePlace(header.tokens.length, (header.columns ?? header.tokens).length);
  }

  /** Write the page's default mask to the address. @param {Record<string, string>} initialValues */
  beginWith(initialValues) {
    this.initial = "";
    this.isOwn = true;
    this.controls.mask = initialValues.mask ?? "none";
    this.chosenText ??= initialValues.s ?? null;
    this.writeAddress();
    super.onUnchanged(this.query());
  }

  /** @param {Uint8Array} bytes @param {URLSearchParams} query */
  applyAnswer(bytes, query) {
    const isInitial = this.initial && String(query) === String(this.query());
    super.applyAnswer(bytes, query);
    if (isInitial) this.beginWith(this.picture.initialValues);
    this.outcomes.ask();
  }

  /** @param {URLSearchParams} _query */
  onUnchanged(_query) {
    this.initial = ""; // the link had parameters that could not be used
    this.controls.mask ??= "none";
    this.writeAddress();
    super.onUnchanged(this.query());
  }

  /** Load the requested mask from the picture; newer painting stays. */
  load() {
    const { mask, picture } = this;
    const n = picture.tokens.length;
    const name = `${picture.rule} ${picture.painted}`;
    if (mask.n === n) {
      const stays = this.tooLong && name === this.requestedMask;
      if (this.grid.stroke || stays || this.route(this.query())) return;
      if (!this.ahead && name === this.requestedMask) return;
    }
    mask.load({ ...picture, n });
    Object.assign(this, { requestedMask: name, ahead: false, tooLong: 0 });
  }

  toParams() {
    const { chosenText, controls, off, at, look, placed, rowChosen, outcomes } = this;
    const place = placed ? writeAt(at, rowChosen) : null;
    return {
      ...controls,
      s: chosenText,
      off: headNames(off),
      at: place,
      look: writeLook(look) || null,
      pad: outcomes.pad,
    };
  }

  /** The parameters of the link as opened; `big` and embedding options do not count as a choice. */
  asOpened() {
    const params = super.asOpened();
    return Object.keys(params).length || this.initial ? params : { mask: "none" };
  }

  requestParams() {
    const cursor = this.placed ? writeAt(this.at, false) : null;
    return { ...this.toParams(), at: cursor, look: reads(this.look) || null, pad: null };
  }

  /** @param {string} key */
  staleLabel(key) {
    return key === "s" ? super.staleLabel(key) : "Still using";
  }

  /** @param {URLSearchParams} query */
  route(query) {
    const { picture, at, placed } = this;
    const isThere = picture && (!placed || (picture.layer === at.layer && picture.head === at.head));
    if (isThere && !this.initial && this.pictureOf === this.relevant(query)) return "";
    return this.initial === "entry" ? "entry" : "masks";
  }

  /** @param {URLSearchParams} query */
  idleKeys(query) {
    const idle = query.get("mask") === "combination" ? [] : ["rule"];
    if (query.get("mask") === "none") idle.push("mask"); // the same as an absent one
    if (query.get("on") === "none") idle.push("on"); // the default
    return [...PLACE, ...idle];
  }

  ask() {
    super.ask();
    this.outcomes.ask();
  }

  get notices() {
    const limits = this.picture ? limitsInWords(this.picture, this.tooLong) : [];
    return [...limits, ...(this.tooMuch ? [this.tooMuch] : []), ...super.notices];
  }

  /** Remove the default mask from the links to other pages. @param {CustomEvent<URLSearchParams>} event */
  leaveOwn({ detail }) {
    if (this.isHere && this.isOwn) detail.delete("mask");
  }

  get paintable() {
    return this.picture.tokens.length <= this.picture.maxTokens;
  }

  /** @param {string} text */
  setText(text) {
    this.chosenText = this.clip(text, "s");
    this.onChange(true);
  }

  /** Draw the painting at once; the weights follow. */
  painted() {
    const { text, paintedRule } = this.mask;
    this.ahead = true;
    this.tooLong = text.length > this.picture.maxLength ? text.length : 0;
    if (this.tooLong) return this.redraw();
    this.requestedMask = `${paintedRule} ${text}`;
    return this.takeMask({ mask: "painted", on: paintedRule, p: text || null });
  }

  /** Apply a stroke where painting is possible.
   * @param {(mask: MaskPaint) => void} act @param {boolean} [ends] whether the weights may be requested */
  stroke(act, ends = true) {
    if (!this.paintable) return;
    this.mask.head = this.at.head;
    this.ahead = true;
    act(this.mask);
    if (ends) this.painted();
    else this.redraw();
  }

  /** Undo the last act; a painting that exceeds the link is no part of the history. */
  undo() {
    if (this.tooLong) this.follow();
    else if (canUndo()) history.back();
  }

  clear() {
    this.mask.clear();
    this.painted();
  }

  /** Use a card, or join its rule to the current one. @param {Card} card */
  useCard({ clicks, rule }) {
    const { join, picture } = this;
    const link = clicks[join];
    this.join = "use";
    if (link) return this.chooseMask(link);
    this.tooMuch = `The combined rule ${picture.rule} ${join} ${rule} is longer than ${MAX_RULE_LENGTH} characters.`;
    return this.redraw();
  }

  /** The parameter of the current rule, or of the rule below a painting. */
  get writtenKey() {
    return this.picture.painted ? "on" : "rule";
  }

  /** @param {string} rule */
  useRule(rule) {
    if (rule === this.picture.rule && !this.refused.size) return;
    this.chooseMask(this.picture.painted ? { mask: "painted", on: rule } : { mask: "combination", rule });
  }

  /** Choose another mask; a painting stays in the link. @param {Controls} link */
  chooseMask(link) {
    this.tooLong = 0;
    this.ahead = true;
    this.takeMask(link);
  }

  /** @param {Controls} message parameters of a mask */
  takeMask(message) {
    const rule = Object.fromEntries(this.picture.ruleKeys.map((key) => [key, null]));
    this.controls = { ...this.controls, ...rule, ...message };
    this.initial = "";
    this.isOwn = false;
    this.onChange();
  }

  /** Mask the whole row in focus, or the first row that is not empty yet. */
  emptyRow() {
    const n = this.picture.tokens.length;
    const allow = this.mask.allow();
    const isOpen = (/** @type {number} */ row) => allow.subarray(row * n, row * n + n).includes(1);
    const row = [this.at.row, ...Array(n).keys()].find(isOpen);
    if (row === undefined) return;
    this.mask.line("row", row);
    this.painted();
  }

  /** @param {Values} change of the other controls */
  change({ off, ...controls }, typing = false) {
    if (off !== undefined) this.off = headsOf([off ?? []].flat());
    Object.assign(this.controls, controls);
    this.onChange(typing);
  }

  /** Choose the default mask again for another model. @param {Values} values */
  choose(values) {
    this.renews = this.isOwn;
    super.choose(this.isOwn ? { ...values, mask: null } : values);
    this.renews = false;
  }

  onChange(typing = false) {
    this.tooMuch = "";
    if (this.initial) this.initial = "entry"; // the address is no longer empty
    super.onChange(typing);
  }

  /** Set fields that need no request. @param {object} owner @param {object} change */
  set(owner, change) {
    Object.assign(owner, change);
    this.redraw();
  }

  /** Show the readout of the pointed cell; otherwise the effect of the mask on the pair in focus.
   * @param {string | null} [text] */
  readOut(text = this.pointed) {
    this.pointed = text;
    setText(this.parts.readout, text ?? this.effect);
  }

  get effect() {
    const { picture, at, weights } = this;
    const { tokens, columns } = picture;
    const keys = columns ?? tokens;
    const [was, is] = weights.map((side) => rowOf(side.weights, at.row, keys.length));
    const key = at.key ?? sortByWeight(was)[0][0];
    return gave(tokens[at.row], keys[key], was[key], is[key]);
  }

  draw(width) {
    const { picture, at, mask } = this;
    const n = picture.tokens.length;
    if (this.waiting && at.row >= n) return; // the response for the longer sentence that has this row is pending
    this.keepWithin(n, (picture.columns ?? picture.tokens).length);
    this.load();
    this.box.text = this.text;
    this.box.input.readOnly = "s" in picture.fixed;
    mask.head = at.head;
    const projecting = this.foot.isOn;
    this.setClasses({
      wide: !projecting && !this.alone && width >= THREE,
      projecting,
      "of-one": projecting && !fitsTwo(width, picture.tokens),
      [`shows-${this.side}`]: this.narrow,
      "no-mask": !picture.cards.length, // a model without mask control
    });
    const choose = (/** @type {number} */ card) => this.useCard(this.picture.cards[card]);
    this.parts.gallery.hidden = this.isFolded && !projecting;
    drawGallery(this.parts.gallery, picture, { inks: this.inks, join: this.join, choose });
    this.line.draw();
    this.bar.draw();
    this.foot.draw();
    this.switches.draw();
    this.outcomes.draw();
    const [left, right] = this.panels.maps.map(({ map }) => map);
    const room = roomOf([this.grid, left, right], this, n);
    this.drawMask(room);
    this.panels.draw(room);
    const isRead = reads(parseLook(picture.look)) === reads(this.look);
    const isPlace = picture.layer === at.layer && picture.head === at.head && isRead;
    const fits = isPlace && (!this.ahead || this.tooLong > 0);
    this.wait(!fits); // stale weights are dimmed until those of this mask and head arrive
    this.readOut();
    this.element.dataset.digest = picture.digest;
  }

  /** @param {Room} room */
  drawMask(room) {
    const { parts: p, mask, scrolls, theme } = this;
    const { row, key, head } = this.at;
    const { tokens } = this.picture;
    const allow = mask.allow();
    const name = mask.isShared ? "Mask of all heads" : `Mask of head ${head}`;
    this.grid.drawMask({ tokens, allow, row, key, theme, scrolls, name }, this.inks, room);
    const blocked = allow.reduce((sum, cell) => sum + 1 - cell, 0);
    const place = mask.isShared ? "" : ` in head ${head}`;
    const text = `${blocked.toLocaleString("en")} of ${allow.length.toLocaleString("en")} blocked${place}`;
    if (p.counted.textContent !== text) this.say(text);
    setText(p.counted, text);
  }
}

/** The warnings about the limits of painting. @param {Masks} picture
 * @param {number} tooLong characters of a painting that exceeds the link
 */
function limitsInWords({ tokens, maxTokens, maxLength, cards }, tooLong) {
  const size = `${counted(tooLong, "character")} of ${maxLength.toLocaleString("en")}`;
  const large = `This mask is too large for a link (${size}), so the weights still show the previous one. Undo, or paint fewer single cells.`;
  const long = `A mask can be painted for at most ${maxTokens} tokens, and this sentence has ${tokens.length}. The rules work at any length.`;
  return [...(tooLong ? [large] : []), ...(tokens.length > maxTokens && cards.length ? [long] : [])];
}

/** Return whether two maps side by side leave room for legible numbers.
 * @param {number} width pixels of the view @param {string[]} tokens
 */
function fitsTwo(width, tokens) {
  const letters = Math.min(12, Math.max(...tokens.map((token) => token.length)));
  const labels = 1.5 * letters * LABEL * rem() + 12;
  return (width / 2 - AROUND * rem() - labels) / tokens.length >= CELL.projected;
}

/** The space of every map: visible maps have the same cell size, so that their rows align.
 * @param {BigMap[]} maps @param {Painter} view @param {number} n tokens
 * @returns {Room}
 */
function roomOf(maps, { alone, foot }, n) {
  const isLarge = foot.isOn || alone !== "";
  const kind = isLarge ? "projected" : "small";
  const unit = isLarge ? rem() / 16 : 1; // maps measure in this unit
  for (const map of maps) {
    Object.assign(map, { smallest: NUMBER[kind] / unit, roomy: CELL[kind] / unit });
    map.project(foot.isOn);
  }
  const rooms = maps.map((map) => /** @type {HTMLElement} */ (map.element.parentElement));
  const seen = rooms.filter((room) => room.clientWidth);
  const left = alone ? heightLeft : (/** @type {Element} */ room) => foot.heightOver(room);
  const height = isLarge && seen.length ? Math.max(220, left(seen[0]) - AROUND * rem()) : usualHeight(n);
  return { width: Math.min(...seen.map(contentWidth)), height, tall: alone ? TALL : 1 };
}

/** The height that leaves the gallery on the first screen, unless numbers need more. @param {number} n */
const usualHeight = (n) => Math.max(260, window.innerHeight - 400, Math.min(640, n * READABLE * rem() + 100));

export const view = mount(Painter);
