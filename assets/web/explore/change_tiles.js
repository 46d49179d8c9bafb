// The four kinds of change as tiles, each with a panel of its options.

import { isAcross } from "../picture/heads.js";
import { choice } from "../base/choice.js";
import { bringUnderBar, div, h, render, setText, span } from "../base/dom.js";
import { ControlChips } from "../picture/control_chips.js";
import { HEAD_KINDS } from "../base/facts.js";
import { number } from "../base/words.js";

/** @extends {ControlChips<Explore>} */
export class ChangeTiles extends ControlChips {
  /** @param {Explore} view */
  constructor(view) {
    super(view, "Change the model");
    this.finder = new FindHeads(view);
    this.inside.off.append(this.finder.element);
  }

  /** @param {Iterable<string>} parts to ablate from now on */
  switchOff(parts) {
    this.view.edit({ off: parts });
  }

  /** All layers, or the one in focus of a model with too many. */
  get lampLayers() {
    return isAcross(this.view.maps) ? [String(this.view.at.layer)] : super.lampLayers;
  }

  /** Open the panel of one control after its tile, in the tab order too, or close it. @param {string} key */
  show(key, focus = true) {
    super.show(key, focus);
    this.openers.find(({ dataset }) => dataset.key === key)?.after(this.panel);
  }

  /** Keep the map visible above the sheet of a phone. */
  reveal() {
    const { narrow, changes } = this.view;
    if (narrow) changes.element.hidden = false; // with no change yet
    if (narrow) bringUnderBar(changes.element);
  }

  /** On a phone the undo chips above the sheet count as inside. @param {Event} event */
  isOutside(event) {
    const { narrow, changes } = this.view;
    return super.isOutside(event) && !(narrow && event.composedPath().includes(changes.element));
  }

  /** @param {string} key */
  fill(key) {
    if (key === "off") this.finder.draw();
    super.fill(key);
  }
}

/** The kinds of heads that are measured on the present sentence. @type {[string, string][]} */
const KINDS = ["induction", "previous", "first", "itself"].map((kind) => [kind, HEAD_KINDS[kind].title]);
const SEVERAL = [1, 3, 7]; // numbers of heads that one click ablates

/** The heads that fit a kind best: a click selects one, or ablates the first few. */
class FindHeads {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.kind = "";
    this.kinds = choice("Kind of head", KINDS, (kind) => {
      this.kind = kind;
      view.redraw();
    });
    this.rule = h("p", { class: "label" });
    this.list = h("ol", { class: "head-results" });
    this.off = h("div", { class: "actions", role: "group", "aria-label": "Ablate the strongest of them" });
    const label = span("label", "Find the heads of one kind");
    this.element = div("find-heads", label, this.kinds.element, this.rule, this.off, this.list);
  }

  draw() {
    const { view } = this;
    const { topHeads } = view.picture;
    const available = KINDS.filter(([name]) => topHeads[name]);
    this.element.hidden = !available.length;
    if (!topHeads[this.kind]) this.kind = available[0]?.[0] ?? "";
    KINDS.forEach(([name], index) => {
      this.kinds.buttons[index].hidden = !topHeads[name];
    });
    this.kinds.press(this.kind);
    setText(this.rule, this.kind && `The number is the ${HEAD_KINDS[this.kind].text}.`);
    const heads = topHeads[this.kind] ?? []; // best first
    const list = heads.map(([layer, head, score]) => {
      const off = view.off.has(`${layer}.${head}`) ? " off" : "";
      const text = `L${layer} H${head}${off} ${number(score)}`;
      return ["li", ["button", { onclick: () => view.all.open(layer, head) }, text]];
    });
    render(this.list, ...list);
    const several = SEVERAL.map((count) => {
      const all = heads.slice(0, count).map(([layer, head]) => `${layer}.${head}`);
      const isSo = view.off.size === all.length && all.every((id) => view.off.has(id));
      const text = count === 1 ? "ablate the strongest" : `the ${count} strongest`;
      return ["button", { "aria-pressed": isSo, onclick: () => view.edit({ off: all }) }, text];
    });
    render(this.off, { hidden: !heads.length }, ...several);
  }
}
