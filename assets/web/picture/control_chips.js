// The row of switches with the current changes of the model, each of which opens a panel with its inputs: masks with
// thumbnails and numbers, positional encodings, the temperature, and ablated heads.

import { allows, nameOf } from "../link/changes.js";
import { hatchOf, pixel, pixels, rgb } from "../base/colour.js";
import {
  button,
  contextOf,
  div,
  fill,
  h,
  pixelRatio,
  setAttribute,
  setField,
  setText,
  span,
  svg,
} from "../base/dom.js";
import { MASKS, POSITIONS, TEMPERATURES, MAX_WINDOW } from "../base/facts.js";
import { headName, headNames, headsOf } from "../link/look.js";
import { toggle } from "../base/words.js";

/** @typedef {Record<string, string | string[]>} Change link parameter -> new value */
/** @typedef {{name: string, line: string, numbers: [string, string, number][], key?: string}} Kind of mask; key: parameter of its rule */

export const NAMES = { mask: "Mask", pos: "Positional encoding", t: "Temperature", off: "Ablate heads" };
const GLOSSES = /** @type {Record<string, string>} */ ({
  mask: "which words each word may attend to",
  pos: "how word order reaches the model",
  t: "how sharp or soft attention is",
  off: "switch heads off: their output then counts as 0",
});
const ICONS = {
  mask: "M3 3h4v4H3zM3 10h4v4H3zM10 10h4v4h-4zM3 17h4v4H3zM10 17h4v4h-4zM17 17h4v4h-4z",
  pos: "M2 12c2.5-9 5-9 7.5 0s5 9 7.5 0 3.500-7 5-5",
  off: "M12 6a6 6 0 1 0 .01 0M4 20 20 4",
  t: "M2 20c6 0 6-16 10-16s4 16 10 16",
  lw: "M4 4v16M20 4v16M4 4h3M4 20h3M20 4h-3M20 20h-3M9 9h.01M15 9h.01M9 15h.01M15 15h.01",
};

/** The icon of a control. @param {keyof typeof ICONS} name */
const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

const SIDE = 8; // tokens in the thumbnail of a mask
const PIXELS = 44; // pixels of the thumbnail
const DEGREES =
  "The temperature divides the scores. Below 1 the strongest word gets even more weight; above 1 the weights become more equal.";
const ABOUT_LAMPS = "Press a dot to ablate that head: its output then counts as 0.";
const FIRST = ["as trained", "none"]; // encodings that come first
const WRITTEN = /** @type {Kind[]} */ ([
  { name: "combination", line: "rules combined with & (and), | (or), ! (not)", numbers: [], key: "rule" },
  { name: "painted", line: "single cells, painted on the Masks page", numbers: [], key: "on" },
]);
export const KINDS = /** @type {Kind[]} */ ([...MASKS, ...WRITTEN]);
const FIELDS = { rule: "Rules combined with & (and), | (or), ! (not)", on: "Rule under the painted cells" };

/** A radio group: Tab reaches the selected option, arrow keys select the next one. @param {string} name */
const radios = (name) => h("div", { class: "choices", role: "radiogroup", "aria-label": name });

/** @param {HTMLElement} list @param {() => void} choose @param {...Node} parts its contents */
const radio = (list, choose, ...parts) =>
  h("label", {}, h("input", { type: "radio", name: list.ariaLabel, onchange: choose }), ...parts);

/** @param {Element} choice @param {"mask" | "pos"} key @param {string} value @param {string} line its description
 * @param {string} now the selected value */
function fillRadio({ children }, key, value, line, now) {
  const name = nameOf(key, value);
  const input = /** @type {HTMLInputElement} */ (children[0]);
  setAttribute(input, "aria-label", name);
  input.checked = value === now;
  const [title, what] = [...children].slice(-2);
  setText(title, name);
  setText(what, line);
}

/** Empty a container whose contents belong to another model. @param {HTMLElement} parent @param {string} kind */
function renew(parent, kind) {
  if (parent.dataset.kind !== kind) parent.replaceChildren();
  parent.dataset.kind = kind;
}

/** Canvas -> what it shows. @type {WeakMap<Element, string>} */
const thumbnails = new WeakMap();

/** Draw the thumbnail of a mask as the maps draw it: allowed cells in colour, blocked ones hatched.
 * @param {Element} canvas @param {{side: number, n: number, kind: string, inks: Inks}} how `side` in pixels, `n` tokens
 * @param {(i: number, j: number) => boolean} isAllowed
 */
