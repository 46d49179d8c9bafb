// @ts-check
// A line of chips that say what is chosen in the model, each of which opens a small panel: mask, positions, temperature,
// heads.

import { drawLamps, drawMask, drawMasks, drawPositions, makeDegrees, radios } from "./choices.js";
import { button, fill, h, setAttribute, setText } from "../base/dom.js";
import { MASKS, WIDEST } from "../base/facts.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {Record<string, string | string[]>} Change key of the link -> what it says from now on */

const NAMES = { mask: "Mask", pos: "Position encoding", t: "Softmax temperature", off: "Heads off" };
const WRITTEN = [
  { name: "combination", line: "rules joined by & (and), | (or), ! (not)", key: "rule" },
  { name: "painted", line: "cells painted on the Masks page", key: "on" },
];
const KINDS = [...MASKS, ...WRITTEN.map((kind) => ({ ...kind, numbers: [] }))];
const FIELDS = { rule: "Rules joined by & (and), | (or), ! (not)", on: "Painted on the rule" };

/** Names of heads in order, as a link has them. @param {Iterable<string>} off "layer.head" of each */
const inLink = (off) =>
  [...off]
    .map((id) => id.split(".").map(Number))
    .sort(([a, b], [c, d]) => a - c || b - d)
    .map(([layer, head]) => `L${layer} H${head}`);

/** @template {import("../wire/wire_view.js").WireView} V */
export class ControlChips {
  /** @param {V} view @param {string} label @param {Record<string, string>} [more] names of controls beside the usual ones
   * @param {string} [ending] of every name
   */
  constructor(view, label, more = {}, ending = "") {
    this.view = view;
    this.ending = ending;
    this.open = "";
    this.names = /** @type {Record<string, string>} */ ({ ...NAMES, ...more });
    this.openers = Object.keys(this.names).map((key) => {
      const toggle = () => this.show(this.open === key ? "" : key);
      return button("", toggle, { class: "switch", "aria-expanded": "false", "data-key": key });
    });
    this.chips = h("div", { class: "switches", role: "group", "aria-label": label }, ...this.openers);
    this.masks = radios(`Mask${ending}`);
    this.numbers = h("div", { class: "numbers" });
    this.positions = radios(`Position encoding${ending}`);
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": `Heads of all layers${ending}` });
    this.degrees = makeDegrees(`Softmax temperature${ending}`, (t) => this.set({ t }, true));
    const allOn = button("all on", () => this.set({ off: [] }));
    this.inside = /** @type {Record<string, HTMLElement>} */ ({
      mask: h("div", {}, this.masks, this.numbers),
      pos: this.positions,
      t: this.degrees.element,
      off: h("div", {}, allOn, this.lamps),
    });
    this.title = h("h3");
    this.reason = h("p", { class: "reason" });
    const close = button("done", () => this.show(""));
    this.panel = h("div", { class: "panel settings", role: "group", hidden: "" });
    this.panel.append(h("header", {}, this.title, close), this.reason, ...Object.values(this.inside));
    for (const part of [this.panel, this.chips]) part.addEventListener("keydown", (event) => this.key(event));
    const outside = (/** @type {Event} */ event) => {
      const path = event.composedPath();
      if (this.open && !path.includes(this.panel) && !path.includes(this.chips)) this.show("", false);
    };
    addEventListener("pointerdown", outside, { signal: view.here.signal });
  }

  // ---- for each page

  /** @param {Change} _change @param {boolean} [_typing] */
  set(_change, _typing) {}

  /** What a control says. @param {string} _key @returns {string} */
  value(_key) {
    return "";
  }

  /** The heads that are switched off, as "3.5". @returns {Set<string>} */
  get off() {
    return new Set();
  }

  /** Why a control has no effect here, or nothing. @param {string} _key */
  whyNot(_key) {
    return "";
  }

  /** Whether it has none at all. @param {string} key */
  isIdle(key) {
    return this.whyNot(key) !== "";
  }

  /** Whether a control says something else than usual. @param {string} _key */
  differs(_key) {
    return false;
  }

  // ---- what the visitor does

  /** Opens the panel of one control, or closes it. @param {string} key */
  show(key, focus = true) {
    const opener = this.openers.find(({ dataset }) => dataset.key === this.open);
    this.open = key;
    if (!key && focus) opener?.focus();
    if (key) this.reveal();
    this.view.redraw();
  }

