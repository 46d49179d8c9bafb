// The computed answer to what a class was asked, from the tensors of the picture that is shown.

import { number } from "../base/words.js";
import { answered } from "../wire/answered.js";
import { readMaps } from "./measure.js";
import { readShown } from "./shown.js";
import { LETTERS } from "./tally.js";

/** @typedef {import("../base/messages.js").RoomAsked} Asked */
/** @typedef {import("../base/messages.js").RoomAnswer} Answer */

/** The largest weight of a map, in words. @param {string[]} tokens @param {Float32Array} weights (n, n) */
export function largest(tokens, weights) {
  const at = weights.reduce((best, weight, cell) => (weight > weights[best] ? cell : best), 0);
  const [row, key] = [Math.floor(at / tokens.length), at % tokens.length];
  return `The largest weight: “${tokens[row]}” on “${tokens[key]}”, ${number(weights[at])}.`;
}

/** Nothing is right where no number says so, or none can be had. @param {Asked} question @param {string} link what is shown @returns {Promise<Answer>} */
export async function answerTo({ kind, learn }, link) {
  const query = new URLSearchParams(readShown(link).query);
  if (learn) query.set("learn", learn);
  const route = { lesson: "lesson", cell: "maps" }[kind];
  const bytes = route ? await answered(`api/${route}?${query}`, {}, (answer) => answer.arrayBuffer()) : null;
  if (!bytes) return { right: [], text: "" };
  if (kind === "cell") return { right: [], text: largest(...readMaps(new Uint8Array(bytes))) };
  const verdict = /** @type {import("../base/messages.js").StepVerdict} */ (
    JSON.parse(new TextDecoder().decode(bytes))
  );
  const { picked, sentence, because } = verdict;
  return { right: picked ? [LETTERS.indexOf(picked)] : [], text: because || sentence };
}
