// The map as a table of float32 weights, and lists of shares with bars.

import { mostOf, tintOf } from "../base/colour.js";
import { h } from "../base/dom.js";
import { isolated } from "../base/token_text.js";
import { BLOCKED, sortByWeight } from "../base/words.js";
import { rowOf } from "../wire/packets.js";

const NONE = "—"; // a masked cell
const WHOLE_UP_TO = 64; // tokens; beyond that only the row in focus is listed, and the CSV has the whole map

/** Table -> its inputs, so that an unchanged table is not rebuilt.
 * @type {WeakMap<Element, {weights: Float32Array | null, kind: string}>} */
const filled = new WeakMap();

/** @param {"td" | "th"} tag @param {string} text @param {Record<string, string | null>} props */
const cell = (tag, text, props = {}) => h(tag, props, text);
/** @param {HTMLElement} head @param {HTMLElement[]} body */
const table = (head, body) => h("table", {}, h("thead", {}, head), h("tbody", {}, ...body));

/** A cell whose accessible text is its meaning. @param {string} text @param {Record<string, string | null>} [props] */
const valueCell = (text, props) => cell("td", text, { "aria-label": text === NONE ? BLOCKED : null, ...props });

/** Fill `parent` with a map; for a long one with the row in focus, sorted by weight.
 * @param {Element} parent @param {MapPicture} picture @param {Writing} writing
 */
export function fillTable(parent, picture, { what = "weight", write = (weight) => weight.toFixed(4) } = {}) {
  const { tokens, keys, row, first, last, ofRow } = picture;
  const weights = picture.weights ?? ofRow ?? null;
  const columns = [picture.key, ...(picture.others ?? [])].join();
  const kind = `${tokens.join("\0")} ${keys === tokens ? "" : keys.join("\0")} ${row} ${first}${last} ${picture.theme} ${picture.scale} ${columns}`;
  const previous = filled.get(parent);
  if (previous?.weights === weights && previous?.kind === kind) return;
  filled.set(parent, { weights, kind });
  if (!weights) {
    parent.replaceChildren(h("p", {}, "…"));
    return;
  }
  const [n, wide] = [tokens.length, keys.length];
  const format = (/** @type {number} */ i, /** @type {number} */ j) =>
    Number.isNaN(weights[i * wide + j]) ? "?" : picture.forbids(i, j) ? NONE : write(weights[i * wide + j]);
  const inRow = (/** @type {number} */ j) => (ofRow ? write(ofRow[j]) : format(row, j));
  if (Math.max(n, wide) <= WHOLE_UP_TO) parent.replaceChildren(wholeTable(picture, weights, format));
  else {
    const rest = ofRow ? "; the CSV file has the same row" : "; the CSV file has the whole map";
    const note = `Only row ${row}, ${isolated(tokens[row])}, of ${n} × ${wide} weights is listed${rest}.`;
    parent.replaceChildren(h("p", {}, note), rowTable(picture, ofRow ?? rowOf(weights, row, wide), what, inRow));
  }
}

/** A table of the whole map, coloured like it unless it is a difference.
 * @param {MapPicture} picture @param {Float32Array} weights
 * @param {(i: number, j: number) => string} format
 */
function wholeTable(picture, weights, format) {
  const { tokens, keys, row, key, others = [], first, last, map, scale, theme } = picture;
  const n = keys.length;
  const max = mostOf(map.bytes, scale);
  const isTinted = map.size === tokens.length && !("sides" in picture);
  const placesOf = (/** @type {string[]} */ all) => [...all.keys()].slice(first, all.length - last);
  const columns = placesOf(keys);
  const names = columns.map((j) =>
    cell("th", isolated(keys[j]), { scope: "col", class: j === key || others.includes(j) ? "selected" : null }),
  );
  const body = placesOf(tokens).map((i) => {
    const strongest = Math.max(...weights.subarray(i * n + first, (i + 1) * n - last));
    const cells = columns.map((j) => {
      const isMost = weights[i * n + j] === strongest && strongest > 0;
      const style = isTinted ? tintOf(map.bytes[i * n + j], theme, scale, max) : null;
      return valueCell(format(i, j), { style, class: isMost ? "maximum" : null });
    });
    return h(
      "tr",
      { class: i === row ? "focused" : null },
      cell("th", isolated(tokens[i]), { scope: "row" }),
      ...cells,
    );
  });
  return table(h("tr", {}, cell("td", "query ↓ key →"), ...names), body);
}

/** @param {MapPicture} picture @param {Float32Array} weights of the row @param {string} noun @param {(j: number) => string} format */
function rowTable({ tokens, keys, row, first, last }, weights, noun, format) {
  const n = keys.length;
  const listed = sortByWeight(weights.map(Math.abs)).filter(([j]) => j >= first && j < n - last);
  const names = ["position", "key", `${noun} from ${isolated(tokens[row])}`].map((name) => cell("th", name));
  const body = listed.map(([j]) =>
    h("tr", {}, cell("td", String(j)), cell("th", isolated(keys[j]), { scope: "row" }), valueCell(format(j))),
  );
  return table(h("tr", {}, ...names), body);
}
