// @ts-check
// One implementation at one step: its line of source, sizes, what it was made from, and its values.

import { fill, h, setAttribute, setText } from "./dom.js";
import { drawMemory, drawTiles } from "./pictures.js";
import { Plane } from "./plane.js";
import { madeFrom, sourcesOf, titleOf } from "./steps_words.js";
import { panel } from "./view_base.js";

/** @typedef {import("./tensor.js").Tensor} Tensor */
/** @typedef {import("./tensor.js").Trace} Trace */
/** @typedef {import("./pictures.js").Area} Area */

const PADDING = 34; // pixels of the panel beside its content
const ROOMY = 520; // pixels; above, a step stands beside what it was made from
const RECORDS = /^\s*(trace|head|together|of_head|second_pass\(trace\))\(/; // lines that only record

export class Side {
  /** @param {{pick: (row: number, column: number) => void, chooseHead: (head: number) => void}} choices */
  constructor({ pick, chooseHead }) {
    this.chooseHead = chooseHead;
    this.plane = new Plane(pick);
    this.code = h("ol", { class: "code", tabindex: "0", role: "region" });
    /** @type {WeakMap<EventTarget, Area[]>} what a click on a picture means */
    this.areas = new WeakMap();
    this.parts = {
      title: h("h2"),
      name: h("code"),
      label: h("p", { class: "label" }),
      axes: h("span", { class: "axes" }),
      where: h("p", { class: "label" }),
      facts: h("dl", { class: "facts" }),
      said: h("p", { class: "said" }),
      before: h("div", { class: "pictures" }),
      after: h("div", { class: "pictures" }),
    };
    const p = this.parts;
    const made = h("div", { class: "made" }, p.before, p.after);
    made.onclick = (event) => this.click(event);
    const header = [h("div", { class: "titles" }, p.title, p.name, p.label), p.axes];
    const source = h("div", { class: "source" }, p.where, this.code);
    this.element = panel("side", null, header, source, p.facts, p.said, made, this.plane.element);
  }

  click({ target, offsetX, offsetY }) {
    const inside = (/** @type {Area} */ { x, y, width, height }) =>
      offsetX >= x && offsetX <= x + width && offsetY >= y && offsetY <= y + height;
    const area = this.areas.get(target ?? this.element)?.find((own) => own.head !== null && inside(own));
    if (area && area.head !== null) this.chooseHead(area.head);
  }

  /** @param {Trace} trace @param {number} at the step @param {import("./messages.js").Steps} state
   * @param {import("./colour.js").Theme} theme @param {import("./colour.js").Inks} colours
   */
  draw(trace, at, state, theme, colours) {
    const step = trace.steps[at];
    const p = this.parts;
    setText(p.title, titleOf(step, trace));
    setText(p.label, trace.label);
    setText(p.name, `${trace.implementation} · ${step.name}${step.expression ? ` = ${step.expression}` : ""}`);
    drawAxes(p.axes, step);
    this.drawSource(trace.sources[step.source], step);
    this.drawFacts(step);
    setText(p.said, madeFrom(step, trace));
    const width = this.element.clientWidth - PADDING;
    const paired = width > ROOMY && step.from.length > 0;
    setAttribute(this.element, "data-paired", paired ? "" : null);
    const each = { ...state, theme, colours, width: paired ? (width - 16) / 2 : width };
    const from = sourcesOf(step, trace, state.head);
    const share = (each.width - 10 * (from.length - 1)) / Math.max(1, from.length);
    this.drawPictures(p.before, from, "from ", { ...each, width: share });
    this.drawPictures(p.after, [step], step.from.length ? "to " : "", each);
    const { head, row, key, feature } = state;
    const column = step.hasKeys || (step.axis("c") < 0 && step.axis("d") < 0) ? (key ?? 0) : feature;
    this.plane.draw({ tensor: step, tokens: trace.tokens, head, row, column, theme, colours, width });
  }

  /** @param {Tensor} step */
  drawFacts(step) {
    const facts = [
      ["shape", `(${step.sizes.join(", ")})`],
      ["strides", `(${step.strides.join(", ")})`],
      ["contiguous", step.contiguous ? "yes" : "no"],
      ["memory", step.view ? "view" : "own"],
      ["bytes", step.bytes.toLocaleString("en")],
    ];
    fill(
      this.parts.facts,
      facts,
      () => h("div", {}, h("dt"), h("dd")),
      (element, [name, value]) => {
        setText(element.children[0], name);
        setText(element.children[1], value);
      },
    );
  }

  /** @param {import("./messages.js").TraceHeader["sources"][0]} source @param {Tensor} step */
  drawSource({ where, first, lines }, step) {
    const { marked } = step;
    const last = first + lines.length - 1;
    setText(this.parts.where, `${where}, lines ${first}–${last}: what ran; the marked lines made this`);
    setAttribute(this.code, "aria-label", `source of ${step.name}`);
    fill(
      this.code,
      lines,
      () => h("li"),
      (line, text, n) => {
        setText(line, text || " ");
        const kinds = [marked.includes(n) && "marked", RECORDS.test(text) && "record"].filter(Boolean);
        setAttribute(line, "class", kinds.join(" ") || null);
        setAttribute(line, "aria-current", marked.includes(n) ? "true" : null);
      },
    );
    const shown = /** @type {HTMLElement[]} */ ([...this.code.children]);
    const [top, end] = [shown[marked[0]], shown[marked[marked.length - 1]]];
    const middle = (top.offsetTop + end.offsetTop + end.offsetHeight - this.code.clientHeight) / 2;
    this.code.scrollTop = Math.min(top.offsetTop - 4, Math.max(0, middle));
  }

  /** @param {Element} parent @param {Tensor[]} tensors @param {string} word @param {Parameters<drawMemory>[2]} state */
  drawPictures(parent, tensors, word, state) {
    const picture = (/** @type {string} */ name) =>
      h("figure", { class: name }, h("figcaption"), h("canvas", { role: "img" }));
    fill(
      parent,
      tensors,
      () => h("div", { class: "pair" }, picture("tiles"), picture("memory")),
      (pair, tensor) => {
        const [tiles, memory] = [...pair.children].map((figure) => ({
          caption: figure.children[0],
          canvas: /** @type {HTMLCanvasElement} */ (figure.children[1]),
        }));
        const { seen, areas } = drawTiles(tiles.canvas, tensor, state);
        this.areas.set(tiles.canvas, areas);
        setText(tiles.caption, `${word}${tensor.name}: ${seen}`);
        setAttribute(tiles.canvas, "aria-label", `${tensor.name} as ${seen}, one colour a head`);
        setText(memory.caption, drawMemory(memory.canvas, tensor, state));
        setAttribute(memory.canvas, "aria-label", `the memory of ${tensor.name}, ${tensor.memory.length} places`);
      },
    );
  }
}

/** The axes of a step as coloured pills, each with its letter and size.
 * @param {Element} parent @param {import("./messages.js").TraceStep} step @param {{letters?: boolean}} how
 */
export function drawAxes(parent, step, { letters = true } = {}) {
  fill(
    parent,
    step.axes,
    () => h("span"),
    (pill, { text, letter, size }) => {
      setAttribute(pill, "class", `axis ${letter || "v"}`);
      setText(pill, letters && letter ? `${text.replace(" ", "·")} ${size}` : String(size));
    },
  );
}
