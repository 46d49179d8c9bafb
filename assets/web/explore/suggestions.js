// Suggested changes to try on the current sentence, one at a time: a click applies one, and the page shows its effect.

import { button, div, h, render, setText } from "../base/dom.js";
import { addressOf, find, load } from "../lessons/course.js";
import { go, linkTo } from "../link/navigation.js";
import { isWord, rowOf } from "../wire/packets.js";
import { number, quoted, short, sortByWeight, toggle } from "../base/words.js";
import { Part } from "./part.js";

const STRONG = 0.05; // weight of a noteworthy cell
const TWINS = { tired: "wide", wide: "tired" }; // a Winograd schema: one word decides what “it” refers to

/** A token in lower case, "" for a special token or one without letters.
 * @param {{tokens: string[], ends: [number, number]}} run @param {number} index */
const nameOf = (run, index) =>
  isWord(run, index) && /\p{L}/u.test(run.tokens[index]) ? run.tokens[index].toLowerCase() : "";

/** The state before a suggestion, and the pair of tokens in question: the row in focus and its strongest other word.
 * @typedef {{sentence: import("./state.js").Sentence, controls: Controls, off: Set<string>,
 *   text: string, query: string, key: string, weight: number}} Start
 * @typedef {{label: string, change: import("./state.js").Edit, ways?: string[]}} Step ways: the states before and after, for the two weights */

export class Suggestions extends Part {
  index = 0; // of the next suggestion
  start = /** @type {Start | null} */ (null);
  taken = /** @type {Step | null} */ (null); // the suggestion that made the run in view
  run = "";
  result = h("p", { class: "result", role: "status" });
  press = button("", () => this.take(), { class: "try" });
  element = div("suggestions", this.result, this.press);

  /** The state in view as the start of a suggestion. @param {Float32Array} weights @returns {Start} */
  startAt(weights) {
    const { maps, at, off, controls, state, text } = this.view;
    const name = nameOf(maps, at.row);
    const row = sortByWeight(rowOf(weights, at.row, maps.n));
    const [key, weight] = row.find(([key]) => nameOf(maps, key) && nameOf(maps, key) !== name) ?? row[0];
    const sentence = { ...at, key, text: state.text, placed: true, rowChosen: true };
    const [query, word] = [at.row, key].map((index) => quoted(maps.tokens[index]));
    return { sentence, controls, off, text, query, key: word, weight };
  }

  /** The suggestions for a start: other words, no positions, the head ablated. The pair in question stays in focus.
   * @param {Start} start @returns {Step[]} */
  steps({ text, query, key, weight, ...start }) {
    const { sentence, controls, off } = start;
    const { maps, picture } = this.view;
    const name = nameOf(maps, sentence.row);
    const question = name ? `what does ${query} attend to now?` : "what changes in the map?";
    const isPair = name && ![name, ""].includes(nameOf(maps, sentence.key ?? 0)) && weight >= STRONG;
    const still = isPair ? `does ${query} still attend to ${key}?` : question;
    const [word, twin] = Object.entries(TWINS).find(([ending]) => text.endsWith(ending)) ?? [];
    const words = [word, twin].map((word) => quoted(word ?? ""));
    const other = { ...start, sentence: { ...sentence, text: text.replace(word ?? "", twin ?? "") } };
    const texts = words.map((word) => `with ${word}`);
    const swap = { label: `replace ${words[0]} ${texts[1]}: ${question}`, change: other, ways: texts };
    const isNone = controls.pos === "none";
    const ways = ["with the positional encoding", "without it"];
    const ordered = { ...start, controls: { ...controls, pos: isNone ? null : "none" } };
    const act = `switch the positional encoding ${isNone ? `on again: ${question}` : `off: ${still}`}`;
    const order = { label: act, change: ordered, ways: isNone ? ways.reverse() : ways };
    const head = `${sentence.layer}.${sentence.head}`;
    const label = `${off.has(head) ? "restore" : "ablate"} this head: which layers change?`;
    const last = { label, change: { ...start, off: toggle(off, head) } };
    const takesOrder = picture.positions.some(([name]) => name === "none");
    return [...(word ? [swap] : []), ...(takesOrder ? [order] : []), last];
  }

  /** Apply the suggestion to the start; after the last one open the first lesson, or the list of lessons. */
  take() {
    if (!this.start) return;
    this.taken = this.steps(this.start)[this.index++] ?? null;
    if (this.taken) this.view.edit(this.taken.change);
    this.run = String(this.view.queryOfRun());
    if (this.taken) return;
    const first = load().then(({ lessons }) => addressOf(find(`${lessons[0].id}.1`)));
    return first.catch(() => linkTo("lessons")).then(go);
  }

  /** What the suggestion did: the weight of the pair before and after, or the layers that changed; "" in another head.
   * @param {Start} start @param {Step} taken @param {Float32Array} weights */
  resultOf({ sentence, query, key, weight }, { ways }, weights) {
    const { maps, at, picture } = this.view;
    if (!ways) return layersMoved(picture.effect?.layers ?? []);
    const [row, column] = [sentence.row, sentence.key ?? 0];
    const isSame = at.layer === sentence.layer && at.head === sentence.head;
    if (!isSame || quoted(maps.tokens[row]) !== query || quoted(maps.tokens[column]) !== key) return "";
    const now = rowOf(weights, row, maps.n);
    const [[best, most]] = sortByWeight(now);
    const result = `${query} → ${key}: ${number(weight)} ${ways[0]}, ${number(now[column])} ${ways[1]}.`;
    return best === column ? result : `${result} Most is now on ${quoted(maps.tokens[best])}: ${number(most)}.`;
  }

  draw() {
    const { picture, maps, visibleMap, weights, waiting, text } = this.view;
    // suggestions need one text, a live model and complete maps
    this.element.hidden = maps.columns !== null || "s" in picture.fixed || picture.tile > 0 || visibleMap.isWords;
    if (this.element.hidden || !weights || waiting || !text.trim()) return; // the weights are pending, or there are none
    if (this.run !== String(this.view.queryOfRun())) this.taken = null; // the user has changed something else since
    if (!this.start || !this.taken) this.start = this.startAt(weights);
    const result = this.taken ? this.resultOf(this.start, this.taken, weights) : "";
    if (result || !this.taken) setText(this.result, result);
    const [steps, index] = [this.steps(this.start), this.index];
    const label = ["span.text", steps[index]?.label ?? "lesson 1 ›"];
    const count = ["span.count", index < steps.length ? `${index + 1} of ${steps.length}` : ""];
    render(this.press, ["span.star", { "aria-hidden": "true" }, "✦"], ["strong", "Try: "], label, " ", count);
  }
}

/** The layers whose weights differ from those of the unchanged model. @param {number[]} layers largest change in each */
function layersMoved(layers) {
  const moved = layers.flatMap((change, layer) => (short(change) ? [layer] : []));
  if (!moved.length) return "Compared with the unchanged model, no weight changes by 0.01.";
  const most = layers.indexOf(Math.max(...layers));
  const names = `layer${moved.length > 1 ? "s" : ""} ${moved.join(", ").replace(/, (\d+)$/, " and $1")}`;
  return `Compared with the unchanged model, weights change in ${names}: in layer ${most} by up to ${number(layers[most])}.`;
}
