// What one press does to a word of the large map: the column of the key in focus is taken out.

import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { MAX_RULE_LENGTH } from "../base/facts.js";
import { maskOf, ruleOf, toggledUnseen, unseenOf, valuesOff } from "../link/changes.js";
import { quoted, toggled } from "../base/words.js";
import { readFlips, writeFlips } from "../link/painted.js";
import { sortKey } from "../picture/heads_order.js";

const SEEN = "masks this key: the softmax distributes its weight over the other keys";
const HEARD = "zeroes the value: every weight stays, but this key’s value counts as 0 for all other tokens";

/** The column of the key in focus, taken out at one press: hidden from all others, or its weight stays and its value is
 * zeroed for them. The same press takes it back.
 */
export class ColumnSwitches {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.name = span("label");
    this.unseen = button("mask this word for all others", () => this.toggleUnseen(), { title: SEEN });
    this.value = button("zero its value, keep its weights", () => this.toggleValue(), { title: HEARD });
    this.status = h("p", { class: "taken-out", role: "status" });
    const buttons = div("actions", this.unseen, this.value);
    this.element = h("div", { class: "column", role: "group" }, this.name, buttons, this.status);
  }

  /** The key whose column is meant: the chosen one; where a column is out, otherwise what the row in focus looks at most. */
  get key() {
    const { at, focus, picture } = this.view;
    return at.key ?? (picture.columns ? (focus.best ?? sortKey(this.view)) : null);
  }

  /** Changes something of a column, which stays the one in focus whatever the row then looks at.
   * @param {number} key @param {import("../link/changes.js").Controls} controls
   */
  set(key, controls) {
    this.view.edit({ controls, sentence: { key, rowChosen: true } });
  }

  toggleUnseen() {
    const { key, view } = this;
    if (key === null) return;
    const { controls } = view;
    const rule = toggledUnseen(ruleOf(controls), key);
    const painted = controls.mask === "painted" ? { mask: "painted", on: rule, p: this.unpainted(key) } : null;
    this.set(key, painted ?? maskOf(rule));
  }

  /** The painted cells without those of this column, which the rule below decides from now on. @param {number} key */
  unpainted(key) {
    const { maps, controls } = this.view;
    const flips = readFlips(controls.p ?? "", maps.n, maps.heads);
    for (const cells of flips) for (let row = 0; row < maps.n; row++) if (row !== key) cells[row * maps.n + key] = 0;
    return writeFlips(flips, maps.n) || null;
  }

  toggleValue() {
    const { key, view } = this;
    if (key === null) return;
    const places = toggled(new Set(valuesOff(view.controls)), key);
    this.set(key, { unheard: [...places].sort((a, b) => a - b).join("-") || null });
  }

  draw() {
    const { key, view } = this;
    const { controls, maps, picture } = view;
    this.element.hidden = key === null || maps.n < 2 || maps.columns !== null;
    if (key === null) return;
    const name = `the column of ${quoted(maps.tokens[key])}`;
    const rule = ruleOf(controls);
    const long = toggledUnseen(rule, key).length > MAX_RULE_LENGTH;
    setText(this.name, name);
    setAttribute(this.element, "aria-label", name);
    setAttribute(this.unseen, "aria-pressed", String(unseenOf(rule).has(key)));
    const { mask, unheard } = picture.fixed;
    this.unseen.disabled = long || Boolean(mask);
    setAttribute(this.unseen, "title", mask ?? (long ? `a rule may have ${MAX_RULE_LENGTH} characters` : SEEN));
    this.value.disabled = Boolean(unheard);
    setAttribute(this.value, "title", unheard ?? HEARD);
    setAttribute(this.value, "aria-pressed", String(valuesOff(controls).includes(key)));
    setText(this.status, view.matching ? picture.columns : "");
  }
}
