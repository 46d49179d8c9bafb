// @ts-check
// The controls of one side of the pair view: a line of chips on its card, each of which opens a small panel.

import { drawLamps, drawMask, drawMasks, drawPositions, makeDegrees, radios } from "./choices.js";
import { button, fill, h, setAttribute, setText } from "./dom.js";
import { MASKS, WIDEST } from "./facts.js";

/** @typedef {import("./pair.js").PairView} PairView */
/** @typedef {import("./colour.js").Inks} Inks */

const NAMES = { mask: "Mask", pos: "Position encoding", t: "Softmax temperature", off: "Heads off" };
const WRITTEN = [
  { name: "combination", line: "rules joined by & (and), | (or), ! (not)", key: "rule" },
  { name: "painted", line: "cells painted on the Masks page", key: "on" },
];
const KINDS = [...MASKS, ...WRITTEN.map((kind) => ({ ...kind, numbers: [] }))];
const FIELDS = { rule: "Rules joined by & (and), | (or), ! (not)", on: "Painted on the rule" };

export class SideControls {
  /** @param {PairView} view @param {number} side */
  constructor(view, side) {
    this.view = view;
    this.side = side;
    this.open = "";
    this.ending = side ? ", right" : "";
    this.chips = h("div", { class: "switches", role: "group", "aria-label": side ? "Right side" : "Left side" });
    this.openers = Object.entries(NAMES).map(([key]) => {
      const toggle = () => this.show(this.open === key ? "" : key);
      return button("", toggle, { class: "switch", "aria-expanded": "false", "data-key": key });
    });
    this.chips.append(...this.openers);
    this.masks = radios(`Mask${this.ending}`);
    this.numbers = h("div", { class: "numbers" });
    this.positions = radios(`Position encoding${this.ending}`);
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": `Heads of all layers${this.ending}` });
    this.degrees = makeDegrees(`Softmax temperature${this.ending}`, (t) => this.set({ t }, true));
    this.title = h("h3", {});
    this.inside = {
      mask: h("div", {}, this.masks, this.numbers),
      pos: this.positions,
      t: this.degrees.element,
      off: h(
        "div",
        {},
        button("all on", () => this.set({ off: [] })),
        this.lamps,
      ),
    };
    const close = button("done", () => this.show(""));
    this.panel = h("div", { class: `panel settings of-${side ? "right" : "left"}`, role: "group", hidden: "" });
    this.panel.append(h("header", {}, this.title, close), ...Object.values(this.inside));
    for (const part of [this.panel, this.chips]) part.addEventListener("keydown", (event) => this.key(event));
    const outside = (/** @type {Event} */ event) => {
      const path = event.composedPath();
      if (this.open && !path.includes(this.panel) && !path.includes(this.chips)) this.show("", false);
    };
    addEventListener("pointerdown", outside, { signal: view.here.signal });
  }

  /** @param {Record<string, string | string[]>} change @param {boolean} [typing] */
  set(change, typing = false) {
    this.view.switch(this.side, change, typing);
  }

