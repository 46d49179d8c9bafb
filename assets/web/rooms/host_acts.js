// The host's actions in a room, from the bar or from the projector: the possible ones, their shortcuts, and the
// question and answer of the current picture.

import { isShortcut, isTyped } from "../base/grid_keys.js";
import { addressOf, find, nameOf } from "../lessons/course.js";
import { answered } from "../wire/retry.js";
import { act, room } from "./room_line.js";
import { LETTERS } from "./tally.js";

/** Action -> its shortcut and its label. @type {Record<HostAct, [string, string]>} */
export const ACTS = {
  ask: ["V", "ask the class"],
  close: ["V", "close the vote"],
  discuss: ["R", "discuss"],
  again: ["V", "vote again"],
  tallies: ["T", "votes"],
  answer: ["S", "answer"],
  second: ["X", "second question"],
  idle: ["Q", "end the question"],
  gather: ["G", "free exploration, follow again"],
  code: ["K", "the code"],
  keys: ["?", "keys"],
};

/** Phase of a room -> the host's next actions, in their usual order. @type {Record<string, HostAct[]>} */
const NEXT = {
  idle: ["ask"],
  open: ["close"],
  closed: ["discuss", "again", "tallies", "answer"],
  discuss: ["again", "tallies"],
  tallies: ["answer"],
  answer: ["second", "idle"],
};

/** The actions that are possible next.
 * @param {Pick<RoomState, "phase" | "round">} now @param {LessonPlace | null} place current lesson step
 * @param {boolean} isOpen whether its curtain is open @returns {HostAct[]}
 */
export function actsOf({ phase, round }, place, isOpen) {
  /** @type {Partial<Record<HostAct, boolean>>} */
  const can = { ask: place !== null && !isOpen, second: secondOf(place) !== null, discuss: !round, again: !round };
  return NEXT[phase].filter((name) => can[name] ?? true);
}

/** The second question of a step; null if it has none or is one. @param {LessonPlace | null} place */
const secondOf = (place) => (place && !place.again ? find(`${nameOf(place)}.2`) : null);

/** Run an action; resolves when it is done. @param {HostAct} name @param {LessonPlace | null} place current lesson step
 * @param {string} link of the current picture
 */
export async function doAct(name, place, link) {
  const { question, follows } = /** @type {RoomState} */ (room.now);
  const more = secondOf(place);
  if (name === "gather") return act(follows ? "let_go" : "gather");
  if (name === "ask") return place && askStep(place);
  if (name === "answer") return question && act("answer", { answer: await answerTo(question, link) });
  if (name !== "second") return act(name);
  if (!more) return;
  const query = writeShown(more.step.path, String(addressOf(more).searchParams), false);
  if (await act("show", { link: query })) await askStep(more);
}

/** @param {Omit<RoomAsked, "id">} question */
export const ask = (question) =>
  act("ask", { question: { ...question, id: crypto.getRandomValues(new Uint32Array(2)).join("-") } });

/** @param {LessonPlace} place */
function askStep(place) {
  const { question: text, choices } = place.step;
  return ask({ text, options: choices.map(({ text }) => text), learn: nameOf(place) });
}

/** The computed answer to a lesson's question, without correct choices if no number decides or the request fails.
 * @param {{learn: string}} question @param {string} link of the current picture
 * @returns {Promise<import("../base/messages.js").RoomAnswer>}
 */
export async function answerTo({ learn }, link) {
  const query = new URLSearchParams(readShown(link).query);
  query.set("learn", learn);
  const verdict = learn ? await answered(`api/lesson?${query}`, {}, (answer) => answer.json()) : null;
  if (!verdict) return { right: [], text: "" };
  const { picked, sentence, explanation } = /** @type {StepVerdict} */ (verdict);
  return { right: picked ? [LETTERS.indexOf(picked)] : [], text: explanation || sentence };
}

const OPEN = "open"; // part of a room's link: the curtain is open
const OURS = ["big", "embed", "embed_options"]; // parameters of the host's own window

/** The room's link of a page. @param {string} path @param {string} query @param {boolean} open */
export function writeShown(path, query, open) {
  const link = new URLSearchParams(query);
  for (const key of OURS) link.delete(key);
  if (open) link.set(OPEN, "1");
  return `/${path}?${link}`;
}

/** Parse a room's link into page and query. @param {string} link */
export function readShown(link) {
  const [path, ...rest] = link.slice(1).split("?");
  const query = new URLSearchParams(rest.join("?"));
  const open = query.has(OPEN);
  query.delete(OPEN);
  return { path, query: String(query), open };
}

const KEYS = new Set(Object.values(ACTS).map(([key]) => key));

/** The host's shortcuts, run in sequence: the next key waits until the previous action is done. */
export class Keys {
  /** @param {() => HostAct[]} may possible actions @param {(act: HostAct) => unknown} act runs an action; resolves when done */
  constructor(may, act) {
    this.may = may;
    this.act = act;
    this.waiting = 0;
    this.last = /** @type {Promise<unknown>} */ (Promise.resolve());
  }

  /** Handle a key and return whether it was a shortcut of the room. @param {KeyboardEvent} event @returns {boolean} */
  take(event) {
    const key = event.key.toUpperCase();
    if (isShortcut(event) || isTyped(event) || event.repeat || !KEYS.has(key)) return false;
    const actOf = () => this.may().find((act) => ACTS[act][0] === key);
    if (!this.waiting && !actOf()) return false;
    this.waiting += 1;
    this.last = Promise.allSettled([this.last])
      .then(() => {
        const act = actOf();
        return act && this.act(act);
      })
      .finally(() => {
        this.waiting -= 1;
      });
    return true;
  }
}
