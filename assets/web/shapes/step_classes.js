// The whole classes of the implementations that are shown, folded; asked for when the fold is opened.

import { div, fill, h, setText } from "../base/dom.js";
import { Wire } from "../wire/wire.js";

export class StepClasses {
  /** @param {import("./steps.js").StepView} view */
  constructor(view) {
    this.view = view;
    this.summary = h("summary");
    this.room = div("classes");
    this.element = /** @type {HTMLDetailsElement} */ (
      h("details", { ontoggle: () => this.ask() }, this.summary, this.room)
    );
    this.names = /** @type {string[]} */ ([]);
    const hears = {
      take: (bytes) => this.fill(JSON.parse(new TextDecoder().decode(bytes))),
      refuse: (sentence) => this.fill([sentence]),
    };
    this.wire = new Wire(hears, view.here.signal);
  }

  ask() {
    const [impl, vs = "none"] = this.names;
    if (this.element.open) this.wire.ask("classes", new URLSearchParams({ impl, vs }), this.view.visit);
  }

  /** @param {string[]} sources */
  fill(sources) {
    const make = () => h("pre", { tabindex: "0" }, h("code"));
    fill(this.room, sources, make, (pre, source) => setText(pre.firstElementChild, source));
  }

  /** @param {string[]} names of the implementations that are shown */
  draw(names) {
    this.names = names;
    setText(this.summary, `The class, and every function that it calls: ${names.join(" and ")}`);
    this.ask();
  }
}
