// @ts-check
// What the Masks view shows and what its visitor chooses, without the elements: painter.js draws it.

import { isUsed } from "./gallery.js";
import { without } from "./link.js";
import { parseAt, writeAt } from "./look.js";
import { MaskPaint } from "./mask_paint.js";
import { parts as partsOf, toBytes, unpackFloats } from "./packets.js";
import { WireView } from "./wire_view.js";

/** @typedef {import("./messages.js").Masks} Masks */
/** @typedef {import("./messages.js").MasksState} State */
/** @typedef {import("./messages.js").Card} Card */

const KEYS = ["mask", "w", "first", "gap", "rule", "on", "p"]; // of the link, that say the mask
const ELSEWHERE = ["pad", "big"]; // keys that change nothing in this view

/** @extends {WireView<State, Masks>} */
export class MaskView extends WireView {
  /** @param {ShadowRoot} root @param {CSSStyleSheet[]} styles */
  constructor(root, styles) {
    super(root, styles, "painter");
    this.text = ""; // what stands in the box
    this.asked = ""; // the sentence that the wire is asked for: the last one that can be used
    this.at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
    this.rowChosen = false; // by the visitor, not by the page
    /** @type {Record<string, string | null> | null} */
    this.choice = null; // what the link must say of the mask, every key of it, until the script has heard it
    this.pictureOf = ""; // the query that the picture answers, but for what changes nothing in it
    this.weights = /** @type {import("./weights_panels.js").Weights[]} */ ([]); // before and after
    this.mask = new MaskPaint();
    this.known = ""; // the rule and painting that the mask began with, or that were last asked for
    this.ahead = false; // the mask was changed since the weights came
    this.tooLong = 0; // characters of a painting that the link has no room for
    this.join = "use";
  }

  /** True while a stroke goes on. */
  get stroking() {
    return false;
  }

  // ---- what comes in

  /** What the bare address begins with is written into it. @param {Uint8Array} bytes */
  begin(bytes) {
    const { begins } = unpackFloats(partsOf(bytes)[0]).header;
    const url = new URL(location.href);
    for (const [key, value] of new URLSearchParams(begins)) url.searchParams.set(key, value);
    if (begins) history.replaceState(history.state, "", url);
    super.begin(bytes);
  }

  /** @param {State} state */
  adopt(state) {
    const { layer, head, row, key } = parseAt(state.at);
    this.at = { layer, head, row: row ?? this.at.row, key };
    this.rowChosen = row !== null;
    this.choice = null;
    this.text = state.box;
    this.asked = state.typed;
  }

  /** @param {URLSearchParams} link */
  assumed(link) {
    const { layer, head, typed } = this.picture;
    const { row, key } = parseAt(link.get("at") ?? "");
    return { at: writeAt({ layer, head, row, key }, true), box: typed, typed };
  }

  /** @param {State} state */
  take(state) {
    if (this.visit && this.visit !== state.visit) this.mask.undone = [];
    const answers = super.take(state);
    // what the link said and could not be used must not stay in it
    if (answers && state.unusable.length) this.changed();
    return answers;
  }

  /** What is said of the mask, with the float32 weights before and after. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([packed], query) {
    const { header, floats } = unpackFloats(packed);
    const both = [floats.subarray(0, floats.length / 2), floats.subarray(floats.length / 2)];
    this.weights = both.map((weights) => ({ weights, bytes: toBytes(weights) }));
    this.picture = header;
    this.pictureOf = relevant(query);
    if (!this.rowChosen) Object.assign(this.at, { row: header.row, key: header.key });
  }

  /** @param {URLSearchParams} query */
  same(query) {
    const { picture, at } = this;
    if (picture.layer === at.layer && picture.head === at.head) this.pictureOf = relevant(query);
  }

  get keys() {
    return [...super.keys, ...KEYS];
  }

  /** Begins with the picture's mask where that is the one asked for; what is painted since goes on. */
  load() {
    const { mask, picture } = this;
    const n = picture.tokens.length;
    const name = `${picture.rule} ${picture.painted}`;
    if (mask.n === n) {
      const stays = this.tooLong && name === this.known;
      if (this.stroking || stays || this.pictureOf !== relevant(this.query())) return;
      if (!this.ahead && name === this.known) return;
    }
    mask.load({ ...picture, n });
    Object.assign(this, { known: name, ahead: false, tooLong: 0 });
  }

  // ---- what goes out

  own() {
    return { s: this.asked, at: writeAt(this.at, false), ...this.choice };
  }

  link() {
    const said = Object.entries(this.choice ?? {}).map(([key, value]) => [
      key,
      value === "none" && key !== "mask" ? null : value || null,
    ]);
    return { ...Object.fromEntries(said), s: this.text, at: writeAt(this.at, this.rowChosen) };
  }

  /** @param {URLSearchParams} query */
  route(query) {
    return this.picture && this.pictureOf === relevant(query) ? "" : "masked";
  }

  // ---- what the visitor does

  get paintable() {
    return this.picture.tokens.length <= this.picture.most;
  }

  /** @param {string} text */
  type(text) {
    this.text = this.asked = text;
    this.changed({}, true);
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
    this.choice = { ...this.noRule, mask: "painted", on, p: text };
    return this.changed();
  }

  undo() {
    if (this.mask.undo()) this.painted();
  }

  clear() {
    this.mask.clear();
    this.painted();
  }

  /** @param {Partial<{layer: number, head: number, row: number, key: number | null}>} change */
  go(change) {
    if (change.row !== undefined) this.rowChosen = true;
    Object.assign(this.at, change);
    this.changed();
  }

  /** Uses a card, or joins its rule to the one in use. @param {Card} card */
  useCard({ clicks, rule }) {
    const { join } = this;
    const link = clicks[join];
    this.join = "use";
    if (!link) {
      this.changed({ join, other: rule }); // the script says why it does not
      this.flush();
      return;
    }
    this.choose(link);
  }

  /** The rule in use, or that beneath what is painted, as it was written. @param {string} rule */
  useRule(rule) {
    const { picture } = this;
    if (rule === picture.rule) return;
    this.choose(picture.painted ? { mask: "painted", on: rule } : { mask: "combination", rule });
    this.flush(); // where it cannot be read, the script says so
  }

  /** A number that the mask in use takes. @param {string} key of the link @param {string} value */
  useNumber(key, value) {
    const card = this.picture.cards.find((own) => isUsed(this.picture, own));
    if (card) this.choose({ ...card.clicks.use, [key]: value });
  }

  /** Another mask than that in use; what is painted stays in the link, in use or not. @param {Record<string, string>} link */
  choose(link) {
    const now = this.query();
    this.choice = { ...this.noRule, on: now.get("on"), p: now.get("p"), ...link };
    this.tooLong = 0;
    this.ahead = true;
    this.mask.remember();
    this.changed();
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

  /** @param {{join?: string, other?: string}} wish what happens once */
  changed(wish = {}, typing = false) {
    if (Object.keys(wish).length) this.wishes.push({ turn: this.turn + 1, wish });
    this.chose({ s: this.text, at: writeAt(this.at, this.rowChosen), ...this.choice }, typing);
  }
}

/** A query but for what changes nothing in the picture. @param {URLSearchParams} query */
function relevant(query) {
  const idle = query.get("mask") === "combination" ? [] : ["rule"];
  if (query.get("mask") === "none") idle.push("mask"); // as where nothing is said
  if (query.get("on") === "none") idle.push("on"); // which it is anyway
  return without(query, ...ELSEWHERE, ...idle);
}
