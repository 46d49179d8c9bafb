// What a route answers to one question, asked again while the server is busy or away. Where a newer question may come, see wire.js.

import { urlOf } from "../base/dom.js";

const TIMES = 5; // that is asked until it is given up
const EARLY = 5; // seconds until it is asked again, at the most
const LATER = [204, 429, 502, 503, 504]; // what a busy server says, or a proxy whose server is away
export const LOST = "The server cannot be reached; trying again.";

/** @param {number} seconds */
export const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** The answer as it is read; one that breaks off between head and body is none. Null where it is refused, or given up.
 * @template Told @param {string} path @param {RequestInit} request @param {(answer: Response) => Promise<Told>} read
 * @param {{tell?: (why: string) => void, times?: number}} [ways] tell: why there is no answer yet, or none
 * @returns {Promise<Told | null>}
 */
export async function answered(path, request, read, { tell = () => {}, times = TIMES } = {}) {
  const answer = await fetch(urlOf(path), request).catch(() => null);
  const body = answer?.status === 200 ? await read(answer).catch(() => null) : null;
  if (body !== null) return body;
  const isOurs = answer?.headers.get("Content-Type")?.startsWith("text/plain"); // a proxy’s own page is none
  tell((isOurs && (await answer?.text().catch(() => ""))) || LOST);
  const isLater = !answer || answer.status === 200 || LATER.includes(answer.status);
  if (times <= 1 || !isLater) return null;
  await pause(Math.min(EARLY, Number(answer?.headers.get("Retry-After")) || 1));
  return answered(path, request, read, { tell, times: times - 1 });
}
