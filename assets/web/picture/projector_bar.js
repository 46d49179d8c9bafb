// The bar at the bottom of a projected picture, so that a class sees each action: the sentence, the head, the changes,
// and the shortcut of each. It has no state of its own.

import { button, div, h, render, setAttribute, setText, span, topOf } from "../base/dom.js";
import { MASKS } from "../base/facts.js";
import { nameOf } from "../link/changes.js";
import { NAMES } from "./control_chips.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { canUndo } from "../link/link.js";
import { toggle } from "../base/words.js";

/** @typedef {ApiView & {at: {layer: number, head: number}, setCursor(change: object): void}} View */
/** @typedef {"layer" | "head"} Axis */

const SHORT = { mask: "mask", pos: "encoding" }; // before the values of a list
const LOWEST = 200; // pixels of a picture in a low window
const GAP = 6; // pixels between a picture and the bar

/** The visible hint of a shortcut. @param {string} key */
const hint = (key) => h("kbd", { "aria-hidden": "true" }, key);

/** The shortcuts of the bar. */
export const KEYS = "{}[]omtue";

let last = /** @type {ProjectorBar | null} */ (null); // the current bar, which sets the bottom of the page

export class ProjectorBar {
  /** @param {View} view @param {Element} room container of the sentence, which becomes the bar
   * @param {import("./control_chips.js").ControlChips<any>} choices inputs of the changes
   * @param {HTMLElement | null} gallery mask gallery of the page, if it has one
   */
  constructor(view, room, choices, gallery = null) {
    this.view = view;
    this.choices = choices;
    this.room = room;
    this.places = /** @type {const} */ (["layer", "head"]).map((axis) => this.makePlace(axis));
    this.lamp = button("", () => this.toggle(), { class: "on-off", "aria-keyshortcuts": "o" });
    this.mask = this.makeList("mask", "m", (mask) => choices.set({ mask }));
    this.order = this.makeList("pos", "t", (pos) => choices.set({ pos }));
    this.mask.element.hidden = gallery !== null;
    this.back = button("undo", () => history.back(), { "aria-keyshortcuts": "u" }, hint("u"));
    const side = choices.ending ? span("label", choices.ending.slice(2)) : null;
    room.classList.add("projector-bar");
    room.prepend(div("live", ...this.places.map(({ element }) => element)));
    room.append(div("live", side, this.lamp, this.mask.element, this.order.element, this.back));
    this.acts = /** @type {Record<string, () => void>} */ ({
      "{": () => this.step("layer", -1),
      "}": () => this.step("layer", 1),
      "[": () => this.step("head", -1),
      "]": () => this.step("head", 1),
      o: () => this.toggle(),
      m: () => /** @type {HTMLElement} */ (gallery?.querySelector('[aria-pressed="true"]') ?? this.mask.list).focus(),
      t: () => this.order.list.focus(),
      u: () => this.back.click(),
      e: () => room.querySelector("textarea")?.focus(),
    });
    const { signal } = view.lifetime;
    signal.addEventListener("abort", () => {
      if (last !== this) return;
      last = null; // lets the view be freed
      document.documentElement.style.removeProperty("--foot");
    });
    addEventListener("keydown", (event) => this.key(event), { signal });
    room.addEventListener("keydown", (event) => this.leave(/** @type {KeyboardEvent} */ (event)), true); // a field keeps its keys
  }

  /** @param {Axis} axis */
  makePlace(axis) {
    const [previousKey, nextKey] = axis === "layer" ? "{}" : "[]";
    const way = (/** @type {string} */ text, /** @type {string} */ key, /** @type {number} */ delta) => {
      const props = { "aria-label": `${delta < 0 ? "previous" : "next"} ${axis}`, "aria-keyshortcuts": key };
      return button(text, () => this.step(axis, delta), props, hint(key));
    };
    const now = span("current-value");
    const element = h("div", { class: "place", role: "group", "aria-label": axis });
    element.append(way("‹", previousKey, -1), now, way("›", nextKey, 1));
    return { axis, now, element };
  }

