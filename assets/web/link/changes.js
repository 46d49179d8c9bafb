// What a visitor may change in the model, and what of it is changed: the controls that a view holds itself, as the
// link's keys, with what they are called; and the written rule of a mask with one key more or less that nobody but itself
// may look at: its parts `unseen`. The other side of that is headlight/link/rules.py.

import { MASKS, RULE, SIDE } from "../base/facts.js";
import { headName } from "./look.js";
import { quoted } from "../base/words.js";

/** @typedef {Record<string, string | null>} Controls key of the link -> what it says; null = its default */

const UNSEEN = "unseen";

/** The keys of the link that these controls have; the heads stand apart. */
const KEYS = SIDE.filter((key) => key !== "off");

/** The controls of a link. @param {URLSearchParams} link @returns {Controls} */
export const controlsOf = (link) => Object.fromEntries(KEYS.map((key) => [key, link.get(key)]));

/** The rule of the mask that the controls say, as it is written; of a painted one the rule beneath. @param {Controls} controls */
export function ruleOf(controls) {
  const { mask } = controls;
  if (mask === "combination") return controls.rule ?? RULE;
  if (mask === "painted") return controls.on ?? "none";
  const kind = MASKS.find(({ name }) => name === mask);
  return [mask ?? "none", ...(kind?.numbers ?? []).map(([key, , usual]) => controls[key] ?? String(usual))].join(":");
}

/** The controls of a rule: its kind with its numbers, or a combination. @param {string} rule @returns {Controls} */
export function maskOf(rule) {
  const [kind, ...numbers] = rule.split(":");
  const maskKind = MASKS.find(({ name }) => name === kind);
  if (!maskKind || maskKind.numbers.length !== numbers.length) return { mask: "combination", rule };
  const params = maskKind.numbers.map(([key], index) => [key, numbers[index]]);
  return { mask: kind === "none" ? null : kind, ...Object.fromEntries(params) };
}

/** The tokens whose value no other takes in. @param {Controls} controls */
export const valuesOff = ({ unheard }) => (unheard ? unheard.split("-").map(Number) : []);

/** May query i look at key j? The rules of mha_core/masks/rules.py, for the small pictures.
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

/** The changes, each with a name and the controls that undo it. @param {Controls} controls @param {Set<string>} off
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
    masks.push({ key: "pos", text: pos === "none" ? "no positions" : `positions: ${pos}`, back: { pos: null } });
  if (t && Number(t) !== 1) masks.push({ key: "t", text: `temperature ${t}`, back: { t: null } });
  const heads = [...off];
  const names = heads.length === 1 ? `${headName(heads[0])} off` : `${heads.length} heads off`;
  if (heads.length) masks.push({ key: "off", text: names, back: {}, heads });
  return masks;
}

/** The mask, and apart from it the columns that it takes out. @param {Controls} controls @param {string[]} tokens
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
    const out = painted ? { mask: null } : maskOf(onlyUnseen(rule));
    parts.push({ key: "mask", text: [`mask: ${seen.mask}`, ...values].join(" "), back: out });
  }
  const back = painted ? { on: rest } : maskOf(rest);
  if (unseen.length) parts.push({ key: "unseen", text: `masked for all others: ${unseen.join(", ")}`, back });
  return parts;
}

// ---- the keys that a written rule takes out

/** The parts of a rule: joined by & inside, by | outside. @param {string} rule */
const termsOf = (rule) => rule.split("|").map((term) => term.split("&").map((part) => part.replace(/\s/g, "")));

/** The keys that a term takes out. @param {string[]} term */
const placesOf = (term) =>
  term.flatMap((part) => {
    const [name, ...places] = part.split(":");
    return name === UNSEEN ? places.map(Number) : [];
  });

/** A rule whose every term takes out these keys and no other. @param {string} rule @param {Set<number>} places */
function withPlaces(rule, places) {
  const sorted = [...places].sort((a, b) => a - b);
  const unseen = sorted.length ? [[UNSEEN, ...sorted].join(":")] : [];
  const terms = termsOf(rule).map((term) => {
    const rest = term.filter((part) => part !== "none" && part.split(":")[0] !== UNSEEN);
    return [...rest, ...unseen].join(" & ") || "none";
  });
  return terms.includes("none") ? "none" : [...new Set(terms)].join(" | ");
}

/** The keys that every term of a rule takes out. @param {string} rule */
export function unseenOf(rule) {
  const [first, ...others] = termsOf(rule).map(placesOf);
  return new Set(first.filter((place) => others.every((places) => places.includes(place))));
}

/** The rule with that key out, or where it is out already, in again. @param {string} rule @param {number} place */
export function toggledUnseen(rule, place) {
  const places = unseenOf(rule);
  if (!places.delete(place)) places.add(place);
  return withPlaces(rule, places);
}

/** A rule that takes out the same keys and nothing else. @param {string} rule */
export const onlyUnseen = (rule) => withPlaces("none", unseenOf(rule));

/** The rule with no key out. @param {string} rule */
export const withoutUnseen = (rule) => withPlaces(rule, new Set());
