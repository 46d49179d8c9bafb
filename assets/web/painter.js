// @ts-check
// The Masks view: the gallery, the painted mask, and the weights before and after.

import { inks } from "./colour.js";
import { button, h, setAttribute, setText, styles } from "./dom.js";
import { JOINS, drawGallery } from "./gallery.js";
import { writeAt } from "./look.js";
import { MaskPaint } from "./mask_paint.js";
import { toBytes, unpackFloats } from "./packets.js";
import { PaintGrid } from "./paint_grid.js";
import {
  View,
  choice,
  contentWidth,
  fillChoice,
  fillNotices,
  group,
  mapOrTable,
  mount,
  named,
  notices,
  numbers,
  panel,
} from "./view_base.js";
import { WeightsPanels, heading } from "./weights_panels.js";
import { many } from "./words.js";

/** @typedef {import("./mask_paint.js").Tool} Tool */
/** @typedef {import("./mask_paint.js").Scope} Scope */
/** @typedef {import("./messages.js").Masks} Masks */

const ROOMY = 130; // pixels of a panel that are no cells
const READABLE = 1.5; // rem of a cell that holds a number
const PAUSE = 250; // ms after a stroke, until the server computes
/** @type {[Tool, string, string][]} */
const TOOLS = [
  ["block", "block", "paint: what is touched is blocked"],
  ["allow", "allow", "erase: what is touched is allowed"],
  ["row", "row", "flip whole rows"],
  ["column", "column", "flip whole columns"],
];
/** @type {[Scope, string][]} */
const SCOPES = [
  ["all", "all heads"],
  ["one", "this head"],
];
/** @type {[boolean, string][]} */
const TOUCHES = [
  [false, "paint"],
  [true, "scroll"],
];

const STYLES = await styles("./view.css", "./painter.css");

/** @extends {View<Masks>} */
class Painter extends View {
  /** @param {ShadowRoot} root */
  constructor(root) {
    super(root, STYLES, "painter", ["layer", "head", "row", "key", "chosen"]);
    this.mask = new MaskPaint();
    this.weights = /** @type {import("./weights_panels.js").Weights[]} */ ([]); // before and after
    this.pending = /** @type {Record<string, any>} */ ({}); // what the server has not answered yet
    this.sent = ""; // the last rule and painting that the server was told, or told
    this.timer = 0; // until a painting is sent
    this.tooLong = 0; // characters of a painting that the link has no room for
    this.join = "use";
    this.asTable = false;
    this.scrolls = matchMedia("(pointer: coarse)").matches;
    this.parts = {
      notices: notices(),
      gallery: h("div", { class: "gallery", role: "group", "aria-label": "Masks" }),
      rule: h("code", { class: "rule" }),
      undo: button("undo", () => this.undo()),
      clear: button("clear", () => this.clear()),
      layers: group("Layer"),
      heads: group("Head"),
      counted: h("span", { class: "label" }),
      readout: h("p", { class: "readout" }),
    };
    this.grid = this.makeGrid();
    this.paintRoom = h("div", { class: "room" }, this.grid.element);
    const pick = (/** @type {number} */ row, /** @type {number | null} */ key) => this.go({ row, key, chosen: true });
    this.panels = new WeightsPanels({ pick, hover: (text) => this.read(text) });
    this.tools = choice("Tool", TOOLS, (tool) => this.set(this.mask, { tool }));
    this.scopes = choice("Heads that are painted", SCOPES, (scope) => this.set(this.mask, { scope }));
    this.modes = mapOrTable("Weights as map or table", "", (asTable) => this.set(this, { asTable }));
    this.touches = choice("What touching does", TOUCHES, (scrolls) => this.set(this, { scrolls }));
    this.joins = choice("What a click on a mask does", JOINS, (join) => this.set(this, { join }));
    this.touch = named("touch:", this.touches.element);
    this.build();
  }

