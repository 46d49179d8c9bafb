// A room: what may be done next and by which key, what the host alone is told, and how counts, clicks and sentences are shown.

import assert from "node:assert/strict";
import { test } from "node:test";

const { csvOf, handsOf, hintOf, stepsOf } = await import("../../../assets/web/rooms/tally.js");
const { ACTS, actsOf } = await import("../../../assets/web/rooms/room_keys.js");
const { placed } = await import("../../../assets/web/rooms/points.js");
const { measured, sayMeasure } = await import("../../../assets/web/rooms/measure.js");
const { readShown, writeShown } = await import("../../../assets/web/rooms/shown.js");
const { largest } = await import("../../../assets/web/rooms/answer.js");

const PHASES = ["idle", "open", "closed", "discuss", "again", "closed_again", "tallies", "answer"];
const tally = (...counts) => ({ voted: counts.reduce((sum, count) => sum + count, 0), counts, dots: [] });

test("a lesson's step is asked, closed, discussed, asked again, counted, answered and asked in other words", () => {
  const walked = [
    ["idle", "ask"],
    ["open", "close"],
    ["closed", "discuss"],
    ["discuss", "again"],
    ["again", "close"],
    ["closed_again", "tallies"],
    ["tallies", "answer"],
    ["answer", "second"],
  ];
  for (const [phase, act] of walked) assert.equal(actsOf({ phase, step: true, second: true })[0], act);
  assert.deepEqual(actsOf({ phase: "idle", step: false, second: false }), []);
  assert.deepEqual(actsOf({ phase: "answer", step: true, second: false }), ["idle"]);
});

test("no two acts that may be done at once have one key", () => {
  for (const phase of PHASES) {
    const acts = [...actsOf({ phase, step: true, second: true }), "gather", "code", "keys"];
    const keys = acts.map((act) => ACTS[act][0]);
    assert.equal(new Set(keys).size, keys.length, phase);
  }
});

test("the host is told to let them discuss between 35 and 70 % of right answers", () => {
  const told = (right) => hintOf(tally(right, 100 - right), 0);
  assert.match(told(34), /34 % .* explain/);
  assert.match(told(35), /35 % .* discuss/);
  assert.match(told(70), /70 % .* discuss/);
  assert.match(told(71), /71 % .* show the answer/);
  assert.match(hintOf(tally(0, 0), 0), /Nobody/);
  assert.equal(hintOf(tally(3), -1), "3 have voted.");
});

test("counts become hands, a table and the votes of a handout", () => {
  assert.deepEqual(handsOf(tally(2, 0, 1)), ["A", "A", "C"]);
  const own = { kind: "own", text: "Which?", options: ["=1+1", 'a "word"'], learn: "it.2", second: false };
  const cell = { kind: "cell", text: "Where?", options: [], learn: "" };
  const votes = [
    { dots: [[1, 2, 3]], counts: [] },
    { dots: [[0, 0, 1]], counts: [] },
  ];
  const asked = [
    { ...own, tallies: [tally(2, 0)] },
    { ...cell, tallies: votes },
  ];
  assert.deepEqual(csvOf(asked).split("\r\n").slice(1, -1), [
    `"1","Which?","A","'=1+1","2",""`,
    `"1","Which?","B","a ""word""","0",""`,
    `"2","Where?","1, 2","","3","0"`,
    `"2","Where?","0, 0","","0","1"`,
  ]);
  assert.deepEqual(stepsOf(asked, "it"), { 2: [[2, 0]] });
  assert.deepEqual(stepsOf(asked, "other"), {});
});

test("sentences stand where their measure is, one on another, and the hidden ones nowhere", () => {
  const of = (number, value, hidden = false) => ({ number, value, hidden, text: String(number) });
  const shown = placed([of(1, 0.5), of(2, 1), of(3, undefined), of(4, 0.5), of(5, 0.5, true)]);
  assert.deepEqual(
    shown.map(({ sentence: { number }, left, under }) => [number, left, under]),
    [
      [1, 50, 0],
      [4, 50, 1],
      [2, 98, 0],
    ],
  );
});

test("what the host shows is his link, whether its curtain is open and what is measured", () => {
  const shown = { path: "compare", query: "s=how+are+you&learn=it.1", open: true, pair: { row: "it", key: "animal" } };
  assert.deepEqual(readShown(writeShown(shown)), shown);
  const plain = { path: "", query: "s=a%3Fb%26c", open: false, pair: { row: "", key: "" } };
  assert.deepEqual(readShown(writeShown(plain)), plain);
  assert.equal(writeShown({ ...plain, query: "s=hi&big=true" }), "/?s=hi");
});

test("the answer to a question about a map is its largest weight", () => {
  assert.equal(largest(["a", "b"], Float32Array.of(0.5, 0.5, 0.125, 0.875)), "The largest weight: “b” on “b”, 0.88.");
});

test("a measure is the weight of one word on another, a row's largest, or the mean on the first token", () => {
  const tokens = ["[CLS]", "It", "barked"];
  const weights = Float32Array.of(0.5, 0.25, 0.25, 0.125, 0.25, 0.625, 1, 0, 0);
  const of = (row, key) => measured(tokens, weights, { row, key });
  assert.equal(of("it", "barked"), 0.625);
  assert.equal(of("it", ""), 0.625);
  assert.equal(of("", ""), (0.5 + 0.125 + 1) / 3);
  assert.equal(of("dog", "barked"), null);
  assert.equal(of("it", "dog"), null);
  assert.match(sayMeasure({ row: "it", key: "animal" }), /“it” on “animal”/);
});
