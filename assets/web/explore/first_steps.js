// Things to try on the sentence, one at a time: each says what to look for, and keeps its question until the visitor, or
// its press, has made the change; then it says what was and what is. What it changed is taken back before the next one.

import { button, div, h, setText, span } from "../base/dom.js";
import { addressOf, find, load } from "../lessons/course.js";
import { reads } from "../link/look.js";
import { go } from "../link/way.js";
import { sentenceOf } from "./state.js";
import { swapped } from "./swaps.js";
import { isWord, rowOf } from "../wire/packets.js";
import { gave, percent, quoted, ranked, short, toggled } from "../base/words.js";

/** @typedef {import("./state.js").Sentence} Sentence */
/** @typedef {{text?: string, pos?: string | null, head?: string}} Change head: "layer.head", switched over */
/** @typedef {{said: string, change: Change}} Try */
/** What a question is about; of: all that it depends on, key: what the row looks at most among words, weight: how much.
 * @typedef {{of: string, text: string, pos: string, isOff: boolean, place: string, key: number, whom: string, weight: number}} Ground
 */
/** @typedef {Try & {ground: Ground, sentence: Sentence, pos: string | null, model: string, count: number, answer: string}} Asked with what was before it */

const TRAINED = "as trained";
const STRONG = 0.05; // a weight that is worth a question
const FELT = 3; // layers that are named
const TWINS = [
  ["tired", "wide"],
  ["wide", "tired"],
]; // Winograd's pair: one word decides what “it” is

