// The shuffle test of the pair view: the words of the left sentence in another order, typed or drawn, and how much the
// output vectors of both sides change with it.

import { Aside } from "../wire/aside.js";
import { button, div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { SentenceBox } from "../picture/sentence.js";
import { panel } from "../base/view_base.js";

const MOST = 9999; // the number of the last random order
const LABEL = "Shuffle test: type the left words in a new order, or leave it empty for a random one";
const NOTE = "largest difference between the output vectors of the two orders, compared word by word";

export class ShuffleTest {
  /** @param {import("./pair.js").PairView} view */
  constructor(view) {
    this.view = view;
    this.order = ""; // as typed; empty: a random one,
    this.seed = 1; // of this number
    this.shuffled = /** @type {Aside<import("../base/messages.js").Shuffled>} */ (new Aside(view, "shuffled"));
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
    if (String(this.query) === this.shuffled.of) return;
    if (isNow) this.shuffled.ask(this.query);
    else this.shuffled.wire.settle();
  }

  draw() {
    const { of, answer, refusal } = this.shuffled;
    setAttribute(this.element, "data-old", of === String(this.query) ? null : "");
    setText(this.why, refusal);
    setText(this.text, answer?.order ?? "");
    const make = () => panel("", null, [h("h3"), span("label")], h("p"));
    fill(this.sides, answer?.sides ?? [], make, (side, { title, label, why }) => {
      const [header, text] = [...side.children];
      setText(header.children[0], title);
      setText(header.children[1], label);
      setText(text, why);
    });
  }
}
