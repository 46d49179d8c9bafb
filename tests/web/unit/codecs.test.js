// What stands in a link as compact text comes back as it was.

import assert from "node:assert/strict";
import { test } from "node:test";

import { controlsOf, maskOf, ruleOf } from "../../../assets/web/link/changes.js";
import { MASKS } from "../../../assets/web/base/facts.js";
import { askedOf, parseAt, parseLook, reads, writeAt, writeLook } from "../../../assets/web/link/look.js";
import { readCells, readFlips, writeCells, writeFlips } from "../../../assets/web/link/painted.js";

/** Numbers below 1 that are the same in every run. */
function* drawn(seed) {
  for (let state = seed; ; ) {
    state = (1103515245 * state + 12345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

test("cells", () => {
  const numbers = drawn(1);
  for (let round = 0; round < 200; round++) {
    const size = 1 + Math.floor(80 * numbers.next().value);
    const share = numbers.next().value;
    const cells = Uint8Array.from({ length: size }, () => Number(numbers.next().value < share));
    assert.deepEqual(readCells(writeCells(cells), size), cells);
  }
  assert.equal(writeCells(new Uint8Array(9)), "");
});

test("painted heads", () => {
  const numbers = drawn(2);
  for (let round = 0; round < 50; round++) {
    const n = 1 + Math.floor(8 * numbers.next().value);
    const flips = Array.from({ length: 3 }, () =>
      Uint8Array.from({ length: n * n }, () => Number(numbers.next().value < 0.3)),
    );
    assert.deepEqual(readFlips(writeFlips(flips, n), n, 3), flips);
  }
});

test("places", () => {
  for (const text of ["0.0", "3.1.2", "11.7.30.4"]) assert.equal(writeAt(parseAt(text), true), text);
  assert.equal(writeAt(parseAt("3.1.2.5"), false), "3.1");
});

test("looks", () => {
  for (const text of ["", "linear", "own_all_sort", "nospecials_table_difference_hide0.1-3.10_solo2.2", "keys2-10"])
    assert.equal(writeLook(parseLook(text)), text);
});

test("what of a look makes another map, and what the server is asked with", () => {
  const asked = (/** @type {string} */ text) => [reads(parseLook(text)), askedOf(parseLook(text))];
  assert.deepEqual(asked("linear_nospecials_table_hide0.1"), ["", ""]);
  assert.deepEqual(asked("all_values"), ["", "all_values"]);
  assert.deepEqual(asked("renorm_words"), ["words", "words"], "nothing is hidden");
  assert.deepEqual(asked("nofirst_renorm"), ["nofirst_renorm", "nofirst_renorm"]);
  assert.deepEqual(asked("all_mean_hide0.1"), ["mean", "all_mean"]);
  assert.deepEqual(asked("meanseen_hide0.1"), ["meanseen_hide0.1", "meanseen_hide0.1"]);
});

test("every mask is written as its rule, and read from it", () => {
  for (const { name, numbers } of MASKS) {
    const link = new URLSearchParams(numbers.map(([key], at) => [key, String(at + 4)]));
    if (name !== "none") link.set("mask", name);
    const rule = ruleOf(controlsOf(link));
    assert.equal(rule, [name, ...numbers.map((_, at) => at + 4)].join(":"));
    assert.equal(ruleOf({ ...controlsOf(new URLSearchParams()), ...maskOf(rule) }), rule);
  }
});
