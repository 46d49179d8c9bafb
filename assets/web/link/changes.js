// What a visitor may change in the model, and what of it is changed: the controls that a view holds itself, as the
// link's keys, with what they are called.

import { MASKS, RULE, SIDE } from "../base/facts.js";
import { onlyUnseen, unseenOf, withoutUnseen } from "./rules.js";
import { headName } from "./look.js";
import { quoted } from "../base/words.js";

/** @typedef {Record<string, string | null>} Controls key of the link -> what it says; null = its default */

/** The keys of the link that these controls have; the heads stand apart. */
const KEYS = SIDE.filter((key) => key !== "off");

/** What a link says of the controls. @param {URLSearchParams} link @returns {Controls} */
export const controlsOf = (link) => Object.fromEntries(KEYS.map((key) => [key, link.get(key)]));

/** The rule of the mask that the controls say, as it is written; of a painted one the rule beneath. @param {Controls} controls */
export function ruleOf(controls) {
  const { mask } = controls;
  if (mask === "combination") return controls.rule ?? RULE;
  if (mask === "painted") return controls.on ?? "none";
  const known = MASKS.find(({ name }) => name === mask);
  return [mask ?? "none", ...(known?.numbers ?? []).map(([key, , usual]) => controls[key] ?? String(usual))].join(":");
}

/** What the controls say of a rule: its kind with its numbers, or a combination. @param {string} rule @returns {Controls} */
export function maskOf(rule) {
  const [kind, ...numbers] = rule.split(":");
  const known = MASKS.find(({ name }) => name === kind);
  if (!known || known.numbers.length !== numbers.length) return { mask: "combination", rule };
  const said = known.numbers.map(([key], at) => [key, numbers[at]]);
  return { mask: kind === "none" ? null : kind, ...Object.fromEntries(said) };
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

/** What is changed, each with a name and what takes it back. @param {Controls} controls @param {Set<string>} off
 * @param {string[]} tokens of the sentence
 * @returns {{key: string, text: string, back: Controls, heads?: string[]}[]}
 */
export function changed(controls, off, tokens = []) {
  const { pos, t } = controls;
  const found = changedMasks(controls, tokens);
  const unheard = valuesOff(controls).map((place) => quoted(tokens[place] ?? String(place)));
  if (unheard.length)
    found.push({ key: "unheard", text: `value of ${unheard.join(", ")} zeroed`, back: { unheard: null } });
  if (pos && pos !== "as trained")
    found.push({ key: "pos", text: pos === "none" ? "no positions" : `positions: ${pos}`, back: { pos: null } });
  if (t && Number(t) !== 1) found.push({ key: "t", text: `temperature ${t}`, back: { t: null } });
  const heads = [...off];
  const names = heads.length === 1 ? `${headName(heads[0])} off` : `${heads.length} heads off`;
  if (heads.length) found.push({ key: "off", text: names, back: {}, heads });
  return found;
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
  const found = [];
  if (seen.mask && seen.mask !== "none") {
    const [, ...numbers] = painted ? [] : ruleOf(seen).split(":");
    const said = seen.mask === "combination" ? [rest] : numbers;
    const out = painted ? { mask: null } : maskOf(onlyUnseen(rule));
    found.push({ key: "mask", text: [`mask: ${seen.mask}`, ...said].join(" "), back: out });
  }
  const back = painted ? { on: rest } : maskOf(rest);
  if (unseen.length) found.push({ key: "unseen", text: `hidden from all others: ${unseen.join(", ")}`, back });
  return found;
}
