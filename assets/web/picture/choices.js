// The inputs for changes of the model: masks with thumbnails and numbers, encodings, the temperature, and ablated
// heads. Explore's tiles, the chips of Compare and Shapes, and the panels of Masks share them.

import { allows } from "../link/changes.js";
import { button, contextOf, div, fill, h, setAttribute, setField, setText, span } from "../base/dom.js";
import { MASKS, POSITIONS, TEMPERATURES, MAX_WINDOW } from "../base/facts.js";
import { toggled } from "../base/words.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {Record<string, string | string[]>} Change link parameter -> new value */
/** @typedef {{name: string, line: string, numbers: [string, string, number][], key?: string}} Kind of mask; key: parameter of its rule */

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
export const KINDS = [...MASKS, ...WRITTEN];
const FIELDS = { rule: "Rules combined with & (and), | (or), ! (not)", on: "Rule under the painted cells" };

/** A radio group: Tab reaches the selected option, arrow keys select the next one. @param {string} name */
const radios = (name) => h("div", { class: "choices", role: "radiogroup", "aria-label": name });

/** @param {HTMLElement} list @param {() => void} choose @param {...Node} parts its contents */
const radio = (list, choose, ...parts) =>
  h("label", {}, h("input", { type: "radio", name: list.ariaLabel, onchange: choose }), ...parts);

/** @param {Element} choice @param {string} name @param {string} line its description @param {string} now the selected name */
function fillRadio({ children }, name, line, now) {
  const input = /** @type {HTMLInputElement} */ (children[0]);
  setAttribute(input, "aria-label", name);
  input.checked = name === now;
  const [title, what] = [...children].slice(-2);
  setText(title, name);
  setText(what, line);
}

/** Empty a container whose contents belong to another model. @param {HTMLElement} parent @param {string} kind */
function renew(parent, kind) {
  if (parent.dataset.kind !== kind) parent.replaceChildren();
  parent.dataset.kind = kind;
}

/** Draw the thumbnail of a mask; a custom rule has none. @param {HTMLCanvasElement} canvas
 * @param {string} mask @param {Record<string, number> | null} numbers @param {{seen: string, hidden: string}} inks
 */
function drawMask(canvas, mask, numbers, { seen, hidden }) {
  const context = contextOf(canvas, PIXELS, PIXELS);
  if (!numbers) return;
  const step = PIXELS / SIDE;
  for (let index = 0; index < SIDE * SIDE; index += 1) {
    const [i, j] = [Math.floor(index / SIDE), index % SIDE];
    context.fillStyle = allows(mask, numbers, i, j) ? seen : hidden;
    context.fillRect(j * step, i * step, step - 1, step - 1);
  }
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
    fillRadio(choice, name, POSITIONS[name] ?? "", now);
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

/** Make the slider of the softmax temperature. @param {string} name @param {(value: string) => void} set */
function makeDegrees(name, set) {
  const [min, max] = TEMPERATURES.map(String);
  const oninput = () => set(String(Number(input.value)));
  const input = h("input", { type: "range", min, max, step: "0.1", "aria-label": name, oninput });
  const value = h("output", {});
  const ends = div("ends label", h("span", {}, "sharper attention"), h("span", {}, "softer attention"));
  const element = div("degrees", h("div", {}, input, value), ends, h("p", { class: "label" }, DEGREES));
  const say = (/** @type {string} */ now) => {
    if (input.value !== now) input.value = now;
    setText(value, now);
  };
  return { element, say };
}

/** @template {import("../wire/api_view.js").ApiView} V */
export class Choices {
  /** @param {V} view @param {any} [holder] holder of the values @param {string} [ending] suffix of every name
   * @param {Kind[]} [kinds] available masks
   */
  constructor(view, holder = view, ending = "", kinds = KINDS) {
    this.view = view;
    this.holder = holder;
    this.ending = ending;
    this.kinds = kinds;
    this.masks = radios(`Mask${ending}`);
    this.numbers = div("numbers");
    this.positions = radios(`Positional encoding${ending}`);
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": `Heads of all layers${ending}` });
    this.degrees = makeDegrees(`Temperature${ending}`, (t) => this.set({ t }, true));
    const allOn = button("all on", () => this.switchOff([]));
    this.inside = /** @type {Record<string, HTMLElement>} */ ({
      mask: h("div", {}, this.masks, this.numbers),
      pos: this.positions,
      t: this.degrees.element,
      off: h("div", {}, allOn, this.lamps),
    });
  }

  // ---- overridden by pages

  /** Apply a change; values equal to the default are removed from the link.
   * @param {Change} change @param {boolean} [typing] */
  set(change, typing = false) {
    const { defaults } = this.view.picture;
    const values = Object.entries(change).map(([key, value]) => [key, value === defaults[key] ? null : value]);
    this.holder.change(Object.fromEntries(values), typing);
  }

  /** The value of a control. @param {string} key */
  value(key) {
    return String(this.holder.controls[key] ?? this.view.picture.defaults[key]);
  }

  /** The ablated heads, as "3.5". @returns {Set<string>} */
  get off() {
    return this.holder.off;
  }

  /** @param {Iterable<string>} heads to ablate from now on */
  switchOff(heads) {
    this.holder.switchHeads(heads);
  }

  // ---- drawing

  /** Fill the inputs of one control. @param {string} key @param {Inks} inks */
  fill(key, inks, model = this.view.picture) {
    const { positions = [] } = "positions" in model ? model : this.view.picture;
    if (key === "mask") this.drawMasks(inks);
    if (key === "pos") drawPositions(this.positions, positions, this.value(key), (pos) => this.set({ pos }));
    if (key === "off") drawLamps(this.lamps, model, this.off, (head) => this.switchOff(toggled(this.off, head)));
    if (key === "t") this.degrees.say(this.value(key));
  }

  /** Draw the masks, each with its thumbnail and description. @param {Inks} inks */
  drawMasks(inks) {
    const now = this.value("mask");
    const [w, first, gap] = ["w", "first", "gap"].map((key) => Number(this.value(key)));
    const colours = { seen: inks.accent, hidden: inks.line };
    const parts = () => [h("canvas", { "aria-hidden": "true" }), span("name"), span("line")];
    const make = (/** @type {number} */ index) =>
      radio(this.masks, () => this.set({ mask: this.kinds[index].name }), ...parts());
    fill(this.masks, this.kinds, make, (choice, { name, line, key }) => {
      fillRadio(choice, name, line, now);
      drawMask(/** @type {HTMLCanvasElement} */ (choice.children[1]), name, key ? null : { w, first, gap }, colours);
    });
    const kind = this.kinds.find(({ name }) => name === now);
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
    setField(input, this.value(key));
  }
}
