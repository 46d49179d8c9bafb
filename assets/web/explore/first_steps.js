// Changes that are worth a try, one after another: a press makes one and says what was and what is; the next one begins
// where that one did.

import { button, div, h, setText, span } from "../base/dom.js";
import { addressOf, find, load } from "../lessons/course.js";
import { go } from "../link/way.js";
import { sentenceOf } from "./state.js";
import { isWord, rowOf } from "../wire/packets.js";
import { gave, percent, quoted, ranked, short, toggled } from "../base/words.js";

/** @typedef {{said: string, text?: string, pos?: string | null, head?: string}} Try head: "layer.head", switched over */
/** @typedef {Try & {sentence: import("./state.js").Sentence, before: string | null, whom: string, weight: number, isOff: boolean, count: number, answer: string}} Made
 * with what was before it: the sentence, the encoding, what the row in focus looked at most among words, and how much
 */

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
    this.made = /** @type {Made | null} */ (null);
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

  /** The weights of the row in focus. */
  get row() {
    const { maps, at, weights } = this.view;
    return weights ? rowOf(weights, at.row, maps.n) : new Float32Array(maps.n);
  }

  /** The word that the row in focus looks at most, and how much. @returns {[string, number]} */
  get best() {
    const { maps } = this.view;
    const [key, weight] = ranked(this.row).find(([one]) => isWord(maps, one)) ?? [0, 0];
    return [maps.tokens[key], weight];
  }

  /** The changes that make sense here: other words, the order taken away, the head switched over. @returns {Try[]} */
  get steps() {
    const { maps, at, off, text, picture, controls } = this.view;
    const [whom, weight] = this.best;
    const own = quoted(maps.tokens[at.row]);
    const asks = `what does ${own} look at now?`;
    const steps = /** @type {Try[]} */ ([]);
    const [word, twin] = picture.presets.includes(text) ? (TWINS.find(([one]) => text.endsWith(one)) ?? []) : [];
    if (word && isWord(maps, at.row))
      steps.push({ said: `type “${twin}” for “${word}”: ${asks}`, text: text.replace(word, twin) });
    if (isWord(maps, at.row) && picture.positions.some(([name]) => name === "none")) {
      const still = weight >= STRONG ? `does ${own} still look at ${quoted(whom)}?` : asks;
      const isNone = controls.pos === "none";
      const said = isNone ? `give the order back: ${asks}` : `take the order away: ${still}`;
      steps.push({ said, pos: isNone ? null : "none" });
    }
    const head = `${at.layer}.${at.head}`;
    const press = off.has(head) ? "switch this head on again" : "switch this head off";
    if (at.layer < maps.layers - 1 || picture.next.length) steps.push({ said: `${press}: which layers notice?`, head });
    return steps;
  }

  /** Makes the change; the row that is asked about stays in focus. */
  take() {
    const { view, steps } = this;
    const { state, controls, off } = view;
    const step = steps[this.at];
    const [whom, weight] = this.best;
    const sentence = sentenceOf(state);
    const before = { sentence, before: controls.pos ?? null, isOff: off.has(step.head ?? "") };
    this.made = { ...step, ...before, whom, weight, count: steps.length, answer: "" };
    this.change(this.made, { ...sentence, text: step.text, key: null, rowChosen: true }, step.pos);
  }

  /** @param {Try} step @param {Partial<import("./state.js").Sentence>} sentence @param {string | null} [to] encoding */
  change({ text, pos, head }, sentence, to = null) {
    const { view } = this;
    view.edit({
      ...(text !== undefined && { sentence }),
      ...(pos !== undefined && { controls: { pos: to } }),
      ...(head && { off: toggled(view.off, head) }),
    });
  }

  /** To the next change, or after the last one to the first lesson; this one is taken back, whatever was changed since. */
  goOn() {
    const { made } = this;
    if (!made || this.at + 1 >= made.count) return toLesson();
    this.at += 1;
    this.made = null;
    return this.change(made, made.sentence, made.before);
  }

  /** Whether what was made was not taken back. @param {Made} made */
  stands({ text, pos, head, sentence, isOff }) {
    const { view } = this;
    if (head) return view.off.has(head) !== isOff && view.text === sentence.text;
    return view.text === (text ?? sentence.text) && (pos === undefined || (view.controls.pos ?? null) === pos);
  }

  /** What the change did, from the numbers that are shown. @param {Made} made */
  told({ head, whom, weight }) {
    const { picture, maps, at } = this.view;
    if (head) return felt(picture.effect);
    const { row } = this;
    const key = maps.tokens.indexOf(whom);
    const [best, most] = ranked(row)[0];
    const pair = key < 0 ? "" : gave(maps.tokens[at.row], whom, weight, row[key]);
    return [pair, best !== key && `Most now: ${quoted(maps.tokens[best])} ${percent(most)}.`].filter(Boolean).join(" ");
  }

  draw() {
    const { view } = this;
    const { picture, maps, sight } = view;
    // what is asked is asked of one sentence, of a model, whose maps are all here
    this.element.hidden = maps.columns !== null || "s" in picture.fixed || picture.tile > 0 || sight.isWords;
    if (this.element.hidden || !view.weights || view.waiting || !view.text.trim()) return; // its numbers are on their way, or there are none
    if (this.made && !this.stands(this.made)) this.made = null;
    const { made, steps } = this;
    if (made) made.answer ||= this.told(made); // of the head and the row that it was asked of
    const count = made?.count ?? steps.length;
    this.at = Math.min(this.at, Math.max(0, count - 1));
    this.press.hidden = made !== null || !count;
    this.answer.hidden = made === null;
    setText(this.text, steps[this.at]?.said ?? "");
    setText(this.count, `${this.at + 1} of ${count}`);
    setText(this.said, made?.answer ?? "");
    setText(this.onward, this.at + 1 >= count ? "Next: lesson 1 ›" : "Next ›");
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
