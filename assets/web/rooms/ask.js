// What a class is asked of a lesson: its step, or the second question of the same idea. From the host's page, and by the projector's keys.

import { addressOf, find, nameOf } from "../lessons/course.js";
import { act } from "./room_line.js";
import { writeShown } from "./shown.js";

/** @typedef {Omit<import("../base/messages.js").RoomAsked, "id" | "link">} Asked */
/** @typedef {import("../lessons/course.js").Place} Place */

/** @param {Asked} question @param {string} link of its picture */
export function ask(question, link) {
  const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  return act("ask", { question: { ...question, id, link } });
}

/** @param {Place} place @param {string} link */
export function askStep(place, link) {
  const { ask: text, options } = place.step;
  const texts = options.map(({ text }) => text);
  return ask({ kind: "lesson", text, options: texts, learn: nameOf(place), size: null, second: place.again }, link);
}

/** The second question of a step; null where it has none, or is one. @param {Place | null} place */
export const secondOf = (place) => (place && !place.again ? find(`${nameOf(place)}.2`) : null);

/** The link of a step behind its curtain. @param {Place} place */
export function linkOfStep(place) {
  const query = String(addressOf(place).searchParams);
  return writeShown({ path: place.step.path, query, open: false, pair: { row: "", key: "" } });
}
