// A long text on its way through the model: how far it is, and the button that stops it.

import { button, div, h, setText, span } from "../base/dom.js";
import { put, without } from "../link/link.js";
import { parts, unpack } from "../wire/packets.js";

/** @typedef {import("./explore.js").Explore} Explore */

const SHORT = 200; // bytes of an answer that says no more than that

export class UnderWay {
  /** @param {Explore} view @param {string[]} others keys that make no other pass */
  constructor(view, others) {
    this.view = view;
    this.others = others;
    this.of = ""; // the query that is computed
    this.done = this.layers = 0;
    this.bar = h("progress", { "aria-label": "Layers computed" });
    this.text = span("label");
    this.stopper = button("stop", () => this.stop(), { class: "toggle" });
    this.element = div("under-way", this.bar, this.text, this.stopper);
  }

  /** Asks for the next portion where this query is under way. @param {URLSearchParams} query */
  continues(query) {
    if (!this.of || without(query, ...this.others) !== this.of) return false;
    put(query, "part", String(this.done));
    return true;
  }

  /** Takes an answer that says how far it is; tells whether this one did. @param {Uint8Array} bytes @param {URLSearchParams} query */
  takes(bytes, query) {
    const [first] = parts(bytes);
    const said = first.length < SHORT ? unpack(first).header.underWay : null;
    this.of = said ? without(query, ...this.others) : "";
    [this.done, this.layers] = said ?? [0, 0];
    return Boolean(said);
  }

  /** How far it is; empty where nothing is under way. */
  get said() {
    return this.of ? `${this.done} of ${this.layers} layers of this text are computed.` : "";
  }

  stop() {
    const { view, done, layers } = this;
    view.wire.settle();
    view.refuse(`Stopped after ${done} of ${layers} layers.`, "s", 0);
  }

  draw() {
    this.element.hidden = !this.of;
    if (!this.of) return;
    Object.assign(this.bar, { max: this.layers, value: this.done });
    setText(this.text, this.said);
  }
}
