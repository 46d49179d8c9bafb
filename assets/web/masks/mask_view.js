// What the Masks view shows and what its visitor chooses, without the elements: painter.js draws it.

import { LONGEST_RULE } from "../base/facts.js";
import { controlsOf } from "../link/changes.js";
import { isUsed } from "./gallery.js";
import { without } from "../link/link.js";
import { headName, headsOf, inOrder, parseLook, reads, writeAt, writeLook } from "../link/look.js";
import { MaskOutcomes } from "./mask_outcomes.js";
import { MaskPaint } from "./mask_paint.js";
import { toBytes, unpackFloats } from "../wire/packets.js";
import { arrival } from "../link/way.js";
import { PlaceView } from "../wire/place_view.js";

/** @typedef {import("../base/messages.js").Masks} Masks */
/** @typedef {import("../base/messages.js").Card} Card */
/** @typedef {import("../link/changes.js").Controls} Controls */

const NO_KEYS = ["embed_options", "big"]; // that say nothing of what is shown
const PLACE = ["at", "pad", "big"]; // keys that change no number of a map

/** @extends {PlaceView<Masks>} */
export class MaskView extends PlaceView {
  /** @param {ShadowRoot} root @param {CSSStyleSheet[]} styles */
  constructor(root, styles) {
    super(root, styles, "painter");
    this.chosenText = /** @type {string | null} */ (null); // the sentence as in the link
    this.controls = /** @type {Controls} */ ({}); // what the link says of the mask, the positions and the temperature
    this.off = /** @type {Set<string>} */ (new Set()); // heads switched off in the model
    this.look = parseLook(""); // a mean over heads in the place of one
    this.begins = /** @type {"" | "bare" | "entered"} */ (""); // the page chooses the mask: of a bare address, or by the bar
    this.isOwn = false; // the mask is still the page's own
    this.renews = false; // it is chosen anew
    this.pictureOf = ""; // the query that the picture answers, but for the place in it
    this.weights = /** @type {import("./weights_panels.js").Weights[]} */ ([]); // before and after
    this.mask = new MaskPaint();
    this.known = ""; // the rule and painting that the mask began with, or that were last asked for
    this.ahead = false; // the mask was changed since the weights came
    this.tooLong = 0; // characters of a painting that the link has no room for
    this.join = "use";
    this.tooMuch = ""; // what is said of rules that cannot be joined
    this.outcomes = new MaskOutcomes(this);
    const { signal } = this.here;
    document.addEventListener("headlight-onward", (event) => this.leaveOwn(/** @type {CustomEvent} */ (event)), {
      signal,
    });
  }

  /** True while a stroke goes on. */
  get stroking() {
    return false;
  }

