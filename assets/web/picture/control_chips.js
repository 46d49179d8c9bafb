// The row of switches with the current changes of the model, each of which opens a panel with its inputs: masks with
// thumbnails and numbers, positional encodings, the temperature, and ablated heads.

import { allows, nameOf } from "../link/changes.js";
import { numbers } from "../base/choice.js";
import { drawHatch, pixel, pixels, rgb } from "../base/colour.js";
import { button, contextOf, div, h, pixelRatio, render, setText } from "../base/dom.js";
import { MASKS, POSITIONS, TEMPERATURES, MAX_WINDOW } from "../base/facts.js";
import { MLP, headName, headNames, headsOf, offText } from "../link/look.js";
import { toggle } from "../base/words.js";

/** @typedef {{name: string, line: string, numbers: [string, string, number][], key?: string}} Kind of mask; key: parameter of its rule */

export const NAMES = { mask: "Mask", pos: "Positional encoding", t: "Temperature", off: "Ablate" };
const GLOSSES = /** @type {Record<string, string>} */ ({
  mask: "which words each word may attend to",
  pos: "how word order reaches the model",
  t: "how sharp or soft attention is",
  off: "switch heads, MLPs or whole layers off",
});
const ICONS = {
  mask: "M3 3h4v4H3zM3 10h4v4H3zM10 10h4v4h-4zM3 17h4v4H3zM10 17h4v4h-4zM17 17h4v4h-4z",
  pos: "M2 12c2.5-9 5-9 7.5 0s5 9 7.5 0 3.500-7 5-5",
  off: "M12 6a6 6 0 1 0 .01 0M4 20 20 4",
  t: "M2 20c6 0 6-16 10-16s4 16 10 16",
  lw: "M4 4v16M20 4v16M4 4h3M4 20h3M20 4h-3M20 20h-3M9 9h.01M15 9h.01M9 15h.01M15 15h.01",
};

/** The icon of a control. @param {string} name */
const icon = (name) => [
  "svg.icon",
  { viewBox: "0 0 24 24", class: name, "aria-hidden": "true" },
  ["path", { d: ICONS[name] }],
];

const SIDE = 8; // tokens in the thumbnail of a mask
const PIXELS = 44; // pixels of the thumbnail
const DEGREES =
  "The temperature divides the scores. Below 1 the strongest word gets even more weight; above 1 the weights become more equal.";
const ABOUT_LAMPS =
  "Press a dot to ablate a head or an MLP: its output then counts as 0. A layer that is ablated hands on its input.";
const FIRST = ["as trained", "none"]; // encodings that come first
const WRITTEN = /** @type {Kind[]} */ ([
  { name: "combination", line: "rules combined with & (and), | (or), ! (not)", numbers: [], key: "rule" },
  { name: "painted", line: "single cells, painted on the Masks page", numbers: [], key: "on" },
]);
export const KINDS = /** @type {Kind[]} */ ([...MASKS, ...WRITTEN]);
const FIELDS = { rule: "Rules combined with & (and), | (or), ! (not)", on: "Rule under the painted cells" };

/** A radio group: Tab reaches the selected option, arrow keys select the next one. @param {string} name */
const radios = (name) => h("div", { class: "choices", role: "radiogroup", "aria-label": name });

/** @param {HTMLElement} list @param {{name: string, line: string, checked: boolean, choose: () => void, note?: string}} option
 * @param {...any} parts before its name */
const radio = ({ ariaLabel }, { name, line, checked, choose, note }, ...parts) => {
  const input = ["input", { type: "radio", name: ariaLabel, "aria-label": name, checked, onchange: choose }];
  return ["label", { title: note }, input, ...parts, ["span.name", name], ["span.line", line]];
};

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
  drawHatch(context, n, n, (i, j) => !isAllowed(i, j), { width: side, height: side }, inks.hatch);
}

/** A toggle for each head, MLP and layer, with labels.
 * @param {ChangedModel} model @param {string[]} layers those that are shown
 * @param {Set<string>} off ablated parts as "layer.head", "layer.mlp" and "layer"
 * @param {(part: string) => void} toggle
 */
