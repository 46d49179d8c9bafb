// The word in focus replaced by the model's mask token, at one press: another sentence, which undo takes back.

import { button, div, setText, span } from "../base/dom.js";
import { put } from "../link/link.js";
import { writeAt } from "../link/look.js";
import { Wire } from "../wire/wire.js";
import { quoted } from "../base/words.js";

const ROUTE = "masked_word";

export class MaskedWord {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.press = button("", () => this.ask(), { class: "toggle", title: "of the whole word, all its pieces" });
    this.said = span("label");
    this.said.setAttribute("role", "status");
    this.refusal = { of: "", said: "" }; // the query that it is of
    const take = (/** @type {Uint8Array} */ bytes, /** @type {string} */ question) => {
      // nothing that was typed since is replaced
      if (question === `${ROUTE}?${this.query}`) this.take(JSON.parse(new TextDecoder().decode(bytes)));
    };
    const refuse = (/** @type {string} */ said) => {
      this.refusal = { of: String(this.query), said };
      view.redraw();
    };
    this.wire = new Wire({ take, refuse }, view.here.signal);
    this.element = div("actions", this.press, this.said);
  }

  get query() {
    const query = this.view.query();
    put(query, "at", writeAt(this.view.at, true));
    return query;
  }

  ask() {
    this.wire.stop(); // the same may be asked again
    this.wire.ask(ROUTE, this.query, this.view.visit);
  }

  /** @param {import("../base/messages.js").MaskedWord} answer */
  take({ text, row }) {
    const { model } = this.view;
    model.remember(true);
    model.sentence = { ...model.sentence, text, row, key: null, rowChosen: true };
    this.view.chose();
  }

  draw() {
    const { maps, sight, rowChosen, given } = this.view;
    setText(this.press, `put a mask in place of ${quoted(sight.tokens[sight.row])}`);
    const isOfText = maps.columns === null && given.rows === "words";
    this.element.hidden = !isOfText || !rowChosen; // of a word that was chosen, not of the page’s first
    setText(this.said, this.refusal.said && this.refusal.of === String(this.query) ? this.refusal.said : "");
  }
}
