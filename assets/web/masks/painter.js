// The Masks view: a sentence, the gallery, the painted mask, and the weights before and after.

import { inks, isPlain } from "../base/colour.js";
import { heightLeft } from "../base/curtain.js";
import { div, h, LETTERS, setText, span } from "../base/dom.js";
import { drawGallery } from "./gallery.js";
import { MaskAlso } from "./mask_also.js";
import { MaskLine } from "./mask_line.js";
import { MaskView } from "./mask_view.js";
import { parseLook, reads } from "../link/look.js";
import { mount } from "../base/mount.js";
import { PaintGrid } from "./paint_grid.js";
import { PainterBar } from "./painter_bar.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import { SentenceBox } from "../picture/sentence.js";
import { rowOf } from "../wire/packets.js";
import { contentWidth, fillNotices, notices, panel, rem } from "../base/view_base.js";
import { gave, many, ranked } from "../base/words.js";
import { WeightsPanels, heading } from "./weights_panels.js";
import viewCss from "../base/view.css" with { type: "css" };
import choicesCss from "../picture/choices.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import painterCss from "./painter.css" with { type: "css" };
import barCss from "../picture/projector_bar.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

/** @typedef {import("../picture/map.js").BigMap} BigMap */
/** @typedef {import("../picture/map.js").Room} Room */

const THREE = 900; // pixels of a view that has three maps in a row
const NUMBER = { small: LETTERS, projected: 16 }; // pixels of a number
const CELL = { small: 18.5, projected: 30 }; // of a cell that holds one
const SHARE = { small: 0.45, projected: 0.4 }; // of the cell that its number is high
const READABLE = 1.5; // rem of such a cell
const AROUND = 1.1; // rem of a panel that are no cells, beside its labels
const LABEL = 0.43; // rem of a letter of a label

const STYLES = [viewCss, choicesCss, listingCss, sheetCss, painterCss, barCss, stageCss];

export class Painter extends MaskView {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, STYLES);
    this.asTable = false;
    this.pointed = /** @type {string | null} */ (null); // what is read out under the pointer
    this.large = /** @type {import("./painter_bar.js").Large} */ ("both"); // what the projector shows
    this.side = "after"; // the weights that a phone shows
    this.scrolls = matchMedia("(pointer: coarse)").matches;
    this.box = new SentenceBox(this, (text) => this.type(text));
    this.parts = {
      notices: notices(),
      gallery: h("div", { class: "gallery", role: "group", "aria-label": "Masks" }),
      counted: span("label"),
      readout: h("p", { class: "readout" }),
    };
    this.line = new MaskLine(this);
    this.bar = new PainterBar(this);
    this.also = new MaskAlso(this);
    const undo = { act: () => this.undo(), isIdle: () => !this.mask.undone.length };
    this.foot = new ProjectorBar(this, this.box.element, this.also, undo, this.parts.gallery);
    this.grid = this.makeGrid();
    const pick = (/** @type {number} */ row, /** @type {number | null} */ key) => this.go({ row, key });
    this.panels = new WeightsPanels({ pick, hover: (text) => this.readOut(text) });
    const p = this.parts;
    const room = div("room", this.grid.element);
    this.show(
      div("top", this.box.element, p.notices),
      div("strip", p.gallery, this.bar.projected),
      this.line.element,
      this.bar.above,
      panel("who", null, [heading("The mask"), p.counted], room, legend()),
      this.bar.brushes,
      ...this.panels.elements,
      this.bar.places,
      p.readout,
      this.also.element,
      this.outcomes.element,
    );
  }

  makeGrid() {
    /** Paints where painting is possible. @param {() => void} stroke @param {boolean} ends the weights may follow */
    const paint = (stroke, ends = true) => {
      if (!this.paintable) return;
      this.mask.head = this.at.head;
      this.ahead = true;
      stroke();
      if (ends) this.painted();
      else this.redraw();
    };
    return new PaintGrid({
      begin: (at) => paint(() => this.mask.begin(at), false),
      paint: (at) => paint(() => this.mask.paint(at), false),
      end: () => paint(() => {}),
      line: (tool, at) => paint(() => this.mask.line(tool, at)),
      toggle: (at) => paint(() => this.mask.toggle(at)),
      undo: () => this.undo(),
      hover: (text) => this.readOut(text),
    });
  }

  // ---- what the visitor does

  /** Changes what the server need not know. @param {object} owner @param {object} change */
  set(owner, change) {
    Object.assign(owner, change);
    this.redraw();
  }

  /** Says what is pointed at; otherwise what the mask did to the pair in focus. @param {string | null} [text] */
  readOut(text = this.pointed) {
    this.pointed = text;
    setText(this.parts.readout, text ?? this.moved);
  }

  get moved() {
    const { picture, at, weights } = this;
    const { tokens, columns } = picture;
    const keys = columns ?? tokens;
    const [was, is] = weights.map((own) => rowOf(own.weights, at.row, keys.length));
    const key = at.key ?? ranked(was)[0][0];
    return gave(tokens[at.row], keys[key], was[key], is[key]);
  }

  get stroking() {
    return this.grid.stroke !== null;
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    super.adopt(link);
    this.also.adopt(link);
  }

  // ---- drawing

  /** What the projector shows: two maps where their numbers can be read. */
  get projects() {
    const fits = fitsTwo(this.element.clientWidth, this.picture.tokens, this.panels.beside);
    return this.large === "both" && !fits ? "after" : this.large;
  }

  draw(width) {
    const { picture, at, mask, weights } = this;
    const n = picture.tokens.length;
    fillNotices(this.parts.notices, [...limitsInWords(picture, this.tooLong), ...this.notices]);
    if (this.waiting && at.row >= n) return; // the longer sentence that has this row is on its way
    this.keepWithin(n, (picture.columns ?? picture.tokens).length);
    this.load();
    this.box.text = this.text;
    this.box.input.readOnly = "s" in picture.fixed;
    mask.head = at.head;
    const projecting = this.foot.isOn;
    this.kinds({
      wide: !projecting && !this.alone && width >= THREE,
      projecting,
      [`of-${this.projects}`]: projecting,
      [`seen-${this.side}`]: this.narrow,
      "no-mask": !picture.cards.length, // this model lets nobody set one
    });
    const style = getComputedStyle(this.element);
    const colours = { ...inks(this.element), line: style.getPropertyValue("--hatch").trim() };
    const choose = (/** @type {number} */ card) => this.useCard(this.picture.cards[card]);
    const meet = (/** @type {number | null} */ card) => this.line.meet(card);
    const accent = style.getPropertyValue("--glow").trim();
    drawGallery(this.parts.gallery, picture, { inks: colours, accent, join: this.join, choose, meet });
    this.line.draw();
    this.bar.draw();
    this.foot.draw();
    this.also.draw(colours);
    this.outcomes.draw();
    const [before, after] = this.panels.maps.map(({ map }) => map);
    after.beside = this.panels.beside;
    const roomFor = roomsOf([this.grid, before, after], this, n);
    this.drawMask(colours, roomFor(this.grid));
    this.panels.draw(picture, at, weights, this.asTable, this.theme, colours, roomFor);
    const isRead = reads(parseLook(picture.look)) === reads(this.look);
    const isPlace = picture.layer === at.layer && picture.head === at.head && isRead;
    const fits = isPlace && (!this.ahead || this.tooLong > 0);
    this.wait(!fits); // until the numbers of this mask and head have come, those shown are of the one before
    this.readOut();
    this.element.dataset.digest = picture.digest;
  }

  /** @param {import("../base/colour.js").Inks} colours @param {import("../picture/map.js").Room} room */
  drawMask(colours, room) {
    const { parts: p, mask, scrolls, theme } = this;
    const { row, key, head } = this.at;
    const { tokens } = this.picture;
    const allow = mask.allow();
    const name = mask.isShared ? "Mask of all heads" : `Mask of head ${head}`;
    this.grid.drawMask({ tokens, allow, row, key, theme, scrolls, name }, colours, room);
    const blocked = allow.reduce((sum, cell) => sum + 1 - cell, 0);
    const where = mask.isShared ? "" : ` in head ${head}`;
    const text = `${blocked.toLocaleString("en")} of ${allow.length.toLocaleString("en")} blocked${where}`;
    if (p.counted.textContent !== text) this.say(text);
    setText(p.counted, text);
  }
}

