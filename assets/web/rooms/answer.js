// The computed answer to what a class was asked, from the tensors of the picture that is shown.

import { urlOf } from "../base/dom.js";
import { number } from "../base/words.js";
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
  const answer = route ? await fetch(urlOf(`api/${route}?${query}`)).catch(() => null) : null;
  if (answer?.status !== 200) return { right: [], text: "" };
  if (kind === "cell") return { right: [], text: largest(...readMaps(new Uint8Array(await answer.arrayBuffer()))) };
  const { picked, sentence, because } = /** @type {import("../base/messages.js").StepVerdict} */ (await answer.json());
  return { right: picked ? [LETTERS.indexOf(picked)] : [], text: because || sentence };
}
