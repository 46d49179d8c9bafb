// @ts-check
// Tables of numbers as files: CSV that no spreadsheet takes for formulas, and NPZ of float32 with its labels.

/** @typedef {{name: string, rows: string[], cols: string[], values: Float32Array}} Numbers a matrix (rows, cols), row by row */

const FORMULA = /^[=+\-@\t\r]/; // as `quoted` of pages/kit/draw/tables.py
const BOM = "\uFEFF"; // by which spreadsheets know UTF-8

/** A float32 in the fewest digits that mean it. @param {number} value */
export function shortest(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** @param {string} text */
export const quoted = (text) => (FORMULA.test(text) ? `'${text}` : text);

/** A cell as CSV writes it. @param {string} text */
const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** @param {string[]} texts */
const line = (texts) => `${texts.map(cell).join(",")}\r\n`;

/** Tables one below the other, an empty line between them. @param {Numbers[]} tables */
export function csvOf(tables) {
  const written = tables.map(({ name, rows, cols, values }) => {
    const head = line([quoted(name), ...cols.map(quoted)]);
    const body = rows.map((row, i) =>
      line([quoted(row), ...Array.from(values.subarray(i * cols.length, (i + 1) * cols.length), shortest)]),
    );
    return head + body.join("");
  });
  return new TextEncoder().encode(BOM + written.join("\r\n"));
}

/** An array as numpy's .npy. @param {string} kind as numpy names it @param {number[]} shape @param {Uint8Array} bytes */
function npy(kind, shape, bytes) {
  const sizes = shape.map((size) => `${size},`).join(" ");
  const said = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const header = `${said.padEnd(Math.ceil((said.length + 11) / 64) * 64 - 11)}\n`;
  const head = new Uint8Array([
    0x93,
    ...new TextEncoder().encode("NUMPY"),
    1,
    0,
    header.length & 255,
    header.length >> 8,
  ]);
  return joined([head, new TextEncoder().encode(header), bytes]);
}

/** Texts as numpy keeps them: four bytes a character. @param {string[]} texts */
function npyOfTexts(texts) {
  const points = texts.map((text) => Array.from(text, (one) => one.codePointAt(0) ?? 0));
  const most = Math.max(1, ...points.map(({ length }) => length));
  const all = new Uint32Array(texts.length * most);
  points.forEach((own, at) => all.set(own, at * most));
  return npy(`<U${most}`, [texts.length], new Uint8Array(all.buffer));
}

/** Every table as an array under its name, with “… rows” and “… columns”. @param {Numbers[]} tables */
export function npzOf(tables) {
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  tables.forEach(({ name, rows, cols, values }, at) => {
    const plain = name.replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "") || "table";
    const own = files.has(`${plain}.npy`) ? `${plain}_${at}` : plain;
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    files.set(`${own}.npy`, npy("<f4", [rows.length, cols.length], bytes));
    files.set(`${own}_rows.npy`, npyOfTexts(rows));
    files.set(`${own}_columns.npy`, npyOfTexts(cols));
  });
  return zipOf(files);
}

const CRCS = Uint32Array.from({ length: 256 }, (_, at) => {
  let crc = at;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** @param {Uint8Array} bytes */
const crcOf = (bytes) => ~bytes.reduce((crc, byte) => (crc >>> 8) ^ CRCS[(crc ^ byte) & 255], -1) >>> 0;

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Numbers of 2 or 4 bytes, little endian. @param {[number, 2 | 4][]} values */
const packed = (values) =>
  Uint8Array.from(
    values.flatMap(([value, size]) => Array.from({ length: size }, (_, at) => (value >>> (8 * at)) & 255)),
  );

/** Files in a zip, as they are. @param {Map<string, Uint8Array>} files */
function zipOf(files) {
  const bodies = /** @type {Uint8Array[]} */ ([]);
  const listed = /** @type {Uint8Array[]} */ ([]);
  let at = 0;
  for (const [name, bytes] of files) {
    const own = new TextEncoder().encode(name);
    /** @type {[number, 2 | 4][]} */
    const said = [
      [20, 2],
      [0x0800, 2],
      [0, 2],
      [0, 2],
      [0x21, 2],
      [crcOf(bytes), 4],
      [bytes.length, 4],
      [bytes.length, 4],
      [own.length, 2],
      [0, 2],
    ];
    const local = joined([packed([[0x04034b50, 4], ...said]), own]);
    listed.push(joined([packed([[0x02014b50, 4], [20, 2], ...said, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]), own]));
    bodies.push(local, bytes);
    at += local.length + bytes.length;
  }
  const size = listed.reduce((sum, { length }) => sum + length, 0);
  const count = files.size;
  const end = packed([
    [0x06054b50, 4],
    [0, 2],
    [0, 2],
    [count, 2],
    [count, 2],
    [size, 4],
    [at, 4],
    [0, 2],
  ]);
  return joined([...bodies, ...listed, end]);
}
