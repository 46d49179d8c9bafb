// The shuffle test of the pair view: the words of the left sentence in another order, typed or drawn, and how much the
// output vectors of both sides change with it.

import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { SentenceBox } from "../picture/sentence.js";
import { panel } from "../base/view_base.js";
import { Wire } from "../wire/wire.js";

/** @typedef {import("../base/messages.js").Shuffled} Shuffled */

const MOST = 9999; // the number of the last random order
const LABEL = "Shuffle test: type the left words in a new order, or leave it empty for a random one";
const NOTE = "largest difference between the output vectors of the two orders, compared word by word";

export class ShuffleTest {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.order = ""; // as typed; empty: a random one,
    this.seed = 1; // of this number
    this.of = /** @type {string | null} */ (null); // the query that was answered
    this.answer = /** @type {Shuffled | null} */ (null);
    this.refusal = ""; // why there is none
    const hears = {
      take: (bytes, question) => this.take(question, JSON.parse(new TextDecoder().decode(bytes)), ""),
      refuse: (sentence) => this.take(this.wire.question, null, sentence),
    };
    this.wire = new Wire(hears, view.here.signal);
    const typed = (/** @type {string} */ text) => this.choose({ order: view.kept(text, "order") ?? "" }, true);
    this.box = new SentenceBox(view, typed, LABEL, "a random order");
    this.why = h("p", { class: "refusal", role: "status" });
    this.text = h("p");
    this.sides = div("of-orders");
    const again = button("shuffle again", () => this.choose({ order: "", seed: (this.seed % MOST) + 1 }));
    const header = [h("h2", {}, "Shuffle test"), span("label", NOTE)];
    const field = div("ordering", this.box.element, again);
    this.element = panel("shuffle", null, header, field, this.why, this.text, this.sides);
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.set({ order: this.view.kept(link.get("order"), "order") ?? "", seed: Number(link.get("shuffle") ?? 1) });
  }

  /** What the link says of it. */
  get link() {
    return { order: this.order || null, shuffle: this.seed === 1 ? null : String(this.seed) };
  }

  /** @param {{order?: string, seed?: number}} change */
  set(change) {
    Object.assign(this, change);
    this.box.text = this.order;
  }

  /** @param {{order?: string, seed?: number}} change */
  choose(change, typing = false) {
    this.set(change);
    this.view.chose(typing);
  }

  /** What is asked: both sides, of the left sentence. */
  get query() {
    return this.view.queryOf([], this.link);
  }

  /** @param {boolean} isNow else what was asked before is given up */
  ask(isNow) {
    if (String(this.query) === this.of) return;
    if (isNow) this.wire.ask("shuffled", this.query, this.view.visit);
    else this.wire.settle();
  }

  /** @param {string} question @param {Shuffled | null} answer @param {string} sentence why there is none */
  take(question, answer, sentence) {
    this.of = question.slice(question.indexOf("?") + 1);
    this.answer = answer;
    this.refusal = sentence;
    this.view.redraw();
  }

  draw() {
    setAttribute(this.element, "data-old", this.of === String(this.query) ? null : "");
    setText(this.why, this.refusal);
    setText(this.text, this.answer?.order ?? "");
    const make = () => panel("", null, [h("h3"), span("label")], h("p"));
    fill(this.sides, this.answer?.sides ?? [], make, (side, { title, label, why }) => {
      const [header, text] = [...side.children];
      setText(header.children[0], title);
      setText(header.children[1], label);
      setText(text, why);
    });
  }
}