/** What the painter says of its own limits. @param {import("../base/messages.js").Masks} picture
 * @param {number} tooLong characters of a painting that no link can hold
 */
function limitsInWords({ tokens, most, longest, cards }, tooLong) {
  const size = `${many(tooLong, "character")} of ${longest.toLocaleString("en")}`;
  const large = `Too large for a link (${size}). The weights still show the previous mask: undo, or paint fewer single cells.`;
  const long = `A mask can be painted for at most ${most} tokens, this sentence has ${tokens.length}. The rules work at any length.`;
  return [...(tooLong ? [large] : []), ...(tokens.length > most && cards.length ? [long] : [])];
}

/** True when two maps side by side have numbers that can be read from the last row.
 * @param {number} width pixels of the view @param {string[]} tokens @param {number} beside pixels of one of them that are no cells
 */
function fitsTwo(width, tokens, beside) {
  const letters = Math.min(12, Math.max(...tokens.map((token) => token.length)));
  const labels = 1.5 * letters * LABEL * rem() + 12;
  return (width / 2 - AROUND * rem() - labels - beside) / tokens.length >= CELL.projected;
}

/** The room of each map: those in sight have cells of one size, so that their rows line up.
 * @param {BigMap[]} maps @param {Painter} view @param {number} n tokens
 * @returns {(map: BigMap) => Room}
 */
function roomsOf(maps, { alone, foot }, n) {
  const isLarge = foot.isOn || alone !== "";
  const kind = isLarge ? "projected" : "small";
  const unit = isLarge ? rem() / 16 : 1; // a map counts in these
  for (const map of maps) {
    Object.assign(map, { smallest: NUMBER[kind] / unit, roomy: CELL[kind] / unit, share: SHARE[kind] });
    map.project(foot.isOn);
  }
  const rooms = maps.map((map) => [map, /** @type {HTMLElement} */ (map.element.parentElement)]);
  const seen = /** @type {[BigMap, HTMLElement][]} */ (rooms).filter(([, room]) => room.clientWidth);
  const cells = Math.min(...seen.map(([map, room]) => contentWidth(room) - map.beside));
  const left = alone ? heightLeft : (/** @type {Element} */ room) => foot.heightOver(room);
  const height = isLarge && seen.length ? Math.max(220, left(seen[0][1]) - AROUND * rem()) : usualHeight(n);
  return (map) => ({ width: cells + map.beside, height });
}

/** On the first screen with the gallery above, unless the numbers need more. @param {number} n */
const usualHeight = (n) => Math.max(260, window.innerHeight - 400, Math.min(640, n * READABLE * rem() + 100));

/** What an open and a hatched cell mean. */
function legend() {
  const [kind, blocked] = isPlain ? ["plain", "empty"] : ["hatched", "hatched"];
  const parts = [span("swatch"), "open: may look", span(`swatch ${kind}`), `${blocked}: may not look`];
  return h("p", { class: "legend" }, ...parts);
}

export const view = mount(Painter);
