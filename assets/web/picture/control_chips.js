// A row of chips or tiles with the current changes of the model, each of which opens a panel: mask, positions,
// temperature, heads.

import { button, h, setAttribute, setText, span, svg } from "../base/dom.js";
import { Choices, KINDS } from "./choices.js";
import { headName, inOrder } from "../link/look.js";

export const NAMES = { mask: "Mask", pos: "Positional encoding", t: "Temperature", off: "Ablate heads" };
const GLOSSES = /** @type {Record<string, string>} */ ({
  mask: "which words each word may look at",
  pos: "how the model knows the word order",
  t: "how sharp or soft attention is",
  off: "switch heads off: their output then counts as 0",
});
const ICONS = {
  mask: "M3 3h4v4H3zM3 10h4v4H3zM10 10h4v4h-4zM3 17h4v4H3zM10 17h4v4h-4zM17 17h4v4h-4z",
  pos: "M2 12c2.5-9 5-9 7.5 0s5 9 7.5 0 3.500-7 5-5",
  off: "M12 6a6 6 0 1 0 .01 0M4 20 20 4",
  t: "M2 20c6 0 6-16 10-16s4 16 10 16",
  lw: "M4 4v16M20 4v16M4 4h3M4 20h3M20 4h-3M20 20h-3M9 9h.01M15 9h.01M9 15h.01M15 15h.01",
};

/** The icon of a control. @param {keyof typeof ICONS} name */
const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

/** @template {import("../wire/api_view.js").ApiView} V @extends {Choices<V>} */
export class ControlChips extends Choices {
  /** @param {V} view @param {string} label
   * @param {{names?: Record<string, string>, holder?: any, kinds?: import("./choices.js").Kind[], ending?: string}} more
   * names of the controls, and the options of `Choices`
   */
  constructor(view, label, { names = NAMES, holder = view, kinds = KINDS, ending = "" } = {}) {
    super(view, holder, ending, kinds);
    this.open = "";
    this.names = names;
    this.openers = Object.keys(this.names).map((key) => {
      const toggle = () => this.show(this.open === key ? "" : key);
      const parts = [icon(/** @type {"mask"} */ (key)), span("name", this.names[key]), span("current-value")];
      return button("", toggle, { class: "switch", "aria-expanded": "false", "data-key": key }, ...parts);
    });
    this.chips = h("div", { class: "switches", role: "group", "aria-label": label }, ...this.openers);
    this.title = h("h3");
    this.reason = h("p", { class: "reason" });
    const close = button("done", () => this.show(""));
    this.panel = h("div", { class: "panel settings", role: "group", hidden: "" });
    this.panel.append(h("header", {}, this.title, close), this.reason, ...Object.values(this.inside));
    for (const part of [this.panel, this.chips]) part.addEventListener("keydown", (event) => this.key(event));
    addEventListener("pointerdown", (event) => this.pressOutside(event), { signal: view.lifetime.signal });
  }

  // ---- overridden by pages

  /** @param {Iterable<string>} heads to ablate from now on */
  switchOff(heads) {
    this.set({ off: inOrder(heads).map(headName) });
  }

  /** The reason why a control has no effect here, or "". @param {string} key */
  whyNot(key) {
    return this.view.picture.fixed[key] ?? "";
  }

  /** Return whether a control has no effect at all. @param {string} key */
  isIdle(key) {
    return this.whyNot(key) !== "";
  }

  /** Return whether a control differs from its default. @param {string} key */
  differs(key) {
    return key === "off" ? this.off.size > 0 : this.value(key) !== String(this.view.picture.defaults[key]);
  }

  // ---- user actions

  /** Open the panel of one control, or close it. @param {string} key */
  show(key, focus = true) {
    const opener = this.openers.find(({ dataset }) => dataset.key === this.open);
    this.open = key;
    if (!key && focus) opener?.focus();
    if (key) this.reveal();
    this.view.redraw();
  }

  /** Scroll the panel, a sheet on a phone, into view. */
  reveal() {
    this.view.showAbove();
  }

  /** @param {Event} event */
  isOutside(event) {
    const path = event.composedPath();
    return this.open !== "" && !path.includes(this.panel) && !path.includes(this.chips);
  }

  /** @param {Event} event */
  pressOutside(event) {
    if (this.isOutside(event)) this.show("", false);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Escape" || !this.open) return;
    event.stopPropagation();
    this.show("");
  }

  // ---- drawing

  /** @param {import("./choices.js").Inks} inks */
  draw(inks) {
    const { open } = this;
    const labels = this.describe();
    for (const opener of this.openers) {
      const key = /** @type {string} */ (opener.dataset.key);
      setText(opener.children[1], this.names[key]);
      setText(opener.children[2], labels[key]);
      setAttribute(opener, "aria-label", `${this.names[key]}${this.ending}: ${labels[key]}`);
      setAttribute(opener, "aria-expanded", String(key === open));
      setAttribute(opener, "data-differs", this.differs(key) ? "" : null);
      setAttribute(opener, "data-idle", this.isIdle(key) ? "" : null);
      setAttribute(opener, "title", this.whyNot(key) || GLOSSES[key] || null);
    }
    this.panel.hidden = !open;
    if (!open) return;
    const name = `${this.names[open]}${this.ending}`;
    setText(this.title, name);
    setText(this.reason, this.whyNot(open) || GLOSSES[open] || "");
    setAttribute(this.panel, "aria-label", name);
    for (const [key, element] of Object.entries(this.inside)) {
      element.hidden = key !== open;
      element.inert = this.isIdle(key);
    }
    this.fill(open, inks);
  }

  /** Describe the value of each control in a few words. @returns {Record<string, string>} */
  describe() {
    const [mask, pos] = [this.value("mask"), this.value("pos")];
    const kind = KINDS.find(({ name }) => name === mask);
    const numbers = (kind?.numbers ?? []).map(([key]) => this.value(key));
    const rule = mask === "combination" ? this.value("rule") : [mask, ...numbers].join(" ");
    const off = [...this.off];
    const text = `${headName(String(off[0]))} off`;
    return {
      mask: mask === "none" ? "no mask" : `mask: ${rule}`,
      pos: pos === "none" ? "no positions" : `positions${pos === "as trained" ? "" : ":"} ${pos}`,
      t: `temperature ${this.value("t")}`,
      off: off.length ? (off.length === 1 ? text : `${off.length} heads off`) : "all heads on",
    };
  }
}
