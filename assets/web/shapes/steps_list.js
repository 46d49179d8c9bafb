// The list of the steps in groups, one of them selected by click or arrow keys.

import { fill, h, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { drawAxes } from "./step_panel.js";
import { GROUP_TITLES } from "./steps_words.js";

/** @typedef {{step: TraceStep, at: number, group: number}} Listed a step, its index in the trace, and its group */

const MOVES = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

const makeGroup = () =>
  h("div", { role: "group" }, h("span", { class: "group-name", "aria-hidden": "true" }), h("div"));
const makeOption = () => h("div", { role: "option" }, span("number"), h("b"), span("axes"));

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
    const groups = GROUP_TITLES.map((title, index) => ({
      title,
      steps: listed.filter(({ group }) => group === index),
    }));
    fill(this.element, groups, makeGroup, (element, { title, steps }) => {
      setAttribute(element, "aria-label", title);
      setText(element.children[0], title);
      element.hidden = !steps.length;
      fill(element.children[1], steps, makeOption, (option, { step, at }) => {
        drawOption(option, step, n, at === now);
        option.onclick = () => goTo(step.name);
        n += 1;
      });
    });
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

/** @param {Element} option @param {TraceStep} step @param {number} n its number in the list @param {boolean} isSelected */
function drawOption(option, step, n, isSelected) {
  const [number, name, axes] = option.children;
  setText(number, String(n + 1));
  // break the name at its dots
  if (name.textContent !== step.name)
    name.replaceChildren(...step.name.split(/(?<=\.)/).flatMap((part) => [part, h("wbr")]));
  drawAxes(axes, step, { words: false });
  setAttributes(option, { id: `step-${n}`, "aria-selected": String(isSelected) });
}
