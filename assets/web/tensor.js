// A recorded tensor as torch sees it: a piece of memory, and where in it each index lies.

import { unpack } from "./packets.js";

/** A packed trace (pages/shapes/step_view.py): everything of its header, and its steps as `Tensor`s. */
export function unpackTrace(packed) {
  const { header, body } = unpack(packed);
  const floats = new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4);
  let start = 0;
  const pieces = header.pieces.map((length) => floats.subarray(start, (start += length)));
  const steps = header.steps.map(
    (step, at) => new Tensor(step, pieces[header.places[at][0]], header.places[at][1], header),
  );
  return { ...header, steps };
}

export class Tensor {
  constructor(step, memory, offset, { heads, dHead }) {
    Object.assign(this, step, { memory, offset, heads, dHead });
    this.sizes = step.axes.map(({ size }) => size);
    this.letters = step.axes.map(({ letter }) => letter);
    this.axisOf = new Map(this.letters.map((letter, axis) => [letter, axis]));
    this.count = this.sizes.reduce((a, b) => a * b, 1);
    const own = /\.head(\d+)$/.exec(step.name);
    this.onlyHead = own ? Number(own[1]) : null;
    // the channels of the input and of the output belong to no head
    this.ofHeads = !/^(x|out)\b/.test(step.name);
  }

  /** False when its memory was too much to send. */
  get here() {
    return this.memory.length > 0;
  }

  place(index) {
    return index.reduce((at, own, axis) => at + own * this.strides[axis], this.offset);
  }

  value(index) {
    return this.memory[this.place(index)];
  }

  axis(letter) {
    return this.axisOf.get(letter) ?? -1;
  }

  /** The head that an index belongs to, null for none. */
  headOf(index) {
    if (this.onlyHead !== null) return this.onlyHead;
    if (!this.ofHeads) return null;
    if (this.axis("h") >= 0) return index[this.axis("h")];
    return this.axis("c") >= 0 ? Math.floor(index[this.axis("c")] / this.dHead) % this.heads : null;
  }

  /** The matrix of one head: {rows, cols: {axis, size, first}}, `index(i, j)` of its cells. */
  plane(head) {
    const rows = this.axis("i") >= 0 ? "i" : "j";
    const cols = this.axis("i") >= 0 && this.axis("j") >= 0 ? "j" : this.axis("d") >= 0 ? "d" : "c";
    const [rowAxis, colAxis, headAxis] = [this.axis(rows), this.axis(cols), this.axis("h")];
    const first = cols === "c" ? head * this.dHead : 0;
    const index = (i, j) => {
      const at = new Array(this.sizes.length).fill(0);
      if (headAxis >= 0) at[headAxis] = head;
      at[rowAxis] = i;
      at[colAxis] = first + j;
      return at;
    };
    return {
      rows,
      cols,
      height: this.sizes[rowAxis],
      width: cols === "c" ? this.dHead : this.sizes[colAxis],
      first,
      index,
      stride: this.strides[colAxis],
    };
  }

  /** Calls `visit(place, index)` for every element in reading order; `index` is one array, written over. */
  each(visit) {
    const { sizes, strides } = this;
    const index = new Array(sizes.length).fill(0);
    let place = this.offset;
    for (let n = 0; n < this.count; n++) {
      visit(place, index);
      for (let axis = index.length - 1; axis >= 0; axis--) {
        index[axis] += 1;
        place += strides[axis];
        if (index[axis] < sizes[axis]) break;
        place -= strides[axis] * sizes[axis];
        index[axis] = 0;
      }
    }
  }

  /** The size of a large value, for colours: nine in ten are smaller. */
  get scale() {
    if (this.kept === undefined) {
      const sample = [];
      const stride = Math.max(1, Math.floor(this.memory.length / 4000));
      for (let n = 0; n < this.memory.length; n += stride)
        if (Number.isFinite(this.memory[n])) sample.push(Math.abs(this.memory[n]));
      sample.sort((a, b) => a - b);
      this.kept = sample[Math.floor(0.97 * (sample.length - 1))] || 1;
    }
    return this.kept;
  }

  get isWeights() {
    return this.name.startsWith("weights");
  }

  /** True when the numbers, index by index, are those of another tensor of the same sizes or with its heads merged. */
  holdsTheSameAs(other) {
    if (this.count !== other.count || !this.here || !other.here) return false;
    let same = true;
    other.each((place, index) => {
      if (same && this.memory[this.place(this.matching(other, index))] !== other.memory[place]) same = false;
    });
    return same;
  }

  /** The index here of what lies at `index` in another tensor: by letters, c being h and d in one. */
  matching(other, index) {
    const at = Object.fromEntries(other.letters.map((letter, axis) => [letter, index[axis]]));
    if (at.c !== undefined) Object.assign(at, { h: Math.floor(at.c / this.dHead), d: at.c % this.dHead });
    else if (at.h !== undefined && at.d !== undefined) at.c = at.h * this.dHead + at.d;
    return this.letters.map((letter) => at[letter] ?? 0);
  }
}
