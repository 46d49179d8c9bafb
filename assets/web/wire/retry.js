// A request that is retried while the server is busy or unreachable; api_client.js handles queries that can be
// superseded.

import { transport } from "../base/dom.js";

const TIMES = 5; // attempts
const EARLY = 5; // seconds between two attempts, at most
const LATER = [204, 429, 502, 503, 504]; // status of a busy server, or of a proxy whose server is down
export const LOST = "The server cannot be reached; trying again.";

/** @param {number} seconds */
export const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Fetch and read a response, with retries; a body that breaks off counts as a failure. Null if rejected or given up.
 * @template Told @param {string} path @param {RequestInit} request @param {(answer: Response) => Promise<Told>} read
 * @param {{tell?: (why: string) => void, times?: number}} [ways] tell: reports why there is no response yet, or none
 * @returns {Promise<Told | null>}
 */
export async function answered(path, request, read, { tell = () => {}, times = TIMES } = {}) {
  const answer = await transport.send(path, request).catch(() => null);
  const body = answer?.status === 200 ? await read(answer).catch(() => null) : null;
  if (body !== null) return body;
  const isOurs = answer?.headers.get("Content-Type")?.startsWith("text/plain"); // a proxy has an error page of its own
  tell((isOurs && (await answer?.text().catch(() => ""))) || LOST);
  const isLater = !answer || answer.status === 200 || LATER.includes(answer.status);
  if (times <= 1 || !isLater) return null;
  await pause(Math.min(EARLY, Number(answer?.headers.get("Retry-After")) || 1));
  return answered(path, request, read, { tell, times: times - 1 });
}
