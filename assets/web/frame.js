// @ts-check
// Brand, theme switch, style sheet and type size: what every page of the house shares.

import { themeOf } from "./colour.js";
import { button, h, setText } from "./dom.js";

const PAGE_LINK = '[data-testid="stPageLink-NavLink"]';
const storeOf = (/** @type {string} */ path) => `stActiveTheme-${path}-v2`; // where Streamlit 1.67 keeps the theme that a visitor chose, page by page

// Streamlit writes a page switch as several history entries, the page and then one a control: those that stay on the
// page belong to the first. What a control says adds no entry of its own. Just before a switch it may take what only
// the page that is left knows out of the address; Back must find it there again.
const push = history.pushState.bind(history);
let left = ""; // the address before keys were taken out of it, since the visitor's last act
let leaving = false; // that act was on a page link: a second one, while the switch lasts, belongs to it
const newAct = ({ target }) => {
  const onLink = target instanceof Element && target.closest(PAGE_LINK) !== null;
  if (!(onLink && leaving)) left = "";
  leaving = onLink;
};
for (const act of ["pointerdown", "keydown", "click"]) document.addEventListener(act, newAct, true);
history.pushState = (state, title, url) => {
  const next = new URL(url ?? "", location.href);
  if (next.pathname === location.pathname) {
    const lost = [...new URL(location.href).searchParams.keys()].some((key) => !next.searchParams.has(key));
    if (lost) left ||= location.href;
    history.replaceState(state, title, url);
    return;
  }
  if (left) history.replaceState(history.state, "", left);
  left = "";
  leaving = false;
  push(state, title, url);
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

/** The brand and the theme switch. @param {HTMLElement} parent */
function makeBrand(parent) {
  const jump = () => document.querySelector(".st-key-rail")?.scrollIntoView({ block: "start" });
  const switchTheme = () => {
    const chosen = JSON.stringify(themeOf(parent) === "light" ? "Dark" : "Light");
    const pages = [...document.querySelectorAll(PAGE_LINK)].map((link) => link.getAttribute("href") || "./");
    for (const page of [location.href, ...pages])
      localStorage.setItem(storeOf(new URL(page, location.href).pathname), chosen);
    location.reload(); // the whole state is in the link
  };
  const lens = h("span", { class: "lens", "aria-hidden": "true" });
  const buttons = [button("controls", jump, { class: "jump" }), button("", switchTheme, { class: "theme" })];
  parent.append(h("div", { class: "brand" }, lens, h("h1", {}, "Headlight"), ...buttons));
}

/** @param {{data: {css: string}, parentElement: HTMLElement}} component */
export default function frame({ data, parentElement }) {
  if (!document.querySelector(`link[href="${data.css}"]`))
    document.head.append(h("link", { rel: "stylesheet", href: data.css }));
  document.querySelector("link[rel~='icon']")?.setAttribute("href", new URL("./icon.svg", import.meta.url).href);
  document.documentElement.lang = "en";
  if (!parentElement.querySelector(".brand")) makeBrand(parentElement);
  const theme = parentElement.querySelector(".brand .theme");
  if (theme) setText(theme, themeOf(parentElement) === "light" ? "dark theme" : "light theme");
}

/** What is known only when a page has been made: the type size, and what must leave the address.
 * @param {{data: {large: boolean, unusable: string}}} component
 */
export function manners({ data }) {
  document.documentElement.style.fontSize = data.large ? "21px" : "";
  forget(data.unusable.split(" ").filter(Boolean));
}