export class FirstSteps {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.at = 0;
    this.asked = /** @type {Asked | null} */ (null);
    this.text = span("text");
    this.count = span("count");
    const star = h("span", { class: "star", "aria-hidden": "true" }, "✦");
    const parts = [star, h("strong", {}, "Try: "), this.text, " ", this.count];
    this.press = button("", () => this.take(), { class: "try" }, ...parts);
    this.said = h("span", { class: "text", role: "status" });
    this.onward = button("", () => this.goOn(), { class: "onward" });
    this.answer = div("try answered", this.said, this.onward);
    this.element = div("first-steps", this.press, this.answer);
  }

  /** Layer, head and row in focus, one head or all, and what else is changed in the model. */
  get place() {
    const { at, look, controls } = this.view;
    const { mask, t } = controls;
    return [at.layer, at.head, at.row, mask ?? "none", Number(t ?? 1), reads(look)].join(" ");
  }

  /** The encoding of the order. */
  get pos() {
    return this.view.controls.pos ?? TRAINED;
  }

  /** The weights of the row in focus. @returns {Float32Array} */
  get row() {
    const { maps, at, weights } = this.view;
    return weights ? rowOf(weights, at.row, maps.n) : new Float32Array(maps.n);
  }

  /** The word in focus. */
  get own() {
    return this.view.maps.tokens[this.view.at.row];
  }

  /** What is seen. @returns {Ground} */
  get ground() {
    const { view, pos, place } = this;
    const { maps, at, off, text } = view;
    const [key, weight] = ranked(this.row).find(([one]) => isWord(maps, one)) ?? [0, 0];
    const isOff = off.has(`${at.layer}.${at.head}`);
    const of = [text, pos, place, isOff].join("\n");
    return { of, text, pos, isOff, place, key, whom: maps.tokens[key], weight };
  }

  /** The change that is asked for is made, by whomever. @param {Asked} asked */
  isDone({ change: { text, pos, head }, ground }) {
    if (text !== undefined) return this.view.text === text;
    if (pos !== undefined) return this.pos === (pos ?? TRAINED);
    return head !== undefined && this.view.off.has(head) !== ground.isOff;
  }

  /** The questions that make sense here. @param {Ground} ground @returns {Try[]} */
  steps(ground) {
    const { view } = this;
    const { layer, head, row } = view.at;
    const isOff = ground.isOff ? "switch this head on again" : "switch this head off";
    const isHeard = layer < view.maps.layers - 1 || view.picture.next.length > 0;
    return [
      ...(isWord(view.maps, row) ? [...this.ofWords(ground), ...this.ofOrder(ground)] : []),
      ...(isHeard ? [{ said: `${isOff}: which layers notice?`, change: { head: `${layer}.${head}` } }] : []),
    ];
  }

  /** Other words. @param {Ground} ground @returns {Try[]} */
  ofWords({ text }) {
    const { maps, at, picture } = this.view;
    const [word, twin] = picture.presets.includes(text) ? (TWINS.find(([one]) => text.endsWith(one)) ?? []) : [];
    if (word)
      return [{ said: `type “${twin}” for “${word}”: ${this.asks}`, change: { text: text.replace(word, twin) } }];
    const other = swapped(text, maps.tokens, at.row, this.row);
    if (!other) return [];
    const [left, right] = other.words.map(quoted);
    return [{ said: `swap ${left} and ${right}: ${this.asks}`, change: { text: other.text } }];
  }

  get asks() {
    return `what does ${quoted(this.own)} look at now?`;
  }

  /** The order of the words taken away. @param {Ground} ground @returns {Try[]} */
  ofOrder({ pos, whom, weight }) {
    if (!this.view.picture.positions.some(([name]) => name === "none")) return [];
    if (pos === "none") return [{ said: `give the order back: ${this.asks}`, change: { pos: null } }];
    const still = `does ${quoted(this.own)} still look at ${quoted(whom)}?`;
    return [{ said: `take the order away: ${weight >= STRONG ? still : this.asks}`, change: { pos: "none" } }];
  }

  /** Makes the change. */
  take() {
    if (!this.asked) return;
    const { change, sentence } = this.asked;
    // the row that is asked about stays in focus
    this.change(change, { ...sentence, text: change.text, key: null, rowChosen: true }, change.pos);
  }

  /** Changes what a question is about. @param {Change} change @param {Partial<Sentence>} sentence @param {string | null} [to] encoding */
  change({ text, pos, head }, sentence, to = null) {
    const { view } = this;
    view.edit({
      ...(text !== undefined && { sentence }),
      ...(pos !== undefined && { controls: { pos: to } }),
      ...(head && { off: toggled(view.off, head) }),
    });
  }

  /** To the next question, or after the last one to the first lesson; what the change was is taken back. */
  goOn() {
    const { view, asked } = this;
    if (!asked || this.at + 1 >= asked.count) return toLesson();
    const moved = asked.ground.place === this.place ? {} : { ...view.at, rowChosen: true };
    this.at += 1;
    this.asked = null;
    return this.change(asked.change, { ...asked.sentence, ...moved }, asked.pos);
  }

  /** What the change did, from the numbers that are shown. @param {Asked} asked */
  answered({ change, ground }) {
    const { view } = this;
    if (change.head) return felt(view.picture.effect);
    const { row, own } = this;
    const { maps } = view;
    const key = maps.tokens[ground.key] === ground.whom ? ground.key : maps.tokens.indexOf(ground.whom);
    const [best, most] = ranked(row)[0];
    const pair = key < 0 ? "" : gave(own, ground.whom, ground.weight, row[key]);
    const now = best === key ? "" : `Most now: ${quoted(maps.tokens[best])} ${percent(most)}.`;
    return [pair, now].filter(Boolean).join(" ");
  }

  draw() {
    const { view } = this;
    const { picture, maps, sight } = view;
    // what is asked is asked of one sentence, of a model, whose maps are all here
    this.element.hidden = maps.columns !== null || "s" in picture.fixed || picture.tile > 0 || sight.isWords;
    if (this.element.hidden || !view.weights || view.waiting || !view.text.trim()) return; // its numbers are on their way, or there are none
    const before = this.asked?.model === view.picture.model ? this.asked : null;
    if (!before || (!this.isDone(before) && before.ground.of !== this.ground.of)) this.ask();
    const { asked } = this;
    const isDone = asked !== null && this.isDone(asked);
    if (asked && !isDone) asked.answer = "";
    else if (asked && (!asked.answer || this.place === asked.ground.place)) asked.answer = this.answered(asked);
    this.press.hidden = !asked || isDone;
    this.answer.hidden = !this.press.hidden;
    setText(this.text, asked?.said ?? "");
    setText(this.count, asked ? `${this.at + 1} of ${asked.count}` : "");
    setText(this.said, asked?.answer ?? "");
    setText(this.onward, !asked || this.at + 1 >= asked.count ? "Next: lesson 1 ›" : "Next ›");
  }

  /** Asks of what is seen now. */
  ask() {
    const { ground, view } = this;
    const steps = this.steps(ground);
    this.at = Math.min(this.at, Math.max(0, steps.length - 1));
    const { state, controls, picture } = view;
    const now = { ground, sentence: sentenceOf(state), pos: controls.pos ?? null, model: picture.model };
    this.asked = steps.length ? { ...steps[this.at], ...now, count: steps.length, answer: "" } : null;
  }
}

/** Goes to the first lesson, or to the list of them where they cannot be loaded. */
function toLesson() {
  const first = load().then(({ lessons }) => addressOf(find(`${lessons[0].id}.1`)));
  first.catch(() => "./lessons").then(go);
}

/** The layers that a change reached most. @param {import("../base/messages.js").EffectHere | null} effect */
function felt(effect) {
  if (!effect) return "All weights are as in the original model again.";
  const found = effect.layers.map((change, layer) => ({ layer, change })).filter(({ change }) => short(change));
  if (!found.length) return "No layer notices: no weight changes by 0.005 or more.";
  found.sort((one, other) => other.change - one.change);
  const told = found
    .slice(0, FELT)
    .map(({ layer, change }) => `layer ${layer} (a weight moves by ${change.toFixed(2)})`);
  return `Most in ${told.join(", ")}.`;
}
