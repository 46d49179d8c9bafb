// One step of one implementation: its source line, sizes, inputs and values.

import { CodeLines } from "./code_lines.js";
import { button, div, h, panel, rem, render, setAttribute, setText, span, topOf } from "../base/dom.js";
import { clamp } from "../base/grid_keys.js";
import { drawMemory, drawTiles } from "./pictures.js";
import { Plane } from "./plane.js";
import { madeFrom, sourcesOf } from "./steps_words.js";
import { Strides } from "./strides.js";

/** @typedef {Parameters<drawMemory>[2] & {scale: number, room: number}} Painting */

const PADDING = 34; // pixels of the panel beside its content
const MEMORY = 7.6; // rem below projected matrices: memory, two captions, the edge
const ROOMY = 400; // pixels; above, a step is beside its inputs

export class Side {
  /** @param {StepView} view */
  constructor(view) {
    this.view = view;
    this.plane = new Plane((row, column) => view.pick(row, column));
    this.code = new CodeLines();
    this.strides = new Strides(() => this.lightMemory());
    this.lesson = ""; // name of the exercise on this step
    /** @type {[Tensor, Painting] | null} last arguments of the memory drawing */
    this.painted = null;
    this.parts = {
      title: h("h2"),
      name: h("code"),
      label: h("p", { class: "label" }),
      axes: span("axes"),
      texts: h("dl", { class: "texts", "aria-label": "the same step in other tutorials" }),
      why: h("span"),
      learn: button("", () => this.lesson && view.lesson.open(this.lesson), { class: "learn" }),
      facts: h("dl", { class: "facts" }),
      status: h("p", { class: "status-line" }),
      inputPictures: div("pictures"),
      outputPictures: div("pictures"),
    };
    const p = this.parts;
    this.flow = div("tensor-flow", p.inputPictures, p.outputPictures);
    const header = [div("titles", p.title, p.name, p.label), p.axes];
    const why = div("explanation", h("p", {}, h("b", {}, "Why? "), p.why), p.learn);
    const { code, flow, strides, plane } = this;
    const inside = [p.texts, why, code.element, p.facts, p.status, flow, strides.element, plane.panel];
    this.element = panel("side", null, header, ...inside);
  }

  /** @param {Trace} trace @param {number} index index of the step
   * @param {{head: number, row: number, key: number | null, feature: number}} place the focus in it
   * @param {{theme: Theme, colours: Inks, scale: number,
   *   floor: number}} ink scale: of the type size in drawings; floor: bottom of the window in pixels
   * @param {Record<string, string>} lessons question of each exercise
   */
  draw(trace, index, place, ink, lessons) {
    const step = trace.steps[index];
    const p = this.parts;
    setText(p.title, step.title);
    setText(p.label, trace.label);
    setText(p.name, `${trace.implementation} · ${step.name}${step.expression ? ` = ${step.expression}` : ""}`);
    render(p.texts, { hidden: !step.texts.length }, ...termsOf(step.texts)); // its names in the texts that write it differently
    render(p.axes, ...axesOf(step));
    setText(p.why, step.why);
    this.lesson = step.lesson;
    p.learn.hidden = !this.lesson;
    setText(p.learn, `? ${lessons[this.lesson] ?? ""}`);
    this.code.draw(trace, step);
    const facts = [
      ["shape", `(${step.sizes.join(", ")})`],
      ["strides", `(${step.strides.join(", ")})`],
      ["contiguous", step.contiguous ? "yes" : "no"],
      ["memory", step.view ? "view" : "own"],
      ["bytes", step.bytes.toLocaleString("en")],
    ];
    render(p.facts, ...termsOf(facts));
    setText(p.status, madeFrom(step, trace));
    const width = this.element.clientWidth - PADDING;
    const paired = width > ROOMY && step.parents.length > 0;
    setAttribute(this.element, "data-paired", paired ? "" : null);
    const { head, row, key, feature } = place;
    const column = step.hasKeys || (step.axis("c") < 0 && step.axis("d") < 0) ? (key ?? 0) : feature;
    const plane = step.plane(head);
    const cell = clamp([row, column], [0, plane.height - 1], [0, plane.width - 1]);
    this.strides.draw(step, plane.index(...cell));
    const room = ink.floor - topOf(p.inputPictures) - MEMORY * rem(); // the memory must end above the floor
    const options = { ...place, ...ink, room, width: paired ? (width - 16) / 2 : width };
    const from = sourcesOf(step, trace, place.head);
    const share = (options.width - 10 * (from.length - 1)) / Math.max(1, from.length);
    this.drawPictures(p.inputPictures, from, "from ", { ...options, width: share });
    this.drawPictures(p.outputPictures, [step], step.parents.length ? "to " : "", options);
    this.painted = [step, options];
    if (this.strides.jump) this.lightMemory();
    this.plane.drawHead(step, trace.tokens, head, cell, ink, width);
  }

  /** Redraw the memory with the jump along the pointed axis. */
  lightMemory() {
    const canvas = /** @type {HTMLCanvasElement | null} */ (this.parts.outputPictures.querySelector(".memory canvas"));
    if (canvas && this.painted) drawMemory(canvas, ...this.painted, this.strides.jump);
  }

  /** @param {Element} parent @param {Tensor[]} tensors @param {string} word @param {Painting} state */
  drawPictures(parent, tensors, word, state) {
    const figure = (/** @type {string} */ kind) => [`figure.${kind}`, ["figcaption"], ["canvas", { role: "img" }]];
    render(parent, ...tensors.map(() => ["div.pair", figure("tiles"), figure("memory")]));
    tensors.forEach((tensor, index) => {
      const [tiles, memory] = [...parent.children[index].children].map((figure) => ({
        caption: figure.children[0],
        canvas: /** @type {HTMLCanvasElement} */ (figure.children[1]),
      }));
      const { seen, areas } = drawTiles(tiles.canvas, tensor, state);
      tiles.canvas.onclick = ({ offsetX, offsetY }) => {
        const isHere = (/** @type {Area} */ { x, y, width, height }) =>
          offsetX >= x && offsetX <= x + width && offsetY >= y && offsetY <= y + height;
        const head = areas.find(isHere)?.head ?? null;
        if (head !== null) this.view.setCursor({ head });
      };
      setText(tiles.caption, `${word}${tensor.name}: ${seen}`);
      setAttribute(tiles.canvas, "aria-label", `${tensor.name} as ${seen}, one colour a head`);
      setText(memory.caption, drawMemory(memory.canvas, tensor, state));
      setAttribute(memory.canvas, "aria-label", `the memory of ${tensor.name}, ${tensor.memory.length} places`);
    });
  }
}

/** The items of a list of terms with their meanings. @param {string[][]} terms */
const termsOf = (terms) => terms.map(([term, meaning]) => ["div", ["dt", term], ["dd", meaning]]);

/** The axes of a step as coloured pills: "heads 12", or the size alone in a list of steps. @param {TraceStep} step */
export const axesOf = ({ axes }, words = true) =>
  axes.map(({ letter, name, size }, index) => {
    const title = `axis ${index}: ${name} ${size}${letter ? `; ${letter} in the code` : ""}`;
    return ["span", { class: `axis ${letter || "v"}`, title }, words ? `${name} ${size}` : size];
  });
