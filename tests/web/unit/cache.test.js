// The sizes of a KV cache as they are typed, and its bytes, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, kindsOf, readSizes } from "../../../assets/web/explore/cache_sizes.js";

const LARGE = [32, 32, 8, 128, 8192, 2];

test("sizes are whole numbers from 1, with query heads that share key/value heads equally", () => {
  assert.deepEqual(readSizes("32-32-8-128-8192-2".split("-")), LARGE);
  for (const text of ["", "32-32-8-128-8192", "32-32-7-128-8192-2", "0-32-8-128-8192-2", "32-32-8-1.5-8192-2"])
    assert.equal(readSizes(text.split("-")), null, text);
});

test("each kind of sharing has its key/value heads and bytes", () => {
  assert.deepEqual(kindsOf(LARGE), [32, 8, 1]);
  assert.deepEqual(kindsOf([6, 12, 12, 32, 15, 4]), [12, 2, 1]);
  assert.deepEqual(kindsOf([6, 9, 1, 32, 15, 4]), [9, 3, 1]);
  assert.deepEqual(kindsOf([6, 1, 1, 32, 15, 4]), [1, 1, 1]);
  assert.equal(bytesOf(LARGE, 8), (2 ** 30).toLocaleString("en"));
});
