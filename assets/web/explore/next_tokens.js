// The next-token prediction: the likeliest tokens, each of which a click appends, and undo of the last one.

import { button, div, h, setAttribute, span } from "../base/dom.js";
import { drawNext, makeWord } from "../picture/next_bars.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { number } from "../base/words.js";
import { Sampling } from "./sampling.js";

const LARGE_LOSS = 11; // nats; above the loss of a uniform guess over the vocabulary
export class NextTokens {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.additions = /** @type {{text: string, before: string, n: number}[]} */ ([]); // tokens appended here, the latest last; n: number of tokens before
    this.list = h("ol", { class: "next-list" });
    this.word = makeWord((word) => this.choose({ word: word || null }));
    this.sampling = new Sampling(view, (change) => this.choose(change));
    this.inputs = /** @type {unknown[]} */ ([]); // what the losses were drawn from
    this.isSet = false; // sampling or a word is set: the fields are then open
    const key = { title: "appends the next token (key n)", "aria-keyshortcuts": "n" };
    this.addOne = button("add a word", () => this.writeNext(), key);
    this.back = button("remove last", () => this.takeBack(), { title: "b", "aria-keyshortcuts": "b" });
    const title = "the bar at each word shows its surprisal: −log of the probability that the model assigned to it";
    const turn = () => view.setDisplay({ surprise: !view.look.surprise });
    this.losses = button("show the surprisal of each word", turn, { title });
    this.room = h("div", { class: "draw", hidden: "" }, this.sampling.element, this.word.element, this.losses);
    this.more = button("more", () => this.open(this.room.hidden), { class: "opener", "aria-expanded": "false" });
    const line = div("next-line", span("label", "Most likely next word:"), this.list);
    line.append(this.addOne, this.back, this.more);
    const props = { class: "next-tokens", "aria-label": "Next-word predictions", hidden: "" };
    this.element = h("section", props, line, this.room);
    addEventListener("keydown", (event) => this.key(event), { signal: view.lifetime.signal });
  }

  /** @param {boolean} is whether the fields below the line are visible */
  open(is) {
    this.room.hidden = !is;
    setAttribute(this.more, "aria-expanded", is);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (isTyped(event) || isShortcut(event) || !this.view.picture?.next.length) return;
    if (event.key === "n") this.writeNext();
    if (event.key === "b") this.takeBack();
  }

  /** @param {Record<string, string | null>} change link parameters */
  choose(change) {
    const sampling = { ...this.view.state.sampling, ...change };
    this.view.dispatch({ type: "set", values: { sampling } }, true);
  }

  /** Append the drawn token, at temperature 0 the likeliest. */
  writeNext() {
    const { picture, text, waiting } = this.view;
    const next = picture.stages?.tokens[picture.stages.sample].text;
    if (next && picture.sentence === text && !waiting) this.write(next);
  }

  /** Append a token to the sentence. @param {string} text */
  write(text) {
    const { view } = this;
    const previous = view.text;
    this.additions.push({ text: previous + text, before: previous, n: view.maps.n });
    view.retype(previous + text);
  }

  takeBack() {
    const last = this.additions.pop();
    if (last) this.view.retype(last.before);
  }

  draw() {
    const { view } = this;
    const { picture, text } = view;
    this.element.hidden = !picture.next.length;
    setAttribute(this.element, "data-sentence", `${picture.sentence} …`); // its title beside a lesson
    if (this.additions.at(-1)?.text !== text) this.additions = []; // the sentence was typed since
    this.back.hidden = !this.additions.length;
    const choose = (/** @type {number} */ index) => this.write(this.view.picture.next[index].text);
    drawNext(this.list, picture.next, { choose, context: "in the unchanged model" });
    this.sampling.draw();
    const isSet = Object.values(view.state.sampling).some(Boolean);
    if (isSet && !this.isSet) this.open(true);
    this.isSet = isSet;
    setAttribute(this.element, "data-sampling", !this.sampling.isGreedy || null);
    this.word.draw(picture.word, picture.wordSentence);
    setAttribute(this.losses, "aria-pressed", this.view.look.surprise);
    this.drawLosses();
  }

  /** Mark each token of the sentence with its author, and its loss as a bar. */
  drawLosses() {
    const { picture, look, bar, maps } = this.view;
    const surprise = look.surprise ? picture.surprise : null;
    const from = this.additions[0]?.n ?? Number.POSITIVE_INFINITY;
    const inputs = [surprise, from, maps.tokens];
    if (inputs.every((input, index) => input === this.inputs[index])) return; // slow for a long text
    this.inputs = inputs;
    [...bar.chips.children].forEach((chip, index) => {
      const [loss, previous] = surprise?.[index] ?? [null, null];
      setAttribute(chip, "data-loss", loss === null ? null : loss.toFixed(1));
      /** @type {HTMLElement} */ (chip).style.setProperty("--share", String(Math.min(1, (loss ?? 0) / LARGE_LOSS)));
      const was = previous === null ? "" : ` (${previous.toFixed(2)} in the unchanged model)`;
      const chance = loss === null ? "" : number(Math.exp(-loss));
      const piece = maps.tokens[index]?.startsWith("##") ? "## continues the word before it" : "";
      const lossText = loss === null ? "" : `loss ${loss.toFixed(2)}${was}; probability ${chance}`;
      setAttribute(chip, "data-chance", previous === null ? chance : `${number(Math.exp(-previous))} → ${chance}`);
      setAttribute(chip, "data-generated", index >= from ? "" : null);
      const parts = [piece, index >= from ? "generated by the model" : "", lossText].filter(Boolean);
      setAttribute(chip, "title", parts.join("; ") || null);
    });
  }
}
