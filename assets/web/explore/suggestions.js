// Suggested changes to try on the current sentence, one at a time: a click applies one, and the page shows its effect.

import { button, render } from "../base/dom.js";
import { addressOf, find, load } from "../lessons/course.js";
import { go } from "../link/navigation.js";
import { sentenceOf } from "./state.js";
import { isWord, rowOf } from "../wire/packets.js";
import { quoted, sortByWeight, toggle } from "../base/words.js";
import { Part } from "./part.js";

const STRONG = 0.05; // weight of a noteworthy cell
const TWINS = [
  ["tired", "wide"],
  ["wide", "tired"],
]; // a Winograd schema: one word decides what “it” refers to

/** A token in lower case, "" for a special token or one without letters.
 * @param {{tokens: string[], ends: [number, number]}} run @param {number} index */
const nameOf = (run, index) =>
  isWord(run, index) && /\p{L}/u.test(run.tokens[index]) ? run.tokens[index].toLowerCase() : "";

export class Suggestions extends Part {
  index = 0; // of the next suggestion
  element = button("", () => this.take(), { class: "try suggestions" });

  /** The suggestions that apply here: other words, no positions, the head ablated.
   * @returns {{label: string, change: import("./state.js").Edit}[]}
   */
  get steps() {
    const { maps, at, off, text, picture, controls, state, weights } = this.view;
    const row = weights ? rowOf(weights, at.row, maps.n) : [];
    const [query, name] = [quoted(maps.tokens[at.row]), nameOf(maps, at.row)];
    const isOther = (/** @type {number} */ key) => nameOf(maps, key) && nameOf(maps, key) !== name;
    const [key, weight] = sortByWeight(row).find(([key]) => isOther(key)) ?? [0, 0];
    const question = name ? `what does ${query} attend to now?` : "what changes in the map?";
    const still = name && weight >= STRONG ? `does ${query} still attend to ${quoted(maps.tokens[key])}?` : question;
    const [word, twin] = TWINS.find(([ending]) => text.endsWith(ending)) ?? [];
    // the head and row in question stay in focus
    const chosen = { key: null, placed: true, rowChosen: true };
    const sentence = { ...sentenceOf(state), text: text.replace(word ?? "", twin ?? ""), ...chosen };
    const isNone = controls.pos === "none";
    const order = isNone
      ? `switch the positional encoding on again: ${question}`
      : `switch the positional encoding off: ${still}`;
    const takesOrder = picture.positions.some(([name]) => name === "none");
    const head = `${at.layer}.${at.head}`;
    const press = off.has(head) ? "restore this head" : "ablate this head";
    return [
      ...(word ? [{ label: `replace ${quoted(word)} with ${quoted(twin)}: ${question}`, change: { sentence } }] : []),
      ...(takesOrder ? [{ label: order, change: { controls: { pos: isNone ? null : "none" } } }] : []),
      { label: `${press}: which layers change?`, change: { off: toggle(off, head) } },
    ];
  }

  /** Apply the suggestion; after the last one open the first lesson, or the list of lessons. */
  take() {
    const { steps, index, view } = this;
    this.index += 1;
    if (index < steps.length) return view.edit(steps[index].change);
    const first = load().then(({ lessons }) => addressOf(find(`${lessons[0].id}.1`)));
    return first.catch(() => "./lessons").then(go);
  }

  draw() {
    const { picture, maps, visibleMap, weights, waiting, text } = this.view;
    // suggestions need one text, a live model and complete maps
    this.element.hidden = maps.columns !== null || "s" in picture.fixed || picture.tile > 0 || visibleMap.isWords;
    if (this.element.hidden || !weights || waiting || !text.trim()) return; // the weights are pending, or there are none
    const { steps, index } = this;
    const label = ["span.text", steps[index]?.label ?? "lesson 1 ›"];
    const count = ["span.count", index < steps.length ? `${index + 1} of ${steps.length}` : ""];
    render(this.element, ["span.star", { "aria-hidden": "true" }, "✦"], ["strong", "Try: "], label, " ", count);
  }
}