  /** On a phone the panel is a sheet over the page. */
  reveal() {
    this.view.showAbove();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || !this.open) return;
    event.stopPropagation();
    this.show("");
  }

  // ---- drawing

  /** @param {Inks} inks */
  draw(inks) {
    const { open } = this;
    const said = this.said();
    for (const opener of this.openers) {
      const key = /** @type {string} */ (opener.dataset.key);
      setText(opener, said[key]);
      setAttribute(opener, "aria-label", `${this.names[key]}${this.ending}: ${said[key]}`);
      setAttribute(opener, "aria-expanded", String(key === open));
      setAttribute(opener, "data-differs", this.differs(key) ? "" : null);
      setAttribute(opener, "data-idle", this.isIdle(key) ? "" : null);
      setAttribute(opener, "title", this.whyNot(key) || null);
    }
    this.panel.hidden = !open;
    if (!open) return;
    const name = `${this.names[open]}${this.ending}`;
    setText(this.title, name);
    setText(this.reason, this.whyNot(open));
    setAttribute(this.panel, "aria-label", name);
    for (const [key, element] of Object.entries(this.inside)) {
      element.hidden = key !== open;
      element.inert = this.isIdle(key);
    }
    this.fill(open, inks);
  }

  /** Fills the panel of one control. @param {string} key @param {Inks} inks */
  fill(key, inks) {
    const { positions = [], layers, heads } = this.view.picture;
    if (key === "mask") this.drawMasks(inks);
    if (key === "pos") drawPositions(this.positions, positions, this.value("pos"), (pos) => this.set({ pos }));
    if (key === "off") drawLamps(this.lamps, { layers, heads }, this.off, (layer, head) => this.toggle(layer, head));
    if (key === "t") this.degrees.say(this.value("t"));
  }

  /** What each control says, in a few words. @returns {Record<string, string>} */
  said() {
    const [mask, pos] = [this.value("mask"), this.value("pos")];
    const kind = KINDS.find(({ name }) => name === mask);
    const numbers = (kind?.numbers ?? []).map(([key]) => this.value(key));
    const rule = mask === "combination" ? this.value("rule") : [mask, ...numbers].join(" ");
    const off = [...this.off];
    const one = `L${String(off[0]).replace(".", " H")} off`;
    return {
      mask: mask === "none" ? "no mask" : `mask: ${rule}`,
      pos: pos === "none" ? "no positions" : `positions${pos === "as trained" ? "" : ":"} ${pos}`,
      t: `temperature ${this.value("t")}`,
      off: off.length ? (off.length === 1 ? one : `${off.length} heads off`) : "all heads on",
    };
  }

  /** @param {number} layer @param {number} head */
  toggle(layer, head) {
    const { off } = this;
    if (!off.delete(`${layer}.${head}`)) off.add(`${layer}.${head}`);
    this.set({ off: inLink(off) });
  }

  /** @param {Inks} inks */
  drawMasks(inks) {
    const now = this.value("mask");
    const [w, first, gap] = ["w", "first", "gap"].map((key) => Number(this.value(key)));
    const colours = { seen: inks.more, hidden: inks.line };
    drawMasks(this.masks, KINDS, now, {
      choose: (mask) => this.set({ mask }),
      draw: (canvas, name) => {
        const own = WRITTEN.some((kind) => kind.name === name);
        drawMask(canvas, name, own ? null : { w, first, gap }, colours);
      },
    });
    const field = WRITTEN.find(({ name }) => name === now)?.key;
    const numbers = KINDS.find(({ name }) => name === now)?.numbers ?? [];
    const named = /** @type {[string, string][]} */ (numbers.map(([key, text]) => [key, text]));
    const fields = field ? Object.entries(FIELDS).filter(([key]) => key === field) : named;
    const makeField = () => h("label", {}, h("span"), h("input"));
    fill(this.numbers, fields, makeField, (label, [key, text]) => this.drawField(label, key, text, Boolean(field)));
  }

  /** The number or the rule of a mask. @param {HTMLElement} label @param {string} key @param {string} text
   * @param {boolean} isRule
   */
  drawField(label, key, text, isRule) {
    const [name, input] = /** @type {[Element, HTMLInputElement]} */ ([...label.children]);
    setText(name, text);
    const limits = isRule ? { type: "text", min: null, max: null } : { type: "number", min: "1", max: String(WIDEST) };
    for (const [attribute, value] of Object.entries(limits)) setAttribute(input, attribute, value);
    setAttribute(input, "aria-label", `${text}${this.ending}`);
    input.oninput = () => {
      if (isRule || (input.value && input.checkValidity())) this.set({ [key]: input.value }, true);
    };
    const writing = /** @type {ShadowRoot} */ (this.view.root).activeElement === input;
    if (!writing && input.value !== this.value(key)) input.value = this.value(key);
  }
}
