// The panels under the maps of the Compare page: words in another order, each head ablated alone, and more than two
// maps. The server responds with blocks.

import { SideRequest } from "../wire/api_client.js";
import { button, div, fold, h, panel, setAttribute, setText, span } from "../base/dom.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { SentenceBox } from "../picture/sentence.js";

class Beneath {
  /** @param {PairView} view @param {string} route @param {(event: any) => void} [press] */
  constructor(view, route, press = () => {}) {
    this.view = view;
    this.aside = /** @type {SideRequest<{blocks: Block[]}>} */ (new SideRequest(view, route));
    this.blocks = new BlocksPanel(press);
    this.why = h("p", { class: "refusal", role: "status" });
    this.element = /** @type {HTMLElement} */ (div(""));
  }

  get query() {
    return this.view.queryOf([]);
  }

  get isOld() {
    return this.aside.key !== String(this.query);
  }

  /** @param {boolean} isNow otherwise a pending request is cancelled */
  ask(isNow) {
    if (!this.isOld) return;
    if (isNow) this.aside.ask(this.query);
    else this.aside.wire.cancelAll();
  }

  draw() {
    setAttribute(this.element, "data-outdated", this.isOld ? "" : null);
    setText(this.why, this.aside.refusal);
    this.blocks.draw(this.aside.answer?.blocks ?? [], this.view.theme);
  }
}

/** A copy of a block, and of those in it, with one cell marked.
 * @param {Block} block @param {[number, number]} cell @returns {Block} */
const marked = (block, cell) => ({
  ...block,
  marks: [cell],
  blocks: (block.blocks ?? []).map((/** @type {Block} */ inner) => marked(inner, cell)),
});

/** The effect of ablating each head alone on the sentence vector of the left side; a click selects the head. Long
 * sentences and large models wait for a button.
 */
export class HeadBars extends Beneath {
  /** @param {PairView} view */
  constructor(view) {
    super(view, "ablations", ({ row, col }) => view.setCursor({ layer: row, head: col }));
    this.since = 0; // timestamp of the request in ms
    this.startButton = button("Ablate each head in turn", () => this.begin());
    this.stops = button("Stop", () => this.stop());
    this.progress = h("span", { class: "label", role: "status" });
    const bar = div("form-row", this.startButton, this.stops, this.progress);
    this.element = div("head-bars", bar, this.why, this.blocks.element);
  }

  /** The left side. */
  get query() {
    return this.view.queryOf(this.view.sides[1].keys);
  }

  /** Request the bars where no button is needed.
   * @param {boolean} isNow otherwise a pending request is only cancelled */
  ask(isNow) {
    if (String(this.query) === this.aside.pending) return;
    if (this.aside.pending !== null) this.stop();
    if (isNow && this.isOld && this.view.picture.eachIsQuick) this.begin();
  }

  begin() {
    this.aside.stop();
    this.since = performance.now();
    this.aside.ask(this.query);
    this.view.redraw();
  }

  stop() {
    this.aside.stop();
    this.view.redraw();
  }

  draw() {
    super.draw();
    const { aside, isOld, view } = this;
    const { eachIsQuick, layer, head } = view.picture;
    const isAsked = aside.pending !== null && !eachIsQuick;
    this.startButton.hidden = (!isOld && !aside.refusal) || eachIsQuick || isAsked;
    this.stops.hidden = !isAsked;
    setText(
      this.progress,
      isAsked ? `Ablating one head at a time: ${Math.floor((performance.now() - this.since) / 1000)} s` : "",
    );
    if (isAsked) view.redrawSoon(1000);
    // bars of another sentence are hidden; space is kept for those that arrive at once
    this.blocks.element.hidden = !aside.answer || (isOld && !eachIsQuick);
    if (aside.answer) this.blocks.draw(marked(aside.answer, [layer, head]).blocks, view.theme);
  }
}

const MAX_SEED = 9999; // seed of the last random order
const LABEL = "Shuffle test: type the left words in a new order, or leave it empty for a random order";
const NOTE = "largest difference between the output vectors of the two orders, compared word by word";

/** The shuffle test: the left sentence in another order, typed or random, and the change of both sides' output
 * vectors. */
export class ShuffleTest extends Beneath {
  /** @param {PairView} view */
  constructor(view) {
    super(view, "shuffle");
    this.order = ""; // as typed; "" = a random one
    this.seed = 1; // of the random order
    const onInput = (/** @type {string} */ text) => this.choose({ order: view.clip(text, "order") ?? "" }, true);
    this.box = new SentenceBox(view, onInput, LABEL, "a random order");
    const again = button("shuffle again", () => this.choose({ order: "", seed: (this.seed % MAX_SEED) + 1 }));
    const header = [h("h2", {}, "Shuffle test"), span("label", NOTE)];
    this.element = panel(
      "shuffle",
      null,
      header,
      div("ordering", this.box.element, again),
      this.why,
      this.blocks.element,
    );
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.set({ order: this.view.clip(link.get("order"), "order") ?? "", seed: Number(link.get("shuffle") ?? 1) });
  }

  /** The link parameters of the test. */
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
    this.view.onChange(typing);
  }

  /** The two sides, with the left sentence. */
  get query() {
    return this.view.queryOf([], this.link);
  }
}

/** More than two maps: the left side under several positional encodings, or in the models of its task that differ in
 * them. */
export class Several extends Beneath {
  /** @param {PairView} view */
  constructor(view) {
    super(view, "encodings", (values) => this.choose({ ...this.link, ...values }));
    this.link = /** @type {Values} */ ({}); // parameters of this panel
    const props = { class: "more", ontoggle: () => this.toggle() };
    this.element = fold("compare more than two", props, this.why, this.blocks.element);
  }

  /** Take over the parameters; while it is open, the mean over heads is explicit even if it is the default.
   * @param {URLSearchParams} link */
  adopt(link) {
    const [three, kin] = [link.getAll("three"), link.get("kin")];
    const isOpen = ["three", "kin", "mean"].some((key) => link.has(key));
    this.link = { three, kin, mean: isOpen ? (link.get("mean") ?? "true") : null };
    this.element.toggleAttribute("open", isOpen);
  }

  toggle() {
    const { open } = /** @type {HTMLDetailsElement} */ (this.element);
    if (open !== (this.link.mean !== null)) this.choose({ three: [], kin: null, mean: open ? "true" : null });
  }

  /** @param {Values} link */
  choose(link) {
    this.link = link;
    this.view.onChange();
  }

  get query() {
    const { layer, head } = this.view.at;
    return this.view.queryOf(this.view.sides[1].keys, { ...this.link, at: `${layer}.${head}` });
  }

  /** @param {boolean} isNow */
  ask(isNow) {
    if (this.link.mean !== null) super.ask(isNow);
  }
}
