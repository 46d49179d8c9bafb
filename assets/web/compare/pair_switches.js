// The controls of both sides of the pair view, as a link says them: chosen, copied from left to right, and swapped.

import { SIDE } from "../base/facts.js";
import { headsOf } from "../link/look.js";

const OFF = "off";
const ENDINGS = ["", "2"]; // what each side adds to them

export class Switches {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.values = /** @type {import("../link/link.js").Values} */ ({}); // null = the default
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    for (const key of ENDINGS.flatMap((ending) => SIDE.map((own) => own + ending))) {
      const all = link.getAll(key);
      this.values[key] = all.length && key.startsWith(OFF) ? all : (all[0] ?? null);
    }
  }

  /** Keys of the right side. */
  get rightKeys() {
    return SIDE.map((key) => key + ENDINGS[1]);
  }

  /** What a control of a side says. @param {number} side @param {string} key */
  get(side, key) {
    const own = key + ENDINGS[side];
    return this.values[own] ?? this.view.picture.defaults[own];
  }

  /** The heads that are switched off, as "3.5". @param {number} side */
  off(side) {
    return headsOf([this.get(side, OFF)].flat());
  }

  /** @param {number} side @param {Record<string, string | string[]>} change by the keys of the left side */
  set(side, change) {
    for (const [key, value] of Object.entries(change)) {
      const own = key + ENDINGS[side];
      const isDefault = String(value) === String(this.view.picture.defaults[own]);
      this.values[own] = isDefault ? null : value;
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
}