function drawLamps({ heads, fixed }, layers, off, toggle) {
  const aside = (/** @type {string} */ text, kind = "head-label") => [`span.${kind}`, { "aria-hidden": "true" }, text];
  const lampOf = (/** @type {string} */ layer, /** @type {string} */ label) => {
    const [mlp, whole] = [label === "MLP", label === "layer"];
    const name = whole ? `whole layer ${layer}` : mlp ? `layer ${layer} MLP` : `layer ${layer} head ${label}`;
    const id = whole ? layer : `${layer}.${mlp ? MLP : label}`;
    const props = { "data-layer": layer, "data-head": label, "aria-label": name, title: name };
    return ["button.lamp", { ...props, "aria-pressed": !off.has(id), onclick: () => toggle(id) }];
  };
  const others = [...(fixed.mlps ? [] : ["MLP"]), ...(fixed.layers ? [] : ["layer"])];
  const columns = [...numbers(heads), ...others];
  const rows = layers.flatMap((layer) => [
    aside(`layer ${layer}`, "layer-label"),
    ...columns.map((column) => lampOf(layer, column)),
  ]);
  const lacks = [...new Set([fixed.mlps, fixed.layers])].filter(Boolean).join(" ");
  return [
    { "--columns": `auto repeat(${heads}, minmax(0, 1fr)) ${others.map(() => "2rem").join(" ")}` },
    ["p.label", [ABOUT_LAMPS, lacks].filter(Boolean).join(" ")],
    aside("head"),
    ...columns.map((column) => aside(column)),
    ...rows,
  ];
}

/** A labelled number input. @param {string} label @param {Record<string, any>} props @param {string} value
 * @param {(value: string) => void} set
 */
export function drawNumber(label, props, value, set) {
  const oninput = (/** @type {any} */ { target }) =>
    target.value && target.checkValidity() && set(String(Number(target.value)));
  const name = ["span", `${label} `, ["output", props.type === "range" ? value : ""]];
  return ["label", name, ["input", { ...props, "aria-label": label, value, oninput }]];
}

/** @typedef {{fixed: Record<string, string>, layers: number, heads: number, ownMask: string, positions: [string, string][]}} ChangedModel */
/** @template {import("../base/view_base.js").View & {picture: ChangedModel & Pick<PictureAnswer, 'defaults'>, toParams(): Values, change(values: Values, typing?: boolean): void}} V */
export class ControlChips {
  /** @param {V} view @param {string} label
   * @param {{names?: Record<string, string>, ending?: string}} more names of the controls, and the suffix of every name
   */
  constructor(view, label, { names = NAMES, ending = "" } = {}) {
    this.view = view;
    this.ending = ending;
    this.masks = radios(`Mask${ending}`);
    this.numbers = div("numbers");
    this.lamps = h("div", { class: "lamps", role: "group", "aria-label": `Heads, MLPs and layers${ending}` });
    const allOn = button("all on", () => this.switchOff([]));
    this.inside = /** @type {Record<string, HTMLElement>} */ ({
      mask: h("div", {}, this.masks, this.numbers),
      pos: radios(`Positional encoding${ending}`),
      t: div("degrees"),
      off: h("div", {}, allOn, this.lamps),
    });
    this.open = "";
    this.names = names;
    this.openers = Object.keys(this.names).map((key) => {
      const toggle = () => this.show(this.open === key ? "" : key);
      return button("", toggle, { class: "switch", "aria-expanded": "false", "data-key": key });
    });
    this.chips = h("div", { class: "switches", role: "group", "aria-label": label }, ...this.openers);
    this.title = h("h3");
    this.reason = h("p", { class: "reason" });
    const close = button("done", () => this.show(""));
    this.panel = h("div", { class: "panel settings", role: "group", hidden: "" });
    this.panel.append(this.reason, ...Object.values(this.inside), h("header", {}, this.title, close)); // Tab reaches done last
    for (const part of [this.panel, this.chips]) part.addEventListener("keydown", (event) => this.key(event));
    addEventListener("pointerdown", (event) => this.pressOutside(event), { signal: view.lifetime.signal });
  }

  /** The model that the controls change. @returns {ChangedModel} */
  get model() {
    return this.view.picture;
  }

  /** The link parameter of a control. @param {string} key */
  keyOf(key) {
    return key;
  }

  /** @param {Iterable<string>} parts to ablate from now on */
  switchOff(parts) {
    this.set({ off: headNames(parts) });
  }

