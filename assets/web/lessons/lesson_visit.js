// What this tab keeps of a lesson: whether a class is taught, and the way through the course that was chosen.

import { keep, kept } from "../base/kept.js";

/** @typedef {{minutes: number, audience: string, steps: string[]}} Way its steps in order: "it.2" */

const TAUGHT = "headlight-class";
const WAY = "headlight-way";

/** True where an answer does not open the curtain. */
export const isTaught = () => kept("sessionStorage", TAUGHT) === true;

/** @param {boolean} taught */
export const keepTaught = (taught) => keep("sessionStorage", TAUGHT, taught || null);

/** @param {Way | null} way null for every lesson in turn */
export const keepWay = (way) => keep("sessionStorage", WAY, way);

/** The way that was chosen; null without one. @returns {Way | null} */
export function wayKept() {
  const { minutes, audience, steps } = kept("sessionStorage", WAY) ?? {};
  return Array.isArray(steps) ? { minutes, audience, steps: steps.map(String) } : null;
}