export function drawThumbnail(canvas, { side, n, kind, inks }, isAllowed) {
  const id = [kind, side, n, inks.allowed, inks.hatch, pixelRatio()].join(" ");
  if (!(canvas instanceof HTMLCanvasElement) || thumbnails.get(canvas) === id) return;
  thumbnails.set(canvas, id);
  const context = contextOf(canvas, side, side);
  context.imageSmoothingEnabled = false;
  const cells = Uint8Array.from({ length: n * n }, (_, index) => Number(isAllowed(Math.floor(index / n), index % n)));
  const colours = [inks.none, inks.allowed].map((ink) => pixel(rgb(ink)));
  context.drawImage(pixels({ size: n, bytes: cells }, Uint32Array.from(colours)), 0, 0, side, side);
  const room = { width: side, height: side };
  context.drawImage(
    hatchOf(n, n, (i, j) => !isAllowed(i, j), room, inks.hatch),
    0,
    0,
    side,
    side,
  );
}

/** Draw the encodings that the model supports, those it was trained with and none first.
 * @param {HTMLElement} list @param {[string, string][]} offered name and note of each
 * @param {string} now @param {(name: string) => void} choose
 */
function drawPositions(list, offered, now, choose) {
  const items = [true, false].flatMap((isFirst) => offered.filter(([name]) => FIRST.includes(name) === isFirst));
  renew(list, items.map(([name]) => name).join());
  const make = (/** @type {number} */ index) => radio(list, () => choose(items[index][0]), span("name"), span("line"));
  fill(list, items, make, (choice, [name, note]) => {
    fillRadio(choice, "pos", name, POSITIONS[name] ?? "", now);
    setAttribute(choice, "title", note);
  });
}

/** Draw a toggle for each head, with labels of layers and heads.
 * @param {HTMLElement} lamps @param {{layers: number, heads: number}} model
 * @param {Set<string>} off ablated heads as "layer.head" @param {(head: string) => void} toggle
 */
function drawLamps(lamps, { layers, heads }, off, toggle) {
  renew(lamps, `${layers} ${heads}`);
  lamps.style.setProperty("--heads", String(heads));
  if (!lamps.children.length) lamps.append(...makeLamps(layers, heads));
  lamps.onclick = ({ target }) => {
    const { layer, head } = target instanceof HTMLElement ? target.dataset : {};
    if (layer && head) toggle(`${layer}.${head}`);
  };
  for (const headLamp of lamps.querySelectorAll(".lamp")) {
    const lamp = /** @type {HTMLElement} */ (headLamp);
    setAttribute(lamp, "aria-pressed", String(!off.has(`${lamp.dataset.layer}.${lamp.dataset.head}`)));
  }
}

/** Make the caption, the head numbers, and a row of toggles per layer. @param {number} layers @param {number} heads */
function makeLamps(layers, heads) {
  const count = (/** @type {number} */ length) => Array.from({ length }, (_, index) => index);
  const aside = (/** @type {string} */ text, kind = "head-label") =>
    h("span", { class: kind, "aria-hidden": "true" }, text);
  const lampsOf = (/** @type {number} */ layer) =>
    count(heads).map((head) => {
      const name = `layer ${layer} head ${head}`;
      const props = { class: "lamp", "data-layer": layer, "data-head": head, "aria-label": name, title: name };
      return h("button", { type: "button", ...props });
    });
  return [
    h("p", { class: "label" }, ABOUT_LAMPS),
    aside("head"),
    ...count(heads).map((head) => aside(String(head))),
    ...count(layers).flatMap((layer) => [aside(`layer ${layer}`, "layer-label"), ...lampsOf(layer)]),
  ];
}

/** A labelled number input. @param {string} label @param {Record<string, any>} props
 * @param {(value: string) => void} set
 */
export function makeNumber(label, props, set) {
  const input = h("input", { ...props, "aria-label": label });
  input.oninput = () => input.value && input.checkValidity() && set(String(Number(input.value)));
  const value = h("output");
  const say = (/** @type {string} */ now) => {
    if (Number(input.value) !== Number(now) || !input.value) input.value = now;
    setText(value, props.type === "range" ? now : "");
  };
  return { element: h("label", {}, h("span", {}, `${label} `, value), input), say };
}

