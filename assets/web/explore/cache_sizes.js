// The sizes of a KV cache, its bytes, and the kinds of sharing keys and values.

export const SIZES = ["layers", "query heads", "key/value heads", "channels in a head", "tokens", "bytes per number"];
export const KINDS = ["MHA", "GQA", "MQA"];

/** The typed sizes; null if they make no cache. @param {string[]} texts as in SIZES */
export function readSizes(texts) {
  const sizes = texts.map((text) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0));
  return sizes.length === SIZES.length && Math.min(...sizes) && sizes[1] % sizes[2] === 0 ? sizes : null;
}

/** The bytes of a cache. @param {number[]} sizes as in SIZES @param {number} kvHeads */
export const bytesOf = ([layers, , , channels, tokens, size], kvHeads) =>
  (2 * layers * kvHeads * channels * tokens * size).toLocaleString("en");

/** The key/value heads of each of KINDS; sizes without groups have groups of their smallest divisor. @param {number[]} sizes */
export function kindsOf([, heads, kv]) {
  let grouped = kv > 1 && kv < heads ? kv : 2;
  while (grouped < heads && heads % grouped) grouped += 1;
  return [heads, Math.min(grouped, heads), 1];
}
