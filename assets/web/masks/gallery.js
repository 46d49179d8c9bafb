// The gallery of masks: each rule drawn for the current sentence; a click uses it or joins it to the current rule.

import { render, setAttribute } from "../base/dom.js";
import { ControlChips, drawThumbnail, KINDS } from "../picture/control_chips.js";
import { readCells } from "../link/painted.js";

const SIDE = 44; // pixels of a thumbnail
/** The action of a click on a card: its name in the link and on the button. @type {[string, string][]} */
export const JOINS = ["use", "and", "or", "and not", "or not"].map((join) => [join, join]);

/** Return whether the card's mask is the current one. @param {Masks} picture @param {Card} card */
export const isUsed = (picture, { rule, painted, why_not }) =>
  picture.painted ? painted === picture.painted : !painted && !why_not && rule === picture.rule;

/** Fill `parent` with the picture's cards.
 * @param {Masks} picture @param {object} how @param {Inks} how.inks @param {string} how.join action of a click @param {(at: number) => void} how.choose
 */
export function drawGallery(parent, picture, { inks, join, choose }) {
  const n = picture.tokens.length;
  const drawCard = (/** @type {Card} */ card, /** @type {number} */ index) => {
    const { name, line, why_not, clicks } = card;
    const state = { "aria-pressed": isUsed(picture, card), disabled: !(join in clicks), title: card.meaning };
    const parts = [
      ["canvas", { "aria-hidden": "true" }],
      ["span.name", name],
      ["span.line", why_not || line],
    ];
    return ["button.card", { ...state, onclick: () => choose(index) }, ...parts];
  };
  render(parent, ...picture.cards.map(drawCard));
  picture.cards.forEach(({ cells }, index) => {
    const forbidden = readCells(cells, n * n);
    const how = { side: SIDE, n, kind: cells, inks };
    drawThumbnail(parent.children[index].children[0], how, (i, j) => !forbidden[i * n + j]);
  });
}

/** The switches of Masks, where the gallery takes the place of the panel of masks.
 * @extends {ControlChips<import("./painter.js").Painter>} */
export class MaskSwitches extends ControlChips {
  /** @param {import("./painter.js").Painter} view */
  constructor(view) {
    super(view, "Change the model");
  }

  /** @param {string} key */
  show(key, focus = true) {
    if (key === "mask") this.view.set(this.view, { isFolded: !this.view.isFolded });
    else super.show(key, focus);
  }

  /** Change a number of the mask in use, or another switch. @param {Change} change @param {boolean} [typing] */
  set(change, typing) {
    const { controls, picture } = this.view;
    const mask = picture.ruleKeys.map((key) => /** @type {const} */ ([key, controls[key]]));
    if (mask.some(([key]) => key in change))
      this.view.chooseMask(/** @type {Controls} */ ({ ...Object.fromEntries(mask), ...this.paramsOf(change) }));
    else super.set(change, typing);
  }

  draw() {
    super.draw();
    const now = this.value("mask");
    this.drawNumbers(KINDS.find(({ name, key }) => name === now && !key)); // a rule has its field under “combine”
    setAttribute(this.openers[0], "aria-expanded", !this.view.isFolded);
  }
}