/** @template {ApiView & {change(values: Values, typing?: boolean): void}} V */
export class ControlChips {
  /** @param {V} view @param {string} label
   * @param {{names?: Record<string, string>, ending?: string}} more names of the controls, and the suffix of every name
   */
  constructor(view, label, { names = NAMES, ending = "" } = {}) {
    this.view = view;
    this.ending = ending;
    this.masks = radios(`Mask${ending}`);
    this.numbers = div("numbers");
    this.positions = radios(`Positional encoding${ending}`);
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": `Heads of all layers${ending}` });
    const [min, max] = TEMPERATURES.map(String);
    const slide = { type: "range", min, max, step: "0.1" };
    this.degrees = makeNumber(`Temperature${ending}`, slide, (t) => this.set({ t }, true));
    const ends = div("ends label", h("span", {}, "sharper attention"), h("span", {}, "softer attention"));
    const allOn = button("all on", () => this.switchOff([]));
    this.inside = /** @type {Record<string, HTMLElement>} */ ({
      mask: h("div", {}, this.masks, this.numbers),
      pos: this.positions,
      t: div("degrees", this.degrees.element, ends, h("p", { class: "label" }, DEGREES)),
      off: h("div", {}, allOn, this.lamps),
    });
    this.open = "";
    this.names = names;
    this.openers = Object.keys(this.names).map((key) => {
      const toggle = () => this.show(this.open === key ? "" : key);
      const parts = [icon(/** @type {"mask"} */ (key)), span("name", this.names[key]), span("current-value")];
      return button("", toggle, { class: "switch", "aria-expanded": "false", "data-key": key }, ...parts);
    });
    this.chips = h("div", { class: "switches", role: "group", "aria-label": label }, ...this.openers);
    this.title = h("h3");
    this.reason = h("p", { class: "reason" });
    const close = button("done", () => this.show(""));
    this.panel = h("div", { class: "panel settings", role: "group", hidden: "" });
    this.panel.append(h("header", {}, this.title, close), this.reason, ...Object.values(this.inside));
    for (const part of [this.panel, this.chips]) part.addEventListener("keydown", (event) => this.key(event));
    addEventListener("pointerdown", (event) => this.pressOutside(event), { signal: view.lifetime.signal });
  }

  /** The model that the controls change. */
  get model() {
    return this.view.picture;
  }

  /** The link parameter of a control. @param {string} key */
  keyOf(key) {
    return key;
  }

  /** @param {Iterable<string>} heads to ablate from now on */
  switchOff(heads) {
    this.set({ off: headNames(heads) });
  }

  /** The reason why a control has no effect here, or "". @param {string} key */
  whyNot(key) {
    return this.model.fixed[key] ?? "";
  }

  /** Return whether a control has no effect at all. @param {string} key */
  isIdle(key) {
    return this.whyNot(key) !== "";
  }

  /** Return whether a control differs from its default. @param {string} key */
  differs(key) {
    return key === "off" ? this.off.size > 0 : this.value(key) !== String(this.view.picture.defaults[key]);
  }

  /** The value of a control, as in the link. @param {string} key */
  get(key) {
    const name = this.keyOf(key);
    return this.view.toParams()[name] ?? this.view.picture.defaults[name];
  }

  /** @param {string} key */
  value(key) {
    return String(this.get(key));
  }

  /** The ablated heads, as "3.5". */
  get off() {
    return headsOf([this.get("off") ?? []].flat());
  }

  /** The link parameters of a change, null for values equal to the default. @param {Change} change @returns {Values} */
  paramsOf(change) {
    const { defaults } = this.view.picture;
    const named = Object.entries(change).map(([key, value]) => /** @type {const} */ ([this.keyOf(key), value]));
    return Object.fromEntries(named.map(([key, value]) => [key, `${value}` === `${defaults[key]}` ? null : value]));
  }

  /** Apply a change. @param {Change} change @param {boolean} [typing] */
  set(change, typing = false) {
    this.view.change(this.paramsOf(change), typing);
  }

  /** Open the panel of one control, or close it. @param {string} key */
  show(key, focus = true) {
    const opener = this.openers.find(({ dataset }) => dataset.key === this.open);
    this.open = key;
    if (!key && focus) opener?.focus();
    if (key) this.reveal();
    this.view.redraw();
  }

  /** Scroll the panel, a sheet on a phone, into view. */
  reveal() {
    this.view.showAbove();
  }

  /** @param {Event} event */
  isOutside(event) {
    const path = event.composedPath();
    return this.open !== "" && !path.includes(this.panel) && !path.includes(this.chips);
  }

