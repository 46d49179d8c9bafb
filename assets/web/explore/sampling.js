// How the next token is chosen: greedy or sampled, with temperature, top-k and top-p in the order in which they act, the
// bars that each of them leaves, and the draw with its seed. This temperature is not that of the attention softmax.

import { button, div, h, render, setAttribute, setField, setText, span } from "../base/dom.js";
import { group } from "../base/choice.js";
import { isolated } from "../base/token_text.js";
import { counted, number } from "../base/words.js";

/** @typedef {import("../base/messages.js").Stages} Stages */

const STAGES = ["model", "temperature", "top-k", "top-p"]; // as in the message
const ABOUT =
  "The temperature acts first, then top-k, then top-p. After each, what is left is divided by its sum. At the end one token is drawn at random.";
/** Parameter of the link -> name, range and step. @type {Record<string, [string, number, number, number]>} */
const FIELDS = {
  temp: ["temperature", 0, 5, 0.1],
  topk: ["top-k", 0, 999_999, 1],
  topp: ["top-p", 0, 1, 0.05],
  dice: ["seed", 0, 9999, 1],
};

export class Sampling {
  /** @param {Explore} view @param {(change: Record<string, string | null>) => void} choose */
  constructor(view, choose) {
    this.view = view;
    this.choose = choose;
    this.lastTemperature = 1; // of sampling, before greedy was chosen
    this.fields = Object.fromEntries(Object.keys(FIELDS).map((key) => [key, this.makeField(key)]));
    this.heads = ["temp", "topk", "topp"].map((key) => this.named(key));
    this.greedy = button("greedy", () => this.set("temp", 0), { title: "always the likeliest token" });
    this.sample = button("sample", () => this.set("temp", this.lastTemperature), { title: "a token drawn at random" });
    this.again = button("draw again", () => this.set("dice", (this.value("dice") + 1) % (FIELDS.dice[2] + 1)));
    this.table = h("table", { class: "stages", "aria-label": "Probabilities after each stage" });
    this.warning = h("p", { class: "label", role: "status" });
    this.sentence = h("p", { role: "status" });
    const ways = group("How the next word is chosen", this.greedy, this.sample);
    const draw = div("draw-line", this.named("dice"), this.again, this.sentence);
    this.element = div("sampling", div("draw-line", ways, span("label", ABOUT)), this.table, draw, this.warning);
  }

  /** The value of a parameter. @param {string} key */
  value(key) {
    return Number(this.view.state.sampling[key] ?? this.view.picture.defaults[key]);
  }

  get isGreedy() {
    return this.value("temp") === 0;
  }

  /** @param {string} key @param {number} value */
  set(key, value) {
    this.choose({ [key]: String(value) === this.view.picture.defaults[key] ? null : String(value) });
  }

  /** @param {string} key */
  makeField(key) {
    const [name, min, max, step] = FIELDS[key];
    const input = h("input", { type: "number", min, max, step });
    input.onkeydown = (event) => event.stopPropagation(); // digits here are no shortcuts
    input.oninput = () => {
      if (!input.value) return; // empty, or half a number
      const typed = Number(input.value);
      const nearest = Math.min(max, Math.max(min, step < 1 ? typed : Math.round(typed)));
      const kind = step < 1 ? "a number" : "a whole number";
      const range = `${min} to ${max.toLocaleString("en")}`;
      setText(this.warning, nearest === typed ? "" : `${name} is ${kind} from ${range}; ${nearest} is used.`);
      this.set(key, nearest);
    };
    input.onblur = () => this.view.redraw(); // it then shows the value that is used
    return input;
  }

  /** A field with its name. @param {string} key */
  named(key) {
    return h("label", { class: "named" }, span("label", FIELDS[key][0]), this.fields[key]);
  }

  draw() {
    const { picture } = this.view;
    if (!picture.stages) return;
    for (const [key, field] of Object.entries(this.fields)) {
      setField(field, String(this.value(key)));
      field.disabled = this.isGreedy && key !== "temp";
    }
    if (!this.isGreedy) this.lastTemperature = this.value("temp");
    this.again.disabled = this.isGreedy;
    setAttribute(this.greedy, "aria-pressed", this.isGreedy);
    setAttribute(this.sample, "aria-pressed", !this.isGreedy);
    this.drawTable(picture.stages);
    setText(this.sentence, picture.stages.sentence);
  }

  /** @param {Stages} stages */
  drawTable({ tokens, sample, counts, others }) {
    const heads = this.heads.map((label) => ["th", { scope: "col" }, label]);
    const rows = tokens.map((token, index) => {
      const cut = STAGES.indexOf(token.cut);
      const cells = token.chances.map((chance, stage) => makeCell(chance, stage, cut, token.chances[cut - 1]));
      const rank = ["span.rank", { title: "rank in the model" }, token.rank.toLocaleString("en")];
      const name = ["th", { scope: "row" }, rank, ["span.token-label", isolated(token.label)]];
      if (index === sample) name.push(["span.drawn", this.isGreedy ? "likeliest" : "drawn"]);
      return ["tr", { class: cut > 0 ? "is-cut" : null }, name, ...cells];
    });
    const rest = counts[0] - tokens.length;
    if (rest > 0) {
      const isLeft = (stage) => (token) => !token.cut || STAGES.indexOf(token.cut) > stage;
      const remaining = counts.map((count, stage) => count - tokens.filter(isLeft(stage)).length);
      const cut = remaining.findIndex((count) => !count);
      const cells = others.map((chance, stage) => makeCell(chance, stage, cut, others[cut - 1]));
      rows.push(["tr.others", ["th", { scope: "row" }, counted(rest, "other")], ...cells]);
    }
    const left = counts.map((count) => ["td", count.toLocaleString("en")]);
    rows.push(["tr.kept", ["th", { scope: "row" }, "tokens left"], ...left]);
    const columns = [["th", { scope: "col" }, "next word"], ["th", { scope: "col" }, "model"], ...heads];
    render(this.table, ["thead", ["tr", ...columns]], ["tbody", ...rows]);
  }
}

/** A probability and its bar; once it is cut, the outline of the bar before.
 * @param {number} chance @param {number} stage @param {number} cut the stage that cuts it, −1 for none
 * @param {number} last the probability before that
 */
function makeCell(chance, stage, cut, last) {
  if (cut < 0 || stage < cut) return ["td", ["span.value", number(chance)], ["i", { "--share": String(chance) }]];
  const reason = cut === 1 ? "not the likeliest" : `cut by ${STAGES[cut]}`;
  return ["td.cut", ["span.value", stage === cut ? reason : "cut"], ["i", { "--share": String(last) }]];
}
