// The controls of one side of the pair view: a line of chips on its card, each of which opens a small panel.

import { ControlChips } from "../picture/control_chips.js";

/** @typedef {import("./pair.js").PairView} PairView */

/** @extends {ControlChips<PairView>} */
export class SideControls extends ControlChips {
  /** @param {PairView} view @param {number} side */
  constructor(view, side) {
    super(view, side ? "Right side" : "Left side", { ending: side ? ", right" : "" });
    this.side = side;
    this.panel.classList.add(side ? "of-right" : "of-left");
  }

  /** @param {import("../picture/choices.js").Change} change @param {boolean} [typing] */
  set(change, typing = false) {
    this.view.switch(this.side, change, typing);
  }

  /** @param {string} key */
  value(key) {
    return String(this.view.switches.get(this.side, key));
  }

  get off() {
    return this.view.switches.off(this.side);
  }

  /** What its model is: another one may stand on the right. */
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

  /** Its map stays in sight above the sheet of a phone. */
  reveal() {
    if (this.view.narrow) this.chips.closest(".panel")?.scrollIntoView({ block: "start" });
  }
}