  /** @param {Event} event */
  pressOutside(event) {
    if (this.isOutside(event)) this.show("", false);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || !this.open) return;
    event.stopPropagation();
    this.show("");
  }

  /** @param {Inks} inks */
  draw(inks) {
    const { open } = this;
    const labels = this.describe();
    for (const opener of this.openers) {
      const key = /** @type {string} */ (opener.dataset.key);
      setText(opener.children[1], this.names[key]);
      setText(opener.children[2], labels[key]);
      setAttribute(opener, "aria-label", `${this.names[key]}${this.ending}: ${labels[key]}`);
      setAttribute(opener, "aria-expanded", String(key === open));
      setAttribute(opener, "data-differs", this.differs(key) ? "" : null);
      setAttribute(opener, "data-idle", this.isIdle(key) ? "" : null);
      setAttribute(opener, "title", this.whyNot(key) || GLOSSES[key] || null);
    }
    this.panel.hidden = !open;
    if (!open) return;
    const name = `${this.names[open]}${this.ending}`;
    setText(this.title, name);
    setText(this.reason, this.whyNot(open) || GLOSSES[open] || "");
    setAttribute(this.panel, "aria-label", name);
    for (const [key, element] of Object.entries(this.inside)) {
      element.hidden = key !== open;
      element.inert = this.isIdle(key);
    }
    this.fill(open, inks);
  }

  /** Describe the value of each control in a few words. @returns {Record<string, string>} */
  describe() {
    const { layers, heads, ownMask } = this.model;
    const [mask, pos, t] = ["mask", "pos", "t"].map((key) => this.value(key));
    const kind = KINDS.find(({ name }) => name === mask);
    const numbers = (kind?.numbers ?? []).map(([key]) => this.value(key));
    const rule = mask === "combination" ? this.value("rule") : [nameOf("mask", mask), ...numbers].join(" ");
    const [first, ...others] = this.off;
    const [count, all] = [others.length + 1, layers * heads];
    return {
      mask: mask === "none" && ownMask !== "none" ? "the model’s own" : rule,
      pos: nameOf("pos", pos),
      t: t === "1" ? "1, as trained" : `${t}, ${Number(t) < 1 ? "sharper" : "softer"}`,
      off: first ? `${others.length ? `${count} of ${all}` : headName(first)} off` : `all ${all} heads on`,
    };
  }

  /** Fill the inputs of one control. @param {string} key @param {Inks} inks */
  fill(key, inks) {
    const { positions = [] } = "positions" in this.model ? this.model : this.view.picture;
    if (key === "mask") this.drawMasks(inks);
    if (key === "pos") drawPositions(this.positions, positions, this.value(key), (pos) => this.set({ pos }));
    if (key === "off") drawLamps(this.lamps, this.model, this.off, (head) => this.switchOff(toggle(this.off, head)));
    if (key === "t") this.degrees.say(this.value(key));
  }

  /** Draw the masks, each with its thumbnail and description. @param {Inks} inks */
  drawMasks(inks) {
    const now = this.value("mask");
    const [w, first, gap] = ["w", "first", "gap"].map((key) => Number(this.value(key)));
    const parts = () => [h("canvas", { "aria-hidden": "true" }), span("name"), span("line")];
    const make = (/** @type {number} */ index) =>
      radio(this.masks, () => this.set({ mask: KINDS[index].name }), ...parts());
    fill(this.masks, KINDS, make, (choice, { name, line, key }) => {
      fillRadio(choice, "mask", name, line, now);
      const how = { side: PIXELS, n: SIDE, kind: [name, w, first, gap].join(" "), inks };
      choice.children[1].toggleAttribute("hidden", Boolean(key));
      drawThumbnail(choice.children[1], how, (i, j) => allows(name, { w, first, gap }, i, j));
    });
    this.drawNumbers(KINDS.find(({ name }) => name === now));
  }

  /** Draw the inputs of a mask's numbers, and of a rule. @param {Kind | undefined} kind */
  drawNumbers(kind) {
    const labels = /** @type {[string, string][]} */ ((kind?.numbers ?? []).map(([key, text]) => [key, text]));
    const fields = Object.entries(FIELDS).filter(([key]) => key === kind?.key);
    const makeField = () => h("label", {}, h("span"), h("input"));
    fill(this.numbers, [...labels, ...fields], makeField, (label, [key, text]) => this.drawField(label, key, text));
  }

  /** Draw the input of a mask's number or rule. @param {HTMLElement} label @param {string} key @param {string} text */
  drawField(label, key, text) {
    const isRule = key in FIELDS;
    const [name, input] = /** @type {[Element, HTMLInputElement]} */ ([...label.children]);
    setText(name, text);
    const limits = isRule
      ? { type: "text", min: null, max: null }
      : { type: "number", min: "1", max: String(MAX_WINDOW) };
    for (const [attribute, value] of Object.entries(limits)) setAttribute(input, attribute, value);
    setAttribute(input, "aria-label", `${text}${this.ending}`);
    input.oninput = () => {
      if (isRule || (input.value && input.checkValidity())) this.set({ [key]: input.value }, true);
    };
    input.onchange = () => this.view.redraw(); // a value that is no number gives way to the one in use
    setField(input, this.value(key));
  }
}
