// The sentence field of a view: each input is an event, and the value is set only if it differs. One line, on a phone
// up to three.

import { div, h } from "../base/dom.js";

// The symbol of a line break, which a model may generate; its text variation selector distinguishes it from a typed one.
const BREAK = "⏎\ufe0e";
const MAX_LENGTH = 200000; // characters passed on; far above the server's limit, so that its warning names what it cut

export class SentenceBox {
  /** @param {{writeAddress(): void}} view whose address is updated when the text is final
   * @param {(text: string) => void} typed called at every input
   */
  constructor(view, typed, label = "Sentence", placeholder = "Type a sentence") {
    const done = () => view.writeAddress();
    this.composing = false;
    const plain = { autocomplete: "off", spellcheck: "false" };
    this.input = h("textarea", { rows: "1", dir: "auto", "aria-label": label, placeholder, ...plain });
    this.element = div("sentence", this.input);
    // text of an unfinished IME composition is ignored
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
    const typed = this.input.value.slice(0, MAX_LENGTH).replace(/[\r\n]+/g, " "); // only pasted text has line breaks
    return typed.replaceAll(BREAK, "\n");
  }

  /** @param {string} text */
  set text(text) {
    const oneLine = text.replace(/\r\n?|\n/g, BREAK);
    if (!this.composing && this.input.value !== oneLine) this.input.value = oneLine;
  }
}
