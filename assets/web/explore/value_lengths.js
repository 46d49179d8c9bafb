// The contribution of each key to the row in focus: weight times the length of its value vector.

import { valuesOff } from "../link/changes.js";
import { button, div, h, render, setAttribute, setText } from "../base/dom.js";
import { isWord } from "../wire/packets.js";
import { number, percent, quoted, sortByWeight } from "../base/words.js";
import { Part } from "./part.js";

const MAX_LISTED = 5; // keys in the list
const COLUMNS = ["key", "weight", "length", "share"];
const CONTRIBUTION = "how much is passed on: the weight times the norm of the value";
const LEGEND = "norm: ‖v‖ of the column’s value in this head; share: weight × norm, as a part of the row’s total";

/** Format a value: 0.0132 -> "0.013". @param {number} value */
const digits = (value) => (value === 0 ? "0" : value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2))));

export class ValueLengths extends Part {
  opener = button("value norms", () => this.view.setDisplay({ values: !this.view.look.values }), {
    title: CONTRIBUTION,
  });
  status = h("p", { class: "contribution", role: "status" });
  table = h("table", { title: LEGEND });
  element = div("values", this.status, this.table);

  /** @param {Float32Array} row weights of the row in focus */
  draw(row) {
    const { view } = this;
    const { look, picture, maps, at, controls } = view;
    const { values } = picture;
    setAttribute(this.opener, "aria-pressed", look.values);
    const { lengths } = picture.fixed;
    const isOther = view.reading.isMean || view.reading.isOn; // merged words and means have no value vector of their own
    this.opener.disabled = isOther || Boolean(lengths) || picture.tile > 0;
    setAttribute(this.opener, "title", lengths ?? CONTRIBUTION);
    this.element.hidden = !look.values || isOther || !values;
    // the table lists the weights too
    this.element.parentElement?.toggleAttribute("data-values", !this.element.hidden);
    if (this.element.hidden || !values) return;
    const zeroed = new Set(valuesOff(controls));
    const isZeroed = (/** @type {number} */ key) => zeroed.has(key) && key !== at.row;
    const contributions = Float32Array.from(row, (weight, key) => (isZeroed(key) ? 0 : weight * values[key]));
    const all = contributions.reduce((sum, length) => sum + length, 0);
    const share = (/** @type {number} */ key) => (all ? contributions[key] / all : 0);
    const [[most]] = sortByWeight(contributions);
    const listed = sortByWeight(row).slice(0, MAX_LISTED);
    const nothing = `Nothing is passed on to ${quoted(maps.tokens[at.row])}.`;
    setText(this.status, all ? this.sentence(row, share, most, isZeroed) : nothing);
    const drawShare = (/** @type {number} */ part, kind = /** @type {string | null} */ (null)) => {
      const track = ["div.track", { "aria-hidden": "true" }, ["span", { style: `width: ${100 * part}%;` }]];
      return ["td", { class: kind }, ["span", percent(part)], track];
    };
    const rows = listed.map(([key, weight]) => {
      const name = ["th", { scope: "row" }, maps.keys[key]];
      return ["tr", name, drawShare(weight), ["td", digits(values[key])], drawShare(share(key), "value-share")];
    });
    const head = COLUMNS.map((column) => ["th", { scope: "col" }, column]);
    render(this.table, ["thead", ["tr", ...head]], ["tbody", ...rows]);
  }

  /** The sentence on the contribution of the key with the most weight, and on the largest contribution.
   * @param {Float32Array} row @param {(key: number) => number} share @param {number} strongest
   * @param {(key: number) => boolean} isZeroed
   */
  sentence(row, share, strongest, isZeroed) {
    const { picture, maps, at } = this.view;
    const values = /** @type {number[]} */ (picture.values);
    const { tokens, keys } = maps;
    const [[best, weight]] = sortByWeight(row);
    const words = values.filter((_, key) => isWord(maps, key));
    const mean = words.reduce((sum, length) => sum + length, 0) / words.length;
    const [query, keyName] = [quoted(tokens[at.row]), quoted(keys[best])];
    const ratio = words.length && mean ? `, whose value norm is ${digits(values[best] / mean)} times the mean` : "";
    const long = isZeroed(best) ? ", whose value is zeroed" : ratio;
    const rest =
      strongest === best
        ? ""
        : ` The largest share, ${percent(share(strongest))}, comes from ${quoted(keys[strongest])}.`;
    return `${query} attends to ${keyName} with weight ${number(weight)}${long}, which makes ${percent(share(best))} of what is passed on.${rest}`;
  }
}
