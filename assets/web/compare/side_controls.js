// The controls of one side of the Compare page: link parameters, and a line of chips, each of which opens a panel.

import { SIDE } from "../base/facts.js";
import { ControlChips } from "../picture/control_chips.js";

/** @extends {ControlChips<PairView>} */
export class SideControls extends ControlChips {
  /** @param {PairView} view @param {number} side */
  constructor(view, side) {
    super(view, side ? "Right side" : "Left side", { ending: side ? ", right" : "" });
    this.side = side;
    this.keys = SIDE.map((key) => this.keyOf(key)); // link parameters of this side
    this.panel.classList.add(side ? "right-settings" : "left-settings");
  }

  /** @param {string} key */
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

  /** The values of all controls, by the keys of the left side. @returns {Change} */
  get all() {
    return Object.fromEntries(SIDE.map((key) => [key, this.get(key)]));
  }

  /** @param {Change} change keyed as on the left side */
  put(change) {
    Object.assign(this.view.values, this.paramsOf(change));
  }

  get model() {
    return this.view.picture.sides[this.side];
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
