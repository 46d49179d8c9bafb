// What of a link makes another picture, and masks as rules; tests/browser/test_twins.py has its compact texts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { controlsOf, maskOf, ruleOf } from "../../../assets/web/link/changes.js";
import { MASKS } from "../../../assets/web/base/facts.js";
import { askedOf, parseLook, reads } from "../../../assets/web/link/look.js";

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
