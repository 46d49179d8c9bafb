// How the next token is chosen: the likeliest, or one that is drawn, with the temperature of the draw and its seed. It has
// nothing to do with the temperature of attention's softmax.

import { h, setField, setText, span } from "../base/dom.js";
import { number } from "../base/words.js";

const ABOUT =
  "0 writes the likeliest token. Above it one is drawn, from probabilities that this temperature sharpens (below 1) or evens out.";

export class Sampling {
  /** @param {import("./explore.js").Explore} view @param {(change: Record<string, string | null>) => void} choose */
  constructor(view, choose) {
    this.view = view;
    this.degrees = field("Choose by chance: sampling temperature", { min: "0", max: "5", step: "0.1" }, "0", (value) =>
      choose({ temp: value }),
    );
    this.seed = field("Seed of the draws", { min: "0", max: "9999", step: "1" }, "0", (value) =>
      choose({ dice: value }),
    );
    this.text = span("label");
    this.element = h("div", { class: "sampling", title: ABOUT }, this.degrees.element, this.seed.element, this.text);
  }

  draw() {
    const { drawn, sampling } = this.view.picture;
    const [degrees, seed] = sampling;
    this.degrees.draw(String(degrees));
    this.seed.draw(String(seed));
    this.seed.element.hidden = !drawn;
    setText(this.text, drawn ? `draws “${drawn.label}”, ${number(drawn.chance)} at this temperature` : "");
  }
}

/** A number in a field; `set` hears only what can be used, null for the default.
 * @param {string} name @param {Record<string, string>} ends @param {string} usual @param {(value: string | null) => void} set
 */
function field(name, ends, usual, set) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "number", ...ends }));
  input.addEventListener("keydown", (event) => event.stopPropagation()); // digits here are no shortcuts
  input.addEventListener("input", () => {
    if (input.value && input.checkValidity())
      set(Number(input.value) === Number(usual) ? null : String(Number(input.value)));
  });
  const element = h("label", { class: "named" }, span("label", name), input);
  return { element, draw: (/** @type {string} */ value) => setField(input, value) };
}