  /** @param {"mask" | "pos"} kind @param {string} key @param {(value: string) => void} choose */
  makeList(kind, key, choose) {
    const props = { "aria-label": `${NAMES[kind]}${this.choices.ending}`, "aria-keyshortcuts": key };
    const list = h("select", { ...props, onchange: () => choose(list.value) });
    const element = div("chooser", list, hint(key));
    /** @param {string[]} names @param {string} now not necessarily one of them */
    const draw = (names, now, whyNot = "") => {
      const all = names.includes(now) ? names : [now, ...names];
      const textOf = (/** @type {string} */ name) => (name === "none" ? nameOf(kind, name) : `${SHORT[kind]}: ${name}`);
      const options = all.map((value) => ["option", { value }, textOf(value)]);
      render(list, { disabled: whyNot !== "", title: whyNot || null }, ...options);
      list.value = now;
    };
    return { element, list, draw };
  }

  /** Add a button of the page. @param {HTMLButtonElement} press */
  add(press) {
    press.append(hint(press.getAttribute("aria-keyshortcuts") ?? ""));
    this.back.before(press);
  }

  /** @param {Axis} axis @param {number} delta */
  step(axis, delta) {
    const { at, picture } = this.view;
    const count = picture[/** @type {"layers" | "heads"} */ (`${axis}s`)];
    this.view.setCursor({ [axis]: (at[axis] + delta + count) % count }); // wraps around
  }

  /** Ablate the head in focus, or restore it. */
  toggle() {
    this.choices.switchOff(toggle(this.choices.off, this.head));
  }

  get head() {
    const { layer, head } = this.view.at;
    return `${layer}.${head}`;
  }

  /** Return whether the bar is visible; not beside a lesson with a single picture. */
  get isOn() {
    const { alone, projector, narrow, picture, isHere } = this.view;
    return projector && !alone && !narrow && Boolean(picture) && isHere;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.isOn || isTyped(event) || isShortcut(event)) return;
    const act = this.acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault(); // keeps the letter out of the field that gets the focus
    act();
  }

  /** Return the keys to the bar after typing or choosing. @param {KeyboardEvent} event */
  leave(event) {
    const isDone = ["Enter", "Escape"].includes(event.key) && !event.isComposing;
    if (!this.isOn || !isDone || !isTyped(event)) return;
    event.preventDefault();
    /** @type {HTMLElement} */ (event.target).blur();
  }

  /** The top edge of the bar in the window, in pixels. */
  get top() {
    return this.room.getBoundingClientRect().top;
  }

  /** The height from the top of a picture to this bar in pixels, as if nothing were scrolled.
   * @param {Element} picture */
  heightOver(picture) {
    return Math.max(LOWEST, this.top - topOf(picture) - GAP);
  }

  draw() {
    if (!this.view.isHere) return;
    if (this.isOn) this.fill();
    last = this;
    const height = this.isOn ? `${/** @type {HTMLElement} */ (this.room).offsetHeight}px` : "0px";
    const { style } = document.documentElement;
    if (style.getPropertyValue("--foot") !== height) style.setProperty("--foot", height);
  }

  fill() {
    const { view, choices } = this;
    for (const { axis, now } of this.places) setText(now, `${axis} ${view.at[axis]}`);
    const off = choices.off.has(this.head);
    const state = { "aria-label": `head on${choices.ending}`, "aria-pressed": !off };
    render(this.lamp, state, off ? "○ off" : "● on", ["kbd", { "aria-hidden": "true" }, "o"]);
    const { positions } = view.picture;
    this.mask.draw(
      MASKS.map(({ name }) => name),
      choices.value("mask"),
      choices.whyNot("mask"),
    );
    const orders = positions.map(([name]) => name);
    this.order.draw(orders, choices.value("pos"), choices.whyNot("pos"));
    setAttribute(this.back, "disabled", !canUndo());
  }
}
