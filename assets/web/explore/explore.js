// The map view: a sentence, every head of a layer, or of all, and one of them enlarged.

import { AllHeads } from "./all_heads.js";
import { ChangeChips } from "./change_chips.js";
import { ChangeTiles } from "./change_tiles.js";
import { controlsOf } from "../link/changes.js";
import { inks } from "../base/colour.js";
import { button, div, h, setText } from "../base/dom.js";
import { ExploreBar } from "./explore_bar.js";
import { makeFigures } from "../picture/figures.js";
import { FirstSteps } from "./first_steps.js";
import { isOf, unpackPicture } from "./explore_picture.js";
import { FocusPanel } from "./focus_panel.js";
import { HeadsGrid } from "../picture/heads.js";
import { columns, isAcross, order } from "../picture/heads_order.js";
import { put, without } from "../link/link.js";
import { askedOf, headName, headsOf, inOrder, ofOneMap, parseAt, parseLook, writeAt, writeLook } from "../link/look.js";
import { MeanMap } from "./mean_map.js";
import { ModelChanges } from "./model_changes.js";
import { mount } from "../base/mount.js";
import { NextTokens, SAMPLING } from "./next_tokens.js";
import { OtherViews } from "./other_views.js";
import { parts as partsOf, specials } from "../wire/packets.js";
import { PinnedPanel } from "./pinned_panel.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { ReadingAids } from "./reading_aids.js";
import { Given, recordedSteps } from "./given.js";
import { SentenceBox } from "../picture/sentence.js";
import { ValueLengths } from "./value_lengths.js";
import { fillNotices, notices } from "../base/view_base.js";
import { UnderWay } from "./under_way.js";
import { toggled } from "../base/words.js";
import { Wire } from "../wire/wire.js";
import { PlaceView } from "../wire/place_view.js";
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
  "Keyboard: arrows move between heads, cells, points and bars, with Shift ten at a time, Enter enlarges or picks, + and − zoom a long map, s shows one head alone, h hides it, o switches it off in the model; at the words, the first letters of one or its number go to it.",
].join(" ");
const PLACE = ["at", "pin", "look", "view", "part", ...SAMPLING]; // keys that change what is looked at, and no number of a map

const STYLES = [viewCss, choicesCss, patchesCss, exploreCss, listingCss, otherCss, nextCss, barCss, stageCss];

