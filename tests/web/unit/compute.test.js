// The matrix product in WebAssembly and in JavaScript; tests/core/test_browser_model.py compares whole runs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PLAIN, RELAXED } from "../../../assets/web/compute/kernel.js";
import { Arena, roomFor } from "../../../assets/web/compute/arena.js";

const SIZES = [
  { rows: 1, columns: 1, depth: 4 },
  { rows: 3, columns: 5, depth: 8 },
  { rows: 4, columns: 2, depth: 16, xStride: 20, wStride: 48, yStride: 7 },
  { rows: 17, columns: 33, depth: 64, xStride: 192 },
  { rows: 6, columns: 3, depth: 5 },
];

/** Numbers between -1 and 1, the same ones each time. @param {Float32Array} values */
function fill(values) {
  let state = 1;
  for (let at = 0; at < values.length; at++) {
    state = (state * 48271) % 2147483647;
    values[at] = (2 * state) / 2147483647 - 1;
  }
  return values;
}

/** @param {typeof SIZES[number]} sizes @param {boolean} wasm @param {boolean} hasBias */
function product(sizes, wasm, hasBias) {
  const { rows, columns, depth, xStride = depth, wStride = depth, yStride = columns } = sizes;
  const lengths = [rows * xStride, columns * wStride, columns, rows * yStride];
  const arena = new Arena(
    lengths.reduce((sum, length) => sum + roomFor(length), 0),
    wasm,
  );
  const [x, w, bias, y] = lengths.map((length) => fill(arena.allocate(length)));
  assert.equal(arena.kernel !== null, wasm);
  arena.matmul(x, w, hasBias ? bias : undefined, y, sizes);
  return y.slice();
}

test("both products are the same up to rounding, and write no cell beside those of y", () => {
  for (const sizes of SIZES) {
    for (const hasBias of [true, false]) {
      const [fast, plain] = [true, false].map((wasm) => product(sizes, wasm, hasBias));
      // at most depth sums of products of at most 1, each rounded to 24 bits, on either side
      const bound = 2 * (sizes.depth + 1) ** 2 * 2 ** -24;
      fast.forEach((value, at) => assert.ok(Math.abs(value - plain[at]) <= bound, `${JSON.stringify(sizes)} at ${at}`));
      const [stride, before] = [sizes.yStride ?? sizes.columns, fill(new Float32Array(fast.length))];
      fast.forEach((value, at) => {
        if (at % stride >= sizes.columns) assert.equal(value, before[at]);
      });
    }
  }
});

test("both kernels are WebAssembly that this Node takes", () => {
  for (const code of [PLAIN, RELAXED]) assert.ok(WebAssembly.validate(Buffer.from(code, "base64")));
  assert.notEqual(PLAIN, RELAXED);
});

test("where WebAssembly is refused, the product in JavaScript is used", async () => {
  const { Module } = WebAssembly;
  WebAssembly.Module = /** @type {any} */ (
    class {
      constructor() {
        throw new WebAssembly.CompileError("Refused to compile because of the page's policy");
      }
    }
  );
  try {
    // a query in the name makes it a module of its own, which compiles its kernel again
    const refused = await import("../../../assets/web/compute/arena.js?refused");
    assert.equal(new refused.Arena(16).kernel, null);
  } finally {
    WebAssembly.Module = Module;
  }
});
