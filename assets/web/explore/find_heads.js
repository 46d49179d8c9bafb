// Which heads do a thing most, out of all: a press opens one, or switches the first few off.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { choice } from "../base/view_base.js";
import { number } from "../base/words.js";

/** What the heads of a kind do: name, button, and the rule of mha_core/heads/kinds.py.
 * @type {[string, string, string][]}
 */
const KINDS = [
  ["induction", "copy", "Copying heads look at the word that followed last time. Number: average weight on that word."],
  ["previous", "look one word back", "Number: average weight on the word just before."],
  ["first", "look at the first word", "Number: average weight on the first word."],
  ["itself", "look at the word itself", "Number: average weight on the word itself."],
];
const SEVERAL = [1, 3, 7]; // heads that one press switches off

export class FindHeads {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.kind = "";
    this.kinds = choice("Heads that", KINDS, (kind) => this.choose(kind));
    this.rule = h("p", { class: "label" });
    this.random = button("measure on random words, written twice", () => view.change({ random: !view.look.random }), {
      title: "a text without any sense: what a model knows of its second half it has copied",
    });
    this.said = h("p", { class: "random-said", role: "status" });
    this.list = h("ol", { class: "found-heads" });
    this.off = h("div", { class: "actions", role: "group", "aria-label": "Switch the first of them off" });
    const label = span("label", "Find the heads that");
    this.element = div("find-heads");
    this.element.append(label, this.kinds.element, this.random, this.said, this.rule, this.off, this.list);
  }

  /** @param {string} kind */
  choose(kind) {
    this.kind = kind;
    this.view.redraw();
  }

  draw() {
    const { found, randomSaid, next } = this.view.picture;
    const here = KINDS.filter(([name]) => found[name]);
    this.element.hidden = !here.length && !randomSaid;
    this.random.hidden = !next.length;
    setAttribute(this.random, "aria-pressed", String(this.view.look.random));
    this.said.hidden = !randomSaid;
    setText(this.said, randomSaid ?? "");
    if (!found[this.kind]) this.kind = here[0]?.[0] ?? "";
    KINDS.forEach(([name], at) => {
      this.kinds.buttons[at].hidden = !found[name];
    });
    this.kinds.press(this.kind);
    setText(this.rule, KINDS.find(([name]) => name === this.kind)?.[2] ?? "");
    const heads = found[this.kind] ?? [];
    this.off.hidden = !heads.length;
    this.drawList(heads);
    this.drawOff(heads.map(([layer, head]) => `${layer}.${head}`));
  }

  /** @param {[number, number, number][]} heads */
  drawList(heads) {
    const { view } = this;
    const make = (/** @type {number} */ at) => {
      const go = () => {
        const [layer, head] = view.picture.found[this.kind][at];
        view.all.open(layer, head);
      };
      const press = button("", go, { class: "next" });
      press.append(h("span", {}), span("value"), h("i"));
      return h("li", {}, press);
    };
    fill(this.list, heads, make, (item, [layer, head, score]) => {
      const press = /** @type {HTMLElement} */ (item.firstElementChild);
      const [name, value, bar] = /** @type {HTMLElement[]} */ ([...press.children]);
      const isOff = view.off.has(`${layer}.${head}`);
      setText(name, `L${layer} H${head}${isOff ? " off" : ""}`);
      setText(value, number(score));
      bar.style.setProperty("--share", String(score));
      setAttribute(press, "aria-label", `show L${layer} H${head}${isOff ? " off" : ""} ${number(score)}`);
    });
  }

  /** @param {string[]} ids of the heads found, the first first */
  drawOff(ids) {
    const { view } = this;
    const made = (/** @type {number} */ at) =>
      button("", () => {
        const kind = view.picture.found[this.kind].map(([layer, head]) => `${layer}.${head}`);
        view.model.switchHeads(kind.slice(0, SEVERAL[at]));
      });
    fill(this.off, SEVERAL, made, (press, count) => {
      const all = ids.slice(0, count);
      const isSo = view.off.size === all.length && all.every((id) => view.off.has(id));
      setText(press, count === 1 ? "switch off the strongest" : `the ${count} strongest`);
      setAttribute(press, "aria-pressed", String(isSo));
    });
  }
}
