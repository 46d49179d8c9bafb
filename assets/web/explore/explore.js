// The Explore page: a sentence, the heads of one or all layers, and one of them enlarged.

import { SideRequest } from "../wire/api_client.js";
import { AllHeads } from "./all_heads.js";
import { ChangeChips } from "./change_chips.js";
import { ChangeTiles } from "./change_tiles.js";
import { button, div, fold, h, setText, span } from "../base/dom.js";
import { ExploreBar } from "./explore_bar.js";
import { makeFigures } from "../picture/figures.js";
import { Suggestions } from "./suggestions.js";
import { unpackPicture } from "./explore_picture.js";
import { FocusPanel, PinnedPanel } from "./focus_panel.js";
import { HeadsGrid, columns, isAcross, order } from "../picture/heads.js";
import { setParam, omit } from "../link/link.js";
import { writeAt } from "../link/look.js";
import { mount } from "../base/mount.js";
import { NextTokens } from "./next_tokens.js";
import { OtherViews } from "./other_views.js";
import { parts as partsOf, specials } from "../wire/packets.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { ReadingAids } from "./reading_aids.js";
import { Media, recordedSteps } from "./media.js";
import { SentenceBox } from "../picture/sentence.js";
import { FIRST, isOf, isRowHere, linkOf, reduce, requestFor, runOf, samplingOf, textOf, valuesOf } from "./state.js";
import { ValueLengths } from "./value_lengths.js";
import { Progress } from "./progress.js";
import { toggle } from "../base/words.js";
import { ApiView } from "../wire/api_view.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import exploreCss from "./explore.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import nextCss from "../picture/next.css" with { type: "css" };
import otherCss from "./other_views.css" with { type: "css" };
import patchesCss from "../sheets/patches.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

const HELP =
  "Layers, heads and tokens are counted from 0. Attention shows where a head looks, not why the model answers.";
const KEYBOARD =
  "Keyboard: arrow keys move between heads, cells, points and bars, ten at a time with Shift; Enter enlarges or selects; + and − zoom a long map; s shows one head alone, h hides it, o ablates it in the model. In the word list, type the first letters of a word, or its number, to select it.";

