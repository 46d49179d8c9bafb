// The row of figures under the maps: value and label, with a button where the value is slow to compute.

import { button, div, fill, h, setText } from "../base/dom.js";

/** @param {() => void} ask requests the value */
export function makeFigures(ask = () => {}) {
  const element = div("figures");
  const make = () => div("panel figure", h("strong"), button("", ask), h("span"));
  /** @param {import("../base/messages.js").Figure[]} figures @param {boolean} waits whether the requested value is pending */
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
