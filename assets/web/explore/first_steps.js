// @ts-check
// Things to try on the sentence, one at a time: each says what to look for, and does it when it is pressed. What an
// earlier one changed is taken back first, so that only the new change is seen.

import { button, div, h, setText, span } from "../base/dom.js";
import { swapped } from "./swaps.js";
import { quoted, ranked, toggled } from "../base/words.js";

/** @typedef {import("./explore.js").Explore} Explore */
/** @typedef {import("./model_changes.js").Sentence} Sentence */
/** @typedef {{text?: string, pos?: string | null, head?: string}} Change head: "layer.head", switched over */
/** @typedef {{said: string, change: Change}} Try */
/** What the questions are about; weights: of the row in focus, null where they are not known.
 * @typedef {{text: string, tokens: string[], weights: Float32Array | null, pos: string, isOff: boolean}} Ground
 */
/** The last try: what it changed, what was before, and where one looked.
 * @typedef {{change: Change, ground: Ground, sentence: Sentence, pos: string | null, place: string}} Tried
 */

const TRAINED = "as trained";
const TWINS = [
  ["tired", "wide"],
  ["wide", "tired"],
]; // Winograd's pair: one word decides what “it” is

export class FirstSteps {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.at = 0;
    this.tried = /** @type {Tried | null} */ (null);
    this.text = span("text");
    this.count = span("count");
    const star = h("span", { class: "star", "aria-hidden": "true" }, "✦");
    this.press = button("", () => this.take(), { class: "try" });
    this.press.append(star, h("strong", {}, "Try: "), this.text, " ", this.count);
    this.element = div("first-steps", this.press);
  }

  /** Layer, head and row in focus, and what else is changed in the model. */
  get place() {
    const { at, model } = this.view;
    const { mask, t } = model.controls;
    return [at.layer, at.head, at.row, mask ?? "none", Number(t ?? 1)].join(" ");
  }

  /** The encoding of the order. */
  get pos() {
    return this.view.model.controls.pos ?? TRAINED;
  }

  /** What of the last try still holds. @returns {Tried | null} */
  get holding() {
    const { tried, view } = this;
    if (!tried) return null;
    const { text, pos, head } = tried.change;
    const isOff = head !== undefined && view.off.has(head) !== tried.ground.isOff;
    return view.text === text || (pos !== undefined && this.pos === (pos ?? TRAINED)) || isOff ? tried : null;
  }

  /** What the next try begins from: what is seen, without the last one. @returns {Ground} */
  get ground() {
    const { view, holding } = this;
    const { maps, at, off, weights, text } = view;
    const row = weights?.subarray(at.row * maps.n, (at.row + 1) * maps.n) ?? null;
    const now = { text, tokens: maps.tokens, weights: row, pos: this.pos, isOff: off.has(`${at.layer}.${at.head}`) };
    if (!holding) return now;
    const { change, ground, place } = holding;
    if (place === this.place && (change.text !== undefined || text === ground.text)) return ground;
    if (change.text !== undefined) return { ...now, text: ground.text, tokens: ground.tokens, weights: null };
    if (change.pos !== undefined) return { ...now, weights: null, pos: ground.pos };
    return now; // a head that is off changes later layers only
  }

  /** What can be tried. @returns {Try[]} */
  get steps() {
    const { ground, view } = this;
    const { layer, head, row } = view.at;
    const own = quoted(ground.tokens[row] ?? "");
    const isOff = ground.isOff ? "switch this head on again" : "switch this head off";
    return [
      ...this.ofWords(ground, own),
      ...this.ofOrder(ground, own),
      { said: `${isOff}: which layers notice?`, change: { head: `${layer}.${head}` } },
    ];
  }

  /** Other words. @param {Ground} ground @param {string} own @returns {Try[]} */
  ofWords({ text, tokens, weights }, own) {
    const [word, twin] = this.view.picture.presets.includes(text)
      ? (TWINS.find(([one]) => text.endsWith(one)) ?? [])
      : [];
    const asks = `what does ${own} look at now?`;
    if (word) return [{ said: `type “${twin}” for “${word}”: ${asks}`, change: { text: text.replace(word, twin) } }];
    const other = swapped(text, tokens, this.view.at.row, weights ?? new Float32Array(tokens.length));
    if (!other) return [];
    const [left, right] = other.words.map(quoted);
    return [{ said: `swap ${left} and ${right}: ${asks}`, change: { text: other.text } }];
  }

  /** The order of the words taken away. @param {Ground} ground @param {string} own @returns {Try[]} */
  ofOrder({ tokens, weights, pos }, own) {
    const { positions } = this.view.picture;
    if (!positions.some(([name]) => name === "none")) return [];
    if (pos === "none") return [{ said: `give the order back: what does ${own} look at now?`, change: { pos: null } }];
    const best = weights && quoted(tokens[ranked(weights)[0]?.[0]] ?? "");
    const asks = best ? `does ${own} still look at ${best}?` : `what does ${own} look at now?`;
    return [{ said: `take the order away: ${asks}`, change: { pos: "none" } }];
  }

  take() {
    const { steps, ground, holding, view } = this;
    const { change } = steps[this.at % steps.length];
    view.model.remember(change.text !== undefined || holding?.change.text !== undefined);
    if (holding) this.takeBack(holding);
    const { sentence } = view.model;
    this.tried = { change, ground, sentence, pos: view.model.controls.pos ?? null, place: this.place };
    // the row that is asked about stays in focus
    if (change.text !== undefined) view.model.sentence = { ...sentence, text: change.text, key: null, rowChosen: true };
    if (change.pos !== undefined) view.model.controls.pos = change.pos;
    if (change.head) view.off = toggled(view.off, change.head);
    this.at = (this.at + 1) % steps.length;
    view.chose();
  }

  /** Undoes what a try changed, and nothing else. @param {Tried} tried */
  takeBack({ change, sentence, pos, place }) {
    const { view } = this;
    const moved = place === this.place ? {} : { ...view.at, rowChosen: true };
    if (change.text !== undefined) view.model.sentence = { ...sentence, ...moved };
    if (change.pos !== undefined) view.model.controls.pos = pos;
    if (change.head) view.off = toggled(view.off, change.head);
  }

  draw() {
    if (!this.view.weights) return; // the numbers that it asks about are on their way
    const { steps } = this;
    const at = this.at % steps.length;
    setText(this.text, steps[at].said);
    setText(this.count, `${at + 1} of ${steps.length}`);
  }
}
