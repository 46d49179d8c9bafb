// The changes of the model that a view stores as link parameters: their names and undo values, and the columns that the
// written rule of a mask removes: its parts `unseen` (see headlight/link/rules.py).

import { MASKS, RULE, SIDE } from "../base/facts.js";
import { headsOf, offText } from "./look.js";
import { quoted } from "../base/words.js";

const UNSEEN = "unseen";
const NONE = { mask: "no mask", pos: "no positional encoding" };

/** The name of a mask or a positional encoding on the screen. @param {"mask" | "pos"} key @param {string} value */
export const nameOf = (key, value) => (value === "none" ? NONE[key] : value);

/** Their link parameters; ablated heads are separate. */
const KEYS = SIDE.filter((key) => key !== "off");

/** Read the controls from a link. @param {URLSearchParams} link @returns {Controls} */
export const controlsOf = (link) => Object.fromEntries(KEYS.map((key) => [key, link.get(key)]));

/** The mask rule in the link's notation; of a painted mask the rule below the painting. @param {Controls} controls */
export function ruleOf(controls) {
  const { mask } = controls;
  if (mask === "combination") return controls.rule ?? RULE;
  if (mask === "painted") return controls.on ?? "none";
  const kind = MASKS.find(({ name }) => name === mask);
  return [mask ?? "none", ...(kind?.numbers ?? []).map(([key, , usual]) => controls[key] ?? String(usual))].join(":");
}

/** The controls of a rule: a named mask with its numbers, or a combination. @param {string} rule @returns {Controls} */
export function maskOf(rule) {
  const [kind, ...numbers] = rule.split(":");
  const maskKind = MASKS.find(({ name }) => name === kind);
  if (!maskKind || maskKind.numbers.length !== numbers.length) return { mask: "combination", rule };
  const params = maskKind.numbers.map(([key], index) => [key, numbers[index]]);
  return { mask: kind === "none" ? null : kind, ...Object.fromEntries(params) };
}

/** The tokens whose values are zeroed for all others. @param {Controls} controls */
export const valuesOff = ({ unheard }) => (unheard ? unheard.split("-").map(Number) : []);

/** Return whether query i may attend to key j, by the rules of mha_core/masks/rules.py; for thumbnails.
 * @param {string} mask @param {Record<string, number>} numbers @param {number} i @param {number} j
 */
export function allows(mask, { w = 3, first = 1, gap = 2 }, i, j) {
  const away = Math.abs(i - j);
  if (mask === "causal") return j <= i;
  if (mask === "window") return away < w;
  if (mask === "prefix") return j <= i || j < first;
  if (mask === "sinks") return j < first;
  if (mask === "dilated") return away < w * gap && away % gap === 0;
  return true;
}

/** List the changes, each with a name and the controls that undo it.
 * @param {Controls} controls @param {Set<string>} off
 * @param {string[]} tokens of the sentence
 * @returns {{key: string, text: string, back: Controls, heads?: string[]}[]}
 */
export function changed(controls, off, tokens = []) {
  const { pos, t } = controls;
  const masks = changedMasks(controls, tokens);
  const unheard = valuesOff(controls).map((place) => quoted(tokens[place] ?? String(place)));
  if (unheard.length)
    masks.push({ key: "unheard", text: `value of ${unheard.join(", ")} zeroed`, back: { unheard: null } });
  if (pos && pos !== "as trained")
    masks.push({ key: "pos", text: pos === "none" ? NONE.pos : `positional encoding: ${pos}`, back: { pos: null } });
  if (t && Number(t) !== 1) masks.push({ key: "t", text: `temperature ${t}`, back: { t: null } });
  if (off.size) masks.push({ key: "off", text: offText(off), back: {}, heads: [...off] });
  return masks;
}

/** List the changed mask, and separately the columns that it removes.
 * @param {Controls} controls @param {string[]} tokens
 * @returns {{key: string, text: string, back: Controls, heads?: string[]}[]}
 */
function changedMasks(controls, tokens) {
  const painted = controls.mask === "painted";
  const rule = ruleOf(controls);
  const unseen = [...unseenOf(rule)].map((place) => quoted(tokens[place] ?? String(place)));
  const rest = withoutUnseen(rule);
  const seen = { ...controls, ...(painted ? { on: rest } : maskOf(rest)) };
  const parts = [];
  if (seen.mask && seen.mask !== "none") {
    const [, ...numbers] = painted ? [] : ruleOf(seen).split(":");
    const values = seen.mask === "combination" ? [rest] : numbers;
    const out = painted ? { mask: null } : maskOf(withPlaces("none", unseenOf(rule)));
    parts.push({ key: "mask", text: [`mask: ${seen.mask}`, ...values].join(" "), back: out });
  }
  const back = painted ? { on: rest } : maskOf(rest);
  if (unseen.length) parts.push({ key: "unseen", text: `masked for all others: ${unseen.join(", ")}`, back });
  return parts;
}

/** Parse a rule into terms joined by |, each a list of parts joined by &. @param {string} rule */
const termsOf = (rule) => rule.split("|").map((term) => term.split("&").map((part) => part.replace(/\s/g, "")));

/** The keys that a term removes. @param {string[]} term */
const placesOf = (term) =>
  term.flatMap((part) => {
    const [name, ...places] = part.split(":");
    return name === UNSEEN ? places.map(Number) : [];
  });

/** A rule whose every term removes exactly these keys. @param {string} rule @param {Set<number>} places */
export function withPlaces(rule, places) {
  const sorted = [...places].sort((a, b) => a - b);
  const unseen = sorted.length ? [[UNSEEN, ...sorted].join(":")] : [];
  const terms = termsOf(rule).map((term) => {
    const rest = term.filter((part) => part !== "none" && part.split(":")[0] !== UNSEEN);
    return [...rest, ...unseen].join(" & ") || "none";
  });
  return terms.includes("none") ? "none" : [...new Set(terms)].join(" | ");
}

/** The keys that every term of a rule removes. @param {string} rule */
export function unseenOf(rule) {
  const [first, ...others] = termsOf(rule).map(placesOf);
  return new Set(first.filter((place) => others.every((places) => places.includes(place))));
}

/** The rule with a key removed, or restored if it was. @param {string} rule @param {number} place */
export function toggledUnseen(rule, place) {
  const places = unseenOf(rule);
  if (!places.delete(place)) places.add(place);
  return withPlaces(rule, places);
}

/** The rule with all keys restored. @param {string} rule */
export const withoutUnseen = (rule) => withPlaces(rule, new Set());

const MAX_LETTERS = 60; // characters of a file name

/** The changes of a link to the model, as text. @param {URLSearchParams} link */
function changesOf(link) {
  const [mask, pos, t] = ["mask", "pos", "t"].map((key) => link.get(key));
  const off = headsOf(link.getAll("off"));
  const position = pos === "none" ? "no positions" : pos && `${pos} positions`;
  return [mask && `${mask} mask`, position, t && `temperature ${t}`, off.size && offText(off)].filter(Boolean);
}

/** The file name of a picture, such as "it-animal-no-positions": the words that its title quotes, or the name of the
 * page, and the changes.
 * @param {string} page @param {string} title @param {URLSearchParams} link
 */
export function fileNameOf(page, title, link) {
  const quoted = [...title.matchAll(/“([^”]*[\p{L}\p{N}][^”]*)”/gu)].map(([, word]) => word);
  const words = [...(quoted.length ? quoted : [`headlight ${page}`]), ...changesOf(link)].join(" ");
  const name = words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  return name.replace(/^-/, "").slice(0, MAX_LETTERS).replace(/-$/, "");
}
