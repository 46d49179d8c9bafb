// The exercise on the current layer: a bug in a reshape, or the layer to complete.

import { SideRequest } from "../wire/api_client.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { bringUnderBar, fold, h, setAttribute, setText } from "../base/dom.js";
import { setParam } from "../link/link.js";

const NOT_OF_IT = ["step", "f", "vs"]; // parameters that do not change the exercise

export class StepLesson {
  /** @param {StepView} view */
  constructor(view) {
    this.view = view;
    this.lesson = /** @type {SideRequest<import("../base/messages.js").ReshapeLesson>} */ (
      new SideRequest(view, "reshape")
    );
    this.arrives = false; // scroll it into view
    this.panel = new BlocksPanel((event) => this.press(event));
    this.source = h("code");
    this.ran = fold("The code that just ran", {}, h("pre", { tabindex: "0" }, this.source));
    this.element = h("section", { class: "lesson-room", tabindex: "-1", hidden: "" }, this.panel.element, this.ran);
  }

  /** Request the exercise on the current traces. @param {URLSearchParams} query */
  ask(query) {
    const { values, at, head } = this.view;
    const params = new URLSearchParams(query);
    for (const key of NOT_OF_IT) params.delete(key);
    for (const key of ["lesson", "wrote"]) setParam(params, key, values[key]);
    params.set("at", `${at.layer}.${head}`);
    if (String(params) !== this.lesson.key) this.lesson.ask(params);
  }

  /** Handle a choice of exercise or of a line in it. @param {any} event */
  press({ lesson, gap, line }) {
    const lines = String(this.view.values.wrote ?? this.lesson.answer?.wrote).split(".");
    lines[gap] = String(line);
    this.view.change(lesson ? { lesson } : { wrote: lines.join(".") });
  }

  /** Open an exercise and scroll to it. @param {string} name */
  open(name) {
    this.arrives = true;
    this.view.change({ lesson: name });
  }

  draw() {
    const { answer, pending } = this.lesson;
    setAttribute(this.element, "aria-busy", pending ? "true" : null);
    this.element.hidden = !answer;
    if (!answer) return;
    this.panel.draw(answer.blocks, this.view.theme);
    setText(this.source, answer.source);
    this.ran.hidden = !answer.source;
    if (!this.arrives || pending || this.view.pause) return;
    this.arrives = false;
    this.element.focus({ preventScroll: true }); // the next key belongs to it
    bringUnderBar(this.element);
  }
}
