// A room: which keys act when, what is sent again, and how counts are shown.

import assert from "node:assert/strict";
import { test } from "node:test";

import { storageOf } from "./storage.js";

/** The tab that the modules find when they are read. @type {Map<string, string>} */
const kept = new Map();
const page = new EventTarget();
Object.assign(globalThis, {
  addEventListener: page.addEventListener.bind(page),
  dispatchEvent: page.dispatchEvent.bind(page),
  document: Object.assign(new EventTarget(), { hidden: false, getElementById: () => null }),
  location: { hash: "" },
  sessionStorage: storageOf(kept),
});

const { csvOf, handsOf, hintOf, stepsOf } = await import("../../../assets/web/rooms/tally.js");
const { ACTS, actsOf, Keys } = await import("../../../assets/web/rooms/host_acts.js");

const { answered, LOST } = await import("../../../assets/web/wire/retry.js");

/** What a server says, one after the other; how often it was asked. @param {Response[]} answers */
function serverOf(...answers) {
  let asked = 0;
  globalThis.fetch = async () => answers[asked++] ?? assert.fail("it was asked too often");
  return () => asked;
}
const SOON = { "Retry-After": "0.001" };
const broken = () =>
  new Response(new ReadableStream({ start: (stream) => stream.error(new Error("died")) }), { headers: SOON });

const PHASES = ["idle", "open", "closed", "discuss", "tallies", "answer"];
const STEP = /** @type {any} */ ({ lesson: { id: "it" }, at: 1, again: false });

test("no two acts that may be done at once have one key", () => {
  for (const phase of PHASES) {
    const acts = [...actsOf({ phase, round: 0 }, STEP, false), "gather", "code", "keys"];
    const keys = acts.map((act) => ACTS[act][0]);
    assert.equal(new Set(keys).size, keys.length, phase);
  }
});

test("a key that comes before its act can be done waits for what is under way", async () => {
  globalThis.HTMLElement ??= /** @type {any} */ (class {});
  const key = (/** @type {string} */ key) => /** @type {any} */ ({ key, composedPath: () => [null] });
  const turn = () => new Promise(setImmediate);
  let phase = "open";
  let arrive = (/** @type {string} */ _) => {};
  const done = /** @type {string[]} */ ([]);
  const keys = new Keys(
    () => actsOf({ phase, round: 0 }, STEP, false),
    (act) => {
      done.push(act);
      return new Promise((resolve) => {
        arrive = (now) => {
          phase = now;
          resolve(null);
        };
      });
    },
  );
  assert.equal(keys.take(key("t")), false, "it is the page’s");
  assert.deepEqual(
    ["v", "t", "z"].map((one) => keys.take(key(one))),
    [true, true, false],
  );
  await turn();
  assert.deepEqual(done, ["close"]);
  arrive("closed");
  await turn();
  assert.deepEqual(done, ["close", "tallies"]);
  arrive("tallies");
  await turn();
  assert.equal(keys.take(key("t")), false);
});

test("an act is sent again where its answer breaks off, or a proxy says that nobody is there", async () => {
  const said = /** @type {string[]} */ ([]);
  const ways = { tell: (/** @type {string} */ why) => said.push(why), times: 4 };
  const read = (/** @type {Response} */ answer) => answer.json();
  const page = new Response("<html>", { status: 502, headers: { ...SOON, "Content-Type": "text/html" } });
  const busy = new Response("Too much.", { status: 503, headers: SOON });
  let asked = serverOf(broken(), page, busy, Response.json({ version: 7 }));
  assert.deepEqual(await answered("api/room/act", {}, read, ways), { version: 7 });
  assert.deepEqual([asked(), said], [4, [LOST, LOST, "Too much."]]);
  asked = serverOf(new Response("Voting is closed.", { status: 409 }));
  assert.equal(await answered("api/room/act", {}, read, ways), null);
  assert.deepEqual([asked(), said.at(-1)], [1, "Voting is closed."]);
  asked = serverOf(broken(), broken());
  assert.equal(await answered("api/room/act", {}, read, { times: 2 }), null);
  assert.equal(asked(), 2);
});

