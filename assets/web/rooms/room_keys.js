// The steps of a question in a room, and the key of each: asked, closed, asked again, counted, answered, and the second question.

import { isShortcut, isTyped } from "../base/grid_keys.js";

/** @typedef {"ask" | "close" | "again" | "tallies" | "answer" | "second" | "end" | "gather" | "code" | "keys"} Act */
/** @typedef {import("./room_line.js").Question} Question */
/** @typedef {{question: Question | null, step: boolean, second: boolean}} Now step: a lesson's step can be asked; second: it has a second question */

/** Act -> its key and its words. @type {Record<Act, [string, string]>} */
export const ACTS = {
  ask: ["V", "ask the class"],
  close: ["V", "close the vote"],
  again: ["V", "vote again"],
  tallies: ["T", "show the votes"],
  answer: ["S", "show the answer"],
  second: ["X", "second question"],
  end: ["Q", "end the question"],
  gather: ["G", "let go, gather"],
  code: ["K", "the code"],
  keys: ["?", "these keys"],
};

/** What the host may do next, in the order in which he does it. @param {Now} now @returns {Act[]} */
export function actsOf({ question, step, second }) {
  if (!question) return step ? ["ask"] : [];
  const { state, round } = question;
  if (state === "open") return ["close"];
  if (state === "closed") return round < 2 ? ["again", "tallies", "answer"] : ["tallies", "answer"];
  if (state === "tallies") return round < 2 ? ["again", "answer"] : ["answer"];
  return second ? ["second", "end"] : ["end"];
}

/** What a key asks for, among what may be done. @param {KeyboardEvent} event @param {Act[]} acts @returns {Act | null} */
export function wishOf(event, acts) {
  if (isShortcut(event) || isTyped(event) || event.repeat) return null;
  return acts.find((act) => ACTS[act][0] === event.key.toUpperCase()) ?? null;
}
