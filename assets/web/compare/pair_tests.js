// The tests beneath the maps of the pair view: each head switched off alone, and the words in another order.

import { Aside } from "../wire/aside.js";
import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { isShortcut, walkedTiles } from "../base/grid_keys.js";
import { panel } from "../base/view_base.js";
import { parseAt } from "../link/look.js";
import { SentenceBox } from "../picture/sentence.js";

/** @typedef {import("../base/messages.js").HeadCosines} HeadCosines */

const ABOUT = "each head of the left side is switched off alone; click one to open it";
const LAW = "Colour: how much the sentence vector changes without the head (√ of 1 − cosine); the strongest is";
const LIGHT = 0.04; // the share of the colour that no head goes below, so that each cell is seen

/** What switching off each head alone does to the sentence vector of the left side: a cell a head, and a click opens the
 * head. A long sentence, or a large model, is asked about by hand.
 */
export class HeadBars {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.each = /** @type {Aside<HeadCosines>} */ (new Aside(view, "each"));
    this.since = 0; // ms of the page when it was asked
    this.at = 0; // the cell that Tab reaches; arrows walk
    this.read = -1; // the one that is pointed at
    this.columns = 1;
    this.begins = button("Switch off each head alone", () => this.begin());
    this.stops = button("Stop", () => this.stop());
    this.progress = h("span", { class: "label", role: "status" });
    this.title = h("h2");
    this.text = h("p");
    this.grid = h("div", { class: "head-bars", role: "grid", "aria-label": "Cosine without each head" });
    this.readout = h("p", { class: "readout" });
    this.note = h("p", { class: "label" });
    this.grid.onkeydown = (event) => this.walk(event);
    this.grid.onpointerleave = () => this.point(-1);
    const header = [this.title, span("label", ABOUT)];
    const inside = [this.text, this.grid, this.readout, this.note];
    this.panel = panel("all-bars", "One head at a time", header, ...inside);
    const asks = div("asks", this.begins, this.stops, this.progress);
    this.element = div("bars-of-heads", asks, this.panel);
  }

  /** What is asked: the left side. */
  get query() {
    return String(this.view.queryOf(this.view.sides[1].keys));
  }

  /** Asks where nobody has to ask for it. @param {boolean} isNow else what was asked before is given up alone */
  ask(isNow) {
    const { each, query } = this;
    if (query === each.asked) return;
    if (each.asked !== null) this.stop();
    if (isNow && query !== each.of && this.view.picture.eachIsQuick) this.begin();
  }

  begin() {
    this.each.stop();
    this.since = performance.now();
    this.each.ask(new URLSearchParams(this.query));
    this.view.redraw();
  }

  stop() {
    this.each.stop();
    this.view.redraw();
  }

  draw() {
    const { query, view } = this;
    const { answer, asked, of, refusal } = this.each;
    const isNow = of === query;
    const isQuick = view.picture.eachIsQuick;
    this.begins.hidden = (isNow && !refusal) || isQuick || asked !== null;
    this.stops.hidden = asked === null || isQuick;
    const seconds = Math.floor((performance.now() - this.since) / 1000);
    const going = asked !== null && !isQuick ? `One head at a time: ${seconds} s` : "";
    setText(this.progress, isNow && refusal ? refusal : going);
    if (going) view.redrawSoon(1000);
    // the numbers of another sentence must not stand here; their place is kept for those that come at once
    this.panel.hidden = !answer || !(isNow || isQuick);
    setAttribute(this.panel, "data-old", isNow ? null : "");
    if (answer) this.drawCells(answer);
  }

  /** @param {HeadCosines} answer */
  drawCells({ cosines, said, title }) {
    const rows = cosines.map((own, layer) => own.map((_, head) => [layer, head]));
    const places = this.view.narrow ? rows[0].map((_, head) => rows.map((own) => own[head])) : rows;
    this.columns = places[0].length;
    const most = Math.max(...cosines.flat().map((cosine) => 1 - cosine), 1e-9);
    setText(this.title, title);
    setText(this.text, said);
    setText(this.note, `${LAW} ${most.toFixed(4)}. Layers (L) and heads (H) are counted from 0.`);
    this.grid.style.setProperty("--columns", String(this.columns));
    const offNow = this.view.sides[0].off;
    const [down, across] = this.view.narrow ? ["H", "L"] : ["L", "H"];
    const named = /** @type {any[][]} */ ([["", ...places[0].map((_, at) => `${across}${at}`)], ...places]);
    const make = () => h("div", { role: "row", class: "row" });
    fill(this.grid, named, make, (row, pairs, r) =>
      r
        ? this.drawRow(row, `${down}${r - 1}`, pairs, (r - 1) * this.columns, most, offNow)
        : fill(row, pairs, (at) => h("span", { class: "name", role: at ? "columnheader" : "cell" }), setText),
    );
    this.point(this.read);
  }

  /** @param {HTMLElement} row @param {string} name @param {any[]} pairs @param {Set<string>} offNow */
  drawRow(row, name, pairs, first, most, offNow) {
    const make = (at) => (at ? this.makeCell() : h("span", { class: "name", role: "rowheader" }));
    fill(row, [name, ...pairs], make, (cell, pair, at) => {
      if (at) this.drawCell(cell, pair, first + at - 1, most, offNow.has(pair.join(".")));
      else setText(cell, pair);
    });
  }

  /** @returns {HTMLElement} */
  makeCell() {
    const cell = button("", () => this.view.go(parseAt(cell.dataset.head ?? "")), { role: "gridcell" });
    const point = () => this.point(this.cells().indexOf(cell));
    cell.onpointerenter = point;
    cell.onfocus = () => {
      this.rove(this.cells().indexOf(cell));
      point();
    };
    return cell;
  }

  /** @param {HTMLElement} cell @param {[number, number]} head @param {number} index @param {boolean} off */
  drawCell(cell, [layer, head], index, most, off) {
    const { cosines, shown } = /** @type {HeadCosines} */ (this.each.answer);
    const { picture } = this.view;
    const share = Math.sqrt(Math.max(0, 1 - cosines[layer][head]) / most);
    setText(cell, off ? "off" : "");
    cell.style.setProperty("--share", String(Math.max(LIGHT, 0.85 * share)));
    const said = `${off ? "off already, " : ""}cosine ${shown[layer][head]}`;
    setAttribute(cell, "aria-label", `layer ${layer} head ${head}: ${said}`);
    setAttribute(cell, "aria-selected", String(layer === picture.layer && head === picture.head));
    setAttribute(cell, "data-head", `${layer}.${head}`);
    setAttribute(cell, "tabindex", index === this.at ? "0" : "-1");
  }

  /** Says the number of a cell; without one, of the head in focus. @param {number} index */
  point(index) {
    this.read = index;
    const cells = this.cells();
    const cell = cells[index] ?? cells.find((own) => own.getAttribute("aria-selected") === "true");
    setText(this.readout, cell?.getAttribute("aria-label") ?? "");
  }

  cells() {
    return [.../** @type {NodeListOf<HTMLElement>} */ (this.grid.querySelectorAll("[role=gridcell]"))];
  }

  /** @param {number} index */
  rove(index) {
    this.at = index;
    this.cells().forEach((cell, n) => setAttribute(cell, "tabindex", n === index ? "0" : "-1"));
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const cells = this.cells();
    const to = isShortcut(event) ? null : walkedTiles(event, this.at, cells.length, this.columns);
    if (to === null) return;
    event.preventDefault();
    cells[to].focus();
  }
}

