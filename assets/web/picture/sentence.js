// The sentence box of a view: a text field whose every key is heard, and whose text is only set when it differs. It is
// one line, on a phone up to three.

import { div, h } from "../base/dom.js";

// how it shows a line break, which a model may write; the selector of its plain form tells it from one
// that is typed
const BREAK = "⏎\ufe0e";
const MAX_LENGTH = 200000; // characters that are passed on; far more than can be used, so that the server says what it cuts

export class SentenceBox {
  /** @param {import("../wire/api_view.js").ApiView} view whose address says the text when it is done
   * @param {(text: string) => void} typed every key
   */
  constructor(view, typed, label = "Sentence", placeholder = "Type a sentence") {
    const done = () => view.writeAddress();
    this.composing = false;
    const plain = { autocomplete: "off", spellcheck: "false" };
    this.input = h("textarea", { rows: "1", "aria-label": label, placeholder, ...plain });
    this.element = div("sentence", this.input);
    // what an input method has not finished is no text yet
    this.input.addEventListener("compositionstart", () => {
      this.composing = true;
    });
    this.input.addEventListener("compositionend", () => {
      this.composing = false;
      typed(this.text);
    });
    this.input.addEventListener("input", () => {
      if (!this.composing) typed(this.text);
    });
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation(); // letters here are no shortcuts
      if (event.key !== "Enter" || this.composing) return;
      event.preventDefault();
      done();
    });
    this.input.addEventListener("blur", done);
  }

  get text() {
    const typed = this.input.value.slice(0, MAX_LENGTH).replace(/[\r\n]+/g, " "); // which only what is pasted has
    return typed.replaceAll(BREAK, "\n");
  }

  /** @param {string} text */
  set text(text) {
    const oneLine = text.replace(/\r\n?|\n/g, BREAK);
    if (!this.composing && this.input.value !== oneLine) this.input.value = oneLine;
  }
}
