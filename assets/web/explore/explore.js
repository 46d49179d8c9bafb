// The map view: a sentence, every head of a layer, or of all, and one of them enlarged.

import { AllHeads } from "./all_heads.js";
import { SideRequest } from "../wire/side_request.js";
import { ChangeChips } from "./change_chips.js";
import { ChangeTiles } from "./change_tiles.js";
import { inks } from "../base/colour.js";
import { button, div, h, setText } from "../base/dom.js";
import { ExploreBar } from "./explore_bar.js";
import { makeFigures } from "../picture/figures.js";
import { Suggestions } from "./suggestions.js";
import { unpackPicture } from "./explore_picture.js";
import { FocusPanel } from "./focus_panel.js";
import { HeadsGrid } from "../picture/heads.js";
import { columns, isAcross, order } from "../picture/heads_order.js";
import { setParam, omit } from "../link/link.js";
import { parseAt, writeAt } from "../link/look.js";
import { mount } from "../base/mount.js";
import { NextTokens } from "./next_tokens.js";
import { OtherViews } from "./other_views.js";
import { parts as partsOf, specials } from "../wire/packets.js";
import { PinnedPanel } from "./pinned_panel.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { ReadingAids } from "./reading_aids.js";
import { Media, recordedSteps } from "./media.js";
import { SentenceBox } from "../picture/sentence.js";
import { FIRST, isOf, isRowHere, linkOf, reduce, requestFor, runOf, samplingOf, textOf, valuesOf } from "./state.js";
import { ValueLengths } from "./value_lengths.js";
import { fillNotices, notices } from "../base/view_base.js";
import { Progress } from "./progress.js";
import { toggled } from "../base/words.js";
import { ApiView } from "../wire/api_view.js";
import viewCss from "../base/view.css" with { type: "css" };
import choicesCss from "../picture/choices.css" with { type: "css" };
import exploreCss from "./explore.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import nextCss from "../picture/next.css" with { type: "css" };
import otherCss from "./other_views.css" with { type: "css" };
import patchesCss from "../sheets/patches.css" with { type: "css" };
import barCss from "../picture/projector_bar.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

const HELP = [
  "Layers, heads and tokens are counted from 0. Attention shows where a head looks, not why the model answers.",
  "Keyboard: arrow keys move between heads, cells, points and bars, ten at a time with Shift; Enter enlarges or selects; + and − zoom a long map; s shows one head alone, h hides it, o ablates it in the model. In the word list, type the first letters of a word, or its number, to select it.",
].join(" ");

const STYLES = [viewCss, choicesCss, patchesCss, exploreCss, listingCss, otherCss, nextCss, barCss, stageCss];

