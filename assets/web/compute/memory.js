// The memory of a model's numbers, and the product of matrices in it, where nearly all of the time goes.

/** Memory of fixed size, in floats, from which arrays are taken one behind the other. */
export class Memory {
  /** @param {number} length the sum of `roomFor` of all that will be taken @param {boolean} wasm */
  constructor(length, wasm = true) {
    this.used = 0;
    this.isWasm = wasm && false;
    this.buffer = new ArrayBuffer(4 * length);
  }

  /** @param {number} length */
  take(length) {
    const values = new Float32Array(this.buffer, 4 * this.used, length);
    this.used += roomFor(length);
    return values;
  }

  /** Compute y = x wᵀ + bias: y (rows, columns), x (rows, depth), w (columns, depth).
   * @param {Float32Array} x @param {Float32Array} w @param {Float32Array | undefined} bias @param {Float32Array} y
   * @param {{rows: number, columns: number, depth: number, xStride?: number, wStride?: number, yStride?: number}} sizes
   */
  product(x, w, bias, y, { rows, columns, depth, xStride = depth, wStride = depth, yStride = columns }) {
    for (let column = 0; column < columns; column++) {
      const added = bias ? bias[column] : 0;
      for (let row = 0; row < rows; row++) {
        let sum = 0;
        for (let k = 0; k < depth; k++) sum += x[row * xStride + k] * w[column * wStride + k];
        y[row * yStride + column] = sum + added;
      }
    }
  }
}

/** Round a length up, so that each array begins at a multiple of 16 bytes. @param {number} length */
export const roomFor = (length) => (length + 3) & ~3;
