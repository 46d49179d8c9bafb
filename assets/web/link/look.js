// What is looked at and how, and its two compact texts in the link (the other side is pages/kit/picture/place.py).

/** @typedef {"nospecials" | "all" | "open" | "table" | "lines" | "sort" | "difference" | "surprise" | "random" | "mean" | "values"} Switch */
/** @typedef {{layer: number, head: number, row: number | null, key: number | null}} At */
/** @typedef {Record<Switch, boolean> & {scale: import("../base/colour.js").Scale, hidden: Set<string>, solo: string | null}} Look */

/** @type {Switch[]} */
export const ASKED = ["all", "surprise", "random", "mean", "values"]; // that the server computes something for

/** @type {Switch[]} */
const SWITCHES = ["nospecials", "all", "open", "table", "lines", "sort", "difference", ...ASKED.slice(1)];

/** @param {string} text @returns {At} */
export function parseAt(text) {
  const [layer, head, row = null, key = null] = text.split(".").map(Number);
  return { layer, head, row, key };
}

/** @param {At} at @param {boolean} chosen the visitor, not the page, chose row and key */
export function writeAt({ layer, head, row, key }, chosen) {
  const numbers = [layer, head];
  if (chosen && row !== null) numbers.push(row, ...(key === null ? [] : [key]));
  return numbers.join(".");
}

/** @param {string} text @returns {Look} */
export function parseLook(text) {
  const words = text ? text.split("_") : [];
  const switches = /** @type {Record<Switch, boolean>} */ (
    Object.fromEntries(SWITCHES.map((name) => [name, words.includes(name)]))
  );
  /** @type {Look} */
  const look = { scale: "root", hidden: new Set(), solo: null, ...switches };
  for (const word of words) {
    if (word === "linear" || word === "own") look.scale = word;
    else if (word.startsWith("hide")) look.hidden = new Set(word.slice(4).split("-"));
    else if (word.startsWith("solo")) look.solo = word.slice(4);
  }
  return look;
}

/** "3.9" before "3.10". @param {Iterable<string>} heads */
export const inOrder = (heads) => [...heads].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));

/** A head as a link names it, "L3 H9". @param {string} head "3.9" */
export const headName = (head) => `L${head.replace(".", " H")}`;

/** The heads that a link names. @param {string[]} names @returns {Set<string>} */
export const headsOf = (names) => new Set(names.map((name) => name.slice(1).replace(" H", ".")));

/** @param {Look} look */
export function writeLook(look) {
  return [
    ...(look.scale === "root" ? [] : [look.scale]),
    ...SWITCHES.filter((name) => look[name]),
    ...(look.hidden.size ? [`hide${inOrder(look.hidden).join("-")}`] : []),
    ...(look.solo ? [`solo${look.solo}`] : []),
  ].join("_");
}
