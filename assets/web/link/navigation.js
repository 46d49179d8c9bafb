// The way from one page, or one step of a lesson, to the next. The address says all that the next one needs, so it is
// entered first; then Streamlit is told as Back tells it: by an event of the browser's own, after which the address holds.

import { push, leftOut, setParam, read, setHistory } from "./link.js";
import { addressOf, PAGES } from "../base/page_list.js";

const STAYS = ["big", "embed_options"]; // of the link: how the room sees it, which no page changes
const BAR = "#headlight-bar";
export const MAIN = '[data-testid="stMain"]'; // what scrolls

/** The way to the present page: by the bar, which carries the picture of another page along, or otherwise. */
export const arrival = { byBar: false };
let telling = false;

/** A promise that must settle before a step of a lesson is opened. */
export const prerequisites = { lesson: () => /** @type {Promise<unknown>} */ (Promise.resolve()) };

/** Tell whether the script of a page has run: before that, Streamlit knows no pages. */
const isThere = () => document.querySelector(".st-key-stage") !== null;

const saved = { state: /** @type {object | null} */ (null) };

/** Has everybody, Streamlit too, take over what the address says: a step within the document, which is heard as Back is. */
export function notify() {
  saved.state = history.state;
  telling = true;
  location.replace(`${location.href}#`);
  telling = false;
}
// before anybody else: what is heard is the address itself
addEventListener("popstate", () => {
  arrival.byBar &&= telling; // Back and Forward lead to what was
  if (location.href.endsWith("#")) setHistory("replaceState", saved.state, location.href.slice(0, -1));
});

/** Go to an address of this app, in the same visit. @param {URL | string} address @param {{byBar?: boolean}} [how] */
export function go(address, { byBar = false } = {}) {
  dispatchEvent(new Event("headlight-leave")); // views write what the address does not say yet
  const url = new URL(address, location.href);
  const now = read();
  for (const key of STAYS) if (!url.searchParams.has(key)) setParam(url.searchParams, key, now.getAll(key));
  if (!isThere()) return location.assign(url);
  const isOther = url.pathname !== location.pathname;
  push(url);
  arrival.byBar = byBar;
  notify();
  if (isOther) document.querySelector(MAIN)?.scrollTo(0, 0); // another page begins at its top
}

/** @param {URL} url */
const isOfPage = ({ origin, pathname, hash }) =>
  origin === location.origin && !hash && PAGES.some(({ path }) => addressOf(path) === pathname);

/** A press on any link to a page, wherever it stands, stays in this visit. @param {MouseEvent} event */
function follow(event) {
  const isLink = (/** @type {EventTarget} */ target) => target instanceof Element && target.matches("a[href]");
  const link = /** @type {Element | undefined} */ (event.composedPath().find(isLink));
  const addressed = () => new URL(link?.getAttribute("href") ?? "", document.baseURI);
  if (!link || link.matches("[role=option]") || !isOfPage(addressed())) return; // the search box visits its results itself
  dispatchEvent(new Event("headlight-leave")); // also before another tab: links of the bar say what the address says
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (button || ctrlKey || metaKey || shiftKey || altKey || link.getAttribute("target") === "_blank") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (link.ariaCurrent === "page") return;
  visit(addressed(), link.closest(BAR) !== null);
}
addEventListener("click", follow, true);

/** Go to a page in the same visit; one of a lesson waits for the course. @param {URL} address @param {boolean} byBar */
export function visit(address, byBar) {
  const from = location.href;
  if (byBar) {
    const link = read();
    for (const key of leftOut()) setParam(address.searchParams, key, link.getAll(key));
    document.dispatchEvent(new CustomEvent("headlight-onward", { detail: address.searchParams })); // a view keeps what is its own
  }
  if (!address.searchParams.has("learn")) return go(address, { byBar });
  const begin = () => location.href === from && go(address); // with the lesson, whose curtain comes before the picture
  prerequisites.lesson().then(begin, begin);
}
