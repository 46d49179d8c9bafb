// The consequences of a mask, under its weights: rescaled rows, empty rows, and a second sentence in the same batch.
// Requested from the server once the picture is here.

import { SideRequest } from "../wire/api_client.js";
import { BlocksPanel } from "../sheets/blocks.js";
import { div, h, setAttribute, setText } from "../base/dom.js";
import { setParam } from "../link/link.js";
import { SentenceBox } from "../picture/sentence.js";

const NAME = "Another sentence in the same batch";

export class MaskOutcomes {
  /** @param {Painter} view */
  constructor(view) {
    this.view = view;
    this.pad = /** @type {string | null} */ (null); // second sentence, as in the link
    this.outcomes = /** @type {SideRequest<import("../base/messages.js").MaskOutcomes>} */ (
      new SideRequest(view, "outcomes")
    );
    this.blocks = { mask: new BlocksPanel(), padding: new BlocksPanel() };
    this.box = new SentenceBox(view, (text) => this.setText(text), NAME);
    this.reason = h("p", { class: "reason", role: "status" });
    const label = h("label", { class: "label" }, NAME, this.box.input);
    const { mask, padding } = this.blocks;
    this.element = div("outcomes", mask.element, label, this.reason, padding.element);
  }

  /** @param {string} text */
  setText(text) {
    this.pad = this.view.clip(text, "pad");
    this.view.onChange(true);
  }

  /** Request the outcomes once the picture is current. */
  ask() {
    const { view, outcomes } = this;
    const query = view.query();
    if (!view.visit || !view.picture || view.route(query)) return outcomes.stop();
    setParam(query, "pad", this.pad);
    if (String(query) !== outcomes.key) outcomes.ask(query);
  }

  draw() {
    const { view, blocks, outcomes } = this;
    const { answer, pending: word } = outcomes;
    this.element.hidden = !answer;
    setAttribute(this.element, "aria-busy", word ? "true" : null);
    if (!answer) return;
    this.box.text = this.pad ?? String(view.picture.defaults.pad);
    setText(this.reason, answer.refusal);
    setAttribute(this.box.input, "aria-invalid", answer.refusal ? "true" : null);
    blocks.mask.draw(answer.mask, view.theme);
    blocks.padding.draw(answer.padding, view.theme);
  }
}
