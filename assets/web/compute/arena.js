// The arena of a model's numbers, and the product of matrices in it, where nearly all of the time goes: WebAssembly
// (product.wat), or plain loops where the browser has none or the page's policy forbids it.

import { PLAIN, RELAXED } from "./kernel.js";

/** Sizes of a product, in floats; a stride is the distance between two rows, by default their length.
 * @typedef {{rows: number, columns: number, depth: number} & {[stride in "xStride" | "wStride" | "yStride"]?: number}}
 *   Sizes */

/** Memory of fixed size, in which arrays are allocated one behind the other. */
export class Arena {
  /** @param {number} length in floats: the sum of `roomFor` of all that will be allocated @param {boolean} wasm */
  constructor(length, wasm = true) {
    this.used = 4; // the kernel takes address 0 for no array
    const bytes = 4 * (length + this.used);
    const module = wasm ? compiledKernel() : null;
    /** @type {Function | null} */
    this.kernel = null;
    /** @type {ArrayBuffer} */
    this.buffer = new ArrayBuffer(module ? 0 : bytes);
    if (!module) return;
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / 2 ** 16) });
    this.buffer = memory.buffer;
    this.kernel = /** @type {any} */ (new WebAssembly.Instance(module, { headlight: { memory } }).exports).product;
  }

  /** @param {number} length */
  allocate(length) {
    const values = new Float32Array(this.buffer, 4 * this.used, length);
    this.used += roomFor(length);
    return values;
  }

  /** Compute y = x wᵀ + bias: y (rows, columns), x (rows, depth), w (columns, depth); all in this arena.
   * @param {Float32Array} x @param {Float32Array} w @param {Float32Array | undefined} bias @param {Float32Array} y
   * @param {Sizes} sizes */
  matmul(x, w, bias, y, { rows, columns, depth, xStride = depth, wStride = depth, yStride = columns }) {
    if (!this.kernel || depth % 4)
      return matmulInScript(x, w, bias, y, [rows, columns, depth, xStride, wStride, yStride]);
    const addresses = [x.byteOffset, w.byteOffset, bias?.byteOffset ?? 0, y.byteOffset];
    this.kernel(...addresses, rows, columns, depth, 4 * xStride, 4 * wStride, 4 * yStride);
  }
}

/** Round a length up, so that each array begins at a multiple of 16 bytes. @param {number} length */
export const roomFor = (length) => (length + 3) & ~3;

/** The product in JavaScript. @param {Float32Array} x @param {Float32Array} w @param {Float32Array | undefined} bias
 * @param {Float32Array} y @param {number[]} sizes */
function matmulInScript(x, w, bias, y, [rows, columns, depth, xStride, wStride, yStride]) {
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      const [xStart, wStart] = [row * xStride, column * wStride];
      let sum = bias ? bias[column] : 0;
      for (let k = 0; k < depth; k++) sum += x[xStart + k] * w[wStart + k];
      y[row * yStride + column] = sum;
    }
  }
}

/** @type {WebAssembly.Module | null | undefined} */
let kernel;

/** The kernel with fused multiplication and addition, or the one without, or none. */
function compiledKernel() {
  if (kernel !== undefined) return kernel;
  kernel = null;
  for (const code of [RELAXED, PLAIN]) {
    try {
      kernel ??= new WebAssembly.Module(Uint8Array.from(atob(code), (character) => character.charCodeAt(0)));
    } catch {} // the browser does not know these instructions, or the page's policy forbids WebAssembly
  }
  return kernel;
}
