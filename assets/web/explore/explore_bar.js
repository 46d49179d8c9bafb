// The toolbar of Explore: example sentences, tokens, layers, and display options.

import { isolated } from "../base/token_text.js";
import { isAcross, sortKey } from "../picture/heads.js";
import { isDrawn } from "../base/curtain.js";
import { choice, group, numbers, setRovingTabindex } from "../base/choice.js";
import { button, div, h, render, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { hearWords } from "../base/grid_keys.js";
import { store } from "../base/storage.js";
import { groupChoice } from "../picture/map_choice.js";
import { hasSpecials } from "../wire/packets.js";
import { quoted } from "../base/words.js";

/** @type {[Scale, string, string][]} */
const SCALES = [
  [
    "root",
    "widen small weights",
    "the colour shows the square root of the weight, so that small weights are easier to see",
  ],
  ["linear", "proportional", "the colour is proportional to the weight"],
  ["own", "scaled per map", "each map is scaled to its own largest weight"],
];

/** A button that opens the menu below it; a click elsewhere closes it.
 * @param {Explore} view @param {string} name @param {...Element} inside */
function menu(view, name, ...inside) {
  const panel = h("div", { class: "panel menu-panel", hidden: "" }, ...inside);
  const open = (/** @type {boolean} */ is) => {
    panel.hidden = !is;
    setAttribute(opener, "aria-expanded", is);
  };
  const opener = button(name, () => open(panel.hidden), { "aria-expanded": "false", class: "opener" });
  const element = div("menu", opener, panel);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    event.preventDefault(); // Escape closes only this menu
    open(false);
    opener.focus();
  });
  const outside = (/** @type {Event} */ event) => {
    if (!event.composedPath().includes(element)) open(false);
  };
  addEventListener("pointerdown", outside, { signal: view.lifetime.signal });
  return { element, open };
}

/** The display settings of this browser, which hold on every page and are not in the link. */
function makePreferences() {
  const { contrast, hatch } = document.documentElement.dataset;
  const make = (/** @type {string} */ name, /** @type {string} */ key, /** @type {boolean} */ is, title = "") => {
    const press = button(name, () => store("localStorage", key, !is), { title, "aria-pressed": is });
    press.addEventListener("click", () => location.reload()); // all modules read the setting once
    return press;
  };
  return [
    make(
      "strong contrast",
      "headlight-contrast",
      Boolean(contrast),
      "on every page; small weights stand out by a contrast of 3 : 1",
    ),
    make("hatching", "headlight-hatch", !hatch, "on every page; cells that the mask blocks are hatched"),
  ];
}

