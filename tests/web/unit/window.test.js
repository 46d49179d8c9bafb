// The part of a large map in sight: sizes, where it may stand, and the piece that has its cells.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellsOf,
  FINEST,
  pieceOf,
  previewOf,
  sizesOf,
  stepOf,
  clampWindow,
  zoomed,
} from "../../../assets/web/picture/window.js";

const SIDE = 256; // cells of a piece, each way: pages/explore/long_pictures.py

/** Every window of a map that a visitor may come to. @param {number} n */
function* windowsOf(n) {
  for (const size of sizesOf(n))
    for (const row of [0, 1, 63, 64, 65, 97, Math.floor(n / 2), n - 1, n + 9])
      for (const column of [-7, 0, 200, n]) yield clampWindow({ row, column, size }, n);
}

test("every cell can be seen in every size, and the piece that is asked for has all of a window", () => {
  for (const n of [513, 1024, 1101, 2048])
    for (const window of windowsOf(n)) {
      const { row, column, size } = window;
      const { step, ...from } = pieceOf(window);
      for (const [begin, start] of [
        [row, from.row],
        [column, from.column],
      ]) {
        assert.ok(begin >= 0 && begin < n && begin % step === 0);
        assert.ok(start <= begin && (begin - start) % step === 0);
        assert.ok(Math.min(begin + size, n) <= start + SIDE * step);
      }
      assert.ok(size / step <= FINEST);
      const end = clampWindow({ ...window, row: n }, n);
      assert.ok(end.row + size >= n, "the last row");
    }
});

test("the last size is the whole, and zooming keeps the cell in its place", () => {
  assert.deepEqual(sizesOf(600), [16, 32, 64, 128, 256, 512, 600]);
  const window = { row: 512, column: 256, size: 64 };
  assert.deepEqual(zoomed(window, 2048, -1, [512 + 16, 256 + 48]), { row: 520, column: 280, size: 32 });
  assert.deepEqual(zoomed(window, 2048, Infinity, [520, 260]), { row: 0, column: 0, size: 2048 });
  assert.equal(zoomed({ row: 0, column: 0, size: 16 }, 2048, -1, [3, 3]).size, 16);
  assert.equal(stepOf(2048), 16);
});

test("cells out of a piece, and meanwhile out of the thumbnail", () => {
  const n = 600;
  const window = clampWindow({ row: 100, column: 40, size: 16 }, n);
  const piece = pieceOf(window);
  const columns = Math.min(SIDE, n - piece.column);
  const values = Float32Array.from({ length: SIDE * columns }, (_, at) => {
    const [i, j] = [piece.row + Math.floor(at / columns), piece.column + (at % columns)];
    return 1000 * i + j;
  });
  const found = cellsOf(values, columns, piece, window, n);
  assert.deepEqual([found.rows, found.values.length], [16, 256]);
  assert.deepEqual([found.values[0], found.values[17], found.values[255]], [100_040, 101_041, 115_055]);
  const small = { size: 120, bytes: Uint8Array.from({ length: 120 * 120 }, (_, at) => Math.floor(at / 120)) };
  const preview = previewOf(small, window, n); // a block has 5 cells each way
  assert.deepEqual([preview.size, preview.bytes[0], preview.bytes[16 * 5]], [16, 20, 21]);
});
