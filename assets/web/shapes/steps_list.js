// The list of the steps in groups, one of them selected by click or arrow keys.

import { h, render, setAttribute } from "../base/dom.js";
import { axesOf } from "./step_panel.js";
import { GROUP_TITLES } from "./steps_words.js";

/** @typedef {{step: TraceStep, at: number, group: number}} Listed a step, its index in the trace, and its group */

const MOVES = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

export class StepList {
  /** @param {(by: number) => void} walk */
  constructor(walk) {
    this.element = h("div", { class: "list", role: "listbox", "aria-label": "steps", tabindex: "0" });
    this.element.onkeydown = (event) => {
      if (!(event.key in MOVES)) return;
      event.preventDefault();
      walk(MOVES[/** @type {"Home"} */ (event.key)]);
    };
  }

  /** @param {Listed[]} listed group by group @param {number} now index of the selected step in the trace
   * @param {(name: string) => void} goTo
   */
  draw(listed, now, goTo) {
    let n = 0; // across all groups
    const drawOption = (/** @type {Listed} */ { step, at }) => {
      const name = step.name.split(/(?<=\.)/).flatMap((part) => [part, ["wbr"]]); // it breaks at its dots
      const props = { role: "option", id: `step-${n++}`, "aria-selected": at === now, onclick: () => goTo(step.name) };
      return ["div", props, ["span.number", n], ["b", ...name], ["span.axes", ...axesOf(step, false)]];
    };
    const drawGroup = (/** @type {string} */ title, /** @type {number} */ index) => {
      const steps = listed.filter(({ group }) => group === index);
      const name = ["span.group-name", { "aria-hidden": "true" }, title];
      return [
        "div",
        { role: "group", "aria-label": title, hidden: !steps.length },
        name,
        ["div", ...steps.map(drawOption)],
      ];
    };
    render(this.element, ...GROUP_TITLES.map(drawGroup));
    this.bringIntoSight(listed.findIndex(({ at }) => at === now));
  }

  /** @param {number} place */
  bringIntoSight(place) {
    setAttribute(this.element, "aria-activedescendant", `step-${place}`);
    const option = /** @type {HTMLElement} */ (this.element.querySelector(`#step-${place}`));
    const overflow = option.offsetTop + option.offsetHeight - this.element.clientHeight;
    this.element.scrollTop = Math.min(place ? option.offsetTop : 0, Math.max(overflow, this.element.scrollTop));
  }
}
