// The strip of figures under the maps: a value, what it is, and for one that takes long a button that asks for it.

import { button, div, fill, h, setText } from "../base/dom.js";

export class Figures {
  /** @param {() => void} ask has the value computed */
  constructor(ask = () => {}) {
    this.ask = ask;
    this.element = div("figures");
  }

  /** @param {import("../base/messages.js").Figure[]} figures @param {boolean} waits the value that was asked for has not come */
  draw(figures, waits = false) {
    const make = () => div("panel figure", h("strong"), button("", this.ask), h("span"));
    fill(this.element, figures, make, (card, { value, label, ask = "" }) => {
      const [strong, asks, span] = /** @type {[HTMLElement, HTMLButtonElement, HTMLElement]} */ ([...card.children]);
      setText(strong, value);
      setText(span, label);
      strong.hidden = !value;
      asks.hidden = Boolean(value) || !ask;
      asks.disabled = waits && !value;
      setText(asks, asks.disabled ? "comparing …" : ask);
    });
  }
}