export class ExploreBar {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.presets = h("div", { class: "presets", role: "group", "aria-label": "Sentences to try" });
    this.presetMenu = menu(view, "try another", this.presets);
    this.empty = div("empty", "Type a sentence, or press “try another”.");
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Tokens: choose the query row" });
    const pick = (/** @type {number} */ row) => view.focus.pickRow(row);
    hearWords(this.chips, () => view.maps.tokens, pick);
    this.scrolledTo = ""; // row in focus and number of tokens that the list was last scrolled for
    this.groups = groupChoice(view);
    this.layers = group("Layer");
    this.allHeads = button("", () => view.setDisplay({ all: !view.look.all, open: false }), { class: "all-toggle" });
    this.scales = choice("Colour scale", SCALES, (scale) => view.setDisplay({ scale }));
    this.specials = button("show [CLS] [SEP]", () => view.setDisplay({ nospecials: !view.look.nospecials }));
    this.sort = button("", () => view.setDisplay({ sort: !view.look.sort }));
    this.everyHead = button("show all heads", () => view.setDisplay({ hidden: new Set(), solo: null }));
    this.pin = button("pin", () => view.togglePin(), { title: "keep this map for comparison with the next one" });
    const solo = () => view.toggleSolo(view.at.layer, view.at.head);
    const hide = () => view.toggleHidden(view.at.layer, view.at.head);
    this.solo = button("show only this head", solo, { title: "show this head alone" });
    this.hide = button("remove from view", hide, { title: "hide this head here; the model keeps it" });
    this.menu = menu(
      view,
      "view",
      span("label", "Colour"),
      this.scales.element,
      span("label", "Tokens and heads"),
      div("actions", this.specials, ...view.reading.buttons, this.sort),
      div("actions", this.solo, this.hide, this.everyHead),
      span("label", "Large map"),
      view.reading.means.element,
      div("actions", view.values.opener),
      span("label", "Display"),
      div("actions", this.pin, ...makePreferences()),
    );
    this.menu.element.classList.add("view-menu");
    const layers = h("span", { class: "label", "aria-hidden": "true" }, "layer");
    const push = span("push");
    this.element = h("div", { class: "bar", role: "group", "aria-label": "Layers" });
    this.element.append(this.groups.element, layers, this.layers, view.all.legend, push, this.allHeads);
  }

  /** @param {boolean} isAll all layers are visible */
  draw(isAll) {
    const { view } = this;
    const { look, picture, at } = view;
    this.drawPresets();
    this.empty.hidden = view.text.trim() !== ""; // without a sentence the last maps stay
    this.drawChips();
    this.groups.draw();
    this.drawLayers(isAll);
    this.scales.press(look.scale);
    setAttribute(this.specials, "aria-pressed", !look.nospecials);
    this.specials.hidden = !hasSpecials(view.maps) || picture.tile > 0;
    this.drawSort();
    const id = `${at.layer}.${at.head}`;
    setAttribute(this.solo, "aria-pressed", look.solo === id);
    setAttribute(this.hide, "aria-pressed", look.hidden.has(id));
    this.everyHead.hidden = !look.solo && !look.hidden.size;
    setText(this.pin, view.state.pin ? "unpin" : "pin");
    this.pin.disabled = (view.reading.isMean || picture.tile > 0) && !view.state.pin; // only the map of one head can be pinned
  }

  /** Draw the example sentences, each behind the name of what it demonstrates. */
  drawPresets() {
    const { picture, text } = this.view;
    const drawPreset = (/** @type {string} */ preset, /** @type {number} */ index) => {
      const onclick = () => {
        this.presetMenu.open(false);
        this.view.edit({ sentence: { text: preset, placed: false, rowChosen: false } });
      };
      const name = picture.presetNames[index];
      return [
        "button",
        { "aria-pressed": preset === text, onclick },
        ["strong", name && `${name}: `],
        ["span", preset],
      ];
    };
    render(this.presets, ...picture.presets.map(drawPreset));
  }

  drawChips() {
    const { maps, at, focus } = this.view;
    const key = at.key ?? focus.best;
    const drawChip = (/** @type {string} */ token, /** @type {number} */ row) => {
      const marks = { "data-key": row === key && !maps.columns ? "" : null, "aria-pressed": row === at.row };
      return ["button.chip", { ...marks, onclick: () => focus.pickRow(row) }, isolated(token)];
    };
    render(this.chips, ...maps.tokens.map(drawChip));
    setRovingTabindex(this.chips);
    const place = `${at.row} ${maps.n}`;
    // center the token in focus after layout
    if (place !== this.scrolledTo) requestAnimationFrame(() => this.scrollTo(at.row));
    this.scrolledTo = place;
  }

  /** @param {number} row */
  scrollTo(row) {
    const { chips } = this;
    const chip = /** @type {HTMLElement | undefined} */ (chips.children[row]);
    if (chip) chips.scrollLeft = chip.offsetLeft + (chip.offsetWidth - chips.clientWidth) / 2;
  }

  drawLayers(isAll) {
    const { maps, at, changes } = this.view;
    const go = (/** @type {number} */ layer) => this.view.setCursor({ layer }, { all: false, open: false });
    const drawLayer = (/** @type {string} */ name, /** @type {number} */ layer) => {
      const { badge, share } = changes.changeIn(layer);
      const title = badge ? `largest change of a weight in layer ${layer}: ${badge}` : null;
      const aria = { "aria-label": `layer ${layer}`, "aria-pressed": !isAll && layer === at.layer };
      const props = { ...aria, title, "--change": String(share), onclick: () => go(layer) };
      return ["button", props, ["span", name], ["small", badge]];
    };
    render(
      this.layers,
      { class: isAcross(maps) ? "segments strip" : "segments" },
      ...numbers(maps.layers).map(drawLayer),
    );
    setRovingTabindex(this.layers);
    this.allHeads.hidden = maps.layers < 2 && !isAll;
    setText(this.allHeads, isAll ? "one layer" : `all ${maps.layers * maps.heads} heads`);
    setAttribute(this.allHeads, "aria-pressed", isAll);
  }

  /** Under a lesson's curtain the key is not named: it may be the answer. */
  drawSort() {
    const { maps, at, look } = this.view;
    const key = isDrawn() ? null : sortKey(this.view);
    const source = key === null ? "" : ` by ${quoted(maps.tokens[at.row])} → ${quoted(maps.keys[key])}`;
    setText(this.sort, `sort heads${source}`);
    setAttributes(this.sort, { "aria-pressed": look.sort, disabled: key === null });
  }
}
