// The map as a table of float32 weights.

import { h } from "./dom.js";
import { ranked } from "./words.js";

const WHOLE_UP_TO = 64; // tokens; beyond that the row in focus is listed, and the whole map is in the CSV

const cell = (tag, text, props = {}) => h(tag, props, text);

/** `what` the numbers are and how to `write` them; a row that is listed is sorted by size. */
export function fillTable(
  parent,
  tokens,
  weights,
  row,
  first,
  last,
  forbids,
  { what = "weight", write = (weight) => weight.toFixed(4) } = {},
) {
  const kind = weights && `${tokens.join("\0")} ${row} ${first}${last}`;
  if (parent.shown === weights && parent.kind === kind) return;
  Object.assign(parent, { shown: weights, kind });
  if (!weights) {
    parent.replaceChildren(h("p", {}, "…"));
    return;
  }
  const n = tokens.length;
  const shown = [...tokens.keys()].slice(first, n - last);
  const written = (i, j) => (forbids(i, j) ? "—" : write(weights[i * n + j]));
  if (n <= WHOLE_UP_TO) {
    const head = h("tr", {}, cell("td", "query ↓ key →"), ...shown.map((j) => cell("th", tokens[j], { scope: "col" })));
    const body = shown.map((i) =>
      h(
        "tr",
        { class: i === row ? "focused" : null },
        cell("th", tokens[i], { scope: "row" }),
        ...shown.map((j) => cell("td", written(i, j))),
      ),
    );
    parent.replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
  } else {
    const own = weights.subarray(row * n, (row + 1) * n);
    const head = h("tr", {}, cell("th", "position"), cell("th", "key"), cell("th", `${what} from ${tokens[row]}`));
    const listed = ranked(own.map(Math.abs)).filter(([j]) => j >= first && j < n - last);
    const body = listed.map(([j]) =>
      h("tr", {}, cell("td", String(j)), cell("th", tokens[j], { scope: "row" }), cell("td", written(row, j))),
    );
    const note = h(
      "p",
      {},
      `${n} × ${n} weights are too many to read: this is row ${row}, ${tokens[row]}; the whole map is in the CSV.`,
    );
    parent.replaceChildren(note, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
  }
}
