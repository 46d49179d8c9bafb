// Reads and writes the link: the address and, if it is too long for a browser, the history state, which keeps the rest
// for Back and reload. No other module writes addresses.

import { LEFT_OUT, MAX_LINK_BYTES } from "../base/facts.js";

export const OF_ONE_MODEL = ["at", "look"]; // parameters that name its heads
export const OF_RIGHT_MODEL = ["at2", "off2"]; // the same for another right model

/** Whether this module is writing the address; all other writes are Streamlit's. */
export const writing = { isOurs: false };

/** The user's acts: a held key is one, and so is a click or a text that neither pointer nor key made. */
const acts = { now: 0, entered: 0, isHeld: false };
/** @param {any} event */
const count = ({ type, repeat = acts.isHeld, detail }) => {
  acts.isHeld = repeat;
  if (!repeat && type !== "keyup" && !(type === "click" && detail)) acts.now += 1;
};
for (const type of ["pointerdown", "keydown", "keyup", "beforeinput", "click"])
  globalThis.addEventListener?.(type, count, true); // the tests in Node have no window
globalThis.addEventListener?.("popstate", () => enter());

/** Return whether the user's act has no history entry yet. */
export const isNewAct = () => acts.now !== acts.entered;

/** Note that the act has its entry. */
export const enter = () => {
  acts.entered = acts.now;
};

/** Return whether Back undoes an act on this page. */
export const canUndo = () => Boolean(history.state?.undoes);

/** Write a history entry.
 * @param {"pushState" | "replaceState"} kind @param {object | null} state @param {URL | string} url */
export function setHistory(kind, state, url) {
  writing.isOurs = true;
  history[kind](state, "", url);
  writing.isOurs = false;
  if (kind === "pushState") enter();
}

const { navigation } = /** @type {any} */ (globalThis);
const tell = () => dispatchEvent(new Event("headlight-address"));
navigation?.addEventListener("currententrychange", tell); // also for Streamlit's writes

/** @param {URLSearchParams} params @param {string} key @param {string | string[] | null} value */
export function setParam(params, key, value) {
  const values = value === null ? [] : [value].flat();
  if (JSON.stringify(params.getAll(key)) === JSON.stringify(values)) return; // unchanged: keeps its position
  params.delete(key);
  for (const item of values) params.append(key, item);
}

/** The query as text without some parameters. @param {URLSearchParams} query @param {...string} keys */
export function omit(query, ...keys) {
  const rest = new URLSearchParams(query);
  for (const key of keys) rest.delete(key);
  return String(rest);
}

/** The parameters of this history entry: its address and what was too long for it. */
export function read() {
  const link = new URLSearchParams(location.search);
  for (const [key, text] of Object.entries(history.state?.leftOut ?? {})) if (!link.has(key)) link.set(key, text);
  return link;
}

/** The parameters that the address omits. @returns {string[]} */
export const leftOut = () => Object.keys(history.state?.leftOut ?? {});

/** The longest address of these parameters that fits, and the omitted ones.
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
  return { url: toUrl(), leftOut: left };
}

/** Write values that have changed into the address; a new act adds a history entry, which Back undoes.
 * @param {Values} values @param {boolean} [isAct] */
export function write(values, isAct = false) {
  const link = read();
  for (const [key, value] of Object.entries(values)) setParam(link, key, value);
  const { url, ...state } = fitted(new URL(location.href), link);
  const isSame = JSON.stringify(state.leftOut) === JSON.stringify(history.state?.leftOut ?? {});
  if (isSame && url.href === location.href) return;
  const isNew = isAct && isNewAct();
  setHistory(isNew ? "pushState" : "replaceState", { ...state, undoes: isNew || canUndo() }, url);
  if (!navigation) tell();
}

/** Push an address as a new history entry. @param {URL} address */
export function push(address) {
  const { url, ...state } = fitted(address, address.searchParams);
  setHistory("pushState", state, url);
}
