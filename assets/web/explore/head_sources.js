// The texts that heads are measured on: the sentence, random tokens, or a text collection. A collection is measured
// sentence by sentence, so that results appear early and the work stops with the last request.

import { choice } from "../base/choice.js";
import { div, h, setText, span } from "../base/dom.js";
import { counted } from "../base/words.js";
import { parts } from "../wire/packets.js";
import { Pool } from "./head_measures.js";
import { setParam } from "../link/link.js";
import { ApiClient, SideRequest } from "../wire/api_client.js";

const TWICE = "meaningless text, repeated once: in the second half a head can only copy from the first";

export class HeadSources {
  /** @param {HeadsView} owner */
  constructor(owner) {
    const { view } = owner;
    this.view = owner;
    const come = () => {
      if (this.ours.answer) this.texts.begin(this.ours.answer);
      view.redraw();
    };
    const linesOf = (/** @type {string} */ text) => text.split("\n").filter((line) => line.trim());
    this.ours = /** @type {SideRequest<string[]>} */ (new SideRequest(view, "sentences", come, linesOf));
    this.texts = new CollectionRun(view, (bytes) => owner.unpack(parts(bytes)[0]));
    const sources = /** @type {[string, string, string?][]} */ ([
      ["", "this sentence"],
      ["random", "random tokens, repeated", TWICE],
      ["ours", "sample sentences", "from public-domain books"],
    ]);
    this.choices = choice("Measured on", sources, (source) => {
      this.ours.stop(); // so that a rejected request is sent again
      owner.change({ on: source });
    });
    this.status = h("p", { class: "label", role: "status" });
    const row = div("actions", span("label", "Measured on"), this.choices.element);
    this.element = div("head-sources", row, this.status);
  }

  /** Return whether a collection of sentences is measured. */
  get isCollection() {
    return this.view.settings.on === "ours";
  }

  close() {
    this.ours.stop();
    if (this.texts.isOn) this.texts.stop();
  }

  /** @param {string} text status text if no collection is measured */
  draw(text) {
    const { texts, ours, isCollection } = this;
    if (!isCollection) this.close();
    else if (texts.sentences.length) texts.follow();
    else ours.ask(new URLSearchParams()); // loaded when the collection is first opened
    this.choices.press(this.view.settings.on);
    setText(this.status, isCollection ? ours.refusal || texts.sentence : text);
  }
}

export class CollectionRun {
  /** @param {Pick<Explore, "queryOfRun" | "visit" | "redraw" | "lifetime">} view
   * @param {(bytes: Uint8Array) => Measure[]} unpack unpacks a response
   */
  constructor(view, unpack) {
    this.view = view;
    this.sentences = /** @type {string[]} */ ([]);
    this.base = ""; // query of the pool
    this.index = 0; // of the sentence that is measured now
    this.isOn = false;
    this.pool = new Pool();
    this.refused = /** @type {string[]} */ ([]); // why sentences were skipped
    const handlers = {
      take: (bytes) => this.next(() => this.pool.add(unpack(bytes))),
      refuse: (sentence) => this.next(() => this.refused.push(sentence)),
    };
    this.wire = new ApiClient(handlers, view.lifetime.signal);
  }

  /** The query without its sentence, shared by all sentences. */
  get run() {
    const query = this.view.queryOfRun();
    query.delete("s");
    return query;
  }

  /** Start with the first sentence, in the current run. @param {string[]} sentences */
  begin(sentences) {
    Object.assign(this, { sentences, base: String(this.run), index: 0, pool: new Pool(), refused: [] });
    this.goOn();
  }

  /** Continue a stopped measurement; another run starts over. */
  follow() {
    if (this.base !== String(this.run)) this.begin(this.sentences);
    else if (!this.isOn) this.goOn();
  }

  goOn() {
    this.isOn = this.isLeft;
    if (!this.isOn) return;
    const query = this.run;
    setParam(query, "s", this.sentences[this.index]);
    query.sort();
    this.wire.stop(); // so that an identical sentence is requested again
    this.wire.ask("overview", query, this.view.visit);
  }

  stop() {
    this.isOn = false;
    this.wire.stop();
    this.view.redraw();
  }

  /** @param {() => void} take handles the result of the sentence */
  next(take) {
    if (!this.isOn) return;
    take();
    this.index += 1;
    this.goOn();
    this.view.redraw();
  }

  get isLeft() {
    return this.index < this.sentences.length;
  }

  /** The progress as text; empty before the start. */
  get sentence() {
    const { sentences, refused, pool, isLeft } = this;
    if (!sentences.length) return "";
    const left = refused.length ? ` ${counted(refused.length, "sentence")} left out: ${[...new Set(refused)][0]}` : "";
    const done = isLeft
      ? `${pool.texts} of ${counted(sentences.length, "sentence")}.`
      : `The mean over all rows of ${counted(pool.texts, "sentence")}.`;
    return done + left;
  }
}
