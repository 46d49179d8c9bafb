// SHA-256 of bytes: the browser's own, or, on a page that came over plain http, where it has none, this one.

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<string>} 64 hexadecimal digits */
export async function sha256(bytes) {
  const digest = globalThis.crypto?.subtle ? await crypto.subtle.digest("SHA-256", bytes) : ownSha256(bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** SHA-256 as FIPS 180-4 has it. @param {Uint8Array} bytes */
export function ownSha256(bytes) {
  const [constants, state] = [new Int32Array(64), new Int32Array(8)];
  for (let number = 2, count = 0; count < 64; number++) {
    if (!isPrime(number)) continue;
    if (count < 8) state[count] = fraction(number ** (1 / 2));
    constants[count++] = fraction(number ** (1 / 3));
  }
  const tail = new Uint8Array(bytes.length % 64 < 56 ? 64 : 128);
  const whole = bytes.length - (bytes.length % 64);
  tail.set(bytes.subarray(whole));
  tail[bytes.length - whole] = 0x80;
  new DataView(tail.buffer).setBigUint64(tail.length - 8, BigInt(bytes.length) * 8n);
  const words = new Int32Array(64);
  for (const part of [bytes.subarray(0, whole), tail]) {
    const view = new DataView(part.buffer, part.byteOffset, part.byteLength);
    for (let start = 0; start < part.length; start += 64) compress(view, start, words, constants, state);
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, place) => digest.setInt32(4 * place, word));
  return digest.buffer;
}

/** @param {DataView} view @param {number} start @param {Int32Array} w @param {Int32Array} k @param {Int32Array} state */
function compress(view, start, w, k, state) {
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [a, b] = [w[i - 15], w[i - 2]];
    const s0 = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const s1 = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0;
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => {
    state[place] += word;
  });
}

const turn = (/** @type {number} */ word, /** @type {number} */ by) => (word >>> by) | (word << (32 - by));
const fraction = (/** @type {number} */ root) => ((root % 1) * 2 ** 32) | 0;

/** @param {number} number */
function isPrime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}
