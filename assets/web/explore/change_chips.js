// What is changed, as chips that take it back, and one line that answers: what the pair in focus was and is, the next
// word, and the way to what changed most. Its room is there before anything is changed.

import { changed } from "../link/changes.js";
import { isDrawn } from "../base/curtain.js";
import { button, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { nextMoved } from "../picture/next_bars.js";
import { rowOf } from "../wire/packets.js";
import { gave, ranked, short } from "../base/words.js";

export class ChangeChips {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.list = span("list");
    this.reset = button("reset all", () => view.model.reset());
    this.undo = button("undo", () => view.model.undo(), {
      class: "undo",
      title: "undo the last change; a new sentence too, if a button made it",
    });
    this.said = h("span", { class: "said", "aria-live": "polite" });
    this.most = button("", () => this.go());
    this.difference = button("show the difference", () => this.toggleDifference(), {
      title: "the large map shows now − original: blue is less, orange is more",
    });
    this.compare = h("a", { class: "page-link" }, "compare with the original model →");
    this.element = h("div", { class: "changed", role: "group", "aria-label": "What is changed" });
    this.element.append(this.list, this.reset, this.said, this.most, this.difference, this.compare);
  }

  /** To the cell that changed most. */
  go() {
    const at = this.view.picture.effect?.at;
    if (!at) return;
    const [layer, head, row, key] = at;
    this.view.look.open = this.view.look.all;
    this.view.go({ layer, head, row, key });
  }

  /** The map in focus now − unchanged; where it is as it was, the head that changed most, in the row in focus. */
  toggleDifference() {
    const { view } = this;
    const { effect } = view.picture;
    const most = view.sight.weights && effect && !short(effect.here) ? effect.at : null;
    view.look.difference = !view.look.difference;
    if (view.look.difference) view.look.open = view.look.all; // there the map is seen
    if (!view.look.difference || !most) return view.chose();
    const [layer, head] = most;
    return view.go({ layer, head });
  }

  /** What the changes did to the pair in focus, and to the next word. */
  get answer() {
    const { picture, sight } = this.view;
    const { before, effect, next } = picture;
    const { weights, tokens, keys } = sight;
    if (!before || !weights || !effect) return "";
    if (!effect.at) return "No weight changed at all.";
    const [was, is] = [before.weights, weights].map((map) => rowOf(map, sight.row, keys.length));
    const key = sight.key ?? ranked(was)[0][0];
    const pair = gave(tokens[sight.row], keys[key], was[key], is[key]);
    return [pair, nextMoved(next)].filter(Boolean).join(" ");
  }

  draw() {
    const { view } = this;
    const list = changed(view.model.controls, view.off, view.maps.tokens);
    const make = () => button("", () => {}, { class: "chip-of-change" });
    fill(this.list, list, make, (chip, { text, back, heads }) => {
      setText(chip, `${text} ×`);
      setAttribute(chip, "aria-label", `take back: ${text}`);
      chip.onclick = () => (heads ? view.model.switchHeads([]) : view.model.change(back));
    });
    const { effect } = view.picture;
    const known = list.length > 0 && effect !== null && view.matching;
    setText(this.said, known ? this.answer : list.length ? "" : "Nothing changed yet.");
    this.drawMost(known ? effect : null);
    // not while the next picture is on its way: who has just pressed it would lose his place
    this.difference.hidden = !list.length || (view.matching && !effect) || isDrawn();
    setAttribute(this.difference, "aria-pressed", String(view.look.difference));
    this.compare.hidden = !list.length;
    this.reset.hidden = list.length < 2; // one chip takes itself back
    this.undo.hidden = !view.model.past.length;
    this.compare.href = view.model.comparison();
  }

  /** The way to the weight that changed most, with its numbers. @param {import("../base/messages.js").EffectHere | null} effect */
  drawMost(effect) {
    this.most.hidden = !effect?.at || isDrawn();
    if (!effect?.at) return;
    const [layer, head, row, key] = effect.at;
    const { tokens, keys } = this.view.maps;
    setText(this.most, `Most changed: layer ${layer}, head ${head} ›`);
    setAttribute(this.most, "title", gave(tokens[row], keys[key], ...effect.moved));
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
