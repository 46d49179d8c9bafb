// Brand, theme switch, style sheet and type size: what every page of the house shares.

import { themeOf } from "./colour.js";
import { h, setText } from "./dom.js";

const STORE = `stActiveTheme-${location.pathname}-v2`; // where Streamlit 1.67 keeps the theme that a visitor chose

// Streamlit writes a page switch as several history entries, the page and then one a control: those that stay on the
// page belong to the first. What a control says adds no entry of its own.
const push = history.pushState.bind(history);
history.pushState = (state, title, url) => {
  if (new URL(url ?? "", location.href).pathname === location.pathname) history.replaceState(state, title, url);
  else push(state, title, url);
};

// Streamlit keeps the query of a page link to itself; opened in another tab the link must say it too.
const addresses = new WeakMap(); // page link -> its address as Streamlit wrote it, and as it stands there now
function completeLink({ target }) {
  const link = target.closest?.('[data-testid="stPageLink-NavLink"]');
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

export default function house({ data, parentElement }) {
  if (!document.querySelector(`link[href="${data.css}"]`)) document.head.append(h("link", { rel: "stylesheet", href: data.css }));
  const icon = document.querySelector("link[rel~='icon']");
  if (icon) icon.href = new URL("./icon.svg", import.meta.url).href;
  document.documentElement.lang = "en";
  document.documentElement.style.fontSize = data.large ? "21px" : "";
  let brand = parentElement.querySelector(".brand");
  if (!brand) {
    brand = h("div", { class: "brand" }, h("span", { class: "lens", "aria-hidden": "true" }), h("h1", {}, "Headlight"), h("button", { type: "button" }));
    parentElement.append(brand);
    brand.querySelector("button").onclick = () => {
      localStorage.setItem(STORE, JSON.stringify(themeOf(parentElement) === "light" ? "Dark" : "Light"));
      location.reload(); // the whole state is in the link
    };
  }
  setText(brand.querySelector("button"), themeOf(parentElement) === "light" ? "dark theme" : "light theme");
}