test("a tab keeps its secret while the server is away, and opens a stream anew that a proxy refused", async (context) => {
  kept.set("headlight-room", JSON.stringify({ role: "phone", code: "ABCDEF", secret: "mine" }));
  const streams = /** @type {any[]} */ ([]);
  Object.assign(globalThis, {
    EventSource: class extends EventTarget {
      static CLOSED = 2;
      readyState = streams.push(this) && 1;
      close() {
        this.readyState = 2;
      }
    },
  });
  context.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ done) => setImmediate(done));
  const rest = async () => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  };
  const { enter, room, vote } = await import("../../../assets/web/rooms/room_line.js");
  const away = () => new Response("<html>", { status: 502, headers: { "Content-Type": "text/html" } });
  const joined = () => Response.json({ token: "mine", listen: "name" });
  serverOf(...Array.from({ length: 8 }, away), joined(), away(), joined());
  enter();
  await rest();
  assert.deepEqual([streams.length, room.role], [1, "phone"]);
  streams[0].readyState = 2;
  streams[0].dispatchEvent(new Event("error"));
  assert.equal(room.sentence, LOST);
  await rest();
  assert.equal(streams.length, 2);
  Object.assign(document, { hidden: true });
  document.dispatchEvent(new Event("visibilitychange"));
  assert.equal(streams.length, 2, "a phone that falls asleep");
  Object.assign(document, { hidden: false });
  document.dispatchEvent(new Event("visibilitychange"));
  dispatchEvent(new Event("online"));
  assert.deepEqual(
    streams.map(({ readyState }) => readyState),
    [2, 2, 2, 1],
    "awake, then in another network: a new stream each time, and one at a time",
  );
  const hear = (/** @type {object} */ now) =>
    streams[3].dispatchEvent(new MessageEvent("room", { data: JSON.stringify(now) }));
  hear({ version: 1, phase: "open" });
  serverOf(new Response("That question is over.", { status: 409, headers: { "Content-Type": "text/plain" } }));
  assert.equal(await vote({}), false);
  hear({ version: 2, phase: "open", joined: 2 });
  assert.equal(room.sentence, "That question is over.", "somebody else came: that takes nothing back");
  hear({ version: 3, phase: "closed" });
  assert.equal(room.sentence, "");
  const gone = new MessageEvent("gone", { data: JSON.stringify({ message: "It is gone." }) });
  streams[3].dispatchEvent(gone);
  assert.deepEqual([room.sentence, [...kept.keys()], streams[3].readyState], ["It is gone.", [], 2]);
});

test("counts become hands, a table and the votes of a handout", () => {
  assert.deepEqual(handsOf([2, 0, 1]), ["A", "A", "C"]);
  const own = { text: "Which?", options: ["=1+1", 'a "word"'] };
  const asked = /** @type {any[]} */ ([
    { ...own, learn: "it.2", tallies: [[2, 0]] },
    {
      ...own,
      learn: "it.2.2",
      right: 1,
      tallies: [
        [1, 1],
        [0, 2],
      ],
    },
  ]);
  assert.deepEqual(csvOf(asked).split("\r\n").slice(1, -1), [
    `"1","Which?","A","'=1+1","2","","",""`,
    `"1","Which?","B","a ""word""","0","","",""`,
    `"2","Which?","A","'=1+1","1","0","no","1"`,
    `"2","Which?","B","a ""word""","1","2","yes","1"`,
  ]);
  assert.deepEqual(stepsOf(asked, "it"), { 2: [[2, 0]] });
  assert.deepEqual(stepsOf(asked, "other"), {});
});

test("two votes on one question give Hake's gain, in the table and in the host's words", () => {
  for (const [votes, right, gain, words] of /** @type {[string, number, string, string][]} */ ([
    ["3,7 6,4", 0, "0.4286", "30 %, then 60 % are right: 43 % of the possible gain."],
    ["2,2 1,3", 0, "-0.5", "50 %, then 25 % are right: no gain."],
    ["2,0 1,1", 0, "", "100 %, then 50 % are right: no gain."],
    ["0,0 1,1", 0, "", "50 % are right. Let them discuss, then vote again."],
    ["1,1 0,0", 0, "", "No votes yet."],
    ["1,1 2,0", -1, "", "2 have voted."],
  ])) {
    const tallies = votes.split(" ").map((round) => round.split(",").map(Number));
    const rows = csvOf([/** @type {any} */ ({ text: "Which?", options: ["yes", "no"], tallies, right })]).split("\r\n");
    assert.ok(rows.slice(1, -1).every((row) => row.endsWith(`,"${gain}"`)));
    assert.equal(hintOf(tallies, right), words);
  }
});