  // ---- what comes in

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.adoptPlace(link);
    this.chosenText = this.kept(link.get("s"), "s");
    this.controls = controlsOf(link);
    this.off = headsOf(link.getAll("off"));
    this.look = parseLook(link.get("look") ?? "");
    const isBare = [...link.keys()].every((name) => NO_KEYS.includes(name));
    this.begins = link.has("mask") ? "" : arrival.byBar || this.renews ? "entered" : isBare ? "bare" : "";
    if (!this.begins) this.controls.mask ??= "none"; // that is what a link without a mask means
    this.isOwn = false;
    this.ahead = true;
    this.tooLong = 0;
    this.tooMuch = "";
    this.outcomes.adopt(link);
  }

  /** What stands in the box. */
  get text() {
    return this.chosenText ?? this.picture?.typed ?? "";
  }

  /** What is said of the mask, with the float32 weights before and after. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    const { header, floats } = unpackFloats(packed);
    const both = [floats.subarray(0, floats.length / 2), floats.subarray(floats.length / 2)];
    this.weights = both.map((weights) => ({ weights, bytes: toBytes(weights) }));
    this.picture = header;
    this.pictureOf = relevant(query);
    this.choosePlace(header.tokens.length, (header.columns ?? header.tokens).length);
  }

  /** The mask with which the page begins is in the address from now on. @param {Record<string, string>} begins */
  beginWith(begins) {
    this.begins = "";
    this.isOwn = true;
    this.controls.mask = begins.mask ?? "none";
    this.chosenText ??= begins.s ?? null;
    this.writeAddress();
    this.pictureOf = relevant(this.query());
  }

  /** @param {Uint8Array} bytes @param {URLSearchParams} query */
  shows(bytes, query) {
    const begins = this.begins && String(query) === String(this.query());
    super.shows(bytes, query);
    if (begins) this.beginWith(this.picture.begins);
    this.outcomes.ask();
  }

  /** @param {URLSearchParams} _query */
  same(_query) {
    this.begins = ""; // what could not be used said something
    this.controls.mask ??= "none";
    this.writeAddress();
    this.pictureOf = relevant(this.query());
  }

  /** Begins with the picture's mask where that is the one asked for; what is painted since goes on. */
  load() {
    const { mask, picture } = this;
    const n = picture.tokens.length;
    const name = `${picture.rule} ${picture.painted}`;
    if (mask.n === n) {
      const stays = this.tooLong && name === this.known;
      if (this.stroking || stays || this.route(this.query())) return;
      if (!this.ahead && name === this.known) return;
    }
    mask.load({ ...picture, n });
    Object.assign(this, { known: name, ahead: false, tooLong: 0 });
  }

  // ---- what goes out

  link() {
    const { chosenText, controls, off, at, look, placed, rowChosen, outcomes } = this;
    const heads = inOrder(off).map(headName);
    const place = placed ? writeAt(at, rowChosen) : null;
    return { ...controls, s: chosenText, off: heads, at: place, look: writeLook(look) || null, pad: outcomes.pad };
  }

  /** A link that says something, and nothing of this view, is none that is bare. */
  asOpened() {
    const said = super.asOpened();
    return Object.keys(said).length || this.begins ? said : { mask: "none" };
  }

  own() {
    const at = this.placed ? writeAt(this.at, false) : null;
    return { ...this.link(), at, look: reads(this.look) || null, pad: null };
  }

  /** @param {string} key */
  still(key) {
    return key === "s" ? super.still(key) : "Still using";
  }

  /** @param {URLSearchParams} query */
  route(query) {
    const { picture, at, placed } = this;
    const isThere = picture && (!placed || (picture.layer === at.layer && picture.head === at.head));
    if (isThere && !this.begins && this.pictureOf === relevant(query)) return "";
    return this.begins === "entered" ? "entered" : "masked";
  }

  ask() {
    super.ask();
    this.outcomes.ask();
  }

  get notices() {
    return this.tooMuch ? [this.tooMuch, ...super.notices] : super.notices;
  }

  /** The mask that only the page has chosen is not for other pages. @param {CustomEvent<URLSearchParams>} event */
  leaveOwn({ detail }) {
    if (this.isHere && this.isOwn) detail.delete("mask");
  }

  // ---- what the visitor does

  /** @param {Partial<import("../link/look.js").Look>} change */
  see(change) {
    Object.assign(this.look, change);
    this.chose();
  }

  get paintable() {
    return this.picture.tokens.length <= this.picture.most;
  }

  /** @param {string} text */
  type(text) {
    this.chosenText = this.kept(text, "s");
    this.chose(true);
  }

  /** The keys of a rule, none of them said. @returns {Record<string, null>} */
  get noRule() {
    return Object.fromEntries(this.picture.ruleKeys.map((key) => [key, null]));
  }

  /** Draws at once; the weights follow. */
  painted() {
    const { text, on } = this.mask;
    this.ahead = true;
    this.tooLong = text.length > this.picture.longest ? text.length : 0;
    if (this.tooLong) return this.redraw();
    this.known = `${on} ${text}`;
    return this.takeMask({ mask: "painted", on, p: text || null });
  }

  undo() {
    if (this.mask.undo()) this.painted();
  }

  clear() {
    this.mask.clear();
    this.painted();
  }

  /** Uses a card, or joins its rule to the one in use. @param {Card} card */
  useCard({ clicks, rule }) {
    const { join, picture } = this;
    const link = clicks[join];
    this.join = "use";
    if (link) return this.chooseMask(link);
    this.tooMuch = `${picture.rule} ${join} ${rule} takes more than ${LONGEST_RULE} characters as a rule.`;
    return this.redraw();
  }

  /** The key of the rule in use, or of that beneath what is painted, as it is written. */
  get writtenKey() {
    return this.picture.painted ? "on" : "rule";
  }

  /** @param {string} rule */
  useRule(rule) {
    if (rule === this.picture.rule && !this.refused.size) return;
    this.chooseMask(this.picture.painted ? { mask: "painted", on: rule } : { mask: "combination", rule });
  }

  /** A number that the mask in use takes. @param {string} key of the link @param {string} value */
  useNumber(key, value) {
    const card = this.picture.cards.find((own) => isUsed(this.picture, own));
    if (card) this.chooseMask({ ...card.clicks.use, [key]: value });
  }

  /** Another mask than that in use; what is painted stays in the link, in use or not. @param {Record<string, string>} link */
  chooseMask(link) {
    this.tooLong = 0;
    this.ahead = true;
    this.mask.remember();
    this.takeMask(link);
  }

  /** @param {Record<string, string | null>} said the keys of a mask */
  takeMask(said) {
    this.controls = { ...this.controls, ...this.noRule, ...said };
    this.begins = "";
    this.isOwn = false;
    this.chose();
  }

  /** Blocks the row in focus, or the first one that is not empty yet. */
  emptyRow() {
    const n = this.picture.tokens.length;
    const allow = this.mask.allow();
    const isOpen = (/** @type {number} */ row) => allow.subarray(row * n, row * n + n).includes(1);
    const row = [this.at.row, ...Array(n).keys()].find(isOpen);
    if (row === undefined) return;
    this.mask.line("row", row);
    this.painted();
  }

  /** @param {Controls} change of what is changed beside the mask */
  change(change, typing = false) {
    Object.assign(this.controls, change);
    this.chose(typing);
  }

  /** For another model the page chooses its mask anew. @param {import("../link/link.js").Values} values */
  choose(values) {
    this.renews = this.isOwn;
    super.choose(this.isOwn ? { ...values, mask: null } : values);
    this.renews = false;
  }

  /** @param {Iterable<string>} off the heads that are off from now on */
  switchHeads(off) {
    this.off = new Set(off);
    this.chose();
  }

  chose(typing = false) {
    this.tooMuch = "";
    if (this.begins) this.begins = "entered"; // the address is bare no more
    super.chose(typing);
  }
}

/** A query but for what changes nothing in the picture. @param {URLSearchParams} query */
function relevant(query) {
  const idle = query.get("mask") === "combination" ? [] : ["rule"];
  if (query.get("mask") === "none") idle.push("mask"); // as where nothing is said
  if (query.get("on") === "none") idle.push("on"); // which it is anyway
  return `${without(query, ...PLACE, "look", ...idle)} ${reads(parseLook(query.get("look") ?? ""))}`;
}