const MOST = 9999; // the number of the last random order
const LABEL = "Shuffle test: type the left words in a new order, or leave it empty for a random one";
const NOTE = "largest difference between the output vectors of the two orders, compared word by word";

/** The words of the left sentence in another order, typed or drawn, and how much the output vectors of both sides change. */
export class ShuffleTest {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.order = ""; // as typed; empty: a random one,
    this.seed = 1; // of this number
    this.shuffled = /** @type {Aside<import("../base/messages.js").Shuffled>} */ (new Aside(view, "shuffled"));
    const typed = (/** @type {string} */ text) => this.choose({ order: view.kept(text, "order") ?? "" }, true);
    this.box = new SentenceBox(view, typed, LABEL, "a random order");
    this.why = h("p", { class: "refusal", role: "status" });
    this.text = h("p");
    this.sides = div("of-orders");
    const again = button("shuffle again", () => this.choose({ order: "", seed: (this.seed % MOST) + 1 }));
    const header = [h("h2", {}, "Shuffle test"), span("label", NOTE)];
    const field = div("ordering", this.box.element, again);
    this.element = panel("shuffle", null, header, field, this.why, this.text, this.sides);
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.set({ order: this.view.kept(link.get("order"), "order") ?? "", seed: Number(link.get("shuffle") ?? 1) });
  }

  /** What the link says of it. */
  get link() {
    return { order: this.order || null, shuffle: this.seed === 1 ? null : String(this.seed) };
  }

  /** @param {{order?: string, seed?: number}} change */
  set(change) {
    Object.assign(this, change);
    this.box.text = this.order;
  }

  /** @param {{order?: string, seed?: number}} change */
  choose(change, typing = false) {
    this.set(change);
    this.view.chose(typing);
  }

  /** What is asked: both sides, of the left sentence. */
  get query() {
    return this.view.queryOf([], this.link);
  }

  /** @param {boolean} isNow else what was asked before is given up */
  ask(isNow) {
    if (String(this.query) === this.shuffled.of) return;
    if (isNow) this.shuffled.ask(this.query);
    else this.shuffled.wire.settle();
  }

  draw() {
    const { of, answer, refusal } = this.shuffled;
    setAttribute(this.element, "data-old", of === String(this.query) ? null : "");
    setText(this.why, refusal);
    setText(this.text, answer?.order ?? "");
    const make = () => panel("", null, [h("h3"), span("label")], h("p"));
    fill(this.sides, answer?.sides ?? [], make, (side, { title, label, why }) => {
      const [header, text] = [...side.children];
      setText(header.children[0], title);
      setText(header.children[1], label);
      setText(text, why);
    });
  }
}
