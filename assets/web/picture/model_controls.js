// The sentence and the controls of the model on a page whose other controls are Streamlit's.

import { div } from "../base/dom.js";
import { mount } from "../base/mount.js";
import { View } from "../base/view_base.js";
import { write } from "../link/link.js";
import { ControlChips } from "./control_chips.js";
import { headChoice } from "./map_choice.js";
import { SentenceBox } from "./sentence.js";
import choicesCss from "./choices.css" with { type: "css" };

const PAUSE = 300; // ms after the last key, before the text is sent

/** @extends {View<import("../base/messages.js").ModelControls & Ack>} */
class ModelControls extends View {
  constructor(root) {
    super(root, [choicesCss], "model-controls", ["params", "layer", "head"]);
    this.pause = 0;
    this.box = new SentenceBox(this, (s) => this.change({ s }, true));
    this.controls = new ControlChips(this, "Change the model");
    this.choice = headChoice(this);
    const { chips, panel } = this.controls;
    this.show(this.box.element, chips, panel, div("bar", ...this.choice.elements));
    const { signal } = this.lifetime;
    addEventListener("headlight-leave", () => this.pause && write({ s: this.state.params.s }), { signal });
  }

  /** Keep what is still to be sent. */
  onMessage(state) {
    super.onMessage(this.pause ? { ...state, params: this.state.params } : state);
  }

  /** What the controls read of the model. */
  get picture() {
    return this.state;
  }

  toParams() {
    return this.state.params;
  }

  /** @param {Values} values null for defaults @param {boolean} [typing] more input follows */
  change(values, typing = false) {
    const { params, defaults } = this.state;
    const named = Object.entries(values).map(([key, value]) => [key, value ?? defaults[key]]);
    this.state.params = { ...params, ...Object.fromEntries(named) };
    this.redraw();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.writeAddress(), typing ? PAUSE : 0);
  }

  /** Send the values, which the page's script writes into the address. */
  writeAddress() {
    if (!this.pause) return;
    clearTimeout(this.pause);
    this.pause = 0;
    const { params, layer, head } = this.state;
    this.tell({ params, layer, head });
  }

  get at() {
    return { layer: this.state.layer ?? 0, head: this.state.head ?? 0 };
  }

  /** @param {{layer?: number, head?: number}} change */
  setCursor(change) {
    Object.assign(this.state, change);
    this.change({});
  }

  draw() {
    const { names, params, layer, head } = this.state;
    this.box.text = String(params.s);
    this.choice.draw();
    [layer, head].forEach((place, index) => this.choice.elements[index].toggleAttribute("hidden", place === null));
    this.controls.chips.hidden = !names.length;
    for (const opener of this.controls.openers) opener.hidden = !names.includes(`${opener.dataset.key}`);
    this.controls.draw();
  }
}

export const view = mount(ModelControls);
