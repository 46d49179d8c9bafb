// @ts-check
// What stands above the maps: sentences to try, the tokens, and how the maps are drawn.

import { button, fill, h, setAttribute, setText } from "./dom.js";
import { walkedTiles } from "./grid_keys.js";
import { writeAt } from "./look.js";
import { choice, fillChoice, group, mapOrTable } from "./view_base.js";

/** @typedef {import("./explore.js").Explore} Explore */

/** @type {[import("./colour.js").Scale, string][]} */
const SCALES = [
  ["root", "√ weight"],
  ["linear", "linear"],
  ["own", "per map"],
];
const toggle = { class: "toggle" };

export class ExploreBar {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.presets = h("div", { class: "presets", role: "group", "aria-label": "Sentences to try" });
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Tokens: choose the query in focus" });
    this.chips.onkeydown = (event) => this.walk(event);
    this.layers = group("Layer");
    this.modes = mapOrTable("Map or table", "", (table) => view.change({ table }));
    this.scales = choice("Colour scale", SCALES, (scale) => view.change({ scale }));
    this.specials = button("show [CLS] [SEP]", () => view.change({ nospecials: !view.look.nospecials }), toggle);
    this.sort = button("", () => view.change({ sort: !view.look.sort }), toggle);
    this.everyHead = button("show all heads", () => view.change({ hidden: new Set(), solo: null }), toggle);
    this.pin = button("pin", () => view.changed({ pin: view.state.pin ? "" : writeAt(view.at, true) }), toggle);
    setAttribute(this.pin, "title", "keep this picture beside the next one");
    const rail = () => document.querySelector(".st-key-rail")?.scrollIntoView();
    this.element = h(
      "div",
      { class: "bar" },
      this.layers,
      this.modes.element,
      this.scales.element,
      this.specials,
      this.sort,
      this.everyHead,
      h("span", { class: "push" }),
      button("mask, positions, …", rail, { class: "jump" }),
      h(
        "div",
        { class: "actions" },
        this.pin,
        button("copy link", () => view.copyLink(), toggle),
      ),
    );
  }

  /** @param {boolean} shownAll all layers are in sight */
  draw(shownAll) {
    const { look, state } = this.view;
    const chosen = state.presets.indexOf(state.typed);
    fillChoice(this.presets, state.presets, chosen, (preset) => this.view.changed({ preset }));
    this.drawChips();
    this.drawLayers(shownAll);
    this.modes.press(look.table);
    this.scales.press(look.scale);
    setAttribute(this.specials, "aria-pressed", String(!look.nospecials));
    this.drawSort();
    this.everyHead.hidden = !look.solo && !look.hidden.size;
    setText(this.pin, state.pin ? "unpin" : "pin");
  }

  drawChips() {
    const { maps, at } = this.view;
    fill(
      this.chips,
      maps.tokens,
      (row) => button("", () => this.view.go({ row, key: null }), { class: "chip" }),
      (chip, token, row) => {
        setText(chip, token);
        setAttribute(chip, "aria-pressed", String(row === at.row));
        setAttribute(chip, "tabindex", row === at.row ? "0" : "-1"); // one stop for all; arrows walk
      },
    );
  }

  drawLayers(shownAll) {
    const { maps, at } = this.view;
    fill(
      this.layers,
      [...Array(maps.layers + 1).keys()],
      (index) => button("", () => this.view.goToLayer(index)),
      (element, layer) => {
        const every = layer === maps.layers; // behind the last one: all of them
        setText(element, every ? `all ${maps.layers * maps.heads}` : `L${layer}`);
        setAttribute(element, "aria-label", every ? "all layers and heads at once" : `layer ${layer}`);
        setAttribute(element, "class", every ? "every" : null);
        setAttribute(element, "aria-pressed", String(every ? shownAll : !shownAll && layer === at.layer));
      },
    );
  }

  drawSort() {
    const { maps, at, look } = this.view;
    const key = this.view.sortKey();
    setText(this.sort, key === null ? "sort heads" : `sort by ${maps.tokens[at.row]} → ${maps.tokens[key]}`);
    setAttribute(this.sort, "aria-pressed", String(look.sort));
    setAttribute(this.sort, "disabled", key === null);
  }

  walk(event) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const chips = /** @type {HTMLElement[]} */ ([...this.chips.children]);
    const to = walkedTiles(event, chips.indexOf(/** @type {HTMLElement} */ (event.target)), chips.length, 1);
    if (to !== null) chips[to].focus();
  }
}
