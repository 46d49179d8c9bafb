// What a class is asked of a lesson, its step or the second question of the same idea, from the host's page and by the projector's
// keys; and the computed answer to what it was asked, from the tensors of the picture that is shown.

import { addressOf, find, nameOf } from "../lessons/course.js";
import { answered } from "../wire/answered.js";
import { largest, readMaps } from "./measure.js";
import { act } from "./room_line.js";
import { readShown, writeShown } from "./shown.js";
import { LETTERS } from "./tally.js";

/** @typedef {import("../base/messages.js").RoomAsked} Asked */
/** @typedef {import("../lessons/course.js").Place} Place */

/** @param {Omit<Asked, "id" | "link">} question @param {string} link of its picture */
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

/** Nothing is right where no number says so, or none can be had. @param {Asked} question @param {string} link what is shown
 * @returns {Promise<import("../base/messages.js").RoomAnswer>}
 */
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
