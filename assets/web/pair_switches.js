// @ts-check
// The controls of both sides of the pair view, as a link says them: chosen, copied from left to right, and swapped.

import { KEYS } from "./changes.js";

/** @typedef {string | string[] | null} Value of a key of the link; null = its default */

const OFF = "off";
const SIDE = [...KEYS, OFF]; // keys of the left side
const ENDINGS = ["", "2"]; // what each side adds to them

export class Switches {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.values = /** @type {Record<string, Value>} */ ({});
    this.typed = /** @type {Record<string, Value>} */ ({}); // the same as its fields say it, which may be no rule
  }

  /** Takes over what the script says.
   * @param {URLSearchParams} shown what is shown @param {URLSearchParams} said what the controls say
   */
  read(shown, said) {
    const of = (/** @type {URLSearchParams} */ link, /** @type {string} */ key) => {
      const all = link.getAll(key);
      if (!all.length) return null;
      return key.startsWith(OFF) ? all : all[0];
    };
    for (const key of this.keys) {
      this.values[key] = of(shown, key);
      this.typed[key] = of(said, key);
    }
  }

  get keys() {
    return ENDINGS.flatMap((ending) => SIDE.map((key) => key + ending));
  }

  /** What a control of a side says. @param {number} side @param {string} key */
  get(side, key) {
    const own = key + ENDINGS[side];
    return this.values[own] ?? this.view.picture.defaults[own];
  }

  /** What stands in the field of a rule. @param {number} side @param {string} key */
  draft(side, key) {
    const own = key + ENDINGS[side];
    return String(this.typed[own] ?? this.view.picture.defaults[own]);
  }

  /** The heads that are switched off, as "3.5". @param {number} side */
  off(side) {
    return new Set([this.get(side, OFF)].flat().map((name) => name.slice(1).replace(" H", ".")));
  }

  /** @param {number} side @param {Record<string, string | string[]>} change by the keys of the left side */
  set(side, change) {
    for (const [key, value] of Object.entries(change)) {
      const own = key + ENDINGS[side];
      const isDefault = String(value) === String(this.view.picture.defaults[own]);
      this.typed[own] = this.values[own] = isDefault ? null : value;
    }
  }

  /** @param {number} side @returns {Record<string, string | string[]>} */
  side(side) {
    return Object.fromEntries(SIDE.map((key) => [key, this.get(side, key)]));
  }

  /** Makes the right side what the left one is. */
  copy() {
    this.set(1, this.side(0));
  }

  swap() {
    const [left, right] = [this.side(0), this.side(1)];
    this.set(0, right);
    this.set(1, left);
  }

  /** What the script is told of them. */
  get told() {
    const off = Object.fromEntries(ENDINGS.map((ending, side) => [OFF + ending, [...this.off(side)].join("-")]));
    const controls = Object.fromEntries(this.keys.filter((key) => !(key in off)).map((key) => [key, this.values[key]]));
    return { ...off, controls };
  }
}
