// Formulas as MathML, from nested lists (headlight/ui/equations.py).

import { div, fill, h, setAttribute, setText } from "../base/dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS = new Set("mi mo mn mtext mrow mfrac msqrt msup msub msubsup munder".split(" "));

/** @typedef {[string, string, ...any[]]} Node element name, letter of an axis or "", then texts and child nodes */

/** @param {string} tag */
const element = (tag) => document.createElementNS(MATHML, tag);

/** @param {Node} node */
function build([tag, axis, ...children]) {
  const node = element(TAGS.has(tag) ? tag : "mtext");
  setAttribute(node, "class", axis ? `axis-letter ${axis}` : null);
  node.append(...children.map((child) => (Array.isArray(child) ? build(/** @type {Node} */ (child)) : child)));
  return node;
}

const makeLine = () => h("div", { class: "scroll", tabindex: "0", role: "group" }, element("math"));

export const equation = {
  make: () => div("equation", h("h3"), div("lines"), h("p", { class: "label" })),
  /** @param {HTMLElement} container @param {Block} block */
  update(container, block) {
    const [title, lines, note] = container.children;
    setText(title, block.name);
    fill(lines, block.lines, makeLine, (line, node, index) => {
      setAttribute(line, "aria-label", `${block.name}, ${index + 1} of ${block.lines.length}`);
      const json = JSON.stringify(node);
      if (line.dataset.written === json) return;
      line.dataset.written = json;
      const math = /** @type {Element} */ (line.firstElementChild);
      math.setAttribute("display", "block");
      math.replaceChildren(build(/** @type {Node} */ (node)));
    });
    setText(note, block.note);
    /** @type {HTMLElement} */ (note).hidden = !block.note;
  },
};
