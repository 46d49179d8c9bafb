// The settings of the current layer: one or two implementations, the changes of the model, and random
// weights in place of the trained ones.

import { ControlChips, drawNumber, NAMES } from "../picture/control_chips.js";
import { choice, fillChoice, group, namedPart } from "../base/choice.js";
import { div, h, render, setText } from "../base/dom.js";

const OWN = "the model’s"; // trained weights
const SLIDE = { type: "range", min: "0", max: "0.5", step: "0.05" };
const INTEGER = { type: "number", min: "0", max: "9999", step: "1" };

/** A labelled select element. @param {string} label @param {(value: string) => void} choose */
function makeList(label, choose) {
  const select = h("select", { "aria-label": label, onchange: () => choose(select.value) });
  const draw = (/** @type {string[]} */ names, /** @type {string} */ now) => {
    render(select, ...names.map((name) => ["option", name]));
    select.value = now;
  };
  return { element: namedPart(label, select), draw };
}

/** @extends {ControlChips<StepView>} */
export class StepControls extends ControlChips {
  /** @param {StepView} view */
  constructor(view) {
    super(view, "Changes to the layer", { names: { ...NAMES, lw: "Weights of this layer" } });
    this.first = makeList("Implementation", (impl) => this.set({ impl }));
    this.second = makeList("Compare with", (vs) => this.set({ vs }));
    const sources = /** @type {[string, string][]} */ ([OWN, "random"].map((source) => [source, source]));
    this.weightSource = choice("Weights of this layer", sources, (lw) => this.set({ lw }));
    this.biases = namedPart("Biases", group("Biases"));
    this.random = div("numbers");
    this.caption = h("p", { class: "label" });
    // the description below arrives with the response and moves no control
    this.inside.lw = div("weights", this.weightSource.element, this.random, this.caption);
    this.panel.append(this.inside.lw);
    this.lists = [this.first.element, this.second.element];
  }

  /** @param {string} key */
  whyNot(key) {
    return this.view.picture.inert[key] ?? "";
  }

  /** Return whether a control has no effect; ablated heads of earlier layers always have one. @param {string} key */
  isIdle(key) {
    return key !== "off" && super.isIdle(key);
  }

  describe() {
    const isOwn = this.value("lw") === OWN;
    return { ...super.describe(), lw: isOwn ? "the model’s weights" : `random weights, seed ${this.value("dice")}` };
  }

  draw() {
    const { implementations } = this.view.picture;
    this.first.draw(implementations, this.value("impl"));
    this.second.draw(["none", ...implementations], this.value("vs"));
    super.draw();
  }

  /** @param {string} key */
  fill(key) {
    super.fill(key);
    if (key !== "lw") return;
    const { biases, weights } = this.view.picture;
    this.weightSource.press(this.value("lw"));
    setText(this.caption, weights);
    this.random.hidden = this.value("lw") === OWN;
    fillChoice(this.biases.lastElementChild, biases, biases.indexOf(this.value("biases")), (index) =>
      this.set({ biases: biases[index] }),
    );
    const drop = drawNumber("Dropout of the weights", SLIDE, this.value("drop"), (drop) => this.set({ drop }, true));
    const dice = drawNumber("Random seed", INTEGER, this.value("dice"), (dice) => this.set({ dice }, true));
    render(this.random, this.biases, drop, dice);
  }
}
