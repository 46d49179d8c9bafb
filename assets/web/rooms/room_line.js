// The line to a room: what the server says of it, one message after another, and what this tab tells it. The tab keeps the code
// and the number that the server gave it, nothing else; the host's key stands behind the # of his own link and in no request's address.

import { urlOf } from "../base/dom.js";
import { keep, kept } from "../base/kept.js";

/** @typedef {import("./tally.js").Tally} Tally */
/** @typedef {{id: number, learn: string, kind: "options" | "cell", ask: string, options: [string, string][], state: "open" | "closed" | "tallies" | "answer", round: number, voted: number, tallies: Tally[], counted: Tally[] | null}} Question
 * learn: the step that it asks, "" of the host's own; tallies: what all may see; counted: what the host alone does
 */
/** @typedef {{pair: {row: string, key: string}, points: import("./points.js").Point[]}} Sentences */
/** @typedef {{code: string, people: number, free: boolean, shown: {path: string, query: string, open: boolean}, question: Question | null, past: Question[], sentences: Sentences | null}} Told */

const KEPT = "headlight-room"; // in this tab
const AGAIN = 1000; // ms until a server that could not be reached is asked again

export const room = {
  role: /** @type {"" | "phone" | "host"} */ (""),
  now: /** @type {Told | null} */ (null),
  gone: "", // why one is outside again
  lost: false, // the server cannot be reached
};
const line = { code: "", secret: "", from: /** @type {AbortController | null} */ (null) };

const changed = () => dispatchEvent(new Event("headlight-room"));

/** @param {string} name @param {object | null} body @param {AbortSignal} [signal] */
const asked = (name, body, signal) =>
  fetch(urlOf(`api/room/${name}`), {
    method: body ? "POST" : "GET",
    headers: {
      "Headlight-Room": `${line.code} ${line.secret}`,
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    body: body && JSON.stringify(body),
    signal,
  });

/** The address at which a phone joins; with the key, the host's own. @param {string} address of any page, for other machines
 * @param {boolean} [isHost]
 */
export function linkOf(address, isHost = false) {
  const url = new URL("./room", address || location.href);
  url.hash = isHost ? `${line.code}.${line.secret}` : line.code;
  return url.href;
}

/** The same for a camera. @param {string} address */
export const qrOf = (address) => urlOf(`api/qr?${new URLSearchParams({ to: linkOf(address) })}`).href;

/** The same for who types it. @param {string} address */
export const sayLink = (address) => linkOf(address).replace(/^https?:\/\/|#.*/g, "");

/** Enters the room that this tab is in, or that stands behind the #. */
export function enter() {
  if (line.from) return;
  const [, code, key] = location.hash.match(/^#([A-Z0-9]{6})(?:\.([\w-]+))?$/i) ?? [];
  const was = kept("sessionStorage", KEPT);
  if (code) history.replaceState(history.state, "", location.pathname + location.search);
  if (code && key) take("host", code, key);
  else if (code && was?.code !== code) join(code);
  else if (was) take(was.role, was.code, was.secret);
}

/** @param {"phone" | "host"} role @param {string} code @param {string} secret */
function take(role, code, secret) {
  keep("sessionStorage", KEPT, { role, code, secret });
  Object.assign(room, { role, gone: "" });
  Object.assign(line, { code, secret });
  listen();
}

/** Makes a room; why not, if it cannot be made. */
export async function openRoom() {
  const answer = await asked("open", {}).catch(() => null);
  if (!answer?.ok) return answer ? answer.text() : "The server cannot be reached; try again.";
  const { code, key } = await answer.json();
  take("host", code, key);
  return "";
}

/** Joins a room. @param {string} code */
export async function join(code) {
  const answer = await asked("join", { code }).catch(() => null);
  if (!answer?.ok) return leave(answer ? await answer.text() : "The server cannot be reached; try again.");
  take("phone", code, (await answer.json()).token);
}

/** Is outside again. @param {string} [why] */
export function leave(why = "") {
  line.from?.abort();
  line.from = null;
  keep("sessionStorage", KEPT, null);
  Object.assign(room, { role: "", now: null, gone: why, lost: false });
  changed();
}

/** Tells the room something; whether it was taken. @param {string} act @param {object} body @returns {Promise<boolean>} */
export async function tell(act, body) {
  const answer = await asked(act, body).catch(() => null);
  return answer?.ok ?? false;
}

/** Hears the room until it is left: a message is a line of JSON. */
async function listen() {
  line.from?.abort();
  const from = new AbortController();
  line.from = from;
  try {
    const answer = await asked("events", null, from.signal);
    if ([404, 410].includes(answer.status)) return leave(await answer.text());
    if (!answer.ok || !answer.body) throw new Error(answer.statusText);
    let rest = "";
    for await (const piece of /** @type {AsyncIterable<string>} */ (
      /** @type {unknown} */ (answer.body.pipeThrough(new TextDecoderStream()))
    )) {
      const lines = `${rest}${piece}`.split("\n");
      rest = lines.pop() ?? "";
      for (const one of lines) hear(one);
    }
  } catch {
    // the connection is lost
  }
  if (from.signal.aborted) return;
  room.lost = true;
  changed();
  setTimeout(() => line.from === from && listen(), AGAIN);
}

/** @param {string} text */
function hear(text) {
  if (!text.startsWith("data: ")) return;
  Object.assign(room, { now: JSON.parse(text.slice(6)), lost: false });
  changed();
}
