// The view "lens": the likeliest next token after each layer, by the final norm and the head.

import { setRovingTabindex } from "../base/choice.js";
import { div, h, render, setText } from "../base/dom.js";
import { isolated } from "../base/token_text.js";
import { percent, quoted } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {import("../base/messages.js").LensAnswer & {chances: Float32Array}} Answer chances: by level, column and place */

const GLOSS =
  "A lens, not a thought: the model never reads these out. The final norm and the head, trained for the last state alone, are applied to the state of a token after each layer.";
const LEGEND = "each cell: the likeliest next token; the stronger the colour, the more probable";

export class LensView {
  name = "lens";
  title = "Read the next word after each layer";
  about = "from which layer on is the answer there? (logit lens)";
  route = "lens";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.status = div("view-status");
    this.readout = div("readout");
    this.grid = h("div", { class: "lens-grid", role: "group", "aria-label": "Logit lens: layers and tokens" });
    this.left = div("label");
    this.element = div("lens-view", h("p", { class: "gloss" }, GLOSS), this.status, div("scrolls", this.grid));
    this.element.append(div("map-foot", div("label", LEGEND), this.readout), this.left);
  }

  /** The link parameters of the view, which covers all layers and heads. */
  params() {
    return { at: writeAt({ ...this.view.at, layer: 0, head: 0, key: null }, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    this.answer = { ...header, chances: floats };
  }

  draw() {
    const { answer, view } = this;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const { tokens, first, row, labels } = answer;
    const count = labels[0].length;
    render(this.status, ["p", answer.sentence]);
    setText(this.left, answer.left);
    const names = tokens.slice(first, first + count);
    const head = names.map((name, column) => [first + column === row ? "b.query" : "span.key", isolated(name)]);
    const levels = labels.map((level, number) => {
      const cells = level.map((_, column) => this.drawCell(answer, number, column));
      return [[number === view.at.layer + 1 ? "b" : "span", levelName(number)], ...cells];
    });
    render(this.grid, { "--columns": count, "--rows": levels.length }, ["span", "after"], ...head, ...levels.flat());
    setRovingTabindex(this.grid, count);
  }

  /** A cell, which selects its token, and its layer. @param {Answer} answer @param {number} level @param {number} column */
  drawCell({ tokens, first, labels, chances }, level, column) {
    const top = labels[level][column];
    const from = (level * labels[level].length + column) * top.length;
    const parts = top.map((label, place) => `${isolated(label)} ${percent(chances[from + place])}`);
    const text = `${quoted(tokens[first + column])}, ${levelName(level)}: ${parts.join(", ")}`;
    const tell = () => setText(this.readout, text);
    const props = { "--share": chances[from], "aria-label": text, onpointerenter: tell, onfocus: tell };
    const onclick = () => this.view.focus.pickRow(first + column, Math.max(0, level - 1));
    return ["button", { ...props, onclick }, isolated(top[0])];
  }
}

/** The label of a level. @param {number} level */
const levelName = (level) => (level ? `layer ${level - 1}` : "input");
