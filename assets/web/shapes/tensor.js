// A recorded tensor as torch sees it: a piece of memory, and where in it each index lies.

import { unpack } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").TraceStep} TraceStep */
/** @typedef {import("../base/messages.js").TraceHeader & {steps: Tensor[]}} Trace */

/**
 * A packed trace (pages/shapes/handlers.py): everything of its header, and its steps as `Tensor`s.
 * @returns {Trace}
 */
export function unpackTrace(packed) {
  /** @type {{header: import("../base/messages.js").TraceHeader, body: Uint8Array}} */
  const { header, body } = unpack(packed);
  const floats = new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4);
  let end = 0;
  const pieces = header.pieces.map((length) => {
    end += length;
    return floats.subarray(end - length, end);
  });
  const steps = header.steps.map((step, index) => {
    const [piece, offset] = header.places[index];
    return new Tensor(step, pieces[piece], offset, header);
  });
  return { ...header, steps };
}

/**
 * The place of the step of that name; where there is none, of the one that it leads to, or the first.
 * The other side is `find` in pages/shapes/step_names.py.
 */
export function findStep(steps, name, head) {
  const exact = name.replace(/\.head\d+$/, `.head${head}`);
  const base = name.split(".")[0];
  const names = steps.map((step) => step.name);
  return Math.max(0, names.indexOf([exact, base, base[0]].find((candidate) => names.includes(candidate))));
}

const Step = /** @type {new () => TraceStep} */ (/** @type {unknown} */ (Object));

export class Tensor extends Step {
  constructor(step, memory, offset, { heads, dHead }) {
    super();
    Object.assign(this, step);
    this.memory = /** @type {Float32Array} */ (memory);
    this.offset = offset;
    this.heads = heads;
    this.dHead = dHead;
    this.sizes = this.axes.map(({ size }) => size);
    this.letters = this.axes.map(({ letter }) => letter);
    this.axisOf = new Map(this.letters.map((letter, axis) => [letter, axis]));
    this.count = this.sizes.reduce((a, b) => a * b, 1);
    const head = /\.head(\d+)$/.exec(this.name);
    this.onlyHead = head ? Number(head[1]) : null;
    // the channels of the input and of the output belong to no head
    this.ofHeads = !/^(x|out)\b/.test(this.name);
    this.isWeights = this.name.startsWith("weights") && !this.name.startsWith("weights.exp");
    this.hasKeys = this.axis("i") >= 0 && this.axis("j") >= 0;
    this.sampled = 0;
  }

  /** False when its memory was too much to send. */
  get isSent() {
    return this.memory.length > 0;
  }

  place(index) {
    return index.reduce((sum, position, axis) => sum + position * this.strides[axis], this.offset);
  }

  /** A step along an axis from an index, or to the last one: the places of both, and of all along the axis.
   * Null where there is no second one.
   */
  jump(index, axis) {
    const size = this.sizes[axis];
    if (size < 2) return null;
    const placeOf = (position) => this.place(index.with(axis, position));
    const first = Math.min(index[axis], size - 2);
    return {
      first,
      from: placeOf(first),
      to: placeOf(first + 1),
      places: Array.from({ length: size }, (_, position) => placeOf(position)),
    };
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

  /** The matrix of one head: its axes' letters and sizes, the channel it begins at, and of a cell `index(i, j)` and value. */
  plane(head) {
    const rows = this.axis("i") >= 0 ? "i" : "j";
    const cols = this.hasKeys ? "j" : this.axis("d") >= 0 ? "d" : "c";
    const [rowAxis, colAxis, headAxis] = [this.axis(rows), this.axis(cols), this.axis("h")];
    const first = cols === "c" ? head * this.dHead : 0;
    const index = (i, j) => {
      const place = new Array(this.sizes.length).fill(0);
      if (headAxis >= 0) place[headAxis] = head;
      place[rowAxis] = i;
      place[colAxis] = first + j;
      return place;
    };
    const width = cols === "c" ? this.dHead : this.sizes[colAxis];
    const from = this.place(index(0, 0));
    const [down, across] = [this.strides[rowAxis], this.strides[colAxis]];
    const value = (/** @type {number} */ i, /** @type {number} */ j) => this.memory[from + i * down + j * across];
    return { rows, cols, height: this.sizes[rowAxis], width, first, index, value };
  }

  /** Calls `visit(place, index)` for every element in reading order; `index` is one array, written over. */
  forEach(visit) {
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

  /** The size of a large value, for colours: 97 of 100 are smaller, in a sample. */
  get scale() {
    if (!this.sampled) {
      const stride = Math.max(1, Math.floor(this.memory.length / 4000));
      const sample = this.memory
        .filter((value, n) => n % stride === 0 && Number.isFinite(value))
        .map(Math.abs)
        .sort();
      this.sampled = sample[Math.floor(0.97 * (sample.length - 1))] || 1;
    }
    return this.sampled;
  }
}
