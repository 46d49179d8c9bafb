// What this tab keeps of a lesson: whether a class is taught, and the way through the course that was chosen.

/** @typedef {{minutes: number, audience: string, steps: string[]}} Way its steps in order: "it.2" */

const TAUGHT = "headlight-class";
const WAY = "headlight-way";

/** @param {string} key @param {string | null} text */
function keep(key, text) {
  try {
    if (text === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // the browser keeps nothing
  }
}

/** @param {string} key */
function kept(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** True where an answer does not open the curtain. */
export const isTaught = () => kept(TAUGHT) !== null;

/** @param {boolean} taught */
export const keepTaught = (taught) => keep(TAUGHT, taught ? "yes" : null);

/** @param {Way | null} way null for every lesson in turn */
export const keepWay = (way) => keep(WAY, way && JSON.stringify(way));

/** The way that was chosen; null without one. @returns {Way | null} */
export function wayKept() {
  try {
    const { minutes, audience, steps } = JSON.parse(kept(WAY) ?? "null") ?? {};
    return Array.isArray(steps) ? { minutes, audience, steps: steps.map(String) } : null;
  } catch {
    return null;
  }
}
