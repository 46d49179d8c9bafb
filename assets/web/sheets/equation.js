// Formulas as MathML, from nested lists (headlight/ui/equations.py).

const TAGS = new Set("mi mo mn mtext mrow mfrac msqrt msup msub msubsup munder".split(" "));

/** @typedef {[string, string, ...any[]]} Node element name, letter of an axis or "", then texts and child nodes */

/** @param {Node} node @returns {any[]} what `render` takes */
const drawNode = ([tag, axis, ...children]) => [
  TAGS.has(tag) ? tag : "mtext",
  { class: axis ? `axis-letter ${axis}` : null },
  ...children.map((child) => (Array.isArray(child) ? drawNode(/** @type {Node} */ (child)) : child)),
];

/** The contents of a block of formulas. @param {{name: string, lines: Node[], note: string}} block */
export function drawEquation({ name, lines, note }) {
  const drawLine = (/** @type {Node} */ node, /** @type {number} */ index) => {
    const label = `${name}, ${index + 1} of ${lines.length}`;
    const math = ["math", { display: "block" }, drawNode(node)];
    return ["div.scroll", { tabindex: "0", role: "group", "aria-label": label }, math];
  };
  const list = ["div.lines", ...lines.map(drawLine)];
  return [{ class: "equation" }, ["h3", name], list, ["p.label", { hidden: !note }, note]];
}
