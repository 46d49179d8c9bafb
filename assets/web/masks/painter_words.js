// What the painter says of its cells, and of its own limits.

import { h, span } from "../base/dom.js";
import { many } from "../base/words.js";

/** @param {import("../base/messages.js").Masks} picture @param {number} tooLong characters of a painting that no link can hold
 * @returns {string[]}
 */
export function limitsInWords({ tokens, most, longest }, tooLong) {
  const said = [];
  if (tooLong) {
    const size = `${many(tooLong, "character")} of ${longest.toLocaleString("en")}`;
    said.push(
      `Too large for a link (${size}). The weights still show the previous mask: undo, or paint fewer single cells.`,
    );
  }
  if (tokens.length > most) {
    const has = `this sentence has ${tokens.length}`;
    said.push(`A mask can be painted for at most ${most} tokens, ${has}. The rules work at any length.`);
  }
  return said;
}

/** What an open and a hatched cell mean. */
export const legend = () =>
  h("p", { class: "legend" }, span("swatch"), "open: may look", span("swatch hatched"), "hatched: may not look");
