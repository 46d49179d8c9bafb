// What follows from a mask, under its weights: whether it only rescales rows, what becomes of empty ones, and a second
// sentence in the same batch. The server computes it when the picture has come.

import { BlocksPanel } from "../sheets/blocks_panel.js";
import { div, h, setAttribute, setText } from "../base/dom.js";
import { put } from "../link/link.js";
import { SentenceBox } from "../picture/sentence.js";
import { Wire } from "../wire/wire.js";

/** @typedef {import("./mask_view.js").MaskView} MaskView */
/** @typedef {import("../base/messages.js").MaskOutcomes} Told */

const NAME = "Another sentence in the same batch";

export class MaskOutcomes {
  /** @param {MaskView} view */
  constructor(view) {
    this.view = view;
    this.pad = /** @type {string | null} */ (null); // the second sentence as in the link
    this.refusal = ""; // why it cannot be used
    this.told = /** @type {Told | null} */ (null);
    const hears = {
      take: (bytes) => this.take(JSON.parse(new TextDecoder().decode(bytes))),
      refuse: (sentence, key) => this.refuse(sentence, key),
      wait: (waiting) => setAttribute(this.element, "data-late", waiting && waiting !== "asked" ? "" : null),
    };
    this.wire = new Wire(hears, view.here.signal);
    this.blocks = { mask: new BlocksPanel(), padding: new BlocksPanel() };
    this.box = new SentenceBox(view, (text) => this.type(text), NAME);
    this.reason = h("p", { class: "reason", role: "status" });
    const label = h("label", { class: "label" }, NAME, this.box.input);
    const { mask, padding } = this.blocks;
    this.element = div("outcomes", mask.element, label, this.reason, padding.element);
  }

  /** @param {URLSearchParams} link */
  adopt(link) {
    this.pad = this.view.kept(link.get("pad"), "pad");
    this.refusal = "";
  }

  /** @param {string} text */
  type(text) {
    this.pad = this.view.kept(text, "pad");
    this.refusal = "";
    this.view.chose(true);
  }

  /** Asks once the picture is that of what is chosen. */
  ask() {
    const { view } = this;
    const query = view.query();
    if (!view.visit || !view.picture || view.route(query)) return this.wire.settle();
    put(query, "pad", this.refusal ? (this.told?.pad ?? null) : this.pad);
    return this.wire.ask("outcomes", query, view.visit);
  }

  /** @param {Told} told */
  take(told) {
    this.told = told;
    this.view.redraw();
  }

  /** @param {string} sentence @param {string} key */
  refuse(sentence, key) {
    const again = key === "pad" && !this.refusal;
    this.refusal = sentence;
    if (again) this.ask(); // the rest is told of the last one that could be used
    this.view.redraw();
  }

  draw() {
    const { told, view, blocks } = this;
    this.element.hidden = !told;
    if (!told) return;
    this.box.text = this.pad ?? String(view.picture.defaults.pad);
    setText(this.reason, this.refusal);
    setAttribute(this.box.input, "aria-invalid", this.refusal ? "true" : null);
    blocks.mask.draw(told.mask, view.theme);
    blocks.padding.draw(told.padding, view.theme);
  }
}
