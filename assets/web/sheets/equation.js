// Formulas as MathML, which the browser typesets itself; they come as nested lists (headlight/ui/equations.py).

import { div, fill, h, setAttribute, setText } from "../base/dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS = new Set("mi mo mn mtext mrow mfrac msqrt msup msub msubsup munder".split(" "));

/** @typedef {[string, string, ...any[]]} Node its element, the letter of an axis or "", then texts and nodes */

/** @param {string} tag */
const element = (tag) => document.createElementNS(MATHML, tag);

/** @param {Node} node */
function build([tag, axis, ...children]) {
  const made = element(TAGS.has(tag) ? tag : "mtext");
  setAttribute(made, "class", axis ? `of-axis ${axis}` : null);
  made.append(...children.map((child) => (Array.isArray(child) ? build(/** @type {Node} */ (child)) : child)));
  return made;
}

const makeLine = () => h("div", { class: "scroll", tabindex: "0", role: "group" }, element("math"));

export const equation = {
  make: () => div("equation", h("h3"), div("lines"), h("p", { class: "label" })),
  /** @param {HTMLElement} whole @param {import("../base/messages.js").Block} block */
  update(whole, block) {
    const [title, lines, note] = whole.children;
    setText(title, block.name);
    fill(lines, block.lines, makeLine, (line, node, at) => {
      setAttribute(line, "aria-label", `${block.name}, ${at + 1} of ${block.lines.length}`);
      const written = JSON.stringify(node);
      if (line.dataset.written === written) return;
      line.dataset.written = written;
      const math = /** @type {Element} */ (line.firstElementChild);
      math.setAttribute("display", "block");
      math.replaceChildren(build(/** @type {Node} */ (node)));
    });
    setText(note, block.note);
    /** @type {HTMLElement} */ (note).hidden = !block.note;
  },
};
