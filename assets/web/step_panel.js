// One implementation at one step: its line of source, sizes, what it was made from, and its values.

import { fill, h, setAttribute, setText } from "./dom.js";
import { drawMemory, drawTiles } from "./pictures.js";
import { Plane } from "./plane.js";
import { madeFrom, sourcesOf, titleOf } from "./steps_words.js";

const picture = (name) => h("figure", { class: name }, h("figcaption"), h("canvas", { role: "img" }));

export class Side {
  constructor({ pick, chooseHead }) {
    this.plane = new Plane(pick);
    this.code = h("ol", { class: "code", tabindex: "0", role: "region" });
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
    made.onclick = (event) => {
      const area = event.target.areas?.find(
        ({ x, y, width, height, head }) =>
          head !== null &&
          event.offsetX >= x &&
          event.offsetX <= x + width &&
          event.offsetY >= y &&
          event.offsetY <= y + height,
      );
      if (area) chooseHead(area.head);
    };
    this.element = h(
      "section",
      { class: "panel side" },
      h("header", {}, h("div", { class: "titles" }, p.title, p.name, p.label), p.axes),
      h("div", { class: "source" }, p.where, this.code),
      p.facts,
      p.said,
      made,
      this.plane.element,
    );
  }

  draw(trace, at, state, theme, colours) {
    const step = trace.steps[at];
    const p = this.parts;
    setText(p.title, titleOf(step, trace));
    setText(p.label, trace.label);
    setText(p.name, `${trace.implementation} · ${step.name}${step.expression ? ` = ${step.expression}` : ""}`);
    drawAxes(p.axes, step);
    this.drawSource(trace.sources[step.source], step);
    const facts = [
      ["shape", `(${step.sizes.join(", ")})`],
      ["strides", `(${step.strides.join(", ")})`],
      ["contiguous", step.contiguous ? "yes" : "no"],
      ["memory", step.view ? "view" : "own"],
      ["bytes", step.bytes.toLocaleString("en")],
    ];
    fill(
      p.facts,
      facts,
      () => h("div", {}, h("dt"), h("dd")),
      (element, [name, value]) => {
        setText(element.children[0], name);
        setText(element.children[1], value);
      },
    );
    setText(p.said, madeFrom(step, trace));
    const width = this.element.clientWidth - 34;
    const paired = width > 520 && step.from.length > 0;
    setAttribute(this.element, "data-paired", paired ? "" : null);
    const each = { ...state, theme, colours, width: paired ? (width - 16) / 2 : width };
    const from = sourcesOf(step, trace, state.head);
    this.drawPictures(p.before, from, "from", {
      ...each,
      width: (each.width - 10 * (from.length - 1)) / Math.max(1, from.length),
    });
    this.drawPictures(p.after, [step], step.from.length ? "to" : "it", each);
    const channel = step.axis("c") >= 0 || step.axis("d") >= 0;
    const column = channel && !(step.axis("i") >= 0 && step.axis("j") >= 0) ? state.feature : (state.key ?? 0);
    this.plane.draw({
      tensor: step,
      tokens: trace.tokens,
      head: state.head,
      row: state.row,
      column,
      theme,
      colours,
      width,
    });
  }

  drawSource(source, step) {
    setText(
      this.parts.where,
      `${source.where}, lines ${source.first}–${source.first + source.lines.length - 1}: what ran; the marked lines made this`,
    );
    setAttribute(this.code, "aria-label", `source of ${step.name}`);
    fill(
      this.code,
      source.lines,
      () => h("li"),
      (line, text, n) => {
        setText(line, text || " ");
        const kinds = [
          step.marked.includes(n) && "marked",
          /^\s*(trace|head|together|of_head|second_pass\(trace\))\(/.test(text) && "record",
        ];
        setAttribute(line, "class", kinds.filter(Boolean).join(" ") || null);
        setAttribute(line, "aria-current", step.marked.includes(n) ? "true" : null);
      },
    );
    const [first, last] = [step.marked[0], step.marked.at(-1)].map((n) => this.code.children[n]);
    const room = this.code.clientHeight;
    this.code.scrollTop = Math.min(
      first.offsetTop - 4,
      Math.max(0, (first.offsetTop + last.offsetTop + last.offsetHeight - room) / 2),
    );
  }

  drawPictures(parent, tensors, word, state) {
    fill(
      parent,
      tensors,
      () => h("div", { class: "pair" }, picture("tiles"), picture("memory")),
      (pair, tensor) => {
        const [tiles, memory] = pair.children;
        const seen = drawTiles(tiles.lastChild, tensor, state);
        setText(tiles.firstChild, `${word === "it" ? "" : `${word} `}${tensor.name}: ${seen}`);
        setAttribute(tiles.lastChild, "aria-label", `${tensor.name} as ${seen}, one colour a head`);
        setText(memory.firstChild, drawMemory(memory.lastChild, tensor, state));
        setAttribute(memory.lastChild, "aria-label", `the memory of ${tensor.name}, ${tensor.memory.length} places`);
      },
    );
  }
}

/** The axes of a step as coloured pills, each with its letter and size. */
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
