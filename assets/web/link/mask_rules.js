// Masks as cells: a written rule and painted cells, read as mha_core/masks/syntax.py and headlight/link/mask_codec.py do.

import { MASKS, MAX_RULE_LENGTH } from "../base/facts.js";
import { UserError } from "../base/dom.js";
import { allows, ruleOf, unseenOf, withPlaces } from "./changes.js";
import { readFlips, writeCells } from "./painted.js";

/** @typedef {(i: number, j: number) => boolean} Rule whether query i may attend to key j */

const PART = /^\s*(!?)\s*([a-z]+)((?::\d{1,3})*)\s*$/;
const PAINTED = /^\d{1,2}(\.\d{0,2}[rb][\w-]+)+$/;
const WRONG =
  "This is not a valid mask rule. Write none, causal, window:3, prefix:2, sinks:1 or dilated:3:2, joined by & and |, ! for not.";

/** Rules of a list of tokens. @type {Record<string, (places: number[]) => Rule>} */
const OF_PLACES = {
  documents: (starts) => (i, j) => starts.every((start) => i < start === j < start),
  unseen: (places) => (i, j) => i === j || !places.includes(j),
};

/** Parse one part of a rule. Throws a UserError for an invalid one. @param {string} text @returns {Rule} */
function parsePart(text) {
  const [, not, name = "", list = ""] = PART.exec(text) ?? [];
  const numbers = list.split(":").slice(1).map(Number);
  const kind = MASKS.find((mask) => mask.name === name);
  const least = ["prefix", "sinks"].includes(name) ? 0 : 1;
  const isNamed = kind?.numbers.length === numbers.length && numbers.every((number) => number >= least);
  if (!isNamed && !(name in OF_PLACES && numbers.length)) throw new UserError(WRONG);
  const values = Object.fromEntries((kind?.numbers ?? []).map(([key], index) => [key, numbers[index]]));
  /** @type {Rule} */
  const rule = isNamed ? (i, j) => allows(name, values, i, j) : OF_PLACES[name](numbers);
  return not ? (i, j) => !rule(i, j) : rule;
}

/** The cells that a written rule allows, of 0 and 1. Throws a UserError for an invalid rule.
 * @param {string} rule @param {number} n tokens
 */
export function allowedCells(rule, n) {
  if (rule.length > MAX_RULE_LENGTH) throw new UserError(`A mask rule has at most ${MAX_RULE_LENGTH} characters.`);
  const terms = rule.split("|").map((term) => term.split("&").map(parsePart));
  const isAllowed = (/** @type {number} */ i, /** @type {number} */ j) =>
    terms.some((parts) => parts.every((allowed) => allowed(i, j)));
  return Uint8Array.from({ length: n * n }, (_, index) => Number(isAllowed(Math.floor(index / n), index % n)));
}

/** A valid rule without parts and terms that change nothing. @param {string} rule */
export const normalRule = (rule) => withPlaces(rule, unseenOf(rule));

/** The tokens of a painted mask; 0 if its text is not valid. @param {string} painted @param {number} [heads] */
export function paintedTokens(painted, heads = Infinity) {
  const isHead = (/** @type {string} */ part) => (parseInt(part, 10) || 0) < heads;
  return PAINTED.test(painted) && painted.split(".").slice(1).every(isHead) ? parseInt(painted, 10) : 0;
}

/** The masks of all heads, one if the heads agree, from the controls of a link. Throws a UserError for an invalid rule.
 * @param {Controls} controls @param {number} n tokens @param {number} heads @param {string} ownMask rule of the model
 * @returns {Uint8Array[]} cells of 0 and 1
 */
export function masksOf(controls, n, heads, ownMask) {
  const [ruled, own] = [ruleOf(controls), ownMask].map((rule) => allowedCells(rule, n));
  const p = (controls.mask === "painted" && controls.p) || "";
  const flips = readFlips(paintedTokens(p) === n ? p : "", n, heads).slice(0, /\.\d/.test(p) ? heads : 1);
  return flips.map((cells) => ruled.map((allowed, index) => (allowed ^ cells[index]) & own[index]));
}

/** The forbidden cells of masks as text, as in a message. @param {Uint8Array[]} masks */
export const forbiddenCells = (masks) => masks.map((allowed) => writeCells(allowed.map((cell) => 1 - cell)));
