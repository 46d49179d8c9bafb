// @ts-check
// What every page of the house shares: its question, the bar, the address, and the projector.

import { drawBar, makeTitle } from "./bar.js";
import { themeOf } from "./colour.js";
import { openSheet } from "./control_sheet.js";
import { h, PAGE_LINK } from "./dom.js";
import { AWAY } from "./leaving.js";
import { pageAt, pageNow } from "./page_list.js";
import { isPressedAgain, sayLarge } from "./projector.js";

// Streamlit writes a page switch as several history entries, the page and then one a control: those that stay on the
// page belong to the first. What a control says adds no entry of its own. Just before a switch it may take what only
// the page that is left knows out of the address, or write into it what only the next one says; Back must find the
// address as the visitor left it.
const push = history.pushState.bind(history);
const replace = history.replaceState.bind(history);
const tell = () => dispatchEvent(new Event("headlight-address")); // views follow what the controls beside them say
let left = ""; // the address before the server took keys out of it, or wrote the next page's, since the visitor's last act
let leaving = false; // that act was on a page link: a second one, while the switch lasts, belongs to it
let byBar = false; // on one of the bar, which takes along all that the address says
const newAct = ({ target, isTrusted }) => {
  const onLink = target instanceof Element && target.closest(AWAY) !== null;
  const onBar = target instanceof Element && target.closest("#headlight-bar") !== null;
  if (isTrusted) byBar = onBar;
  if (onBar && !onLink) return; // opens the way to a link
  if (!(onLink && leaving)) left = "";
  leaving = onLink;
};
for (const act of ["pointerdown", "keydown", "click"]) document.addEventListener(act, newAct, true);
addEventListener("popstate", () => {
  left = ""; // of the page before Back, in place of the one that is there now
  leaving = false;
});
history.replaceState = (state, title, url) => {
  replace(state, title, url);
  tell();
};
history.pushState = (state, title, url) => {
  const next = new URL(url ?? "", location.href);
  if (next.pathname === location.pathname) {
    const lost = [...new URL(location.href).searchParams.keys()].some((key) => !next.searchParams.has(key));
    if (lost || leaving) left ||= location.href;
    history.replaceState(state, title, url);
    return;
  }
  if (left) history.replaceState(history.state, "", left);
  left = "";
  leaving = false;
  // a page that was left before all its controls were there has not told Streamlit of all of them
  const now = new URL(location.href).searchParams;
  for (const key of byBar ? new Set(now.keys()) : [])
    if (!next.searchParams.has(key)) for (const value of now.getAll(key)) next.searchParams.append(key, value);
  push(state, title, byBar ? next.href : url);
  document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0); // another page begins at its top
};

// Streamlit keeps the query of a page link to itself; opened in another tab the link must say it too.
/** A page link -> its address as Streamlit wrote it, and as it stands there now. @type {WeakMap<Element, string[]>} */
const addresses = new WeakMap();

function completeLink({ target }) {
  const link = target instanceof Element && target.closest(PAGE_LINK);
  if (!link) return;
  const [given, own] = addresses.get(link) ?? [];
  const now = link.getAttribute("href") ?? "";
  const from = now === own ? given : now;
  const [page, kept] = from.split("?");
  const url = new URL(page || "./", location.href);
  url.search = [location.search.slice(1), kept].filter(Boolean).join("&");
  link.setAttribute("href", url.href);
  addresses.set(link, [from, url.href]);
}
for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, completeLink, true);

/** What the link said and could not be used must not stay in it. @param {string[]} keys */
function forget(keys) {
  const url = new URL(location.href);
  if (!keys.some((key) => url.searchParams.has(key))) return;
  for (const key of keys) url.searchParams.delete(key);
  history.replaceState(history.state, "", url);
}

/** Takes the question of the page that was left away: Streamlit does so when the new one's script has come to its end.
 * @param {HTMLElement} here
 */
function forgetOthers(here) {
  for (const question of document.querySelectorAll(".st-key-stage .question")) {
    const place = /** @type {HTMLElement} */ (question.parentElement);
    if (place === here) continue;
    delete place.dataset.path;
    question.remove();
  }
}

/** @param {{data: {css: string, path: string}, parentElement: HTMLElement}} component */
export default function frame({ data, parentElement }) {
  // behind Streamlit's own styles; the page has it too, before them
  if (!document.querySelector("link.house"))
    document.head.append(h("link", { rel: "stylesheet", class: "house", href: data.css }));
  document.querySelector("link[rel~='icon']")?.setAttribute("href", new URL("./icon.svg", import.meta.url).href);
  document.documentElement.lang = "en";
  const page = pageAt(data.path);
  if (parentElement.dataset.path !== data.path) {
    openSheet(false);
    parentElement.replaceChildren(makeTitle(page));
  }
  parentElement.dataset.path = data.path;
  if (page === pageNow()) forgetOthers(parentElement);
  drawBar(themeOf(parentElement), page);
}

/** What is known only when a page has been made: the projector, and what must leave the address.
 * @param {{data: {large: boolean, unusable: string}}} component
 */
export function manners({ data }) {
  if (!isPressedAgain(data.large)) {
    document.documentElement.classList.toggle("projector", data.large);
    dispatchEvent(new Event("headlight-projector"));
    sayLarge(data.large); // after a hurried Back, Streamlit no longer writes what its control says
  }
  forget(data.unusable.split(" ").filter(Boolean));
}
