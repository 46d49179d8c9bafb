// Undo chips for the changes of the model, and a status line: the weight of the pair in focus before and after, the
// next token, and a link to the largest change. The space is reserved so that nothing moves.

import { changed } from "../link/changes.js";
import { isDrawn } from "../base/curtain.js";
import { button, h, render, setAttribute, setText, span } from "../base/dom.js";
import { canUndo } from "../link/link.js";
import { headName, meanOf, writeAt } from "../link/look.js";
import { linkTo } from "../link/navigation.js";
import { nextMoved } from "../picture/next_bars.js";
import { rowOf } from "../wire/packets.js";
import { gave, sortByWeight, short } from "../base/words.js";
import { Part } from "./part.js";

const UNTOUCHED = "Use a switch to change the model. Its effect on this pair appears here.";
const UNCHANGED = { mask: null, pos: null, t: null, unheard: null };

export class ChangeChips extends Part {
  list = span("list");
  reset = button("reset all", () => this.view.edit({ controls: UNCHANGED, off: [] }));
  undo = button("undo", () => history.back(), {
    class: "undo",
    title: "undo the last act, as the browser's Back button does",
  });
  status = h("span", { class: "status-line", "aria-live": "polite" });
  strongest = button("", () => this.go());
  difference = button("show the difference", () => this.toggleDifference(), {
    title: "the large map shows the new weights minus the original ones; blue is less, orange is more",
  });
  compare = h("a", { class: "page-link" }, "compare with the unchanged model →");
  element = h(
    "div",
    { class: "changed", role: "group", "aria-label": "Changes to the model" },
    this.list,
    this.reset,
    this.status,
    this.strongest,
    this.difference,
    this.compare,
  );

  /** The link that compares the unchanged model with the current one. */
  get comparison() {
    const { address, at, controls, off, look } = this.view;
    const now = new URL(address).searchParams;
    const link = new URLSearchParams();
    link.set("at", writeAt(at, true)); // also a default cursor: the compare page has another default
    for (const key of ["s", "model", "dev"]) for (const value of now.getAll(key)) link.append(key, value);
    for (const [key, value] of Object.entries({ ...controls, pos: controls.pos ?? "as trained" }))
      if (value !== null) link.append(`${key}2`, value);
    for (const id of off) link.append("off2", headName(id));
    const mean = meanOf(look);
    if (mean && mean !== "meanseen") link.set("look", mean); // Compare has these means too
    return linkTo(`compare?${link}`);
  }

  go() {
    const cell = this.view.picture.effect?.cell;
    if (!cell) return;
    const [layer, head, row, key] = cell;
    this.view.setCursor({ layer, head, row, key }, { open: this.view.look.all });
  }

  /** Toggle the map now − unchanged of the head in focus; if it is unchanged, of the head that changed most. */
  toggleDifference() {
    const { view } = this;
    const { effect } = view.picture;
    const { all, open, difference } = view.look;
    const look = { difference: !difference, open: difference ? open : all }; // the large map shows the difference
    const cell = view.visibleMap.weights && effect && !short(effect.focusMaximum) ? effect.cell : null;
    if (difference || !cell) return view.setDisplay(look);
    const [layer, head] = cell;
    return view.setCursor({ layer, head }, look);
  }

  /** The effect of the changes on the pair in focus and on the next token. */
  get answer() {
    const { picture, visibleMap } = this.view;
    const { baseline, effect, next } = picture;
    const { weights, tokens, keys } = visibleMap;
    if (!baseline || !weights || !effect) return "";
    if (!effect.cell) return "No weight changed.";
    const [was, is] = [baseline.weights, weights].map((map) => rowOf(map, visibleMap.row, keys.length));
    const key = visibleMap.key ?? sortByWeight(was)[0][0];
    const pair = gave(tokens[visibleMap.row], keys[key], was[key], is[key]);
    return [pair, nextMoved(next)].filter(Boolean).join(" ");
  }

  draw() {
    const { view } = this;
    const list = changed(view.controls, view.off, view.maps.tokens);
    const chips = list.map(({ text, back, heads }) => {
      const onclick = () => view.edit(heads ? { off: [] } : { controls: back });
      return ["button.change-chip", { "aria-label": `undo: ${text}`, onclick }, `${text} ×`];
    });
    render(this.list, ...chips);
    const { effect } = view.picture;
    const hasEffect = list.length > 0 && effect !== null && view.matching;
    setText(this.status, hasEffect ? this.answer : list.length ? "" : UNTOUCHED);
    const cell = hasEffect ? effect.cell : null;
    this.strongest.hidden = !cell || isDrawn();
    if (effect && cell) {
      const [layer, head, row, key] = cell;
      const { tokens, keys } = view.maps;
      setText(this.strongest, `Largest change: layer ${layer}, head ${head} ›`);
      setAttribute(this.strongest, "title", gave(tokens[row], keys[key], ...effect.weights));
    }
    // kept while the next picture is pending: a button that has just been clicked must not lose the focus
    this.difference.hidden = !list.length || (view.matching && !effect) || isDrawn();
    setAttribute(this.difference, "aria-pressed", view.look.difference);
    this.compare.hidden = !list.length;
    this.reset.hidden = list.length < 2; // a single chip undoes itself
    this.undo.hidden = !canUndo();
    // the map comes first on a phone; no model of a recording is here to be changed
    const isSpare = view.narrow ? !view.tiles.open && this.undo.hidden : Boolean(view.picture.fixed.off);
    this.element.hidden = isSpare && !list.length;
    this.compare.href = this.comparison;
  }

  /** The largest change in a layer: as ".12" ("" if small) and as a share of the largest in any layer. Nothing under
   * a lesson's curtain. @param {number} layer
   */
  changeIn(layer) {
    const layers = (!isDrawn() && this.view.matching && this.view.picture.effect?.layers) || [];
    const change = layers[layer] ?? 0;
    return { badge: short(change), share: change / (Math.max(...layers, 0) || 1) };
  }
}