  makeGrid() {
    /** Paints where painting is possible. @param {() => void} stroke @param {boolean} ends the weights may follow */
    const paint = (stroke, ends = true) => {
      if (!this.paintable) return;
      this.mask.head = this.state.head;
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
      hover: (text) => this.read(text),
    });
  }

  build() {
    const p = this.parts;
    const bar = (/** @type {string} */ kind, /** @type {Node[]} */ ...parts) =>
      h("div", { class: `bar ${kind}` }, ...parts);
    this.show(
      p.notices,
      p.gallery,
      bar(
        "joins",
        named("a click on a mask", this.joins.element),
        named("rule in use", p.rule),
        h("span", { class: "push" }),
        this.modes.element,
        button("copy link", () => this.copyLink()),
      ),
      h(
        "div",
        { class: "tools" },
        bar("brushes", this.tools.element, group("Painting", p.undo, p.clear), this.scopes.element, this.touch),
        bar("places", named("layer", p.layers), named("head", p.heads)),
      ),
      panel("who", null, [heading("who may look at whom"), p.counted], this.paintRoom, p.readout),
      ...this.panels.elements,
    );
  }

  // ---- what comes in

  /** @param {Masks} state */
  take(state) {
    if (this.visit !== state.visit) this.mask.undone = [];
    const answers = super.take(state);
    if (answers) this.pending = {};
    const n = state.tokens.length;
    const stays = this.tooLong && this.sent === `${state.rule} ${state.painted}`; // what is painted has gone on since
    if (this.mask.n !== n || !("p" in this.pending || stays)) {
      this.mask.load({ ...state, n });
      this.sent = `${state.rule} ${state.painted}`;
      this.tooLong = 0;
    }
    return answers;
  }

  // ---- what the visitor does

  get paintable() {
    return this.state.tokens.length <= this.state.most;
  }

  /** Draws at once; the weights follow when the painting pauses. */
  painted() {
    const { text, on } = this.mask;
    this.tooLong = text.length > this.state.longest ? text.length : 0;
    this.redraw();
    if (this.tooLong) return;
    this.pending = { p: text, on };
    this.sent = `${on} ${text}`;
    this.turn += 1; // no earlier answer may undo it
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tellAll(), PAUSE);
  }

  undo() {
    if (this.mask.undo()) this.painted();
  }

  clear() {
    this.mask.clear();
    this.painted();
  }

  /** Changes what the server need not know. @param {object} owner @param {object} change */
  set(owner, change) {
    Object.assign(owner, change);
    this.redraw();
  }

  read(text) {
    setText(this.parts.readout, text ?? "");
  }

  /** @param {Partial<Masks>} change */
  go(change) {
    Object.assign(this.state, change);
    this.redraw();
    this.tellAll();
  }

  /** Uses a card, or joins its rule to the one in use. @param {import("./messages.js").Card["event"]} event */
  useCard(event) {
    this.tooLong = 0;
    this.mask.remember();
    this.pending = this.join === "use" ? { ...event } : { rule: event.rule, join: this.join };
    if ("painted" in event) this.pending = { on: event.rule, p: event.painted };
    this.join = "use";
    this.redraw();
    this.tellAll();
  }

  tellAll() {
    clearTimeout(this.timer);
    this.tell({ at: writeAt(this.state, this.state.chosen), ...this.pending });
  }

  // ---- drawing

  /** Pixels of a cell that holds a number. */
  get readable() {
    return READABLE * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  draw(width) {
    const { state } = this;
    this.mask.head = state.head;
    const wide = !this.narrow && state.tokens.length * this.readable + ROOMY <= width / 3;
    this.kinds({ wide });
    const style = getComputedStyle(this.element);
    const colours = { ...inks(this.element), line: style.getPropertyValue("--hatch").trim() };
    this.drawGallery(colours, style.getPropertyValue("--glow").trim());
    this.drawControls();
    this.drawMask(colours);
    const roomFor = (/** @type {Element} */ element) => this.roomFor(element);
    this.panels.draw(state, this.weights, this.asTable, this.theme, colours, roomFor);
    this.panels.drawRows(state, this.weights, this.mask.allow());
    this.wait(this.heard < this.turn); // until the numbers of this mask have come, those shown are of the one before
    this.element.dataset.digest = state.digest;
  }

  /** @param {import("./colour.js").Inks} colours @param {string} accent */
  drawGallery(colours, accent) {
    const { parts: p, state, join } = this;
    const n = state.tokens.length;
    const used = (/** @type {import("./messages.js").Card} */ { event, painted }) =>
      state.painted
        ? Boolean(event.kind) || painted === state.painted
        : !event.kind && !painted && event.rule === state.rule;
    const choose = (/** @type {number} */ at) => this.useCard(this.state.cards[at].event);
    drawGallery(p.gallery, state.cards, { n, inks: colours, accent, join, used, choose });
    setText(p.rule, state.rule + (state.painted ? ", painted" : ""));
    const [has, most] = [many(this.tooLong, "character"), state.longest.toLocaleString("en")];
    const tooLong = `Too large for a link (${has} of ${most}). The weights still show the previous mask: undo, or paint fewer single cells.`;
    const tooMany = `A mask can be painted for at most ${state.most} tokens, this sentence has ${n}. The rules work at any length.`;
    fillNotices(p.notices, [
      ...(this.tooLong ? [tooLong] : []),
      ...(this.paintable ? [] : [tooMany]),
      ...state.notices,
    ]);
  }

  drawControls() {
    const { parts: p, state, mask } = this;
    this.tools.press(mask.tool);
    this.scopes.press(mask.scope);
    this.joins.press(this.join);
    this.modes.press(this.asTable);
    this.touches.press(this.scrolls);
    this.touch.hidden = !this.narrow && !matchMedia("(pointer: coarse)").matches;
    for (const element of this.tools.buttons) setAttribute(element, "disabled", !this.paintable);
    setAttribute(p.undo, "disabled", !mask.undone.length);
    setAttribute(p.clear, "disabled", mask.isEmpty);
    fillChoice(p.layers, numbers(state.layers), state.layer, (layer) => this.go({ layer }), "layer");
    fillChoice(p.heads, numbers(state.heads), state.head, (head) => this.go({ head }), "head");
  }

  /** @param {import("./colour.js").Inks} colours */
  drawMask(colours) {
    const { parts: p, mask, scrolls, theme } = this;
    const { tokens, row, key, head } = this.state;
    const allow = mask.allow();
    const name = mask.isShared ? "Mask of all heads" : `Mask of head ${head}`;
    this.grid.drawMask({ tokens, allow, row, key, theme, scrolls, name }, colours, this.roomFor(this.paintRoom));
    const blocked = allow.reduce((sum, cell) => sum + 1 - cell, 0);
    const where = mask.isShared ? "" : ` in head ${head}`;
    const text = `${blocked.toLocaleString("en")} of ${allow.length.toLocaleString("en")} blocked${where}`;
    if (p.counted.textContent !== text) this.say(text);
    setText(p.counted, text);
  }

  roomFor(element) {
    const cells = this.state.tokens.length * this.readable + 100;
    // on the first screen with the gallery above, unless the numbers need more
    const height = Math.max(260, window.innerHeight - 400, Math.min(640, cells));
    return { width: contentWidth(element), height };
  }
}

export default mount(Painter, (view, packed) => {
  const { header, floats } = unpackFloats(packed);
  const both = [floats.subarray(0, floats.length / 2), floats.subarray(floats.length / 2)];
  view.weights = both.map((weights) => ({ weights, bytes: toBytes(weights) }));
  view.take(header);
});
