// A recorded tensor as in torch: a storage, and the address of each index in it.

import { unpack } from "../wire/packets.js";

/** @typedef {import("../base/messages.js").TraceHeader & {steps: Tensor[]}} Trace */

/**
 * Unpack a trace (pages/shapes/handlers.py): its header, with the steps as `Tensor`s.
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
 * The index of the step with a name; else of the step that it leads to, else 0. The Python side is `find` in
 * pages/shapes/step_names.py.
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
    // channels of input and output belong to no head
    this.ofHeads = !/^(x|out)\b/.test(this.name);
    this.isWeights = this.name.startsWith("weights") && !this.name.startsWith("weights.exp");
    this.hasKeys = this.axis("i") >= 0 && this.axis("j") >= 0;
    this.sampled = 0;
  }

  /** Whether the memory was sent; it may be too large. */
  get isSent() {
    return this.memory.length > 0;
  }

  place(index) {
    return index.reduce((sum, position, axis) => sum + position * this.strides[axis], this.offset);
  }

  /** A step along an axis from an index, or to the last one: both addresses, and all on the axis. Null for an axis of
   * length 1.
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

  /** The head of an index; null for none. */
  headOf(index) {
    if (this.onlyHead !== null) return this.onlyHead;
    if (!this.ofHeads) return null;
    if (this.axis("h") >= 0) return index[this.axis("h")];
    return this.axis("c") >= 0 ? Math.floor(index[this.axis("c")] / this.dHead) % this.heads : null;
  }

  /** The matrix of one head: letters and sizes of its axes, its first channel, and `index(i, j)` and value of a cell. */
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

  /** Call `visit(place, index)` for every element in row-major order; `index` is one reused array. */
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

  /** The scale for colours: the 97th percentile of the magnitudes in a sample. */
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
