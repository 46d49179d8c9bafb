// The next-token prediction: the likeliest tokens, each of which a click appends, and undo of the last one.

import { button, div, h, setAttribute, setField, setText, span } from "../base/dom.js";
import { drawNext, makeWord } from "../picture/next_bars.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { number, quoted } from "../base/words.js";

const LARGE_LOSS = 11; // nats; above the loss of a uniform guess over the vocabulary
const ABOUT =
  "At 0 the likeliest token is chosen. Above 0 a token is sampled; a temperature below 1 sharpens the probabilities, above 1 evens them out.";

export class NextTokens {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.additions = /** @type {{text: string, before: string, n: number}[]} */ ([]); // tokens appended here, the latest last; n: number of tokens before
    this.list = h("ol", { class: "next-list" });
    this.word = makeWord((word) => this.choose({ word: word || null }));
    this.draws = makeSampling((change) => this.choose(change));
    this.inputs = /** @type {unknown[]} */ ([]); // what the losses were drawn from
    this.isSet = false; // sampling or a word is set: the fields are then open
    const key = { title: "appends the next token (key n)", "aria-keyshortcuts": "n" };
    this.addOne = button("add a word", () => this.writeNext(), key);
    this.back = button("remove last", () => this.takeBack(), { title: "b", "aria-keyshortcuts": "b" });
    const title = "the bar at each word shows its surprisal: −log of the probability that the model assigned to it";
    const turn = () => view.setDisplay({ surprise: !view.look.surprise });
    this.losses = button("show the surprisal of each word", turn, { title });
    this.room = h("div", { class: "draw", hidden: "" }, this.draws.element, this.word.element, this.losses);
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

  /** The next token: the sampled one, otherwise the likeliest. @returns {NextToken | undefined} */
  get first() {
    const { sample, next } = this.view.picture;
    return sample ?? next[0];
  }

  writeNext() {
    const { picture, text, waiting } = this.view;
    if (this.first?.text && picture.sentence === text && !waiting) this.write(this.first.text);
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
    const { picture, text } = this.view;
    this.element.hidden = !picture.next.length;
    setAttribute(this.element, "data-sentence", `${picture.sentence} …`); // its title beside a lesson
    if (this.additions.at(-1)?.text !== text) this.additions = []; // the sentence was typed since
    this.back.hidden = !this.additions.length;
    const choose = (/** @type {number} */ index) => this.write(this.view.picture.next[index].text);
    drawNext(this.list, picture.next, { choose, context: "in the unchanged model" });
    this.draws.draw(picture);
    const isSet = Boolean(picture.sample || picture.sampling[2]);
    if (isSet && !this.isSet) this.open(true);
    this.isSet = isSet;
    this.word.draw(picture.sampling[2], picture.wordSentence);
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

/** The controls of sampling: greedy or random, with the temperature and the seed. This temperature is not that of the
 * attention softmax.
 * @param {(change: Record<string, string | null>) => void} choose
 */
function makeSampling(choose) {
  const field = (/** @type {string} */ key, /** @type {string} */ name, /** @type {Record<string, string>} */ ends) => {
    const input = h("input", { type: "number", min: "0", ...ends });
    input.onkeydown = (event) => event.stopPropagation(); // digits here are no shortcuts
    input.oninput = () => {
      const value = Number(input.value);
      if (input.value && input.checkValidity()) choose({ [key]: value ? String(value) : null });
    };
    return { input, element: h("label", { class: "named" }, span("label", name), input) };
  };
  const degrees = field("temp", "Sample the next word; temperature", { max: "5", step: "0.1" });
  const seed = field("dice", "Random seed", { max: "9999", step: "1" });
  const text = span("label");
  const element = h("div", { class: "sampling", title: ABOUT }, degrees.element, seed.element, text);
  const draw = (/** @type {import("../base/messages.js").ExplorePicture} */ { sample, sampling }) => {
    setField(degrees.input, String(sampling[0]));
    setField(seed.input, String(sampling[1]));
    seed.element.hidden = !sample;
    setText(
      text,
      sample ? `sampled: ${quoted(sample.label)}, probability ${number(sample.chance)} at this temperature` : "",
    );
  };
  return { element, draw };
}
