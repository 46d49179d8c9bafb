// Buttons for one key of the large map: remove its column.

import { sortKey } from "../picture/heads.js";
import { button, div, h, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { MAX_RULE_LENGTH } from "../base/facts.js";
import { maskOf, ruleOf, toggledUnseen, unseenOf, valuesOff } from "../link/changes.js";
import { quoted, toggle } from "../base/words.js";
import { readFlips, writeFlips } from "../link/painted.js";

const SEEN = "masks this key: the softmax distributes its weight over the other keys";
const HEARD = "zeroes the value: every weight stays, but this key’s value counts as 0 for all other tokens";

/** Two switches for the column of the key in focus: mask it for all other queries, or keep its weight and zero its
 * value. A second click undoes it.
 */
export class ColumnSwitches {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.name = span("label");
    this.unseen = button("mask this word for all others", () => this.toggleUnseen(), { title: SEEN });
    this.value = button("zero its value, keep its weights", () => this.toggleValue(), { title: HEARD });
    this.status = h("p", { class: "removed-keys", role: "status" });
    const buttons = div("actions", this.unseen, this.value);
    this.element = h("div", { class: "column", role: "group" }, this.name, buttons, this.status);
  }

  /** The key of the switches: the selected one, else a removed column, else the strongest key of the row in focus. */
  get key() {
    const { at, focus, picture } = this.view;
    return at.key ?? (picture.columns ? (focus.best ?? sortKey(this.view)) : null);
  }

  /** Change a column; its key stays in focus although the row's strongest key may change.
   * @param {number} key @param {Controls} controls
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

  /** Remove the painted cells of this column, so that the rule decides them. @param {number} key */
  unpainted(key) {
    const { maps, controls } = this.view;
    const flips = readFlips(controls.p ?? "", maps.n, maps.heads);
    for (const cells of flips) for (let row = 0; row < maps.n; row++) if (row !== key) cells[row * maps.n + key] = 0;
    return writeFlips(flips, maps.n) || null;
  }

  toggleValue() {
    const { key, view } = this;
    if (key === null) return;
    const places = toggle(new Set(valuesOff(view.controls)), key);
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
    setAttributes(this.value, { title: unheard ?? HEARD, "aria-pressed": String(valuesOff(controls).includes(key)) });
    setText(this.status, view.matching ? picture.columns : "");
  }
}
