// The lines of a function that ran: those of the current step are highlighted, recording code is folded, and each line
// has the shape of its result.

import { SideRequest } from "../wire/api_client.js";
import { div, h, render, setAttribute, setText } from "../base/dom.js";

/** @typedef {{text: string, shape: string, marked: boolean, folded: string}} Line folded: the lines behind a dot */

const shapeOf = (/** @type {Tensor} */ { sizes }) => `(${sizes.join(", ")})`;
const baseOf = (/** @type {Tensor} */ { name }) => name.split(".")[0];

/** The shapes behind the lines, by line number: of the latest steps up to the current one, in this call of the
 * function. @param {Trace} trace @param {Tensor} step
 */
export function shapesBehind(trace, step) {
  // a statement that ran for q, k and v has several steps: that of the current name counts
  const ran = new Map();
  for (const other of trace.steps) {
    if (other.source !== step.source || other.onlyHead !== step.onlyHead) continue;
    if (!ran.has(other.recorded) || baseOf(other) === baseOf(step)) ran.set(other.recorded, other);
  }
  const tensorsOf = /** @type {Map<number, Tensor[]>} */ (new Map());
  for (const other of ran.values()) {
    const line = Math.max(...other.marked);
    tensorsOf.set(line, [...(tensorsOf.get(line) ?? []), other]);
  }
  const words = (/** @type {Tensor[]} */ tensors) =>
    new Set(tensors.map(shapeOf)).size === 1
      ? shapeOf(tensors[0])
      : tensors.map((tensor) => `${tensor.name} ${shapeOf(tensor)}`).join(", ");
  return new Map([...tensorsOf].map(([line, tensors]) => [line, `  # ${words(tensors)}`]));
}

/** The lines to display. @param {Trace} trace @param {Tensor} step @returns {Line[]} */
function linesOf(trace, step) {
  const { lines, records } = trace.sources[step.source];
  const shapes = shapesBehind(trace, step);
  const listed = /** @type {Line[]} */ ([]);
  lines.forEach((text, n) => {
    const marked = step.marked.includes(n);
    const folds = records.includes(n) && !marked;
    const last = listed.at(-1);
    if (folds && last?.folded) last.folded += `\n${text.trim()}`;
    else listed.push({ text, shape: shapes.get(n) ?? "", marked, folded: folds ? text.trim() : "" });
  });
  return listed;
}

export class CodeLines {
  sourceLabel = h("p", { class: "label" });
  list = h("ol");
  room = h("div", { class: "code", tabindex: "0", role: "group" }, this.list);
  element = div("source", this.sourceLabel, this.room);

  /** @param {Trace} trace @param {Tensor} step */
  draw(trace, step) {
    const { location, first: from, lines } = trace.sources[step.source];
    setText(
      this.sourceLabel,
      `${location}, lines ${from}–${from + lines.length - 1}: this code ran; the highlighted line made this tensor`,
    );
    setAttribute(this.room, "aria-label", `source of ${step.name}`);
    const drawLine = (/** @type {Line} */ { text, shape, marked, folded }) => {
      const title = folded ? `These lines only trace values, so they are hidden:\n${folded}` : null;
      const props = {
        class: marked ? "marked" : folded ? "folded" : null,
        title,
        "aria-current": marked ? "true" : null,
      };
      return ["li", props, ["span.line", folded ? "·" : text || " "], ["span.shape", folded ? "" : shape]];
    };
    render(this.list, ...linesOf(trace, step).map(drawLine));
    const first = /** @type {HTMLElement | null} */ (this.list.querySelector(".marked"));
    if (first) this.room.scrollTop = first.offsetTop - this.room.clientHeight / 2;
  }
}

/** The whole classes of the displayed implementations in a collapsed section, loaded when it is opened.
 * @param {StepView} view
 */
export function wholeClasses(view) {
  const room = div("classes");
  const drawSource = (/** @type {string} */ source) => ["pre", { tabindex: "0" }, ["code", source]];
  const show = () => render(room, ...(sources.answer ?? [sources.refusal]).map(drawSource));
  const sources = /** @type {SideRequest<string[]>} */ (new SideRequest(view, "classes", show));
  const summary = h("summary");
  const ask = () => {
    const [impl, vs = "none"] = view.picture.traces.map(({ implementation }) => implementation);
    setText(summary, `The class and every function that it calls: ${impl}${vs === "none" ? "" : ` and ${vs}`}`);
    if (element.open) sources.ask(new URLSearchParams({ impl, vs }));
  };
  const element = h("details", { ontoggle: ask }, summary, room);
  return { element, draw: ask };
}