  /** Opens the panel of one control, or closes it. @param {string} key */
  show(key, focus = true) {
    const opener = this.openers.find(({ dataset }) => dataset.key === this.open);
    this.open = key;
    if (!key && focus) opener?.focus();
    // on a phone the panel is a sheet over the page: its map stays in sight above it
    if (key && this.view.narrow) this.chips.closest(".panel")?.scrollIntoView({ block: "start" });
    this.view.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || !this.open) return;
    event.stopPropagation();
    this.show("");
  }

  /** @param {string} key */
  value(key) {
    return String(this.view.switches.get(this.side, key));
  }

  // ---- drawing

  /** @param {Inks} inks */
  draw(inks) {
    const { open, view } = this;
    const said = this.said();
    for (const opener of this.openers) {
      const key = /** @type {keyof typeof NAMES} */ (opener.dataset.key);
      setText(opener, said[key]);
      setAttribute(opener, "aria-label", `${NAMES[key]}${this.ending}: ${said[key]}`);
      setAttribute(opener, "aria-expanded", String(key === open));
      setAttribute(opener, "data-differs", view.picture.differs.includes(key) ? "" : null);
    }
    this.panel.hidden = !open;
    if (!open) return;
    setText(this.title, `${NAMES[open]}${this.ending}`);
    setAttribute(this.panel, "aria-label", `${NAMES[open]}${this.ending}`);
    for (const [key, element] of Object.entries(this.inside)) element.hidden = key !== open;
    if (open === "mask") this.drawMasks(inks);
    const { positions } = view.picture;
    if (open === "pos") drawPositions(this.positions, positions, this.value("pos"), (pos) => this.set({ pos }));
    if (open === "off") this.drawLamps();
    this.degrees.say(this.value("t"));
  }

  /** What each control says, in a few words. */
  said() {
    const [mask, pos] = [this.value("mask"), this.value("pos")];
    const kind = KINDS.find(({ name }) => name === mask);
    const numbers = (kind?.numbers ?? []).map(([key]) => this.value(key));
    const rule = mask === "combination" ? this.value("rule") : [mask, ...numbers].join(" ");
    const off = [...this.view.switches.off(this.side)];
    const one = `L${String(off[0]).replace(".", " H")} off`;
    const heads = off.length === 1 ? one : `${off.length} heads off`;
    return {
      mask: mask === "none" ? "no mask" : `mask: ${rule}`,
      pos: pos === "none" ? "no positions" : `positions${pos === "as trained" ? "" : ":"} ${pos}`,
      t: `temperature ${this.value("t")}`,
      off: off.length ? heads : "all heads on",
    };
  }

  /** @param {Inks} inks */
  drawMasks(inks) {
    const now = this.value("mask");
    drawMasks(this.masks, KINDS, now, {
      choose: (mask) => this.set({ mask }),
      draw: (canvas, name) => this.drawMask(canvas, name, inks),
    });
    const kind = KINDS.find(({ name }) => name === now);
    const field = WRITTEN.find(({ name }) => name === now)?.key;
    const numbers = /** @type {string[][]} */ ((kind?.numbers ?? []).map(([key, text]) => [key, text]));
    const fields = field ? [[field, FIELDS[field]]] : numbers;
    const makeField = () => h("label", {}, h("span", {}), h("input", {}));
    fill(this.numbers, fields, makeField, (label, [key, text]) => this.drawField(label, key, text, Boolean(field)));
  }

  /** The number or the rule of a mask. @param {HTMLElement} label @param {string} key @param {string} text */
  drawField(label, key, text, isRule) {
    const [name, input] = /** @type {[Element, HTMLInputElement]} */ ([...label.children]);
    setText(name, text);
    const limits = isRule ? { type: "text", min: null, max: null } : { type: "number", min: "1", max: String(WIDEST) };
    for (const [attribute, value] of Object.entries(limits)) setAttribute(input, attribute, value);
    setAttribute(input, "aria-label", `${text}${this.ending}`);
    input.oninput = () => {
      if (isRule || (input.value && input.checkValidity())) this.set({ [key]: input.value }, true);
    };
    const value = this.value(key);
    const writing = /** @type {ShadowRoot} */ (this.view.root).activeElement === input;
    if (!writing && input.value !== value) input.value = value;
  }

  /** @param {HTMLCanvasElement} canvas @param {string} mask @param {Inks} inks */
  drawMask(canvas, mask, inks) {
    const own = WRITTEN.some(({ name }) => name === mask);
    const numbers = { w: Number(this.value("w")), first: Number(this.value("first")), gap: Number(this.value("gap")) };
    drawMask(canvas, mask, own ? null : numbers, { seen: inks.more, hidden: inks.line });
  }

  drawLamps() {
    const off = this.view.switches.off(this.side);
    drawLamps(this.lamps, this.view.picture, off, (layer, head) => {
      if (!off.delete(`${layer}.${head}`)) off.add(`${layer}.${head}`);
      const inOrder = [...off].map((id) => id.split(".").map(Number)).sort(([a, b], [c, d]) => a - c || b - d);
      this.set({ off: inOrder.map(([one, other]) => `L${one} H${other}`) });
    });
  }
}
