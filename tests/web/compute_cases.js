// Runs models of assets/web/compute for tests/core/test_browser_model.py: cases.json of a folder in, results.json and
// results.bin (float32) out.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { openModel } from "../../assets/web/compute/model_file.js";
import { computeRun, tokenize } from "../../assets/web/compute/run.js";

const folder = process.argv[2];
/** @type {Map<string, ReturnType<typeof openModel>>} */
const models = new Map();
/** @type {Float32Array[]} */
const arrays = [];

/** @param {{file: string, wasm: boolean}} place */
function opened({ file, wasm }) {
  const key = `${file} ${wasm}`;
  if (!models.has(key)) models.set(key, openModel(readFileSync(join(folder, file)), { wasm }));
  return /** @type {ReturnType<typeof openModel>} */ (models.get(key));
}

/** The result as values of JSON: an array as its number of floats, which follow in results.bin. @param {any} result */
function packed(result) {
  const entries = Object.entries(result).map(([name, value]) => {
    if (!(value instanceof Float32Array)) return [name, value];
    arrays.push(value);
    return [name, { floats: value.length }];
  });
  return Object.fromEntries(entries);
}

const results = [];
for (const { text, options, ...place } of JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"))) {
  try {
    const model = await opened(place);
    const allow = options?.allow ? Uint8Array.from(options.allow) : null;
    results.push(packed(options ? computeRun(model, text, { ...options, allow }) : tokenize(model, text)));
  } catch (error) {
    results.push({ error: /** @type {Error} */ (error).message });
  }
}
writeFileSync(join(folder, "results.json"), JSON.stringify(results));
writeFileSync(
  join(folder, "results.bin"),
  Buffer.concat(arrays.map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength))),
);
