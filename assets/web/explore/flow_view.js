// Flow: of which input tokens the row in focus is made, layer by layer; by rollout, or by attention × value norm.

import { div, fill, h, setAttribute, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { boxOfNode, drawFlow, layOutFlow, levelName, nodeAt } from "./flow_map.js";
import { FoldedTable } from "../picture/folded_table.js";
import { writeAt } from "../link/look.js";
import { unpackFloats } from "../wire/packets.js";
import { choice, contentWidth } from "../base/view_base.js";
import { percent, quoted, ranked } from "../base/words.js";

/** @typedef {import("../base/messages.js").FlowAnswer & {masses: Float32Array}} Answer */

const NORM = "norm"; // as the link says it
const [ROLLOUT, BY_NORM] = ["rollout", "attention × value norm"];
const MOST_ROWS = 20; // tokens of the table
const HIGH = 460; // pixels, where there are few layers
const LEGEND = "thickness: the share; straight up: what a token keeps; orange: the strongest path";

export class FlowView {
  name = "flow";
  title = "Flow";
  route = "flow";
  state = "";

  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.measure = choice(
      "What a line is",
      [
        ["", ROLLOUT, "the mean of the heads’ weights"],
        [NORM, BY_NORM, "how much the heads hand over"],
      ],
      (state) => view.others.change(this, state),
    );
    this.said = div("said-of-view");
    this.left = div("label");
    this.readout = div("readout");
    this.grid = new DrawnGrid({ pick: (at) => this.pick(at), hover: (text) => setText(this.readout, text) });
    this.table = new FoldedTable("Flow as a table", () => view.redraw());
    this.notes = div("label");
    const more = h("a", { class: "page-link", href: "glossary" }, "What the words mean →");
    this.element = div(
      "flow-view",
      div("actions", this.measure.element),
      this.said,
      div("scrolls", this.grid.element),
      div("under", div("label", LEGEND), this.readout),
      this.left,
      this.table.element,
      this.notes,
      more,
    );
  }

  /** It is of all heads. */
  asked() {
    const { at, others } = this.view;
    return { at: writeAt({ ...at, layer: 0, head: 0 }, true), view: others.text };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    this.answer = { ...header, masses: floats };
  }

  /** A node is a layer and a row; one of the input the key that the way leads to. @param {import("../base/grid_keys.js").Place} at */
  pick([row, token]) {
    const { answer, view } = this;
    if (!answer) return;
    const level = answer.layers - row;
    if (level) {
      view.place({ layer: level - 1 });
      return view.focus.pickRow(token);
    }
    view.look.keys = [];
    return view.go({ row: answer.row, key: token });
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { answer, state, grid, view } = this;
    this.measure.press(state === NORM ? NORM : "");
    const [, norm] = this.measure.buttons;
    norm.disabled = Boolean(answer?.noNorm);
    if (answer?.noNorm) setAttribute(norm, "title", answer.noNorm);
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const { tokens, layers, row } = answer;
    fill(this.said, answer.said, "p", setText);
    fill(this.notes, answer.assumes, "p", setText);
    setText(this.left, answer.left);
    const layout = layOutFlow(answer, { width: contentWidth(this.element), height: HIGH });
    const { layer } = view.at;
    grid.draw(
      {
        name: `Flow into ${quoted(tokens[row])} by ${answer.norm ? BY_NORM : ROLLOUT}`,
        how: "levels from the output down to the input, and tokens",
        size: [layers + 1, tokens.length],
        say: ([up, token]) => this.say(answer, layers - up, token),
        boxOf: ([up, token]) => boxOfNode(layout, [layers - up, token]),
        at: (x, y) => {
          const node = nodeAt(layout, x, y);
          return node && [layers - node[0], node[1]];
        },
      },
      layout,
      inks,
      [answer, layer, inks.text],
      (context) => drawFlow(context, layout, answer, inks, layer),
    );
    if (this.table.isOpen) this.fillTable(answer);
  }

  /** What a node says. @param {Answer} answer @param {number} level @param {number} token */
  say({ tokens, masses, row }, level, token) {
    const share = `${percent(masses[level * tokens.length + token])} of ${quoted(tokens[row])}`;
    return `${quoted(tokens[token])}, ${level ? `after layer ${level - 1}` : "input"}: ${share}`;
  }

  /** @param {Answer} answer */
  fillTable({ tokens, layers, masses, row }) {
    const levels = [...Array(layers + 1).keys()];
    const listed = ranked(masses.subarray(0, tokens.length)).slice(0, MOST_ROWS);
    const rest = tokens.length > listed.length ? ` The ${listed.length} of which most comes, of ${tokens.length}.` : "";
    const rows = listed.map(([token]) => {
      const shares = levels.map((level) => percent(masses[level * tokens.length + token]));
      return [`${token} ${tokens[token]}`, ...shares];
    });
    const caption = `How much of ${quoted(tokens[row])} passes a token at each level.${rest}`;
    this.table.fill(["token", ...levels.map(levelName)], rows, caption);
  }
}
