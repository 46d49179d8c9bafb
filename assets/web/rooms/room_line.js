// The line to a room (headlight/rooms/messages.py): what the server says of it, and what this tab tells it. The tab keeps the code
// and the secret that the server gave it, nothing else; the host's key stands behind the # of his own link and in no address that is asked.

import { urlOf } from "../base/dom.js";
import { store, stored } from "../base/storage.js";
import { answered, LOST, pause } from "../wire/retry.js";

/** @typedef {import("../base/messages.js").RoomState} State */

const KEPT = "headlight-room"; // in this tab

export const room = {
  role: /** @type {"" | "phone" | "host"} */ (""),
  now: /** @type {State | null} */ (null),
  get sentence() {
    return line.result || line.status;
  },
};
const line = {
  code: "",
  secret: "",
  listen: "",
  events: /** @type {EventSource | null} */ (null),
  status: "", // what is waited for, or why one is outside again
  result: "", // what came of this tab's last act: whoever else acts takes nothing of it back
};

const changed = () => dispatchEvent(new Event("headlight-room"));

/** @param {string} text of the line */
function say(text) {
  line.status = text;
  changed();
}

/** Show the result of an action of this tab, until the next one or until the room goes on. @param {string} text */
function sayTold(text) {
  line.result = text;
  changed();
}

/** Nothing is to be said any more. */
function hush() {
  if (!room.sentence) return;
  Object.assign(line, { status: "", result: "" });
  changed();
}

/** The step that the room is at: people who come and votes that are counted leave it as it is. @param {State | null} now */
const stageOf = (now) => now && JSON.stringify([now.question?.id, now.phase, now.round, now.follows]);

/** Send an act, again as it is if need be: none is done twice. What it answers, or null with the reason said.
 * @param {string} name @param {object} body @param {number} [times]
 */
async function postAct(name, body, times) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const reply = await answered(`api/room/${name}`, request, (answer) => answer.json(), {
    tell: (text) => (text === LOST ? say : sayTold)(text),
    times,
  });
  if (reply !== null) hush();
  return reply;
}

/** The address at which a phone joins; with the key, the host's own. @param {string} address of any page, for other machines
 * @param {boolean} [isHost]
 */
export function linkOf(address, isHost = false) {
  const url = new URL("./room", address || location.href);
  url.hash = isHost ? `${line.code}.${line.secret}` : line.code;
  return url.href;
}

/** The QR code of the room's link. @param {string} address */
export const qrOf = (address) => urlOf(`api/qr?${new URLSearchParams({ to: linkOf(address) })}`).href;

/** The room's address without its scheme, for typing. @param {string} address */
export const sayLink = (address) => linkOf(address).replace(/^https?:\/\/|#.*/g, "");

/** Enter the room that this tab is in, or that stands behind the #. */
export function enter() {
  if (line.events) return;
  const [, code, key] = location.hash.match(/^#([A-Za-z2-9]{6})(?:\.([\w-]+))?$/) ?? [];
  const was = stored("sessionStorage", KEPT);
  if (code) history.replaceState(history.state, "", location.pathname + location.search);
  if (code && key) comeBack("host", code.toUpperCase(), key);
  else if (code && was?.code !== code.toUpperCase()) join(code);
  else if (was && !line.code) comeBack(was.role, was.code, was.secret);
}

/** Back into a room, however long its server is away: what was counted under this secret would not be this tab's without it.
 * @param {"phone" | "host"} role @param {string} code @param {string} secret
 */
async function comeBack(role, code, secret) {
  Object.assign(line, { code, secret });
  const joined = await postAct("join", { code, [role === "host" ? "key" : "token"]: secret }, Number.POSITIVE_INFINITY);
  if (line.secret !== secret) return; // it was left meanwhile
  if (joined) take(role, code, role === "host" ? secret : joined.token, joined.listen);
  else leave(room.sentence);
}

/** @param {"phone" | "host"} role @param {string} code @param {string} secret @param {string} listen */
function take(role, code, secret, listen) {
  store("sessionStorage", KEPT, { role, code, secret });
  room.role = role;
  hush();
  line.events?.close();
  const events = new EventSource(urlOf(`api/room/events?${new URLSearchParams({ code, listen })}`));
  Object.assign(line, { code, secret, listen, events });
  const parse = (/** @type {MessageEvent<string>} */ { data }) => JSON.parse(data);
  events.addEventListener("room", (event) => hear(parse(event)));
  events.addEventListener("wait", (event) => say(parse(event).message));
  events.addEventListener("gone", (event) => leave(parse(event).message));
  events.addEventListener("error", async () => {
    say(LOST);
    if (events.readyState !== EventSource.CLOSED) return; // the browser connects anew
    await pause(1); // a proxy said that its server is away: then no browser does
    if (line.events === events) comeBack(role, code, secret);
  });
}

/** @param {State} now */
function hear(now) {
  line.status = "";
  if (stageOf(now) !== stageOf(room.now)) line.result = "";
  room.now = now;
  changed();
}

/** Open the line anew: a phone that slept, or came into another network, may hold one that is dead. */
const wake = () =>
  line.events &&
  !document.hidden &&
  take(/** @type {"phone" | "host"} */ (room.role), line.code, line.secret, line.listen);
addEventListener("online", wake);
document.addEventListener("visibilitychange", wake);

/** The state of a version, or a newer one, has come, or there is no room any more. @param {number} version @returns {Promise<void>} */
const waitFor = (version) =>
  new Promise((done) => {
    const look = () => {
      if (room.now && room.now.version < version) return;
      removeEventListener("headlight-room", look);
      done();
    };
    addEventListener("headlight-room", look);
    look();
  });

/** Open a room with this tab as its host; resolves to whether it worked. */
export async function openRoom() {
  const answer = await postAct("open", {});
  if (answer) take("host", answer.code, answer.key, answer.listen);
  return answer !== null;
}

/** Joins a room. @param {string} typed */
export async function join(typed) {
  const code = typed.toUpperCase();
  const joined = await postAct("join", { code });
  if (joined) take("phone", code, joined.token, joined.listen);
}

/** Is outside again. @param {string} [why] */
export function leave(why = "") {
  line.events?.close();
  store("sessionStorage", KEPT, null);
  Object.assign(line, { code: "", secret: "", events: null, result: "" });
  Object.assign(room, { role: "", now: null });
  say(why);
}

/** Votes as a phone; whether the vote was taken. @param {object} body */
export const vote = async (body) => (await postAct("vote", { code: line.code, token: line.secret, ...body })) !== null;

/** Do something as the host; whether it was done, when it is there to be seen. @param {string} act @param {object} [body] */
export async function act(act, body = {}) {
  const done = await postAct("act", { code: line.code, key: line.secret, act, ...body });
  if (done) await waitFor(done.version);
  return done !== null;
}

/** Deletes the room with all that is in it. */
export async function erase() {
  if (await postAct("delete", { code: line.code, key: line.secret })) leave();
}
