// The strip of figures under the maps: a value, what it is, and for one that takes long a button that asks for it.

import { button, div, fill, h, setText } from "../base/dom.js";

/** @param {() => void} ask has the value computed */
export function makeFigures(ask = () => {}) {
  const element = div("figures");
  const make = () => div("panel figure", h("strong"), button("", ask), h("span"));
  /** @param {import("../base/messages.js").Figure[]} figures @param {boolean} waits the value that was asked for has not come */
  const draw = (figures, waits = false) =>
    fill(element, figures, make, (card, { value, label, ask: question = "" }) => {
      const [strong, press, span] = /** @type {[HTMLElement, HTMLButtonElement, HTMLElement]} */ ([...card.children]);
      setText(strong, value);
      setText(span, label);
      strong.hidden = !value;
      press.hidden = Boolean(value) || !question;
      press.disabled = waits && !value;
      setText(press, press.disabled ? "comparing …" : question);
    });
  return { element, draw };
}
