// A mask that is painted: cells turned round on a rule, for all heads or one, with undo. It knows no element.

import { readCells, readFlips, writeFlips } from "../link/painted.js";

/** @typedef {import("../base/grid_keys.js").Place} Place */
/** @typedef {"block" | "allow" | "row" | "column"} Tool */
/** @typedef {"all" | "one"} Scope the heads that are painted */

const MAX_UNDONE = 200;
const LINES = ["row", "column"]; // tools that turn many cells round at once

export class MaskPaint {
  constructor() {
    /** @type {Tool} */
    this.tool = "block";
    /** @type {Scope} */
    this.scope = "all";
    this.n = 0;
    this.head = 0;
    this.on = ""; // the rule that is painted on
    this.base = new Uint8Array(); // the cells that the rule forbids
    this.own = new Uint8Array(); // those that the model itself forbids, whatever is painted
    this.flips = /** @type {Uint8Array[]} */ ([]); // the cells turned round, a list a head
    this.undone = /** @type {Pick<MaskPaint, "on" | "base" | "flips">[]} */ ([]);
    this.value = 0; // what the stroke that goes on makes of a cell: 1 = allowed
  }

  /** Begins anew with what the server says is painted.
   * @param {{n: number, heads: number, painted: string, base: string, own: string, rule: string}} given
   */
  load({ n, heads, painted, base, own, rule }) {
    if (this.n !== n) this.undone = [];
    const [ruled, locked] = [base, own].map((cells) => readCells(cells, n * n));
    Object.assign(this, { n, on: rule, flips: readFlips(painted, n, heads), base: ruled, own: locked });
  }

  /** As it stands in the link. */
  get text() {
    return writeFlips(this.flips, this.n);
  }

  /** The mask of a head, cells of 0 and 1. */
  allow(head = this.head) {
    return this.base.map((forbidden, at) => 1 - ((forbidden ^ this.flips[head][at]) | this.own[at]));
  }

  /** True when all heads have one mask. */
  get isShared() {
    return this.flips.every((own) => own.every((cell, at) => cell === this.flips[0][at]));
  }

  get isEmpty() {
    return !this.flips.some((own) => own.includes(1));
  }

  /** Keeps what is painted now, for undo. */
  remember() {
    this.undone.push({ on: this.on, base: this.base, flips: this.flips.map((own) => own.slice()) });
    if (this.undone.length > MAX_UNDONE) this.undone.shift();
  }

  /** Decides what the stroke that begins here does. @param {Place} at */
  begin([i, j]) {
    this.remember();
    const own = this.allow();
    const isOfLine = (/** @type {number} */ at) => {
      const [row, key] = [Math.floor(at / this.n), at % this.n];
      return this.tool === "row" ? row === i : key === j;
    };
    const frees = LINES.includes(this.tool) && !own.some((cell, at) => cell && isOfLine(at));
    this.value = this.tool === "allow" || frees ? 1 : 0;
  }

  /** @param {Place} at */
  paint([i, j]) {
    if (this.tool === "row") for (let key = 0; key < this.n; key++) this.set(i, key);
    else if (this.tool === "column") for (let row = 0; row < this.n; row++) this.set(row, j);
    else this.set(i, j);
  }

  set(i, j) {
    const at = i * this.n + j;
    if (this.own[at]) return;
    const turned = this.value === this.base[at] ? 1 : 0;
    for (const own of this.scope === "all" ? this.flips : [this.flips[this.head]]) own[at] = turned;
  }

  /** One press: a cell, or with those tools its whole row or column, is turned round. @param {Place} at */
  toggle(at) {
    this.begin(at);
    if (!LINES.includes(this.tool)) this.value = 1 - this.allow()[at[0] * this.n + at[1]];
    this.paint(at);
  }

  /** Ack a whole row or column round. @param {"row" | "column"} tool @param {number} at */
  line(tool, at) {
    const own = this.tool;
    this.tool = tool;
    this.toggle([at, at]);
    this.tool = own;
  }

  /** True when there was something to undo. */
  undo() {
    const before = this.undone.pop();
    Object.assign(this, before);
    return before !== undefined;
  }

  clear() {
    this.remember();
    for (const own of this.flips) own.fill(0);
  }
}
