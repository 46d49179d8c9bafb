// What the host shows, as the room's link says it: the link of his page, and what of it is the room's own.

/** @typedef {{row: string, key: string}} Pair words whose weights are measured in the sentences of a class; "" = see measure.js */
/** @typedef {{path: string, query: string, open: boolean, pair: Pair}} Shown open: the curtain of the lesson, if there is one */

const OPEN = "open";
const PAIR = "pair";
const OURS = ["big", "embed_options"]; // of a link: how the host's own window shows it

/** @param {Shown} shown */
export function writeShown({ path, query, open, pair }) {
  const link = new URLSearchParams(query);
  for (const key of OURS) link.delete(key);
  if (open) link.set(OPEN, "1");
  if (pair.row || pair.key) link.set(PAIR, `${pair.row} ${pair.key}`);
  return `/${path}?${link}`;
}

/** @param {string} link @returns {Shown} */
export function readShown(link) {
  const [path, ...rest] = link.slice(1).split("?");
  const query = new URLSearchParams(rest.join("?"));
  const [row = "", key = ""] = (query.get(PAIR) ?? "").split(" ");
  const open = query.has(OPEN);
  query.delete(OPEN);
  query.delete(PAIR);
  return { path, query: String(query), open, pair: { row, key } };
}
