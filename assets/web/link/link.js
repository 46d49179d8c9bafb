// The link: what the address says, and what a longer one than any browser takes leaves out. An address is written here
// and nowhere else. What it has no room for stays in the entry of the history, for Back and a reload.

import { LEFT_OUT, MAX_LINK_BYTES } from "../base/facts.js";

/** @typedef {Record<string, string | string[] | null>} Values key of the link -> what it says; null or [] = nothing */

export const OF_ONE_MODEL = ["at", "look"]; // keys that name its heads
export const OF_RIGHT_MODEL = ["at2", "off2"]; // of another model on the right side

/** True while we write the address ourselves; other writes are Streamlit's. */
export const writing = { isOurs: false };

/** Write the address. @param {"pushState" | "replaceState"} kind @param {object | null} state @param {URL | string} url */
export function setHistory(kind, state, url) {
  writing.isOurs = true;
  history[kind](state, "", url);
  writing.isOurs = false;
}

const { navigation } = /** @type {any} */ (globalThis);
const tell = () => dispatchEvent(new Event("headlight-address"));
navigation?.addEventListener("currententrychange", tell); // also of what Streamlit writes

/** @param {URLSearchParams} params @param {string} key @param {string | string[] | null} value */
export function setParam(params, key, value) {
  const values = value === null ? [] : [value].flat();
  if (JSON.stringify(params.getAll(key)) === JSON.stringify(values)) return; // where it stands
  params.delete(key);
  for (const item of values) params.append(key, item);
}

/** A query as one text, but for some keys. @param {URLSearchParams} query @param {...string} keys */
export function omit(query, ...keys) {
  const rest = new URLSearchParams(query);
  for (const key of keys) rest.delete(key);
  return String(rest);
}

/** The parameters of this history entry: its address, and those that had no room there. */
export function read() {
  const link = new URLSearchParams(location.search);
  for (const [key, text] of Object.entries(history.state?.leftOut ?? {})) if (!link.has(key)) link.set(key, text);
  return link;
}

/** The names of what the present address leaves out. @returns {string[]} */
export const leftOut = () => Object.keys(history.state?.leftOut ?? {});

/** An address of this app with these values, and what of them it leaves out.
 * @param {URL} url @param {URLSearchParams} link
 */
function fitted(url, link) {
  const [short, left] = [new URLSearchParams(link), /** @type {Record<string, string>} */ ({})];
  const toUrl = () => Object.assign(new URL(url), { search: String(short) });
  for (const key of LEFT_OUT) {
    if (toUrl().search.length <= MAX_LINK_BYTES) break;
    const text = short.get(key);
    if (text !== null) left[key] = text;
    short.delete(key);
  }
  return { url: toUrl(), state: Object.keys(left).length ? { leftOut: left } : null };
}

/** Write into the present address what it says otherwise; a new entry of the history only a page, or a step, makes.
 * @param {Values} values
 */
export function write(values) {
  const link = read();
  for (const [key, value] of Object.entries(values)) setParam(link, key, value);
  const { url, state } = fitted(new URL(location.href), link);
  if (url.href === location.href && !state && !history.state?.leftOut) return;
  setHistory("replaceState", state, url);
  if (!navigation) tell();
}

/** Push this address as a new history entry. @param {URL} address */
export function push(address) {
  const { url, state } = fitted(address, address.searchParams);
  setHistory("pushState", state, url);
}