  /** The layers whose parts the panel shows. */
  get lampLayers() {
    return numbers(this.model.layers);
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
    if (!key && focus) opener?.focus({ preventScroll: this.view.narrow }); // on a phone the picture stays in view
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

  draw() {
    const { open } = this;
    const labels = this.describe();
    for (const opener of this.openers) {
      const key = /** @type {string} */ (opener.dataset.key);
      const [name, label] = [this.names[key], labels[key]];
      const state = { "data-differs": this.differs(key) ? "" : null, "data-idle": this.isIdle(key) ? "" : null };
      const title = this.whyNot(key) || GLOSSES[key] || null;
      const aria = { "aria-label": `${name}${this.ending}: ${label}`, "aria-expanded": key === open };
      render(opener, { ...state, ...aria, title }, icon(key), ["span.name", name], ["span.current-value", label]);
    }
    this.panel.hidden = !open;
    if (!open) return;
    const name = `${this.names[open]}${this.ending}`;
    setText(this.title, name);
    setText(this.reason, this.whyNot(open) || GLOSSES[open] || "");
    this.panel.ariaLabel = name;
    for (const [key, element] of Object.entries(this.inside)) {
      element.hidden = key !== open;
      element.inert = this.isIdle(key);
    }
    this.fill(open);
  }

  /** Describe the value of each control in a few words. @returns {Record<string, string>} */
  describe() {
    const { layers, heads, ownMask } = this.model;
    const [mask, pos, t] = ["mask", "pos", "t"].map((key) => this.value(key));
    const kind = KINDS.find(({ name }) => name === mask);
    const numbers = (kind?.numbers ?? []).map(([key]) => this.value(key));
    const rule = mask === "combination" ? this.value("rule") : [nameOf("mask", mask), ...numbers].join(" ");
    const [{ off }, all] = [this, layers * heads];
    const on = all > 1 ? `all ${all} heads on` : "its head is on";
    const isHeads = off.size > 1 && [...off].every((part) => headName(part).includes(" H"));
    return {
      mask: mask === "none" && ownMask !== "none" ? "the model’s own" : rule,
      pos: nameOf("pos", pos),
      t: t === "1" ? "1, as trained" : `${t}, ${Number(t) < 1 ? "sharper" : "softer"}`,
      off: isHeads ? `${off.size} of ${all} off` : off.size ? offText(off) : on,
    };
  }

  /** Fill the inputs of one control. @param {string} key */
  fill(key) {
    const { inside, model } = this;
    const now = this.value(key);
    if (key === "mask") this.drawMasks(now);
    if (key === "pos") {
      const items = [true, false].flatMap((isFirst) =>
        model.positions.filter(([name]) => FIRST.includes(name) === isFirst),
      );
      const drawItem = (/** @type {[string, string]} */ [name, note]) => {
        const option = { name: nameOf("pos", name), line: POSITIONS[name] ?? "", note };
        return radio(inside.pos, { ...option, checked: name === now, choose: () => this.set({ pos: name }) });
      };
      render(inside.pos, ...items.map(drawItem));
    }
    if (key === "off")
      render(
        this.lamps,
        ...drawLamps(this.model, this.lampLayers, this.off, (part) => this.switchOff(toggle(this.off, part))),
      );
    if (key === "t") {
      const [min, max] = TEMPERATURES.map(String);
      const slide = { type: "range", min, max, step: "0.1" };
      const field = drawNumber(`Temperature${this.ending}`, slide, now, (t) => this.set({ t }, true));
      const ends = ["div.ends.label", ["span", "sharper attention"], ["span", "softer attention"]];
      render(inside.t, field, ends, ["p.label", DEGREES]);
    }
  }

  /** Draw the masks, each with its thumbnail and description. @param {string} now */
  drawMasks(now) {
    const [w, first, gap] = ["w", "first", "gap"].map((key) => Number(this.value(key)));
    const drawKind = (/** @type {Kind} */ { name, line, key }) => {
      const option = {
        name: nameOf("mask", name),
        line,
        checked: name === now,
        choose: () => this.set({ mask: name }),
      };
      return radio(this.masks, option, ["canvas", { "aria-hidden": "true", hidden: Boolean(key) }]);
    };
    render(this.masks, ...KINDS.map(drawKind));
    KINDS.forEach(({ name }, index) => {
      const how = { side: PIXELS, n: SIDE, kind: [name, w, first, gap].join(" "), inks: this.view.inks };
      drawThumbnail(this.masks.children[index].children[1], how, (i, j) => allows(name, { w, first, gap }, i, j));
    });
    this.drawNumbers(KINDS.find(({ name }) => name === now));
  }

  /** Draw the inputs of a mask's numbers, or of a rule. @param {Kind | undefined} kind */
  drawNumbers(kind) {
    const limits = { type: "number", min: "1", max: String(MAX_WINDOW) };
    const fields = (kind?.numbers ?? []).map(([key, text]) => this.drawField(key, text, limits));
    const key = kind?.key;
    render(this.numbers, ...fields, key && this.drawField(key, FIELDS[key], { type: "text" }));
  }

  /** The input of a mask's number or rule. @param {string} key @param {string} text @param {Record<string, string>} limits */
  drawField(key, text, limits) {
    const oninput = (/** @type {any} */ { target: input }) => {
      if (limits.type === "text" || (input.value && input.checkValidity())) this.set({ [key]: input.value }, true);
    };
    const onchange = () => this.view.redraw(); // a value that is no number gives way to the one in use
    const state = { "aria-label": `${text}${this.ending}`, value: this.value(key) };
    return ["label", ["span", text], ["input", { ...limits, ...state, oninput, onchange }]];
  }
}
