// Navigation between pages and lesson steps. The new address is pushed first; then Streamlit is notified by a popstate
// event, as after Back, and reads the address. The pages of the site are listed here too.

import { push, leftOut, setParam, read, setHistory } from "./link.js";

const STAYS = ["big", "embed", "embed_options"]; // parameters of the window, kept on every page
const BAR = "#headlight-bar";
export const MAIN = '[data-testid="stMain"]'; // the scroll container

/** How the current page was opened: by the bar, which carries the picture along, or otherwise; and the fragment that the
 * document was opened with, which Streamlit drops.
 */
export const arrival = { byBar: false, fragment: location.hash };
let telling = false;

/** A promise to await before a step of a lesson is opened. */
export const prerequisites = { lesson: () => /** @type {Promise<unknown>} */ (Promise.resolve()) };

/** Return whether a page's script has run; before that Streamlit does not know the pages. */
const isThere = () => document.querySelector(".st-key-stage") !== null;

const saved = { state: /** @type {object | null} */ (null) };

/** Notify every listener, including Streamlit, of the new address by a popstate event. */
export function notify() {
  saved.state = history.state;
  telling = true;
  location.replace(`${location.href}#`);
  telling = false;
}
// registered first, so that `arrival` is set before other listeners read it
addEventListener("popstate", () => {
  arrival.byBar &&= telling; // Back and Forward restore earlier pages
  if (location.href.endsWith("#")) setHistory("replaceState", saved.state, location.href.slice(0, -1));
});

/** Go to an address of this app without a reload. @param {URL | string} address @param {{byBar?: boolean}} [how] */
export function go(address, { byBar = false } = {}) {
  dispatchEvent(new Event("headlight-leave")); // views write pending changes to the address
  const url = new URL(address, location.href);
  const now = read();
  for (const key of STAYS) if (!url.searchParams.has(key)) setParam(url.searchParams, key, now.getAll(key));
  if (!isThere()) return location.assign(url);
  const isOther = url.pathname !== location.pathname;
  push(url);
  arrival.byBar = byBar;
  notify();
  if (isOther) document.querySelector(MAIN)?.scrollTo(0, 0); // a new page starts at its top
}

/** @param {URL} url */
const isOfPage = ({ origin, pathname, hash }) =>
  origin === location.origin &&
  (!hash || pathname !== location.pathname) && // a fragment of this page is the browser's own
  PAGES.some(({ path }) => nameOf(addressOf(path)) === nameOf(pathname));

/** Handle a click on a link to a page without a reload. @param {MouseEvent} event */
function follow(event) {
  const isLink = (/** @type {EventTarget} */ target) => target instanceof Element && target.matches("a[href]");
  const link = /** @type {Element | undefined} */ (event.composedPath().find(isLink));
  const addressed = () => new URL(link?.getAttribute("href") ?? "", document.baseURI);
  if (!link || link.matches("[role=option]") || !isOfPage(addressed())) return; // the search box handles its own results
  dispatchEvent(new Event("headlight-leave")); // also for a new tab: links of the bar contain the address
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (button || ctrlKey || metaKey || shiftKey || altKey || link.getAttribute("target") === "_blank") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (link.ariaCurrent === "page") return;
  visit(addressed(), link.closest(BAR) !== null);
}
addEventListener("click", follow, true);

/** Go to a page; one with a lesson waits for the course. @param {URL} address @param {boolean} byBar */
export function visit(address, byBar) {
  const from = location.href;
  if (byBar) {
    const link = read();
    for (const key of leftOut()) setParam(address.searchParams, key, link.getAll(key));
    document.dispatchEvent(new CustomEvent("headlight-onward", { detail: address.searchParams })); // a view removes its own parameters
  }
  if (!address.searchParams.has("learn")) return go(address, { byBar });
  const begin = () => location.href === from && go(address); // a lesson's curtain must come before the picture
  prerequisites.lesson().then(begin, begin);
}

/** All pages, from headlight/ui/pages.py. @type {Page[]} */
export const PAGES = JSON.parse(document.getElementById("headlight-pages")?.textContent ?? "[]");

/** Whether the pages are files of their own names, without a server that computes. */
export const isSite = PAGES.some(({ file }) => file !== undefined);

/** The link to an address below the root, as "compare?s=…". @param {string} address */
export function linkTo(address) {
  const [path] = address.split(/[?#]/, 1);
  const page = PAGES.find((page) => page.path === path);
  return `./${page?.file ?? path}${address.slice(path.length)}`;
}

/** The URL of a page. @param {string} path */
export const addressOf = (path) => new URL(linkTo(path), document.baseURI).pathname;

/** A pathname without the ending of a file, which some hosts leave out. @param {string} pathname */
const nameOf = (pathname) => pathname.replace(/(?<=\/)index\.html$|\.html$/, "");

/** The page at a path of the server; the home page if there is none. @param {string} address */
export const pageAt = (address) =>
  PAGES.find(({ path }) => path === address) ?? PAGES.find(({ path }) => !path) ?? PAGES[0];

/** The current page. */
export const pageNow = () =>
  PAGES.find(({ path }) => nameOf(addressOf(path)) === nameOf(location.pathname)) ?? pageAt("");
