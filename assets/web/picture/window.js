// The visible window of a map that does not fit: a square of cells, and the loaded piece of the map that contains it.

/** @typedef {{row: number, column: number, step: number}} Piece first row and column, and the block size for max-pooling */

const MIN_CELLS = 16; // per side
export const FINEST = 128; // cells per side without pooling
const GRID = 64; // distance between pieces in cells; a piece has 256 per side, more than a window

/** The window sizes of a map of n tokens in ascending order, the last one the whole map. @param {number} n */
export function sizesOf(n) {
  const sizes = [];
  for (let size = MIN_CELLS; size < n; size *= 2) sizes.push(size);
  return [...sizes, n];
}

/** The number of cells per side that are drawn as one. @param {number} size of the window */
export const stepOf = (size) => Math.ceil(size / FINEST);

/** Clamp a window to the map and align it with its blocks.
 * @param {MapWindow} window @param {number} n @returns {MapWindow}
 */
export function clampWindow({ row, column, size }, n) {
  const step = stepOf(size);
  const last = Math.max(0, Math.ceil((n - size) / step) * step); // the last block may be smaller
  const snap = (/** @type {number} */ from) => Math.max(0, Math.min(last, Math.round(from / step) * step));
  return { row: snap(row), column: snap(column), size };
}

/** Zoom a window around a fixed cell.
 * @param {MapWindow} window @param {number} n @param {number} factor steps of size @param {[number, number]} cell
 */
export function zoomed(window, n, factor, [i, j]) {
  const sizes = sizesOf(n);
  const index = sizes.findIndex((size) => size >= window.size);
  const size = sizes[Math.max(0, Math.min(sizes.length - 1, index + factor))];
  const from = (/** @type {number} */ cell, /** @type {number} */ begin) =>
    Math.round(cell - ((cell - begin) * size) / window.size);
  return clampWindow({ row: from(i, window.row), column: from(j, window.column), size }, n);
}

/** Move a window as little as needed to contain a cell.
 * @param {MapWindow} window @param {number} n @param {[number, number]} cell */
export function including({ row, column, size }, n, [i, j]) {
  const step = stepOf(size);
  const move = (/** @type {number} */ cell, /** @type {number} */ begin) => {
    if (cell < begin) return Math.floor(cell / step) * step;
    return cell >= begin + size ? Math.ceil((cell + 1 - size) / step) * step : begin;
  };
  const [top, left] = [move(i, row), move(j, column)];
  return top === row && left === column ? { row, column, size } : clampWindow({ row: top, column: left, size }, n);
}

/** The piece that contains a window. @param {MapWindow} window @returns {Piece} */
export function pieceOf({ row, column, size }) {
  const step = stepOf(size);
  const grid = GRID * step;
  const from = (/** @type {number} */ begin) => Math.max(0, Math.floor((begin - grid / 2) / grid) * grid);
  return { row: from(row), column: from(column), step };
}

/** The numbers of drawn rows and columns of a window.
 * @param {MapWindow} window @param {number} n @returns {[number, number]} */
const drawnOf = ({ row, column, size }, n) => {
  const blocks = (/** @type {number} */ from) => Math.ceil(Math.min(size, n - from) / stepOf(size));
  return [blocks(row), blocks(column)];
};

/** Copy the cells of a window from a piece. @param {Float32Array} values @param {number} columns of the piece
 * @param {Piece} piece @param {MapWindow} window @param {number} n
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

/** The cells from the thumbnail of the map, until the piece has arrived. @param {Bytes} map
 * @param {MapWindow} window @param {number} n @returns {Bytes}
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
