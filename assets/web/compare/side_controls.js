// The controls of one side of the Compare page: link parameters, and a line of chips, each of which opens a panel.

import { SIDE } from "../base/facts.js";
import { headsOf } from "../link/look.js";
import { ControlChips } from "../picture/control_chips.js";

/** @typedef {import("./pair.js").PairView} PairView */

/** @extends {ControlChips<PairView>} */
export class SideControls extends ControlChips {
  /** @param {PairView} view @param {number} side */
  constructor(view, side) {
    super(view, side ? "Right side" : "Left side", { ending: side ? ", right" : "" });
    this.side = side;
    this.keys = SIDE.map((key) => this.keyOf(key)); // link parameters of this side
    this.panel.classList.add(side ? "right-settings" : "left-settings");
  }

  /** @param {string} key of the left side */
  keyOf(key) {
    return this.side ? `${key}2` : key;
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    for (const key of this.keys) {
      const all = link.getAll(key);
      this.view.values[key] = all.length && key.startsWith("off") ? all : (all[0] ?? null);
    }
  }

  /** The value of a control. @param {string} key */
  get(key) {
    const sideKey = this.keyOf(key);
    return this.view.values[sideKey] ?? this.view.picture.defaults[sideKey];
  }

  /** The values of all controls, by the keys of the left side. @returns {import("../picture/choices.js").Change} */
  get all() {
    return Object.fromEntries(SIDE.map((key) => [key, this.get(key)]));
  }

  /** @param {import("../picture/choices.js").Change} change keyed as on the left side */
  put(change) {
    const { values, picture } = this.view;
    for (const [key, value] of Object.entries(change)) {
      const sideKey = this.keyOf(key);
      values[sideKey] = String(value) === String(picture.defaults[sideKey]) ? null : value;
    }
  }

  /** @param {import("../picture/choices.js").Change} change @param {boolean} [typing] */
  set(change, typing = false) {
    this.put(change);
    this.view.onChange(typing);
  }

  /** @param {string} key */
  value(key) {
    return String(this.get(key));
  }

  get off() {
    return headsOf([this.get("off")].flat());
  }

  /** The model of this side. */
  get model() {
    return this.view.picture.sides[this.side];
  }

  /** @param {string} key */
  whyNot(key) {
    return this.model.fixed[key] ?? "";
  }

  /** @param {string} key @param {import("../picture/choices.js").Inks} inks */
  fill(key, inks) {
    super.fill(key, inks, this.model);
  }

  /** @param {string} key */
  differs(key) {
    return this.view.picture.differs.includes(key);
  }

  /** Keep the map visible above the sheet of a phone. */
  reveal() {
    if (this.view.narrow) this.chips.closest(".panel")?.scrollIntoView({ block: "start" });
  }
}
