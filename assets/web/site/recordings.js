// The responses that `headlight export --site` recorded: files of many responses each, and an index of their requests.
// headlight/website/packs.py writes them. A response that nobody recorded is null.

import { once, urlOf, UserError } from "../base/dom.js";
import { canonicalRequest, indexKey } from "./requests.js";

const FOLDER = "answers";
const INDEX = "index.bin";
const MAX_PACKS = 12; // unpacked ones in memory

/** @typedef {{packs: string[], keys: Record<string, number>, rules: import("./requests.js").Rules}} Index */
/** `places`: key of a request -> offset and length of each piece of its response.
 * @typedef {{places: Record<string, number[]>, bytes: Uint8Array<ArrayBuffer>}} Pack */

/** Name -> the pack, the newest last. @type {Map<string, Promise<Pack>>} */
const packs = new Map();

/** Fetch and unpack a file; some servers unpack it on the way. @param {string} name */
async function fetchFile(name) {
  const lost = () => new UserError("A file of this site cannot be reached; try again.");
  const response = await fetch(urlOf(`${FOLDER}/${name}`)).catch(() => null);
  if (!response?.ok) throw lost();
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const whole = await new Response(stream).arrayBuffer().catch(() => null); // a file that is cut off
  if (!whole) throw new UserError("A file of this site is damaged; reload the page.");
  return new Uint8Array(whole);
}

const index = once(async () => /** @type {Index} */ (JSON.parse(new TextDecoder().decode(await fetchFile(INDEX)))));

/** A pack: a line of JSON with the places of its responses, then their bytes. @param {string} name @returns {Promise<Pack>} */
async function load(name) {
  const whole = await fetchFile(name);
  const end = whole.indexOf(10);
  return { places: JSON.parse(new TextDecoder().decode(whole.subarray(0, end))), bytes: whole.subarray(end + 1) };
}

/** The queries with the same response: while all heads are shown, a head has a response without the kinds of the others.
 * @param {string} route @param {URLSearchParams} query */
function equivalentQueries(route, query) {
  const look = (query.get("look") ?? "").split("_");
  if (route !== "focus" || !look.includes("all")) return [query];
  const plain = new URLSearchParams(query);
  plain.set("look", look.filter((word) => word !== "all").join("_"));
  return [query, plain];
}

/** The bytes of a recorded response, null if this request was not recorded. Throws a `UserError` for a missing file.
 * @param {string} route @param {URLSearchParams} query @returns {Promise<Uint8Array<ArrayBuffer> | null>} */
export async function findRecording(route, query) {
  const { packs: names, keys, rules } = await index();
  const candidates = equivalentQueries(route, query).map((equal) => indexKey(canonicalRequest(route, equal, rules)));
  const key = candidates.find((candidate) => candidate in keys) ?? "";
  const name = names[keys[key]];
  if (!name) return null;
  const pack = packs.get(name) ?? load(name);
  packs.delete(name);
  packs.set(name, pack);
  if (packs.size > MAX_PACKS) packs.delete([...packs.keys()][0]);
  pack.catch(() => packs.delete(name));
  const { places, bytes } = await pack;
  const starts = places[key].filter((_, at) => at % 2 === 0);
  const pieces = starts.map((start, at) => bytes.subarray(start, start + places[key][2 * at + 1]));
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
