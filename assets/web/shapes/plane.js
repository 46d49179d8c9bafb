// The values of one head as a map: pointing reads a number, a click or the arrow keys select row and column.

import { pixel, pixels, signedColour } from "../base/colour.js";
import { div, h, setText } from "../base/dom.js";
import { asBytes } from "../picture/differences.js";
import { FoldedTable } from "../picture/listing.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { pooled, toBytes } from "../wire/packets.js";
import { isolated } from "../base/token_text.js";
import { quoted } from "../base/words.js";

const HIGH = 15; // pixels of a row
const MAX = { high: 100, rows: 40, columns: 64 }; // rows of full height; rows and columns of the table
const MIDDLE = 128; // the byte of 0 among signed values
const AXES = { i: "queries", j: "keys", d: "channels of the head", c: "channels" };

/** @param {number} value */
const format = (value) => (value === -Infinity ? "−∞" : value.toPrecision(4).replaceAll("-", "−"));

/** The range of indices around a position that the table shows.
 * @param {number} position @param {number} size @param {number} max */
function around(position, size, max) {
  const first = Math.max(0, Math.min(position - max / 2, size - max));
  return Array.from({ length: Math.min(max, size) }, (_, n) => first + n);
}

export class Plane extends BigMap {
  /** @param {(row: number, column: number) => void} pick */
  constructor(pick) {
    super({ pick, hover: (text) => setText(this.readout, text ?? this.say(this.place)) });
    this.limits = this.usual = { stretch: 2, maxCell: HIGH, minCell: 0 };
    this.roomy = Infinity; // never: the readout has the numbers
    this.readout = h("p", { class: "readout" });
    this.caption = h("p", { class: "label" });
    this.table = new FoldedTable("Values as a table", () => this.fillTable());
    this.panel = div("plane", this.caption, this.element, this.readout, this.table.element);
    this.tensor = /** @type {Tensor} */ ({});
    this.plane = /** @type {ReturnType<Tensor["plane"]>} */ ({});
    this.place = /** @type {Cell} */ ([0, 0]); // selected row and column
  }

  /** @param {Tensor} tensor @param {string[]} tokens @param {number} head @param {[number, number]} place
   * @param {{theme: Theme, colours: Inks}} ink @param {number} width
   */
  drawHead(tensor, tokens, head, place, { theme, colours }, width) {
    const plane = tensor.plane(head);
    Object.assign(this, { tensor, plane, place, active: place });
    const prefix = tensor.ofHeads || plane.cols === "j" ? `head ${head}: ` : "";
    const name = `${prefix}${plane.height} ${AXES[plane.rows]} × ${plane.width} ${AXES[plane.cols]}`;
    const piece = plane.cols === "c" ? `, ${plane.first} to ${plane.first + plane.width - 1}` : "";
    setText(this.caption, tensor.isSent ? `values of ${name}${piece}` : "too many numbers to send");
    this.element.hidden = this.readout.hidden = this.table.element.hidden = !tensor.isSent;
    if (!tensor.isSent) return;
    const rows = tokens.slice(0, plane.height);
    const isOfKeys = plane.cols === "j";
    const keys = isOfKeys ? tokens : Array.from({ length: plane.width }, (_, j) => String(plane.first + j));
    const values = Float32Array.from({ length: plane.height * plane.width }, (_, index) =>
      plane.value(Math.floor(index / plane.width), index % plane.width),
    );
    const shares = values.map((value) => (value === -Infinity ? 0 : value / tensor.scale));
    const bytes = tensor.isWeights ? toBytes(values.map((value) => Math.min(1, value))) : asBytes(shares);
    const forbids = (/** @type {number} */ i, /** @type {number} */ j) => values[i * plane.width + j] === -Infinity;
    const [row, key] = place;
    const more = { keys, name: `${tensor.name}, ${name}`, row, key, theme, forbids };
    const height = Math.min(plane.height, MAX.high) * HIGH + 120;
    this.draw(wholeMap(rows, values, { ...more, map: { size: plane.height, bytes } }), colours, { width, height });
    this.actions.hover(null, null);
    this.fillTable();
  }

  fillTable() {
    const { tensor, plane, picture } = this;
    if (!this.table.isOpen || !picture || !tensor.isSent) return;
    const columns = around(this.place[1], plane.width, MAX.columns);
    const rows = around(this.place[0], plane.height, MAX.rows);
    const isCut = rows.length < plane.height || columns.length < plane.width;
    const size = `${rows.length} × ${columns.length} of ${plane.height} × ${plane.width}`;
    this.table.fill(
      [AXES[plane.rows], ...columns.map((j) => picture.keys[j])],
      rows.map((i) => [`${i} ${isolated(picture.tokens[i])}`, ...columns.map((j) => format(plane.value(i, j)))]),
      `Rows are ${AXES[plane.rows]}, columns ${AXES[plane.cols]}.${isCut ? ` Around the chosen one, ${size}.` : ""}`,
    );
  }

  image(cut, room) {
    if (this.tensor.isWeights) return super.image(cut, room);
    const share = (/** @type {number} */ byte) => Math.max(-1, (byte - MIDDLE) / 127);
    const colours = Uint32Array.from({ length: 256 }, (_, byte) => pixel(signedColour(share(byte), this.inks)));
    return pixels(pooled(cut, room, MIDDLE), colours);
  }

  /** The readout of a cell: its value and its address in memory. */
  say([i, j]) {
    const { tensor, plane } = this;
    const { tokens, keys } = /** @type {MapPicture} */ (this.picture);
    const index = plane.index(i, j);
    const value = tensor.value(index);
    const column = plane.cols === "j" ? `key ${quoted(keys[j])}` : `channel ${keys[j]}`;
    const text = value === -Infinity ? `${format(value)}: not allowed` : format(value);
    const place = tensor.place(index).toLocaleString("en");
    return `${quoted(tokens[i])}, ${column}: ${text} · [${index.join(", ")}] lies at place ${place}`;
  }

  get label() {
    return `${this.picture?.name}`;
  }

  /** Select the cell that the keys reach. @param {[number, number]} cell */
  moveTo(cell) {
    super.moveTo(cell);
    this.actions.pick(...cell);
  }
}