/** @extends {ApiView<import("./explore_picture.js").ExplorePicture>} */
export class Explore extends ApiView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, STYLES, "explore");
    this.state = FIRST;
    this.mapsOf = ""; // the run that the maps are all of
    this.maps = /** @type {import("../wire/packets.js").Maps} */ (/** @type {unknown} */ (null));
    this.pinOf = ""; // the pinned picture whose numbers are here
    this.samplingOf = ""; // what the picture was asked about what comes next
    this.compared = ""; // the digest of the picture whose comparison was asked for
    this.proof = new SideRequest(this, "compared", () => this.redraw(), String);
    this.matching = false; // maps and picture are of one sentence and setting
    this.progress = new Progress(this);
    this.weights = /** @type {Float32Array | null} */ (null); // of the head in focus by its tokens, once they have come
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
    this.parts = { notices: notices(), status: div("status"), pieces: h("p", { class: "pieces" }) };
    const { notices: noticeList, status, pieces } = this.parts;
    const proof = h(
      "details",
      { class: "proof" },
      h("summary", {}, "Numbers and checks"),
      this.figures.element,
      status,
    );
    this.inBox = div("in-box", this.changes.undo, this.bar.presetMenu.element);
    this.box.element.append(this.inBox);
    const undo = { act: () => this.dispatch({ type: "undo" }), isIdle: () => !this.state.past.length };
    this.foot = new ProjectorBar(this, this.box.element, this.tiles, undo);
    this.shared = h("p", { class: "label shared" }, "Heads with the same edge colour share keys and values.");
    this.allHeads = h("section", { class: "all-heads", "aria-label": "Heads" });
    this.allHeads.append(this.bar.element, this.heads.element, this.shared);
    const [media, recorded, progressBar] = [this.media, this.recorded, this.progress].map(({ element }) => element);
    this.show(
      div("top", this.box.element, media, recorded, noticeList, this.cutText, progressBar),
      div("words", this.bar.chips, pieces, this.next.element),
      this.changes.element,
      div("try-and-change", this.tiles.chips, this.tiles.panel, this.steps.element),
      this.allHeads,
      this.focus.element,
      this.pinned.element,
      this.others.element,
      this.bar.empty,
      h("footer", {}, div("help", HELP), proof),
    );
  }

  // ---- what comes in

  /** @param {import("../base/messages.js").Ack & {media: Record<"picture" | "sound", string>}} message media: the names of the visitor's files */
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
    const coming = this.progress.take(maps, query); // of a long text whose layer in sight is not there yet
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
    this.state = reduce(this.state, { type: "open", link, text, picture: this.picture });
    this.box.text = this.text;
  }

  // ---- what the parts of the page read of the state

  get at() {
    return this.state.at;
  }

  get look() {
    return this.state.look;
  }

  get off() {
    return this.state.off;
  }

  get controls() {
    return this.state.controls;
  }

  /** The text of the box. */
  get text() {
    return textOf(this.state);
  }

  /** The state and the float32 maps in focus, then all maps where they were asked for.
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
    this.state = reduce(this.state, { type: "arrive", picture, maps: this.maps, isNewest });
    this.box.text = this.text;
    this.pinOf = query.get("pin") ?? "";
    this.samplingOf = samplingOf(query);
  }

  /** @param {URLSearchParams} query */
  onUnchanged(query) {
    const { fullLayers, thumbnail, layers } = this.maps;
    this.mapsOf = thumbnail || fullLayers.length === layers ? runOf(query) : ""; // a page begins with one layer
  }

  // ---- what goes out

  toParams() {
    return linkOf(this.state);
  }

  requestParams() {
    return valuesOf(this.state, Boolean(this.picture?.tile));
  }

  /** Nothing is typed: what was before stays in sight. */
  get isBlank() {
    return !this.text.trim();
  }

  query() {
    const query = super.query();
    if (this.state.text !== null && this.isBlank) setParam(query, "s", this.picture?.typed ?? null);
    return query;
  }

  /** The query of the run alone, wherever in it is looked. */
  queryOfRun() {
    return new URLSearchParams(runOf(this.query()));
  }

  request() {
    return requestFor(this.state, this.query(), this);
  }

  /** Tell whether the picture is stale; other layers of a long text may arrive later. */
  get isLate() {
    const isLong = this.progress.run && this.waiting === "slow" && this.picture?.tile;
    return super.isLate && !(isLong && isRowHere(this.state, this));
  }

  // ---- what the visitor does

  /** @param {import("./state.js").Action} action @param {boolean} [typing] it goes on */
  dispatch(action, typing = false) {
    this.state = reduce(this.state, action);
    this.box.text = this.text;
    this.onChange(typing);
  }

  /** Another sentence, key by key; its rows stay. @param {string} text @param {boolean} [undoable] */
  setText(text, undoable = false) {
    this.edit({ sentence: { text: /** @type {string} */ (this.clip(text, "s")) }, undoable }, true);
  }

  /** Another sentence at one press, which has other rows. @param {string} text @param {boolean} [undoable] */
  retype(text, undoable = true) {
    const place = this.picture.places[text];
    const { layer, head } = parseAt(place ?? "");
    const clipped = /** @type {string} */ (this.clip(text, "s"));
    this.edit({ sentence: { text: clipped, rowChosen: false, ...(place && { layer, head }) }, undoable });
  }

  /** @param {import("./state.js").Edit} change @param {boolean} [typing] */
  edit(change, typing) {
    this.dispatch({ type: "edit", ...change }, typing);
  }

  /** @param {import("./state.js").Controls} controls @param {boolean} [sliding] it goes on, and is undone as one */
  change(controls, sliding = false) {
    this.edit({ controls, slides: sliding && this.pause > 0 }, sliding);
  }

  /** @param {Partial<import("../link/look.js").At>} cursor @param {Partial<import("../link/look.js").Look>} [look] */
  setCursor(cursor, look) {
    this.dispatch({ type: "go", at: cursor, look });
  }

  /** @param {Partial<import("../link/look.js").Look>} look */
  setDisplay(look) {
    this.dispatch({ type: "set", values: { look: { ...this.look, ...look } } });
  }

  toggleHidden(layer, head) {
    this.setDisplay({ hidden: toggled(this.look.hidden, `${layer}.${head}`), solo: null });
  }

  toggleSolo(layer, head) {
    const id = `${layer}.${head}`;
    if (this.look.solo === id) this.setDisplay({ solo: null });
    else this.setCursor({ layer, head }, { solo: id });
  }

  toggleOff(layer, head) {
    if (!this.picture.fixed.off) this.edit({ off: toggled(this.off, `${layer}.${head}`) });
  }

  /** Pin the picture in view, or unpin it. */
  togglePin() {
    const pin = this.state.pin ? "" : writeAt(this.at, true) + this.picture.pinTail;
    this.dispatch({ type: "set", values: { pin } });
  }

  // ---- drawing

  leave() {
    super.leave();
    document.documentElement.removeAttribute("data-given");
  }

  /** Move to another root, where nothing is scrolled yet. @param {ShadowRoot} root */
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
    fillNotices(this.parts.notices, this.notices);
    this.progress.draw();
    this.cutText.hidden = !this.refusals.s || !this.fits;
    if (this.waiting && this.at.row >= maps.n) return; // the longer sentence that has this row is on its way
    this.state = reduce(this.state, { type: "fit", picture, maps });
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
    const colours = inks(this.element);
    const [first, last] = picture.tile ? [0, 0] : specials(maps, look); // tokens left out at both ends
    const { off, theme } = this;
    const kinds = this.matching ? picture.kinds : [];
    const modelState = { off, kinds, kv: picture.kv, fixed: picture.fixed.off };
    const headState = { ...at, ...look, ...modelState, first, last, theme, across };
    const side = columns(maps, all, Boolean(picture.pin) || this.narrow, across);
    this.heads.update(headState, maps, order(this, all, across), side);
    this.heads.draw(colours);
    this.shared.hidden = !(picture.kv && picture.kv < maps.heads);
    this.wait(!isNow); // until the numbers of this head have come, those of another one must not stand here
    this.media.draw(); // first: it decides what room is left
    this.foot.draw();
    for (const part of [this.focus, this.pinned, this.others, this.tiles]) part.draw(colours);
    for (const part of [this.changes, this.steps, this.recorded, this.next]) part.draw();
    this.drawFigures();
    setText(this.parts.pieces, picture.pieces.join(" "));
    setText(this.parts.status, picture.status);
    Object.assign(this.element.dataset, { digest: maps.digest, numbers: isNow ? `${at.layer}.${at.head}` : "" });
  }

  /** The heads stand before the large map, on a phone under it. */
  placeHeads() {
    const anchor = this.narrow && !this.look.all && !this.alone ? this.focus.words : this.focus.element;
    if (this.allHeads.nextSibling === anchor) return;
    const focused = /** @type {HTMLElement | null} */ (this.allHeads.querySelector(":focus"));
    anchor.before(this.allHeads);
    focused?.focus({ preventScroll: true }); // it lost it on the way
  }

  drawFigures() {
    const { picture, figures, proof } = this;
    const isAsked = this.compared === picture.digest;
    const sentence = proof.pending === null ? (proof.answer ?? proof.refusal) : "";
    const value = isAsked ? sentence : picture.compared;
    const all = picture.figures.map((figure) => (figure.ask ? { ...figure, value } : figure));
    figures.draw(all, isAsked);
  }

  /** The comparison takes seconds, so it is asked for by hand. */
  askComparison() {
    this.compared = this.picture.digest;
    this.proof.ask(this.query());
    this.drawFigures();
  }
}

export const view = mount(Explore);
