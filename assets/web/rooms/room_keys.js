// The steps of a question in a room, and the key of each: asked, closed, asked again, counted, answered, and the second question.

import { isShortcut, isTyped } from "../base/grid_keys.js";

/** @typedef {"ask" | "close" | "discuss" | "again" | "tallies" | "answer" | "second" | "idle" | "show" | "over" | "gather" | "code" | "keys"} Act */
/** @typedef {{phase: string, write?: string, step: boolean, second: boolean}} Now step: a lesson's step can be asked; second: it has a second question */

/** Act -> its key and its words. @type {Record<Act, [string, string]>} */
export const ACTS = {
  ask: ["V", "ask the class"],
  close: ["V", "close the vote"],
  discuss: ["R", "discuss"],
  again: ["V", "vote again"],
  tallies: ["T", "votes"],
  answer: ["S", "answer"],
  second: ["X", "second question"],
  idle: ["Q", "end the question"],
  show: ["Y", "show the sentences"],
  over: ["Y", "end the sentences"],
  gather: ["G", "let go, gather"],
  code: ["K", "the code"],
  keys: ["?", "keys"],
};

/** Phase of a room -> what the host may do next, in the order in which he does it. @type {Record<string, Act[]>} */
const NEXT = {
  idle: ["ask"],
  open: ["close"],
  closed: ["discuss", "again", "tallies", "answer"],
  discuss: ["again", "tallies"],
  again: ["close"],
  closed_again: ["tallies", "answer"],
  tallies: ["answer"],
  answer: ["second", "idle"],
};

/** State of the sentences -> likewise. @type {Record<string, Act[]>} */
const WRITTEN = { asked: ["show"], shown: ["over"] };

/** @param {Now} now @returns {Act[]} */
export function actsOf({ phase, write = "off", step, second }) {
  /** What needs a lesson’s step. @type {Partial<Record<Act, boolean>>} */
  const can = { ask: step, second };
  return [...NEXT[phase].filter((act) => can[act] ?? true), ...(WRITTEN[write] ?? [])];
}

const KEYS = new Set(Object.values(ACTS).map(([key]) => key));

/** The host's keys, one after the other: what the next one may do shows when what the last one did is there. */
export class Keys {
  /** @param {() => Act[]} may what may be done now @param {(act: Act) => unknown} act does it; a promise of when it is there */
  constructor(may, act) {
    this.may = may;
    this.act = act;
    this.waiting = 0;
    this.last = /** @type {Promise<unknown>} */ (Promise.resolve());
  }

  /** Takes a key, if it is one of the room's. @param {KeyboardEvent} event @returns {boolean} */
  take(event) {
    const key = event.key.toUpperCase();
    if (isShortcut(event) || isTyped(event) || event.repeat || !KEYS.has(key)) return false;
    const wish = () => this.may().find((act) => ACTS[act][0] === key);
    if (!this.waiting && !wish()) return false;
    this.waiting += 1;
    this.last = Promise.allSettled([this.last])
      .then(() => {
        const act = wish();
        return act && this.act(act);
      })
      .finally(() => {
        this.waiting -= 1;
      });
    return true;
  }
}
