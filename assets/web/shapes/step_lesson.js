// The lesson on the layer that is shown: what goes wrong at its reshapes, or the exercise. It stands at the end of the
// view, or beside the step whose question it answers.

import { BlocksPanel } from "../sheets/blocks_panel.js";
import { h, setAttribute, setText } from "../base/dom.js";
import { put } from "../link/link.js";
import { Wire } from "../wire/wire.js";

/** @typedef {import("./step_panel.js").Side} Side */

const BAR = 60; // pixels of the bar on top
const NOT_OF_IT = ["step", "f", "vs"]; // keys that change no lesson

export class StepLesson {
  /** @param {import("./steps.js").StepView} view */
  constructor(view) {
    this.view = view;
    this.told = /** @type {import("../base/messages.js").ReshapeLesson | null} */ (null);
    this.drawn = this.told;
    this.side = /** @type {Side | null} */ (null); // beside whose step it stands
    this.name = ""; // of the lesson that was opened there
    this.arrives = false; // it is to be brought into sight
    this.panel = new BlocksPanel((event) => this.press(event));
    this.source = h("code");
    const ran = h("details", {}, h("summary", {}, "The code that just ran"), h("pre", { tabindex: "0" }, this.source));
    this.element = h("section", { class: "lesson-room", tabindex: "-1", hidden: "" }, this.panel.element, ran);
    this.home = h("div", {}, this.element);
    const hears = {
      take: (bytes) => {
        this.told = JSON.parse(new TextDecoder().decode(bytes));
        view.redraw();
      },
      refuse: () => {}, // the steps say why
      wait: (waiting) => setAttribute(this.element, "aria-busy", waiting ? "true" : null),
    };
    this.wire = new Wire(hears, view.here.signal);
  }

  /** Asks for the lesson on the traces that are here. @param {URLSearchParams} query */
  ask(query) {
    const { values, at, head, visit } = this.view;
    const own = new URLSearchParams(query);
    for (const key of NOT_OF_IT) own.delete(key);
    for (const key of ["lesson", "wrote"]) put(own, key, values[key]);
    own.set("at", `${at.layer}.${head}`);
    this.wire.ask("reshape", own, visit);
  }

  /** A lesson was chosen, or a line of the exercise. @param {any} event */
  press({ lesson, gap, line }) {
    const lines = String(this.view.values.wrote ?? this.told?.wrote).split(".");
    lines[gap] = String(line);
    this.view.set(lesson ? { lesson } : { wrote: lines.join(".") });
    return 0;
  }

  /** Opens a lesson beside a step, or takes it back to the end of the view. @param {Side} side @param {string} name */
  turn(side, name) {
    const opens = this.side !== side || this.name !== name;
    this.back();
    if (!opens) return this.view.redraw();
    Object.assign(this, { side, name, arrives: true });
    side.gap.append(this.element);
    side.gap.hidden = false;
    setAttribute(side.parts.learn, "aria-expanded", "true");
    return this.view.set({ lesson: name });
  }

  /** Takes the lesson back to the end of the view. */
  back() {
    const { side } = this;
    if (!side) return;
    this.home.append(this.element);
    side.gap.hidden = true;
    setAttribute(side.parts.learn, "aria-expanded", "false");
    Object.assign(this, { side: null, name: "", arrives: false });
  }

  draw() {
    const { side, told } = this;
    // where the step in sight asks something else, the lesson goes back
    if (side && (side.lesson !== this.name || side.element.hidden)) this.back();
    this.element.hidden = !told;
    if (!told) return;
    const { theme } = this.view;
    if (this.drawn !== told || this.panel.theme !== theme) this.panel.draw(told.blocks, theme);
    this.drawn = told;
    setText(this.source, told.source);
    if (this.arrives && !this.element.hasAttribute("aria-busy")) this.bringIntoSight();
  }

  /** The step's panel begins under the bar where its lesson does not fit into the window as it is; so does the lesson
   * itself on a phone. The next key goes on in it.
   */
  bringIntoSight() {
    const { side, element, view } = this;
    this.arrives = false;
    if (!side) return;
    element.focus({ preventScroll: true });
    const { top, bottom } = element.getBoundingClientRect();
    if (top >= BAR && bottom <= window.innerHeight) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    (view.narrow ? element : side.element).scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }
}
