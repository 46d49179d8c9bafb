// All heads by their measures: what the link says of them, orders, means over texts, and points.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as plot from "../../../assets/web/explore/head_plot.js";
import * as heads from "../../../assets/web/explore/head_measures.js";
import { CollectionRun } from "../../../assets/web/explore/head_sources.js";

const { ordered, readShown, writeShown } = heads;
const NAMES = ["previous", "first", "entropy"];

/** @param {string} name @param {number[] | null} values */
const measure = (name, values, rows = 3) => {
  const said = { title: name, unit: "weight", description: "", missing: values ? "" : "no" };
  return { name, ...said, rows: values ? rows : 0, values: values && Float32Array.from(values) };
};
const HEADS = 2; // of each of two layers
const measures = [
  measure("previous", [0.1, 0.9, 0.4, 0.4]),
  measure("first", null),
  measure("entropy", [3, 0.5, 2, 1]),
];

test("what is shown stands in the link", () => {
  const usual = { x: "previous", y: "entropy", by: "previous", up: false, on: "" };
  assert.deepEqual(readShown("", NAMES), usual);
  assert.deepEqual(readShown("clouds.by-rain.7", NAMES), usual);
  for (const shown of [
    usual,
    { x: "first", y: "first", by: "entropy", up: true, on: "ours" },
    { x: "entropy", y: "previous", by: "head", up: false, on: "random" },
  ]) {
    assert.deepEqual(readShown(writeShown(shown), NAMES), shown);
    assert.deepEqual(readShown(writeShown(shown), []), shown, "nor is it lost before the measures have come");
  }
});

test("orders", () => {
  assert.deepEqual(ordered(4, measures[0].values, false), [1, 2, 3, 0]);
  assert.deepEqual(ordered(4, measures[0].values, true), [0, 2, 3, 1], "equal heads stay as they stand");
  assert.deepEqual(ordered(3, null, true), [2, 1, 0]);
});

test("over several texts each row counts alike", () => {
  const pool = new heads.Pool();
  pool.add([measure("previous", [1, 0], 3), measure("first", null)]);
  pool.add([measure("previous", [0, 0.5], 1), measure("first", [0.5, 0.5], 2)]);
  const wanted = [measure("previous", [9, 9]), measure("first", null), measure("entropy", [9, 9])];
  const [previous, first, entropy] = pool.pooled(wanted);
  assert.deepEqual([previous.rows, ...(previous.values ?? [])], [4, 0.75, 0.125]);
  assert.deepEqual([first.missing, ...(first.values ?? [])], ["", 0.5, 0.5]);
  assert.equal(entropy.values, null, "what no text had");
});

test("it is measured sentence by sentence, as long as somebody waits", async (context) => {
  const asked = /** @type {string[]} */ ([]);
  const answers = /** @type {((answer: Response) => void)[]} */ ([]);
  context.mock.method(globalThis, "fetch", (/** @type {URL} */ url) => {
    asked.push(new URL(url).searchParams.get("s") ?? "");
    return new Promise((resolve) => answers.push(resolve));
  });
  const base = { mask: "none" };
  const queryOfRun = () => new URLSearchParams({ ...base, s: "what is typed" });
  const view = { queryOfRun, visit: "", redraw() {}, lifetime: new AbortController() };
  const run = new CollectionRun(view, (bytes) => [measure("previous", [bytes[0], 0], 1)]);
  const come = async (/** @type {Response} */ answer) => {
    answers.pop()?.(answer);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const mean = () => [...(run.pool.pooled([measure("previous", [0, 0])])[0].values ?? [])];
  run.begin(["a", "a", "too long", "b"]);
  await come(new Response(Uint8Array.of(1)));
  await come(new Response(Uint8Array.of(3)));
  assert.deepEqual(asked, ["a", "a", "too long"], "one after the other, an equal one again");
  assert.deepEqual(mean(), [2, 0]);
  assert.match(run.sentence, /^2 of 4 sentences\./);
  await come(new Response("Too many tokens.", { status: 422 }));
  assert.match(run.sentence, /^2 of 4 sentences\. 1 sentence left out: Too many tokens\.$/);
  run.stop();
  await come(new Response(Uint8Array.of(9)));
  assert.deepEqual([mean(), run.isOn, run.isLeft], [[2, 0], false, true], "what comes too late does not count");
  run.goOn();
  await come(new Response(Uint8Array.of(5)));
  assert.deepEqual([mean(), run.isOn, run.isLeft], [[3, 0], false, false]);
  assert.match(run.sentence, /^The mean over all rows of 3 sentences\. 1 sentence left out/);
  run.follow();
  assert.equal(run.isOn, false, "of the same run it is kept");
  base.mask = "causal";
  run.follow();
  assert.deepEqual([run.isOn, run.pool.texts, asked.at(-1)], [true, 0, "a"]);
  run.stop();
});

test("points", () => {
  const size = { width: 400, height: 300 };
  const layout = plot.layOutScatter(measures[0], measures[2], size);
  assert.equal(layout.points.length, 4);
  layout.points.forEach(([x, y], at) => {
    assert.ok(x >= 0 && x <= 400 && y >= 0 && y <= 300);
    assert.equal(plot.pointAt(layout, x, y), at);
    const { left, width } = plot.boxOfPoint(layout, at);
    assert.ok(left < x && x < left + width);
  });
  assert.ok(layout.points[1][0] > layout.points[0][0] && layout.points[1][1] > layout.points[0][1], "upwards is more");
  assert.equal(plot.pointAt(layout, 399, 1), null);
  const flat = plot.layOutScatter(measure("next", [0, 0, 0, 0]), measures[2], size);
  for (const [x] of flat.points) assert.ok(Number.isFinite(x), "a measure that is 0 everywhere");
});
