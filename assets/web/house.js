// Brand, theme switch, style sheet and type size: what every page of the house shares.

import { themeOf } from "./colour.js";
import { h, setText } from "./dom.js";

const PAGE_LINK = '[data-testid="stPageLink-NavLink"]';
const storeOf = (path) => `stActiveTheme-${path}-v2`; // where Streamlit 1.67 keeps the theme that a visitor chose, page by page

// Streamlit writes a page switch as several history entries, the page and then one a control: those that stay on the
// page belong to the first. What a control says adds no entry of its own. Just before a switch it may take what only
// the page that is left knows out of the address; Back must find it there again.
const AT_ONCE = 1000; // ms
const push = history.pushState.bind(history);
let left = null; // the address before keys were taken out of it, and when that was
history.pushState = (state, title, url) => {
  const next = new URL(url ?? "", location.href);
  if (next.pathname === location.pathname) {
    const lost = [...new URL(location.href).searchParams.keys()].some((key) => !next.searchParams.has(key));
    if (lost) left = { url: location.href, at: performance.now() };
    history.replaceState(state, title, url);
    return;
  }
  if (left && performance.now() - left.at < AT_ONCE) history.replaceState(history.state, "", left.url);
  left = null;
  push(state, title, url);
  document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0); // another page begins at its top
};

// Streamlit keeps the query of a page link to itself; opened in another tab the link must say it too.
const addresses = new WeakMap(); // page link -> its address as Streamlit wrote it, and as it stands there now
function completeLink({ target }) {
  const link = target.closest?.(PAGE_LINK);
  if (!link) return;
  const [given, own] = addresses.get(link) ?? [];
  const now = link.getAttribute("href");
  const from = now === own ? given : now;
  const [page, kept] = from.split("?");
  const url = new URL(page || "./", location.href);
  url.search = [location.search.slice(1), kept].filter(Boolean).join("&");
  link.setAttribute("href", url.href);
  addresses.set(link, [from, url.href]);
}
for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, completeLink, true);

/** What the link said and could not be used must not stay in it. */
function forget(keys) {
  const url = new URL(location.href);
  if (!keys.some((key) => url.searchParams.has(key))) return;
  for (const key of keys) url.searchParams.delete(key);
  history.replaceState(history.state, "", url);
}

export default function house({ data, parentElement }) {
  if (!document.querySelector(`link[href="${data.css}"]`))
    document.head.append(h("link", { rel: "stylesheet", href: data.css }));
  const icon = document.querySelector("link[rel~='icon']");
  if (icon) icon.href = new URL("./icon.svg", import.meta.url).href;
  document.documentElement.lang = "en";
  let brand = parentElement.querySelector(".brand");
  if (!brand) {
    brand = h(
      "div",
      { class: "brand" },
      h("span", { class: "lens", "aria-hidden": "true" }),
      h("h1", {}, "Headlight"),
      h("button", { type: "button", class: "jump" }, "controls"),
      h("button", { type: "button", class: "theme" }),
    );
    parentElement.append(brand);
    brand.querySelector(".jump").onclick = () =>
      document.querySelector(".st-key-rail").scrollIntoView({ block: "start" });
    brand.querySelector(".theme").onclick = () => {
      const chosen = JSON.stringify(themeOf(parentElement) === "light" ? "Dark" : "Light");
      const paths = [...document.querySelectorAll(PAGE_LINK)].map(
        (link) => new URL(link.getAttribute("href") || "./", location.href).pathname,
      );
      for (const path of [location.pathname, ...paths]) localStorage.setItem(storeOf(path), chosen);
      location.reload(); // the whole state is in the link
    };
  }
  setText(brand.querySelector(".theme"), themeOf(parentElement) === "light" ? "dark theme" : "light theme");
}

/** What is known only when a page has been made: the type size, and what must leave the address. */
export function manners({ data }) {
  document.documentElement.style.fontSize = data.large ? "21px" : "";
  forget(data.unusable.split(" ").filter(Boolean));
}
