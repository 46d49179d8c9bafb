// @ts-check
// What is changed, as chips that take it back, and one sentence on what it did and where.

import { changed } from "../link/changes.js";
import { isDrawn } from "../base/curtain.js";
import { button, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { short } from "../base/words.js";

/** @typedef {import("./explore.js").Explore} Explore */

export class ChangeChips {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.list = span("list");
    this.reset = button("reset all", () => view.model.reset());
    this.undo = button("undo", () => view.model.undo(), {
      class: "undo",
      title: "take back the last change, also of the sentence where one press made it",
    });
    this.said = h("span", { class: "said", "aria-live": "polite" });
    this.show = button("show it", () => this.go());
    this.difference = button("show the difference", () => this.toggleDifference(), {
      title: "the large map shows now − unchanged: blue is less, orange is more",
    });
    this.compare = h("a", { class: "page-link" }, "compare with nothing changed →");
    this.element = h("div", { class: "changed", role: "group", "aria-label": "What is changed" });
    this.element.append(this.list, this.reset, this.said, this.show, this.difference, this.compare);
  }

  /** To the cell that changed most. */
  go() {
    const at = this.view.picture.effect?.at;
    if (!at) return;
    const [layer, head, row, key] = at;
    this.view.go({ layer, head, row, key });
  }

  /** The map in focus now − unchanged; where it is as it was, the head that changed most, in the row in focus. */
  toggleDifference() {
    const { view } = this;
    const { effect } = view.picture;
    const most = view.weights && effect && !short(effect.here) ? effect.at : null;
    view.look.difference = !view.look.difference;
    if (!view.look.difference || !most) return view.chose();
    const [layer, head] = most;
    return view.go({ layer, head });
  }

  draw() {
    const { view } = this;
    const list = changed(view.model.controls, view.off, view.maps.tokens);
    this.element.hidden = !list.length;
    const make = () => button("", () => {}, { class: "chip-of-change" });
    fill(this.list, list, make, (chip, { text, back, heads }) => {
      setText(chip, `${text} ×`);
      setAttribute(chip, "aria-label", `take back: ${text}`);
      chip.onclick = () => (heads ? view.model.switchHeads([]) : view.model.change(back));
    });
    const { effect } = view.picture;
    const known = list.length > 0 && effect !== null && view.matching;
    setText(this.said, known ? effect.said : "");
    this.show.hidden = !known || !effect.at || isDrawn();
    // not while the next picture is on its way: who has just pressed it would lose his place
    this.difference.hidden = !list.length || (view.matching && !effect) || isDrawn();
    setAttribute(this.difference, "aria-pressed", String(view.look.difference));
    this.compare.hidden = this.reset.hidden = !list.length;
    this.undo.hidden = !view.model.past.length;
    this.compare.href = view.model.comparison();
  }

  /** What the changes moved most in a layer, ".12"; nothing where that is little. @param {number} layer */
  badge(layer) {
    const { effect } = this.view.picture;
    const most = this.view.matching ? (effect?.layers[layer] ?? 0) : 0;
    return short(most);
  }

  /** The same as a share of the layer that they moved most, 0 to 1. @param {number} layer */
  share(layer) {
    const { effect } = this.view.picture;
    const most = this.view.matching && effect ? Math.max(...effect.layers) : 0;
    return most ? (effect?.layers[layer] ?? 0) / most : 0;
  }
}
