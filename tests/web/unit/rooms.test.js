// A room: what may be done next and by which key, what the host alone is told, and how counts, clicks and sentences are shown.

import assert from "node:assert/strict";
import { test } from "node:test";

const { csvOf, dotsOf, handsOf, hintOf, total } = await import("../../../assets/web/rooms/tally.js");
const { ACTS, actsOf } = await import("../../../assets/web/rooms/room_keys.js");
const { placed } = await import("../../../assets/web/rooms/points.js");
const { measured, sayMeasure } = await import("../../../assets/web/rooms/measure.js");

const question = (state, round = 1) => ({ state, round });

test("a lesson's step is asked, closed, asked again, counted, answered and asked in other words", () => {
  const walked = [
    [null, ["ask"]],
    [question("open"), ["close"]],
    [question("closed"), ["again", "tallies", "answer"]],
    [question("open", 2), ["close"]],
    [question("closed", 2), ["tallies", "answer"]],
    [question("tallies", 2), ["answer"]],
    [question("answer", 2), ["second", "end"]],
  ];
  for (const [now, acts] of walked) assert.deepEqual(actsOf({ question: now, step: true, second: true }), acts);
  assert.deepEqual(actsOf({ question: null, step: false, second: false }), []);
  assert.deepEqual(actsOf({ question: question("answer"), step: true, second: false }), ["end"]);
});

test("no two acts that may be done at once have one key", () => {
  for (const state of ["open", "closed", "tallies", "answer"])
    for (const round of [1, 2]) {
      const acts = [
        ...actsOf({ question: question(state, round), step: true, second: true }),
        "gather",
        "code",
        "keys",
      ];
      const keys = acts.map((act) => ACTS[act][0]);
      assert.equal(new Set(keys).size, keys.length, `${state} ${round}`);
    }
});

test("the host is told to let them discuss between 35 and 70 % of right answers", () => {
  const told = (right, wrong) => hintOf({ A: right, B: wrong }, "A");
  assert.match(told(34, 66), /34 % .* explain/);
  assert.match(told(35, 65), /35 % .* discuss/);
  assert.match(told(70, 30), /70 % .* discuss/);
  assert.match(told(71, 29), /71 % .* show the answer/);
  assert.match(hintOf({}, "A"), /Nobody/);
  assert.match(hintOf({ A: 3 }, null), /No rule/);
});

test("counts become hands, dots and a table", () => {
  assert.equal(total({ A: 2, C: 1 }), 3);
  assert.deepEqual(handsOf({ A: 2, C: 1 }), ["A", "A", "C"]);
  assert.deepEqual(dotsOf({ 3.1: 4 }), [[3, 1, 4]]);
  const options = [
    ["A", "=1+1"],
    ["B", 'a "word"'],
  ];
  const table = csvOf([{ ask: "Which?", options, tallies: [{ A: 2 }, { B: 3 }] }]).split("\r\n");
  assert.equal(table[1], `"1","Which?","A","'=1+1","2",""`);
  assert.equal(table[2], `"1","Which?","B","a ""word""","","3"`);
});

test("sentences stand where their measure is, one on another, and those without it nowhere", () => {
  const point = (id, value) => ({ id, value, text: String(id) });
  const shown = placed([point(1, 0.5), point(2, 1), point(3, null), point(4, 0.5)]);
  assert.deepEqual(
    shown.map(({ point: { id }, left, under }) => [id, left, under]),
    [
      [1, 50, 0],
      [4, 50, 1],
      [2, 98, 0],
    ],
  );
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
