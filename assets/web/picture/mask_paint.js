// The model of a painted mask: cells flipped on a rule, for all heads or one. It is independent of the DOM.

import { readCells, readFlips, writeFlips } from "../link/painted.js";

const LINES = ["row", "column"]; // tools that flip a whole line

/** @type {[Scope, string][]} */
export const SCOPES = [
  ["all", "all heads"],
  ["one", "this head"],
];

export class MaskPaint {
  /** @type {Tool} */
  tool = "block";
  /** @type {Scope} */
  scope = "all";
  n = 0;
  head = 0;
  paintedRule = ""; // rule below the painting
  base = new Uint8Array(); // cells that the rule forbids
  locked = new Uint8Array(); // cells that the model itself forbids
  flips = /** @type {Uint8Array[]} */ ([]); // flipped cells, one array per head
  value = 0; // value that the current stroke paints: 1 = allowed

  /** Load a painted mask from the server.
   * @param {{n: number, heads: number, painted: string, base: string, modelMask: string, rule: string}} given
   */
  load({ n, heads, painted, base, modelMask, rule }) {
    const [ruled, locked] = [base, modelMask].map((cells) => readCells(cells, n * n));
    Object.assign(this, { n, paintedRule: rule, flips: readFlips(painted, n, heads), base: ruled, locked });
  }

  /** Encode the painting for the link. */
  get text() {
    return writeFlips(this.flips, this.n);
  }

  /** The mask of a head, cells of 0 and 1. */
  allow(head = this.head) {
    return this.base.map((forbidden, index) => 1 - ((forbidden ^ this.flips[head][index]) | this.locked[index]));
  }

  /** Return whether all heads have the same mask. */
  get isShared() {
    return this.flips.every((cells) => cells.every((cell, index) => cell === this.flips[0][index]));
  }

  get isEmpty() {
    return !this.flips.some((cells) => cells.includes(1));
  }

  /** Start a stroke: its first cell decides the painted value. @param {Cell} at */
  begin([i, j]) {
    const allowed = this.allow();
    const isOfLine = (/** @type {number} */ index) => {
      const [row, key] = [Math.floor(index / this.n), index % this.n];
      return this.tool === "row" ? row === i : key === j;
    };
    const frees = LINES.includes(this.tool) && !allowed.some((cell, index) => cell && isOfLine(index));
    this.value = this.tool === "allow" || frees || (this.tool === "flip" && !allowed[i * this.n + j]) ? 1 : 0;
  }

  /** @param {Cell} at */
  paint([i, j]) {
    if (this.tool === "row") for (let key = 0; key < this.n; key++) this.set(i, key);
    else if (this.tool === "column") for (let row = 0; row < this.n; row++) this.set(row, j);
    else this.set(i, j);
  }

  set(i, j) {
    const index = i * this.n + j;
    if (this.locked[index]) return;
    const turned = this.value === this.base[index] ? 1 : 0;
    for (const cells of this.scope === "all" ? this.flips : [this.flips[this.head]]) cells[index] = turned;
  }

  /** Flip a cell, or with the line tools its whole row or column. @param {Cell} cell */
  toggle(cell) {
    this.begin(cell);
    if (!LINES.includes(this.tool)) this.value = 1 - this.allow()[cell[0] * this.n + cell[1]];
    this.paint(cell);
  }

  /** Flip a whole row or column. @param {"row" | "column"} tool @param {number} cell */
  line(tool, cell) {
    const previous = this.tool;
    this.tool = tool;
    this.toggle([cell, cell]);
    this.tool = previous;
  }

  clear() {
    for (const cells of this.flips) cells.fill(0);
  }
}
