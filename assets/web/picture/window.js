// The part of a map in sight where it does not fit: a square window of cells, and the piece of the map that has them.

/** @typedef {{row: number, column: number, size: number}} Window rows and columns from here on, as many of both */
/** @typedef {{row: number, column: number, step: number}} Piece where it begins, and the cells each way of which it tells the largest */

const MIN_CELLS = 16; // cells in sight, each way
export const FINEST = 128; // cells each way that are drawn one by one; of more the largest of a block each
const GRID = 64; // cells from the beginning of a piece to the next; it has 256 each way, a window and more

/** The sizes of windows of a map of n tokens, the smallest first; the last one is the whole. @param {number} n */
export function sizesOf(n) {
  const sizes = [];
  for (let size = MIN_CELLS; size < n; size *= 2) sizes.push(size);
  return [...sizes, n];
}

/** The number of cells each way that are drawn as one. @param {number} size of the window */
export const stepOf = (size) => Math.ceil(size / FINEST);

/** A window that begins at the nearest place where it lies within the map, and its blocks where they are cut.
 * @param {Window} window @param {number} n @returns {Window}
 */
export function clampWindow({ row, column, size }, n) {
  const step = stepOf(size);
  const last = Math.max(0, Math.ceil((n - size) / step) * step); // the last block may be of fewer cells
  const snap = (/** @type {number} */ from) => Math.max(0, Math.min(last, Math.round(from / step) * step));
  return { row: snap(row), column: snap(column), size };
}

/** The window that shows more of the map or less, a cell of it staying where it is.
 * @param {Window} window @param {number} n @param {number} factor sizes @param {[number, number]} cell
 */
export function zoomed(window, n, factor, [i, j]) {
  const sizes = sizesOf(n);
  const index = sizes.findIndex((size) => size >= window.size);
  const size = sizes[Math.max(0, Math.min(sizes.length - 1, index + factor))];
  const from = (/** @type {number} */ cell, /** @type {number} */ begin) =>
    Math.round(cell - ((cell - begin) * size) / window.size);
  return clampWindow({ row: from(i, window.row), column: from(j, window.column), size }, n);
}

/** The window moved as little as it takes to show a cell. @param {Window} window @param {number} n @param {[number, number]} cell */
export function including({ row, column, size }, n, [i, j]) {
  const step = stepOf(size);
  const move = (/** @type {number} */ cell, /** @type {number} */ begin) => {
    if (cell < begin) return Math.floor(cell / step) * step;
    return cell >= begin + size ? Math.ceil((cell + 1 - size) / step) * step : begin;
  };
  const [top, left] = [move(i, row), move(j, column)];
  return top === row && left === column ? { row, column, size } : clampWindow({ row: top, column: left, size }, n);
}

/** The piece that has all cells of a window. @param {Window} window @returns {Piece} */
export function pieceOf({ row, column, size }) {
  const step = stepOf(size);
  const grid = GRID * step;
  const from = (/** @type {number} */ begin) => Math.max(0, Math.floor((begin - grid / 2) / grid) * grid);
  return { row: from(row), column: from(column), step };
}

/** The rows and columns of a window that are drawn. @param {Window} window @param {number} n @returns {[number, number]} */
const drawnOf = ({ row, column, size }, n) => {
  const blocks = (/** @type {number} */ from) => Math.ceil(Math.min(size, n - from) / stepOf(size));
  return [blocks(row), blocks(column)];
};

/** The cells of a window, out of a piece. @param {Float32Array} values @param {number} columns of the piece
 * @param {Piece} piece @param {Window} window @param {number} n
 * @returns {{rows: number, values: Float32Array}}
 */
export function cellsOf(values, columns, piece, window, n) {
  const [rows, wide] = drawnOf(window, n);
  const [top, left] = [(window.row - piece.row) / piece.step, (window.column - piece.column) / piece.step];
  const cells = new Float32Array(rows * wide);
  for (let i = 0; i < rows; i++) {
    const from = (top + i) * columns + left;
    cells.set(values.subarray(from, from + wide), i * wide);
  }
  return { rows, values: cells };
}

/** The cells from the thumbnail of the map, until its piece has arrived. @param {import("../base/colour.js").Bytes} map
 * @param {Window} window @param {number} n @returns {import("../base/colour.js").Bytes}
 */
export function previewOf({ size: small, bytes }, window, n) {
  const block = Math.ceil(n / FINEST);
  const [rows, wide] = drawnOf(window, n);
  const cells = new Uint8Array(rows * wide);
  const indexOf = (/** @type {number} */ from, /** @type {number} */ cell) =>
    Math.floor((from + cell * stepOf(window.size)) / block);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < wide; j++)
      cells[i * wide + j] = bytes[indexOf(window.row, i) * small + indexOf(window.column, j)];
  return { size: rows, bytes: cells };
}
