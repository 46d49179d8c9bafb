// The four kinds of change as tiles, each with a panel of its options.

import { isAcross } from "../picture/heads.js";
import { choice } from "../base/choice.js";
import { bringUnderBar, button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { ControlChips } from "../picture/control_chips.js";
import { MASKS } from "../base/facts.js";
import { number } from "../base/words.js";

const NAMES = { mask: "Mask", pos: "Positional encoding", off: "Ablate heads", t: "Temperature" };

/** @extends {ControlChips<Explore>} */
export class ChangeTiles extends ControlChips {
  /** @param {Explore} view */
  constructor(view) {
    super(view, "Change the model", { names: NAMES, kinds: MASKS });
    this.chips.classList.add("tiles");
    this.finder = new FindHeads(view);
    this.masksPage = h("a", { class: "page-link" }, "Masks");
    const paint = ["To paint a mask cell by cell or to combine several, open ", this.masksPage, "."];
    const link = h("p", { class: "label" }, ...paint);
    this.inside.mask.append(link);
    this.inside.off.append(this.finder.element);
  }

  /** @param {Iterable<string>} heads to ablate from now on */
  switchOff(heads) {
    this.view.edit({ off: heads });
  }

  /** Open the panel of one control after its tile, in the tab order too, or close it. @param {string} key */
  show(key, focus = true) {
    super.show(key, focus);
    this.openers.find(({ dataset }) => dataset.key === key)?.after(this.panel);
  }

  /** Keep the map visible above the sheet of a phone. */
  reveal() {
    if (this.view.narrow) bringUnderBar(this.view.changes.element);
  }

  /** On a phone the undo chips above the sheet count as inside. @param {Event} event */
  isOutside(event) {
    const { narrow, changes } = this.view;
    return super.isOutside(event) && !(narrow && event.composedPath().includes(changes.element));
  }

  draw(inks) {
    super.draw(inks);
    setAttribute(this.masksPage, "href", `./masks${new URL(this.view.address).search}`); // with the present settings
  }

  describe() {
    const { maps, off, media, picture } = this.view;
    const labels = super.describe();
    const total = maps.layers * maps.heads;
    const [mask, pos, t] = ["mask", "pos", "t"].map((key) => this.value(key));
    const unmasked = picture.next.length ? "the model’s own" : `none: all ${media.rows} see each other`;
    return {
      mask: mask === "none" ? unmasked : labels.mask.replace("mask: ", ""),
      pos: pos === "none" ? "off: word order removed" : pos,
      t: t === "1" ? "1, as trained" : `${t}, ${Number(t) < 1 ? "sharper" : "softer"} attention`,
      off: off.size ? `${off.size} of ${total} off` : `all ${total} heads on`,
    };
  }

  /** @param {string} key @param {Inks} inks */
  fill(key, inks) {
    this.lamps.hidden = isAcross(this.view.maps); // too many to switch one by one
    if (key === "off") this.finder.draw();
    super.fill(key, inks);
  }
}

/** The kinds of heads: name, button, and the rule of mha_core/heads/kinds.py.
 * @type {[string, string, string][]}
 */
const KINDS = [
  [
    "induction",
    "induction",
    "Induction heads look at what followed the same word last time. The number is the average weight there.",
  ],
  ["previous", "previous word", "The number is the average weight on the previous word."],
  ["first", "first word", "The number is the average weight on the first word."],
  ["itself", "the word itself", "The number is the average weight on the word itself."],
];
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
    const { topHeads } = this.view.picture;
    const available = KINDS.filter(([name]) => topHeads[name]);
    this.element.hidden = !available.length;
    if (!topHeads[this.kind]) this.kind = available[0]?.[0] ?? "";
    KINDS.forEach(([name], index) => {
      this.kinds.buttons[index].hidden = !topHeads[name];
    });
    this.kinds.press(this.kind);
    setText(this.rule, KINDS.find(([name]) => name === this.kind)?.[2] ?? "");
    const heads = topHeads[this.kind] ?? [];
    this.off.hidden = !heads.length;
    this.drawList(heads);
    this.drawOff(heads.map(([layer, head]) => `${layer}.${head}`));
  }

  /** @param {[number, number, number][]} heads */
  drawList(heads) {
    const { view } = this;
    const make = () => h("li", {}, button(""));
    fill(this.list, heads, make, (item, [layer, head, score]) => {
      const press = /** @type {HTMLElement} */ (item.firstElementChild);
      const off = view.off.has(`${layer}.${head}`) ? " off" : "";
      press.onclick = () => view.all.open(layer, head);
      setText(press, `L${layer} H${head}${off} ${number(score)}`);
    });
  }

  /** @param {string[]} ids of the matching heads, best first */
  drawOff(ids) {
    const { view } = this;
    const make = () => /** @type {HTMLElement} */ (button(""));
    fill(this.off, SEVERAL, make, (press, count) => {
      const all = ids.slice(0, count);
      press.onclick = () => view.edit({ off: all });
      const isSo = view.off.size === all.length && all.every((id) => view.off.has(id));
      setText(press, count === 1 ? "ablate the strongest" : `the ${count} strongest`);
      setAttribute(press, "aria-pressed", String(isSo));
    });
  }
}
