// Cursor and display options, and their compact texts in the link (the Python side is headlight/link/cursor.py).

/** @type {Switch[]} */
export const ASKED = ["all", "surprise", "values"]; // options that need data from the server

/** @type {Mean[]} */
const MEANS = ["mean", "meanall", "meanseen"];

/** @type {Switch[]} */
const DRAWN = ["nospecials", "all", "open", "table", "lines", "sort", "difference"];

/** @type {Switch[]} */
const SWITCHES = [...DRAWN, "surprise", ...MEANS, "values", "words", "nofirst", "renorm"];

/** @param {string} text @returns {At} */
export function parseAt(text) {
  const [layer, head, row = null, key = null] = text.split(".").map(Number);
  return { layer, head, row, key };
}

/** @param {At} at @param {boolean} withRow whether the user chose row and key */
export function writeAt({ layer, head, row, key }, withRow) {
  const numbers = [layer, head];
  if (withRow && row !== null) numbers.push(row, ...(key === null ? [] : [key]));
  return numbers.join(".");
}

/** @param {string} text @returns {Look} */
export function parseLook(text) {
  const words = text ? text.split("_") : [];
  const switches = /** @type {Record<Switch, boolean>} */ (
    Object.fromEntries(SWITCHES.map((name) => [name, words.includes(name)]))
  );
  /** @type {Look} */
  const look = { scale: "root", hidden: new Set(), solo: null, keys: [], ...switches };
  for (const word of words) {
    if (word === "linear" || word === "own") look.scale = word;
    else if (word.startsWith("hide")) look.hidden = new Set(word.slice(4).split("-"));
    else if (word.startsWith("solo")) look.solo = word.slice(4);
    else if (word.startsWith("keys")) look.keys = word.slice(4).split("-").map(Number);
  }
  return look;
}

/** The active mean over heads, "" for none. @param {Look} look */
export const meanOf = (look) => MEANS.find((name) => look[name]) ?? "";

/** The change of the display options when a mean is clicked: select it, or clear it.
 * @param {Look} look @param {Mean | ""} mean */
export const choosesMean = (look, mean) =>
  Object.fromEntries(MEANS.map((name) => [name, name === mean && meanOf(look) !== mean]));

/** The display options of a page with one map at a time. @param {Look} look @returns {Look} */
export const singleMapLook = (look) => ({
  ...look,
  meanall: false,
  meanseen: false,
  words: false,
  renorm: false,
  values: false,
});

/** The display options that change how the map in focus is computed, as in the link. @param {Look} look */
export function reads(look) {
  const mean = meanOf(look);
  const hides = look.renorm && (look.nospecials || look.nofirst);
  /** @type {Partial<Look>} */
  const read = { words: look.words, ...(mean && { [mean]: true }) };
  if (hides) Object.assign(read, { renorm: true, nospecials: look.nospecials, nofirst: look.nofirst });
  if (mean === "meanseen") Object.assign(read, { all: look.all, hidden: look.hidden, solo: look.solo });
  return writeLook({ ...parseLook(""), ...read });
}

/** The display options that need data from the server. @param {Look} look */
export const askedOf = (look) =>
  writeLook({ ...parseLook(reads(look)), ...Object.fromEntries(ASKED.map((name) => [name, look[name]])) });

/** Sort heads numerically: "3.9" before "3.10". @param {Iterable<string>} heads */
const inOrder = (heads) => [...heads].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));

/** The number that stands for an MLP in the place of a head's: "3.mlp". */
export const MLP = "mlp";

/** The link's name of an ablated part: "L3 H9", "L3 MLP" or "L3". @param {string} part "3.9", "3.mlp" or "3" */
export const headName = (part) => `L${part.replace(`.${MLP}`, " MLP").replace(".", " H")}`;

/** The link's names of heads. @param {Iterable<string>} heads */
export const headNames = (heads) => inOrder(heads).map(headName);

/** The ablated parts in words, "L3 H9 off", "2 heads, L3 MLP off". @param {Iterable<string>} parts */
export function offText(parts) {
  const names = headNames(parts);
  const kinds = { head: / H/, MLP: / MLP/, layer: /^L\d+$/ };
  const texts = Object.entries(kinds).map(([noun, pattern]) => {
    const [first = "", ...others] = names.filter((name) => pattern.test(name));
    return others.length ? `${others.length + 1} ${noun}s` : first;
  });
  return `${texts.filter(Boolean).join(", ")} off`;
}

/** Parse the ablated parts of a link. @param {string[]} names @returns {Set<string>} */
export const headsOf = (names) =>
  new Set(names.map((name) => name.slice(1).replace(" MLP", `.${MLP}`).replace(" H", ".")));

/** @param {Look} look */
export function writeLook(look) {
  return [
    ...(look.scale === "root" ? [] : [look.scale]),
    ...SWITCHES.filter((name) => look[name]),
    ...(look.hidden.size ? [`hide${inOrder(look.hidden).join("-")}`] : []),
    ...(look.solo ? [`solo${look.solo}`] : []),
    ...(look.keys.length ? [`keys${look.keys.toSorted((a, b) => a - b).join("-")}`] : []),
  ].join("_");
}
