// Of a recording, which is no model: the sentence that says so, and a slider that walks the steps of its training.

import { div, h, setAttribute, setText, span } from "../base/dom.js";

export class RecordedSteps {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.why = span("reason");
    this.slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Step of the training" });
    this.slider.oninput = () => view.type(view.picture.presets[Number(this.slider.value)]);
    this.count = span("count");
    this.player = div("player", this.slider, this.count);
    this.element = div("recorded", this.player, this.why);
    this.element.hidden = true; // until a recording is drawn
  }

  /** What computes is not offered, and the box says the step alone. */
  draw() {
    const { picture, text, box, bar, given } = this.view;
    const { presets, fixed } = picture;
    const why = given.kind ? "" : (fixed.s ?? "");
    this.element.hidden = !why;
    setText(this.why, why);
    box.input.readOnly = Boolean(why);
    bar.tries.element.hidden = Boolean(why);
    this.player.hidden = presets.length < 2;
    if (this.player.hidden) return;
    setAttribute(this.slider, "max", String(presets.length - 1));
    const at = presets.indexOf(text);
    if (Number(this.slider.value) !== at) this.slider.value = String(at);
    setAttribute(this.slider, "aria-valuetext", text);
    setText(this.count, `${text}, ${at + 1} of ${presets.length}`);
  }
}
