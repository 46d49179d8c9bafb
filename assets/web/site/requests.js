// The canonical form of a request to the data API and its key in the index of recordings, as
// headlight/website/requests.py writes them. The tables come with the recordings.

import { MODEL } from "../base/facts.js";

/** @typedef {{defaults: Record<string, string | null>, ignored: Record<string, string[]>,
 *   explicit: Record<string, string[]>, display: string[], displayPrefixes: string[], computed: string[]}} Rules */

/** The words of `look` that change the response. @param {string} text @param {Rules} rules */
function readLook(text, { display, displayPrefixes, computed }) {
  const words = text.split("_");
  if (words.some((word) => computed.includes(word))) return text;
  const isDisplay = (/** @type {string} */ word) =>
    display.includes(word) || displayPrefixes.some((start) => word.startsWith(start));
  return words
    .filter((word) => !isDisplay(word))
    .sort()
    .join("_");
}

/** The canonical form of a request: without keys that have no effect and values equal to the default, sorted.
 * @param {string} route @param {URLSearchParams} query @param {Rules} rules */
export function canonicalRequest(route, query, rules) {
  const ignored = rules.ignored[route] ?? rules.ignored[""];
  const isOther = query.getAll("model").some((name) => name !== MODEL);
  const explicit = [...(rules.explicit[route] ?? []), ...(isOther ? ["s"] : [])];
  const pairs = [...query].map(([key, text]) => [key, key === "look" ? readLook(text, rules) : text]);
  const isKept = (/** @type {string[]} */ [key, text]) => {
    if (!(key in rules.defaults) || ignored.includes(key) || (key === "look" && !text)) return false;
    return explicit.includes(key) || query.getAll(key).length > 1 || text !== rules.defaults[key];
  };
  const texts = pairs.filter(isKept).map(([key, text]) => `${key}=${encodeURIComponent(text)}`);
  return `${route}?${texts.sort().join("&")}`;
}

/** The key of a canonical request in the index: 53 bits of cyrb53 in hexadecimal digits. @param {string} request */
export function indexKey(request) {
  let [h1, h2] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < request.length; at += 1) {
    const code = request.charCodeAt(at);
    h1 = Math.imul(h1 ^ code, 2654435761);
    h2 = Math.imul(h2 ^ code, 1597334677);
  }
  h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
  h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
  return (2 ** 32 * (h2 & (2 ** 21 - 1)) + (h1 >>> 0)).toString(16);
}
