// The row of figures under the maps: value and label, with a button where the value is slow to compute.

import { div, render } from "../base/dom.js";

/** @param {() => void} ask requests the value */
export function makeFigures(ask = () => {}) {
  const element = div("figures");
  /** @param {import("../base/messages.js").Figure[]} figures @param {boolean} waits whether the requested value is pending */
  const draw = (figures, waits = false) => {
    const drawFigure = (/** @type {import("../base/messages.js").Figure} */ { value, label, ask: question = "" }) => {
      const isPending = waits && !value;
      const props = { onclick: ask, hidden: Boolean(value) || !question, disabled: isPending };
      const press = ["button", props, isPending ? "comparing …" : question];
      return ["div.panel.figure", ["strong", { hidden: !value }, value], press, ["span", label]];
    };
    render(element, ...figures.map(drawFigure));
  };
  return { element, draw };
}
