// The connection to a room (headlight/rooms/messages.py). The tab stores only the code and its secret; the host's key
// is in the fragment of the host link and is never sent in a URL.

import { urlOf } from "../base/dom.js";
import { store, stored } from "../base/storage.js";
import { answered, LOST, pause } from "../wire/retry.js";

const KEPT = "headlight-room"; // sessionStorage key

export const room = {
  role: /** @type {"" | "phone" | "host"} */ (""),
  now: /** @type {RoomState | null} */ (null),
  get sentence() {
    return line.result || line.status;
  },
};
const line = {
  code: "",
  secret: "",
  listen: "",
  events: /** @type {EventSource | null} */ (null),
  status: "", // status of the connection, or why the tab has left
  result: "", // result of this tab's last action, until the next one or the room's next stage
};

/** @param {Partial<typeof line>} change */
function setLine(change) {
  Object.assign(line, change);
  dispatchEvent(new Event("headlight-room"));
}

function clear() {
  if (room.sentence) setLine({ status: "", result: "" });
}

/** The stage of the room's state: new members and votes do not change it. @param {RoomState | null} now */
const stageOf = (now) => now && JSON.stringify([now.question?.id, now.phase, now.round, now.follows]);

/** Send an action, repeated if needed: the server applies it once. Resolves to the response, or to null with
 * the reason in the status line.
 * @param {string} name @param {object} body @param {number} [times]
 */
async function postAct(name, body, times) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const reply = await answered(`api/room/${name}`, request, (answer) => answer.json(), {
    tell: (text) => setLine({ [text === LOST ? "status" : "result"]: text }),
    times,
  });
  if (reply !== null) clear();
  return reply;
}

/** The address at which a phone joins, or with the key the host's own.
 * @param {string} address of any page, for other machines
 * @param {boolean} [isHost]
 */
export function linkOf(address, isHost = false) {
  const url = new URL("./room", address || location.href);
  url.hash = isHost ? `${line.code}.${line.secret}` : line.code;
  return url.href;
}

/** The URL of the QR code of the room's link. @param {string} address */
export const qrOf = (address) => urlOf(`api/qr?${new URLSearchParams({ to: linkOf(address) })}`).href;

/** The room's address without its scheme, for typing. @param {string} address */
export const sayLink = (address) => linkOf(address).replace(/^https?:\/\/|#.*/g, "");

/** Enter the room of this tab, or that in the fragment. */
export function enter() {
  if (line.events) return;
  const [, code, key] = location.hash.match(/^#([A-Za-z2-9]{6})(?:\.([\w-]+))?$/) ?? [];
  const was = stored("sessionStorage", KEPT);
  if (code) history.replaceState(history.state, "", location.pathname + location.search);
  if (code && key) comeBack("host", code.toUpperCase(), key);
  else if (code && was?.code !== code.toUpperCase()) join(code);
  else if (was && !line.code) comeBack(was.role, was.code, was.secret);
}

/** Reconnect to a room, however long its server is away: only this secret can change or count this tab's vote.
 * @param {"phone" | "host"} role @param {string} code @param {string} secret
 */
async function comeBack(role, code, secret) {
  Object.assign(line, { code, secret });
  const joined = await postAct("join", { code, [role === "host" ? "key" : "token"]: secret }, Number.POSITIVE_INFINITY);
  if (line.secret !== secret) return; // the tab has left the room meanwhile
  if (joined) take(role, code, role === "host" ? secret : joined.token, joined.listen);
  else leave(room.sentence);
}

/** @param {"phone" | "host"} role @param {string} code @param {string} secret @param {string} listen */
function take(role, code, secret, listen) {
  store("sessionStorage", KEPT, { role, code, secret });
  room.role = role;
  clear();
  line.events?.close();
  const events = new EventSource(urlOf(`api/room/events?${new URLSearchParams({ code, listen })}`));
  Object.assign(line, { code, secret, listen, events });
  const parse = (/** @type {MessageEvent<string>} */ { data }) => JSON.parse(data);
  events.addEventListener("room", (event) => update(parse(event)));
  events.addEventListener("wait", (event) => setLine({ status: parse(event).message }));
  events.addEventListener("gone", (event) => leave(parse(event).message));
  events.addEventListener("error", async () => {
    setLine({ status: LOST });
    if (events.readyState !== EventSource.CLOSED) return; // the browser reconnects
    await pause(1); // after a proxy's error response browsers do not reconnect
    if (line.events === events) comeBack(role, code, secret);
  });
}

/** @param {RoomState} now */
function update(now) {
  const result = stageOf(now) === stageOf(room.now) ? line.result : "";
  room.now = now;
  setLine({ status: "", result });
}

/** Reconnect: after sleep or a change of network the connection may be dead. */
const wake = () =>
  line.events &&
  !document.hidden &&
  take(/** @type {"phone" | "host"} */ (room.role), line.code, line.secret, line.listen);
addEventListener("online", wake);
document.addEventListener("visibilitychange", wake);

/** Wait until this version or a newer one has arrived, or the room is gone.
 * @param {number} version @returns {Promise<void>} */
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

/** Join a room. @param {string} typed */
export async function join(typed) {
  const code = typed.toUpperCase();
  const joined = await postAct("join", { code });
  if (joined) take("phone", code, joined.token, joined.listen);
}

/** Leave the room. @param {string} [why] */
export function leave(why = "") {
  line.events?.close();
  store("sessionStorage", KEPT, null);
  Object.assign(room, { role: "", now: null });
  setLine({ code: "", secret: "", events: null, result: "", status: why });
}

/** Vote as a phone; resolves to whether the vote was accepted. @param {object} body */
export const vote = async (body) => (await postAct("vote", { code: line.code, token: line.secret, ...body })) !== null;

/** Run an action as the host; resolves to whether it was applied, once its state has arrived.
 * @param {string} act @param {object} [body] */
export async function act(act, body = {}) {
  const done = await postAct("act", { code: line.code, key: line.secret, act, ...body });
  if (done) await waitFor(done.version);
  return done !== null;
}

/** Delete the room with all its data. */
export async function erase() {
  if (await postAct("delete", { code: line.code, key: line.secret })) leave();
}
