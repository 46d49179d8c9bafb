// What the visitor of Explore has chosen, what changes it, and what is asked next: one state, one reducer, one request.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FIRST, linkOf, reduce, requestFor, valuesOf } from "../../../assets/web/explore/state.js";

const MAPS = { n: 4, keys: ["a", "b", "c", "d"], digest: "x", isWhole: () => true, isHere: (layer) => layer < 2 };
const SPOT = { layer: 0, head: 0, row: 2, key: 1 };
const PICTURE = { ...SPOT, digest: "x", reads: "", sentence: "hi", tile: 0, next: [], kinds: [[]] };
const run = (state, ...actions) => actions.reduce((now, action) => reduce(now, action), state);
const edit = (change) => ({ type: "edit", ...change });

/** What is asked of a state, and of what has come. @param {object} state @param {object} [came] */
function asked(state, came = {}) {
  const query = new URLSearchParams({ s: "hi" });
  const progress = { run: "", done: 1, isStopped: false, ...came.progress };
  const cache = { picture: PICTURE, maps: MAPS, mapsOf: "s=hi", pinOf: "", samplingOf: "\n".repeat(4), ...came, progress };
  const request = requestFor({ ...FIRST, ...state }, query, cache);
  return request && `${request.route}${request.query.get("part") ?? ""}`;
}

test("a link is read and written again, and the page keeps what it chose", () => {
  const link = new URLSearchParams("s=hi&at=1.2.3&look=linear_sort&off=L0+H1&mask=causal&pin=0.1&temp=2");
  const state = run(FIRST, { type: "open", link, text: "hi", picture: null });
  const { s, at, look, off, mask, pin, temp } = linkOf(state);
  assert.deepEqual([s, at, look, off], ["hi", "1.2.3", "linear_sort", ["L0 H1"]]);
  assert.deepEqual([mask, pin, temp], ["causal", "0.1", "2"]);
  assert.deepEqual([valuesOf(state, false).at, valuesOf(state, true).at], ["1.2", "1.2.3"]);
  const came = { type: "arrive", picture: { ...PICTURE, layer: 3 }, maps: { n: 2, keys: ["a", "b"] }, isNewest: true };
  assert.deepEqual(run(state, came).at, { layer: 1, head: 2, row: 2, key: 1 }, "a shorter sentence lacks the row");
  assert.equal(run(FIRST, came).at.layer, 3);
  assert.equal(run(state, { ...came, isNewest: false }).at, state.at);
});

test("the place follows what is pressed, and a head alone is the one in focus", () => {
  const alone = run(FIRST, { type: "go", at: { head: 3 }, look: { solo: "0.0" } });
  const state = run(alone, { type: "go", at: { row: 1, key: 0 } });
  assert.deepEqual([state.at, state.look.solo, state.rowChosen], [{ layer: 0, head: 3, row: 1, key: 0 }, "0.3", true]);
  assert.equal(run(state, { type: "go", at: { row: null } }).rowChosen, false);
  const fitted = run(state, { type: "fit", picture: { ...PICTURE, key: 0 }, maps: { n: 1, keys: ["a"] } });
  assert.deepEqual([fitted.at.row, fitted.at.key, fitted.rowChosen, FIRST.at.head], [0, 0, false, 0]);
});

test("a difference needs a change, and a new sentence may bring its head", () => {
  const look = { type: "set", values: { look: { ...FIRST.look, difference: true } } };
  const all = run(FIRST, edit({ off: ["0.1"], sentence: { text: "typed" } }), look);
  assert.deepEqual([[...all.off], all.text, all.look.difference], [["0.1"], "typed", true]);
  assert.equal(run(all, edit({ off: [] })).look.difference, false);
  assert.equal(run(all, edit({ sentence: { text: "new", rowChosen: false, layer: 2 } })).at.layer, 2);
});

test("what is asked next: all maps, the picture in focus, the next layers of a long text, or nothing", () => {
  const look = (change) => ({ look: { ...FIRST.look, ...change } });
  assert.equal(asked({}), null);
  assert.equal(asked({}, { maps: null }), "maps");
  assert.equal(asked({}, { mapsOf: "s=other" }), "maps");
  assert.equal(asked({ at: { ...FIRST.at, row: 3 } }), null, "another row of the same map");
  assert.equal(asked({ at: { ...FIRST.at, head: 1 } }), "focus");
  for (const change of [{ values: true }, { all: true }, { mean: true }]) assert.equal(asked(look(change)), "focus");
  assert.equal(asked({ pin: "0.0.0" }), "focus");
  const next = { ...PICTURE, next: [{}], surprise: null };
  assert.deepEqual([asked({}, { picture: next }), asked(look({ surprise: true }), { picture: next })], [null, "focus"]);
  assert.equal(asked({}, { picture: next, samplingOf: "2\n\n\n\n" }), "focus");
  const long = { picture: { ...PICTURE, tile: 9 }, progress: { run: "s=hi" } };
  const seen = { at: { ...FIRST.at, row: 2 } };
  assert.deepEqual([asked(seen, long), asked({}, long)], ["part1", "focus1"]);
  assert.equal(asked({ at: { ...FIRST.at, layer: 2 } }, long), "part1", "its layer is not here yet");
  for (const rest of [{ run: "s=hi", isStopped: true }, { run: "s=other" }])
    assert.equal(asked(seen, { ...long, progress: rest }), null);
});
