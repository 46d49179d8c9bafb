// Compact text of mask cells; headlight/link/mask_codec.py documents the format.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const placeOf = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** @param {Uint8Array} cells */
function runs(cells) {
  let text = "r";
  let [last, shift] = [0, 0];
  cells.forEach((cell, index) => {
    if (cell === shift) return;
    let length = index - last;
    for (; length > 31; length >>= 5) text += DIGITS[32 + (length & 31)];
    text += DIGITS[length];
    [last, shift] = [index, cell];
  });
  return text;
}

/** @param {Uint8Array} cells */
function bits(cells) {
  let text = "b";
  for (let index = 0; index < cells.length; index += 6) {
    let value = 0;
    for (let next = index; next < index + 6; next++) value = 2 * value + (cells[next] ?? 0);
    text += DIGITS[value];
  }
  return text.replace(/A+$/, "");
}

/** Encode cells of 0 and 1, "" when all are 0. @param {Uint8Array} cells */
export function writeCells(cells) {
  if (!cells.includes(1)) return "";
  const [long, packed] = [runs(cells), bits(cells)];
  return long.length <= packed.length ? long : packed;
}

/** Decode cells; the inverse of `writeCells`. @param {string} text @param {number} size */
export function readCells(text, size) {
  const cells = new Uint8Array(size);
  const values = [...text.slice(1)].map((digit) => placeOf.get(digit) ?? 0);
  if (text[0] === "b") {
    values.forEach((value, index) => {
      for (let bit = 0; bit < 6 && 6 * index + bit < size; bit++) cells[6 * index + bit] = (value >> (5 - bit)) & 1;
    });
    return cells;
  }
  let [at, length, shift] = [0, 0, 0];
  let start = /** @type {number | null} */ (null);
  for (const value of values) {
    length += (value & 31) << shift;
    shift += 5;
    if (value > 31) continue;
    at += length;
    if (start === null) start = at;
    else {
      cells.fill(1, start, at);
      start = null;
    }
    length = shift = 0;
  }
  if (start !== null) cells.fill(1, start);
  return cells;
}

/** Encode the flipped cells of each head as the parameter `p`; "" when there are none.
 * @param {Uint8Array[]} flips
 */
export function writeFlips(flips, n) {
  const everyone = flips[0].map((_, index) => Number(flips.every((cells) => cells[index])));
  const perHead = flips.map((cells) => writeCells(cells.map((cell, index) => cell & ~everyone[index] & 1)));
  const parts = [writeCells(everyone), ...perHead.map((text, head) => text && `${head}${text}`)].filter(Boolean);
  return parts.length ? [n, ...parts].join(".") : "";
}

/** Decode flipped cells; the inverse of `writeFlips`. @param {string} text @param {number} n @param {number} heads */
export function readFlips(text, n, heads) {
  const flips = Array.from({ length: heads }, () => new Uint8Array(n * n));
  for (const part of text ? text.split(".").slice(1) : []) {
    const [, head, cells] = /** @type {RegExpExecArray} */ (/^(\d*)(.*)$/.exec(part));
    const decoded = readCells(cells, n * n);
    const turned = head ? [flips[Number(head)]] : flips;
    for (const target of turned) decoded.forEach((cell, index) => (target[index] |= cell));
  }
  return flips;
}

const MAX_READ = 30;
/** @type {Map<string, (i: number, j: number) => boolean>} */
let read = new Map();
const nothing = () => false;

/** Return a predicate of the cells that a mask forbids.
 * @param {string[]} forbidden one text for all heads, or one per head @param {number} head @param {number} n queries
 * @param {number} [keys] @returns {(i: number, j: number) => boolean}
 */
export function forbids(forbidden, head, n, keys = n) {
  const text = forbidden[head] ?? forbidden[0];
  if (!text) return nothing;
  const kind = `${n} ${keys} ${text}`;
  if (read.size > MAX_READ) read = new Map();
  const cached = read.get(kind);
  if (cached) return cached; // the same function, so that drawings detect that nothing has changed
  const cells = readCells(text, n * keys);
  const isSet = (/** @type {number} */ i, /** @type {number} */ j) => cells[i * keys + j] === 1;
  read.set(kind, isSet);
  return isSet;
}
