// All heads in one grid: the legend of their kinds, and one head enlarged over the grid.

import { button, div, h, render, setAttribute } from "../base/dom.js";
import { HEAD_KINDS } from "../base/facts.js";
import { ARROWS, isShortcut, isTyped } from "../base/grid_keys.js";

export class AllHeads {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.legend = h("div", { class: "families", role: "group", "aria-label": "Kinds of heads" });
    const walk = (/** @type {string} */ key, /** @type {string} */ text, /** @type {string} */ name) =>
      button(text, () => this.walk(key), { "aria-label": name, title: name });
    const close = button("×", () => this.close(), { class: "close", "aria-label": "back to all heads", title: "Esc" });
    this.keys = div("walk", walk("ArrowLeft", "‹", "previous head"), walk("ArrowRight", "›", "next head"), close);
  }

  /** Return whether one head is enlarged over the grid. */
  get isOpen() {
    const { look, alone } = this.view;
    return look.all && look.open && !alone;
  }

  /** @param {number} layer @param {number} head */
  open(layer, head) {
    const { view } = this;
    view.setCursor({ layer, head }, { open: view.look.all });
    if (!this.isOpen) return;
    view.drawNow();
    view.focus.element.focus();
  }

  close() {
    const { at, heads } = this.view;
    this.view.setDisplay({ open: false });
    this.view.drawNow();
    heads.tiles()[heads.visible.findIndex((pair) => String(pair) === `${at.layer},${at.head}`)]?.focus();
  }

  /** Select the next head, or the same head of the next layer. @param {string} key */
  walk(key) {
    const { at, maps } = this.view;
    const [layer, head] = [at.layer + ARROWS[key][0], at.head + ARROWS[key][1]];
    const isThere = Math.min(layer, head) >= 0 && layer < maps.layers && head < maps.heads;
    if (isThere) this.view.setCursor({ layer, head });
  }

  /** Handle the keys of the enlarged head. @param {KeyboardEvent} event */
  key(event) {
    if (!this.isOpen || isShortcut(event) || event.defaultPrevented) return;
    if (event.key === "Escape" && !this.view.projector) this.close();
    else if (event.key in ARROWS && !isTyped(event)) this.walk(event.key);
    else return;
    event.preventDefault();
  }

  draw() {
    const { view } = this;
    const all = view.matching ? view.picture.kinds.flat() : [];
    this.legend.hidden = !view.look.all;
    this.keys.hidden = !this.isOpen;
    const [menu, place] = [view.bar.menu.element, view.look.all && !this.isOpen ? view.bar.allHeads : this.keys];
    if (menu.nextSibling !== place) place.before(menu); // display options belong above the maps
    const kinds = Object.keys(HEAD_KINDS).filter((kind) => all.some(([name]) => name === kind));
    const marks = kinds.map((kind) => {
      const count = all.filter(([name]) => name === kind).length;
      return ["span.kind-mark", { "data-kind": kind }, ["span", `${HEAD_KINDS[kind].title} `], ["span.count", count]];
    });
    render(this.legend, ...marks);
    setAttribute(view.focus.element, "tabindex", this.isOpen ? "-1" : null);
  }
}