/** @extends {PlaceView<import("./explore_picture.js").ExplorePicture>} */
export class Explore extends PlaceView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, STYLES, "explore");
    this.mapsOf = ""; // the query that the maps answer, but for the place in them
    this.maps = /** @type {import("../wire/packets.js").Maps} */ (/** @type {unknown} */ (null));
    this.chosenText = /** @type {string | null} */ (null); // the sentence as in the link
    this.look = parseLook("");
    this.off = /** @type {Set<string>} */ (new Set()); // heads switched off in the model
    this.model = new ModelChanges(this);
    this.pin = ""; // the pinned picture, as in the link
    this.pinOf = ""; // the one whose numbers are here
    this.compared = { of: "", value: "" }; // the picture whose comparison was asked for, and what it says
    const proved = {
      take: (bytes) => this.compare(new TextDecoder().decode(bytes)),
      refuse: (sentence) => this.compare(sentence),
    };
    this.proof = new Wire(proved, this.here.signal);
    this.matching = false; // maps and picture are of one sentence and setting
    this.underWay = new UnderWay(this, PLACE);
    this.weights = /** @type {Float32Array | null} */ (null); // of the head in focus by its tokens, once they have come
    this.sight = /** @type {import("./reading_aids.js").Sight} */ (/** @type {unknown} */ (null)); // the large map
    this.box = new SentenceBox(this, (text) => this.type(text));
    this.changes = new ChangeChips(this);
    this.mean = new MeanMap(this);
    this.reading = new ReadingAids(this);
    this.values = new ValueLengths(this);
    this.all = new AllHeads(this);
    this.bar = new ExploreBar(this);
    this.tiles = new ChangeTiles(this);
    this.steps = new FirstSteps(this);
    this.recorded = recordedSteps(this);
    this.given = new Given(this);
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
    this.cutText = button("cut it to what fits", () => this.model.retype([...this.text].slice(0, this.fits).join("")), {
      hidden: "",
      class: "cut",
    });
    this.parts = { notices: notices(), status: div("status"), pieces: h("p", { class: "pieces" }) };
    const { notices: said, status, pieces } = this.parts;
    const proof = h("details", { class: "proof" }, h("summary", {}, "Numbers and proof"), this.figures.element, status);
    const unfold = () => (this.figures.element.hidden = !proof.open); // folded, what it can compare is no control
    proof.addEventListener("toggle", unfold);
    unfold();
    this.inBox = div("in-box", this.changes.undo, this.bar.tries.element);
    this.box.element.append(this.inBox);
    const undo = { act: () => this.model.undo(), isIdle: () => !this.model.past.length };
    this.foot = new ProjectorBar(this, this.box.element, this.tiles, undo);
    this.shared = h("p", { class: "label shared" }, "Heads with one colour at the edge share their keys and values.");
    this.allHeads = h("section", { class: "all-heads", "aria-label": "Heads" });
    this.allHeads.append(this.bar.element, this.heads.element, this.mean.tile, this.shared);
    this.show(
      div(
        "top",
        this.box.element,
        this.given.element,
        this.recorded.element,
        said,
        this.cutText,
        this.underWay.element,
      ),
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

  /** @param {import("../base/messages.js").Turns & {own: Record<"picture" | "sound", string>}} message own: the names of the visitor's files */
  take(message) {
    this.heard = message.heard;
    super.take(message);
    this.given.take(message.own);
  }

  /** @param {Uint8Array} bytes @param {string} question */
  answered(bytes, question) {
    const query = new URLSearchParams(question.slice(question.indexOf("?") + 1));
    const [focus, maps] = partsOf(bytes);
    if (focus.length) return super.answered(bytes, `?${without(query, "part")}`);
    const coming = this.underWay.take(maps, query); // of a long text whose layer in sight is not there yet
    if (this.maps?.digest === coming.digest) this.maps = coming;
    this.ask();
    this.redraw();
  }

  /** @param {string} sentence @param {string} key @param {number} fits */
  refuse(sentence, key, fits) {
    this.underWay.of = "";
    super.refuse(sentence, key, fits);
  }

  get notices() {
    const said = this.picture ? "" : this.underWay.said;
    return said ? [said, ...super.notices] : super.notices;
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.adoptPlace(link);
    this.chosenText = this.kept(link.get("s"), "s");
    this.box.text = this.text;
    this.look = parseLook(link.get("look") ?? "");
    this.off = headsOf(link.getAll("off"));
    this.pin = link.get("pin") ?? "";
    this.others.adopt(link.get("view"));
    this.model.controls = controlsOf(link);
    this.next.adopt(link);
    this.model.keepDifference();
  }

  /** What stands in the box. */
  get text() {
    return this.chosenText ?? this.picture?.typed ?? "";
  }

  set text(text) {
    this.chosenText = this.box.text = text;
  }

  /** The state and the float32 maps in focus, then all maps where they were asked for.
   * @param {Uint8Array[]} parts @param {URLSearchParams} query
   */
  receive([focus, maps], query) {
    this.picture = unpackPicture(focus);
    const { tile, done, layers } = this.picture;
    if (tile) this.look = ofOneMap(this.look);
    if (maps) {
      this.maps = this.underWay.take(maps, query);
      this.same(query);
    } else if (tile) this.underWay.comes(Math.min(done, this.underWay.done), layers, query);
    this.choosePlace(this.maps.n, this.maps.keys.length);
    if (this.chosenText === null) this.box.text = this.picture.typed;
    this.pinOf = query.get("pin") ?? "";
    this.next.answered(query);
  }

  /** @param {URLSearchParams} query */
  same(query) {
    const { whole, thumbnail, layers } = this.maps;
    this.mapsOf = thumbnail || whole.length === layers ? without(query, ...PLACE) : ""; // a page begins with one layer
  }

  // ---- what goes out

  link() {
    const { chosenText, at, look, off, pin, model, next, placed, rowChosen } = this;
    const changed = { ...model.controls, off: inOrder(off).map(headName) };
    const place = { at: placed ? writeAt(at, rowChosen) : null, look: writeLook(look) || null };
    return { s: chosenText, ...changed, ...place, pin: pin || null, view: this.others.text, ...next.sampling };
  }

  /** Another row, and how it is drawn, make no other picture. */
  own() {
    const { at, look, placed } = this;
    const ofRow = this.rowChosen && Boolean(this.picture?.tile); // of a long text the numbers of one row are here
    return { ...this.link(), view: null, at: placed ? writeAt(at, ofRow) : null, look: askedOf(look) || null };
  }

  /** Nothing is typed: what was before stays in sight. */
  get isBlank() {
    return !this.text.trim();
  }

  query() {
    const query = super.query();
    if (this.chosenText !== null && this.isBlank) put(query, "s", this.picture?.typed ?? null);
    return query;
  }

  /** The query of the run alone, wherever in it is looked. */
  queryOfRun() {
    return new URLSearchParams(without(this.query(), ...PLACE));
  }

  /** All maps, or where they are here only those in focus; nothing where only the place in a map is another one.
   * @param {URLSearchParams} query
   */
  route(query) {
    const { maps, at, picture, look } = this;
    const continues = this.underWay.continues(query);
    const isOfLong = maps && picture.tile > 0 && this.mapsOf === without(query, ...PLACE);
    if (continues || isOfLong) this.underWay.mark(query);
    if (isOfLong && maps.isHere(at.layer) && !(this.isSeen && this.next.isTold(query))) return "focus";
    if (continues || isOfLong) return continues ? "part" : "";
    if (!maps || this.mapsOf !== without(query, ...PLACE) || !maps.isWhole(at.layer)) return "maps";
    const isHere = isOf(picture, at, look) && picture.digest === maps.digest && (!look.values || picture.values);
    const kinds = !look.all || picture.kinds.every(({ length }) => length);
    return isHere && kinds && this.next.isTold(query) && this.pinOf === this.pin ? "" : "focus";
  }

  /** The numbers of the row in focus of a long text are here. */
  get isSeen() {
    const { picture, maps, at, look } = this;
    return isOf(picture, at, look) && picture.row === at.row && picture.digest === maps.digest;
  }

  /** Of a long text its other layers may come later. */
  get isLate() {
    return super.isLate && !(this.underWay.of && this.waiting === "slow" && this.picture?.tile && this.isSeen);
  }

  // ---- what the visitor does

  /** @param {string} text @param {boolean} [whole] it did not come key by key */
  type(text, whole = false) {
    const kept = /** @type {string} */ (this.kept(text, "s"));
    this.text = kept;
    if (whole) {
      this.rowChosen = false; // another sentence has other rows
      this.look.keys = [];
      const known = this.picture.places[text];
      const { layer, head } = parseAt(known ?? "");
      if (known) this.place({ layer, head });
    }
    this.chose(!whole);
  }

  /** @param {Partial<Explore["at"]>} change */
  go(change) {
    this.place(change);
    if (this.look.solo) this.look.solo = `${this.at.layer}.${this.at.head}`; // alone is always the head in focus
    this.chose();
  }

  /** @param {Partial<import("../link/look.js").Look>} change */
  see(change) {
    Object.assign(this.look, change);
    this.chose();
  }

  toggleHidden(layer, head) {
    this.see({ hidden: toggled(this.look.hidden, `${layer}.${head}`), solo: null });
  }

  toggleSolo(layer, head) {
    const id = `${layer}.${head}`;
    const solo = this.look.solo === id ? null : id;
    if (solo) this.place({ layer, head });
    this.see({ solo });
  }

  toggleOff(layer, head) {
    if (this.picture.fixed.off) return;
    this.model.remember();
    this.off = toggled(this.off, `${layer}.${head}`);
    this.chose();
  }

  /** Keeps what is seen, or lets it go. */
  togglePin() {
    this.pin = this.pin ? "" : writeAt(this.at, true) + this.picture.pinTail;
    this.chose();
  }

  chose(typing = false) {
    this.model.keepDifference();
    super.chose(typing);
  }

  // ---- drawing

  leave() {
    super.leave();
    document.documentElement.removeAttribute("data-given");
  }

  /** What was scrolled begins anew in another place. @param {ShadowRoot} root */
  move(root) {
    super.move(root);
    this.bar.scrolledTo = "";
  }

  resized() {
    this.heads.rects = [];
    this.redraw();
  }

  draw() {
    const { maps, picture, look, at } = this;
    fillNotices(this.parts.notices, this.notices);
    this.underWay.draw();
    this.cutText.hidden = !this.refusals.s || !this.fits;
    if (this.waiting && at.row >= maps.n) return; // the longer sentence that has this row is on its way
    this.keepWithin(maps.n, maps.keys.length);
    this.matching = picture.digest === maps.digest;
    const isNow = this.matching && isOf(picture, at, look);
    this.sight = this.reading.sight(isNow);
    this.weights = this.sight.isWords ? null : this.sight.weights;
    const all = look.all && (!this.alone || this.alone === "panel heads");
    const across = isAcross(maps) && !this.narrow;
    const kindsOfView = { "with-pin": picture.pin, "with-all": all, "with-open": this.all.isOpen, blank: this.isBlank };
    this.placeHeads();
    this.kinds({ ...kindsOfView, choosing: this.narrow && this.tiles.open });
    this.bar.draw(all);
    this.all.draw();
    const colours = inks(this.element);
    const [first, last] = picture.tile ? [0, 0] : specials(maps, look); // tokens left out at both ends
    const { off, theme } = this;
    const kinds = this.matching ? picture.kinds : [];
    const ofModel = { off, kinds, kv: picture.kv, fixed: picture.fixed.off };
    const shown = { ...at, ...look, ...ofModel, first, last, theme, across, family: this.all.family };
    const side = columns(maps, all, Boolean(picture.pin) || this.narrow, across);
    this.heads.update(shown, maps, order(this, all, across), side);
    this.heads.draw(colours);
    this.shared.hidden = !(picture.kv && picture.kv < maps.heads);
    this.wait(!isNow); // until the numbers of this head have come, those of another one must not stand here
    this.given.draw(); // first: it decides what room is left
    this.foot.draw();
    this.focus.draw(colours);
    this.pinned.draw(colours);
    this.others.draw(colours);
    this.changes.draw();
    this.tiles.draw(colours);
    this.steps.draw();
    this.recorded.draw();
    this.next.draw();
    this.drawFigures();
    setText(this.parts.pieces, picture.pieces.join(" "));
    setText(this.parts.status, picture.status);
    Object.assign(this.element.dataset, { digest: maps.digest, numbers: isNow ? `${at.layer}.${at.head}` : "" });
  }

  /** The heads stand before the large map, on a phone under it. */
  placeHeads() {
    const before = this.narrow && !this.look.all && !this.alone ? this.focus.words : this.focus.element;
    if (this.allHeads.nextSibling === before) return;
    const focused = /** @type {HTMLElement | null} */ (this.allHeads.querySelector(":focus"));
    before.before(this.allHeads);
    focused?.focus({ preventScroll: true }); // it lost it on the way
  }

  drawFigures() {
    const { picture, figures, compared } = this;
    const value = compared.of === picture.digest ? compared.value : picture.compared;
    figures.draw(
      picture.figures.map((figure) => (figure.ask ? { ...figure, value } : figure)),
      compared.of === picture.digest,
    );
  }

  /** The comparison takes seconds, so it is asked for by hand. */
  askComparison() {
    this.compared = { of: this.picture.digest, value: "" };
    this.proof.ask("compared", this.query(), this.visit);
    this.drawFigures();
  }

  /** @param {string} value what the comparison says, or why there is none */
  compare(value) {
    this.compared = { ...this.compared, value };
    this.redraw();
  }
}

export const view = mount(Explore);
