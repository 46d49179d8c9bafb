// Buttons for one key of the large map: remove its column.

import { sortKey } from "../picture/heads.js";
import { h, render } from "../base/dom.js";
import { MAX_RULE_LENGTH } from "../base/facts.js";
import { maskOf, ruleOf, toggledUnseen, unseenOf, valuesOff } from "../link/changes.js";
import { quoted, toggle } from "../base/words.js";
import { readFlips, writeFlips } from "../link/painted.js";
import { Part } from "./part.js";

const SEEN = "masks this key: the softmax distributes its weight over the other keys";
const HEARD = "zeroes the value: every weight stays, but this key’s value counts as 0 for all other tokens";

/** Two switches for the column of the key in focus: mask it for all other queries, or keep its weight and zero its
 * value. A second click undoes it.
 */
export class ColumnSwitches extends Part {
  element = h("div", { class: "column", role: "group" });

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

  /** @param {number} key */
  toggleUnseen(key) {
    const { controls } = this.view;
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

  /** @param {number} key */
  toggleValue(key) {
    const places = toggle(new Set(valuesOff(this.view.controls)), key);
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
    const { mask, unheard } = picture.fixed;
    const unseen = {
      onclick: () => this.toggleUnseen(key),
      "aria-pressed": unseenOf(rule).has(key),
      disabled: long || Boolean(mask),
      title: mask ?? (long ? `a rule may have ${MAX_RULE_LENGTH} characters` : SEEN),
    };
    const zeroed = {
      onclick: () => this.toggleValue(key),
      "aria-pressed": valuesOff(controls).includes(key),
      disabled: Boolean(unheard),
      title: unheard ?? HEARD,
    };
    const buttons = [
      ["button", unseen, "mask this word for all others"],
      ["button", zeroed, "zero its value, keep its weights"],
    ];
    const status = ["p.removed-keys", { role: "status" }, view.matching ? picture.columns : ""];
    render(this.element, { "aria-label": name }, ["span.label", name], ["div.actions", ...buttons], status);
  }
}