/** @extends {ApiView<ExplorePicture>} */
export class Explore extends ApiView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, [choicesCss, patchesCss, exploreCss, listingCss, otherCss, nextCss, stageCss], "explore");
    this.state = FIRST;
    this.at = FIRST.at;
    this.look = FIRST.look;
    this.off = FIRST.off;
    this.controls = FIRST.controls;
    this.mapsOf = ""; // run of the complete maps
    this.maps = /** @type {Maps} */ (/** @type {unknown} */ (null));
    this.pinOf = ""; // pinned picture whose weights are here
    this.samplingOf = ""; // sampling parameters of the picture
    this.compared = ""; // digest of the picture whose comparison was requested
    this.proof = new SideRequest(this, "comparison", () => this.redraw(), String);
    this.matching = false; // whether maps and picture have the same sentence and settings
    this.progress = new Progress(this);
    this.weights = /** @type {Float32Array | null} */ (null); // of the head in focus by tokens, once they have arrived
    this.visibleMap = /** @type {import("./reading_aids.js").Sight} */ (/** @type {unknown} */ (null)); // the large map
    this.box = new SentenceBox(this, (text) => this.setText(text));
    this.changes = new ChangeChips(this);
    this.reading = new ReadingAids(this);
    this.values = new ValueLengths(this);
    this.all = new AllHeads(this);
    this.bar = new ExploreBar(this);
    this.tiles = new ChangeTiles(this);
    this.steps = new Suggestions(this);
    this.recorded = recordedSteps(this);
    this.media = new Media(this);
    this.next = new NextTokens(this);
    this.focus = new FocusPanel(this);
    this.pinned = new PinnedPanel(this);
    this.others = new OtherViews(this);
    this.heads = new HeadsGrid({
      focus: (layer, head) => this.all.open(layer, head),
      lamp: (layer, head) => this.toggleOff(layer, head),
      hide: (layer, head) => this.toggleHidden(layer, head),
      solo: (layer, head) => this.toggleSolo(layer, head),
      hover: (text) => this.focus.read(text),
    });
    this.figures = makeFigures(() => this.askComparison());
    const cut = () => this.retype([...this.text].slice(0, this.fits).join(""));
    this.cutText = button("shorten it to what fits", cut, { hidden: "", class: "cut" });
    this.parts = { status: div("status"), pieces: h("p", { class: "pieces" }) };
    const { status, pieces } = this.parts;
    const proof = fold("Numbers and checks", { class: "proof" }, this.figures.element, status);
    this.inBox = div("in-box", this.changes.undo, this.bar.presetMenu.element);
    this.box.element.append(this.inBox);
    this.foot = new ProjectorBar(this, this.box.element, this.tiles);
    this.shared = h("p", { class: "label shared" }, "Heads with the same edge colour share keys and values.");
    this.allHeads = h("section", { class: "all-heads", "aria-label": "Heads" });
    this.allHeads.append(this.bar.element, this.heads.element, this.shared);
    this.switches = div("change-controls", this.tiles.chips, this.tiles.panel, this.steps.element);
    const [media, recorded, progressBar] = [this.media, this.recorded, this.progress].map(({ element }) => element);
    this.show(
      div("top", this.box.element, media, recorded, this.noticeList, this.cutText, progressBar),
      div("words", this.bar.chips, pieces, this.next.element),
      this.changes.element,
      this.switches,
      this.allHeads,
      this.focus.element,
      this.pinned.element,
      this.others.element,
      this.bar.empty,
      h("footer", {}, div("help", HELP, " ", span("by-keyboard", KEYBOARD)), proof),
    );
  }

  /** @param {Ack & {media: Record<"picture" | "sound", string>}} message media: names of the uploaded files */
  onMessage(message) {
    this.acknowledged = message.acknowledged;
    super.onMessage(message);
    this.media.take(message.media);
  }

  /** @param {Uint8Array} bytes @param {string} question */
  onAnswer(bytes, question) {
    const query = new URLSearchParams(question.slice(question.indexOf("?") + 1));
    const [focus, maps] = partsOf(bytes);
    if (focus.length) return super.onAnswer(bytes, `?${omit(query, "part")}`);
    const coming = this.progress.take(maps, query); // of a long text: the layer in view is still computed
    if (this.maps?.digest === coming.digest) this.maps = coming;
    this.ask();
    this.redraw();
  }

  /** @param {string} sentence @param {string} key @param {number} fits */
  refuse(sentence, key, fits) {
    this.progress.run = "";
    super.refuse(sentence, key, fits);
  }

  get notices() {
    const progress = this.picture ? "" : this.progress.sentence;
    return progress ? [progress, ...super.notices] : super.notices;
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    const text = this.clip(link.get("s"), "s");
    this.reduce({ type: "open", link, text, picture: this.picture });
    this.box.text = this.text;
  }

  /** Apply an action to the state. @param {import("./state.js").Action} action */
  reduce(action) {
    this.state = reduce(this.state, action);
    const { at, look, off, controls } = this.state;
    Object.assign(this, { at, look, off, controls });
  }

  /** The text of the sentence field. */
  get text() {
    return textOf(this.state);
  }

  /** Take over the state and the float32 maps in focus, then all maps if they were requested.
   * @param {Uint8Array[]} parts @param {URLSearchParams} query
   */
  receive([focus, maps], query) {
    this.picture = unpackPicture(focus);
    const { picture, isNewest } = this;
    const { tile, done, layers } = picture;
    if (maps) {
      this.maps = this.progress.take(maps, query);
      this.onUnchanged(query);
    } else if (tile) this.progress.comes(Math.min(done, this.progress.done), layers, query);
    this.reduce({ type: "arrive", picture, maps: this.maps, isNewest });
    this.box.text = this.text;
    this.pinOf = query.get("pin") ?? "";
    this.samplingOf = samplingOf(query);
  }

  /** @param {URLSearchParams} query */
  onUnchanged(query) {
    const { fullLayers, thumbnail, layers } = this.maps;
    this.mapsOf = thumbnail || fullLayers.length === layers ? runOf(query) : ""; // a page starts with one layer
  }

  toParams() {
    return linkOf(this.state);
  }

  requestParams() {
    return valuesOf(this.state, Boolean(this.picture?.tile));
  }

  /** Return whether the field is empty; the last maps stay dimmed. */
  get isBlank() {
    return !this.text.trim();
  }

  query() {
    const query = super.query();
    if (this.state.text !== null && this.isBlank) setParam(query, "s", this.picture?.sentence ?? null);
    return query;
  }

  /** The query of the run, without the place in it. */
  queryOfRun() {
    return new URLSearchParams(runOf(this.query()));
  }

  request() {
    return requestFor(this.state, this.query(), this);
  }

  /** Return whether the picture is stale; other layers of a long text may arrive later. */
  get isLate() {
    const isLong = this.progress.run && this.waiting === "slow" && this.picture?.tile;
    return super.isLate && !(isLong && isRowHere(this.state, this));
  }

  /** @param {import("./state.js").Action} action @param {boolean} [typing] more input follows */
  dispatch(action, typing = false) {
    this.reduce(action);
    this.box.text = this.text;
    this.onChange(typing);
  }

  /** Edit the sentence by typing; the row in focus stays. @param {string} text */
  setText(text) {
    this.edit({ sentence: { text: /** @type {string} */ (this.clip(text, "s")) } }, true);
  }

  /** Replace the sentence at once; the row in focus is reset. @param {string} text */
  retype(text) {
    const clipped = /** @type {string} */ (this.clip(text, "s"));
    this.edit({ sentence: { text: clipped, rowChosen: false } });
  }

  /** @param {import("./state.js").Edit} change @param {boolean} [typing] */
  edit(change, typing) {
    this.dispatch({ type: "edit", ...change }, typing);
  }

  /** @param {Controls} controls @param {boolean} [sliding] more input follows */
  change(controls, sliding = false) {
    this.edit({ controls }, sliding);
  }

  /** @param {Partial<At>} cursor @param {Partial<Look>} [look] */
  setCursor(cursor, look) {
    this.dispatch({ type: "go", at: cursor, look });
  }

  /** @param {Partial<Look>} look */
  setDisplay(look) {
    this.dispatch({ type: "set", values: { look: { ...this.look, ...look } } });
  }

  toggleHidden(layer, head) {
    this.setDisplay({ hidden: toggle(this.look.hidden, `${layer}.${head}`), solo: null });
  }

  toggleSolo(layer, head) {
    const id = `${layer}.${head}`;
    if (this.look.solo === id) this.setDisplay({ solo: null });
    else this.setCursor({ layer, head }, { solo: id });
  }

  toggleOff(layer, head) {
    if (!this.picture.fixed.off) this.edit({ off: toggle(this.off, `${layer}.${head}`) });
  }

  /** Pin the picture in view, or unpin it. */
  togglePin() {
    const pin = this.state.pin ? "" : writeAt(this.at, true) + this.picture.pinTail;
    this.dispatch({ type: "set", values: { pin } });
  }

  leave() {
    super.leave();
    document.documentElement.removeAttribute("data-media");
  }

  /** Move to another root, whose scroll positions are to be set again. @param {ShadowRoot} root */
  move(root) {
    super.move(root);
    this.bar.scrolledTo = "";
  }

  resized() {
    this.heads.rects = [];
    this.redraw();
  }

  draw() {
    const { maps, picture } = this;
    this.progress.draw();
    this.cutText.hidden = !this.refusals.s || !this.fits;
    if (this.waiting && this.at.row >= maps.n) return; // the response for the longer sentence that has this row is pending
    this.reduce({ type: "fit", picture, maps });
    const { look, at } = this.state;
    this.matching = picture.digest === maps.digest;
    const isNow = this.matching && isOf(picture, this.state);
    this.visibleMap = this.reading.visibleMap(isNow);
    this.weights = this.visibleMap.isWords ? null : this.visibleMap.weights;
    const all = look.all && (!this.alone || this.alone === "panel heads");
    const across = isAcross(maps) && !this.narrow;
    const kindsOfView = { "with-pin": picture.pin, "with-all": all, "with-open": this.all.isOpen, blank: this.isBlank };
    this.placeHeads();
    this.setClasses({ ...kindsOfView, choosing: this.narrow && this.tiles.open });
    this.bar.draw(all);
    this.all.draw();
    const [first, last] = picture.tile ? [0, 0] : specials(maps, look); // hidden special tokens
    const { off, theme } = this;
    const kinds = this.matching ? picture.kinds : [];
    const modelState = { off, kinds, kv: picture.kv, fixed: picture.fixed.off };
    const forbidden = this.matching && !picture.tile ? picture.forbidden : [];
    const headState = { ...at, ...look, ...modelState, first, last, theme, across, forbidden };
    const side = columns(maps, all, Boolean(picture.pin) || this.narrow, across);
    this.heads.update(headState, maps, order(this, all, across), side);
    this.heads.draw(this.inks);
    this.shared.hidden = !(picture.kv && picture.kv < maps.heads);
    this.wait(!isNow); // weights of another head must not pass for those of this one
    this.media.draw(); // first: it decides how much space is left
    this.foot.draw();
    for (const part of [this.focus, this.pinned, this.others, this.tiles]) part.draw();
    for (const part of [this.changes, this.steps, this.recorded, this.next]) part.draw();
    this.drawFigures();
    setText(this.parts.pieces, picture.pieces.join(" "));
    setText(this.parts.status, picture.status);
    Object.assign(this.element.dataset, { digest: maps.digest, numbers: isNow ? `${at.layer}.${at.head}` : "" });
  }

  /** Put the switches and the heads before the large map, on a phone after it. */
  placeHeads() {
    const anchor = this.narrow && !this.look.all && !this.alone ? this.focus.words : this.focus.element;
    if (this.allHeads.nextSibling === anchor) return;
    const { activeElement } = /** @type {ShadowRoot} */ (this.root);
    anchor.before(this.switches, this.allHeads);
    if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true }); // moving took its focus
  }

  drawFigures() {
    const { picture, figures, proof } = this;
    const isAsked = this.compared === picture.digest;
    const sentence = proof.pending === null ? (proof.answer ?? proof.refusal) : "";
    const value = isAsked ? sentence : picture.compared;
    const all = picture.figures.map((figure) => (figure.ask ? { ...figure, value } : figure));
    figures.draw(all, isAsked);
  }

  /** Request the comparison; it takes seconds, so only a button starts it. */
  askComparison() {
    this.compared = this.picture.digest;
    this.proof.ask(this.query());
    this.drawFigures();
  }
}

export const view = mount(Explore);
