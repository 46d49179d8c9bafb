// The navigation bar: brand, groups of pages, model and device, Share, projector and theme; below them the pages of the
// current group as tabs. It is outside Streamlit's elements, there from the first frame, and survives page changes.

import { addressOf, PAGES, pageNow } from "../link/navigation.js";
import { makeOpener, makeSheet } from "./control_sheet.js";
import { makeFullLink } from "./embedding.js";
import { button, div, h, render, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { lettersAct, switchLetters } from "../base/grid_keys.js";
import { pickers } from "./pickers.js";
import { listen, switchProjector } from "./projector.js";
import { makeSearch } from "./search.js";
import { share } from "./share.js";
import { store, stored } from "../base/storage.js";
import { explain, forgetTerms } from "../base/terms.js";

const ID = "headlight-bar";
/** The button of Share while it is open; null otherwise. @returns {HTMLElement | null} */
const openedShare = () => document.querySelector(`#${ID} .share-place > [aria-expanded="true"]`);
const storeOf = (/** @type {string} */ path) => `stActiveTheme-${path}-v2`; // where Streamlit 1.67 stores the user's theme, per page

/** The theme that the user chose for this page, "null" without one. */
export const savedTheme = () => String(stored("localStorage", storeOf(location.pathname))).toLowerCase();

/** Close Share, unless it contains the target. @param {EventTarget | null} target */
function close(target = null) {
  const opener = openedShare();
  if (opener && !(target instanceof Node && opener.parentElement?.contains(target)))
    setAttribute(opener, "aria-expanded", "false");
}

function switchTheme() {
  const theme = document.getElementById(ID)?.className === "light" ? "Dark" : "Light";
  for (const path of [location.pathname, ...PAGES.map(({ path }) => addressOf(path))])
    store("localStorage", storeOf(path), theme);
  if (dispatchEvent(new CustomEvent("headlight-theme", { detail: theme.toLowerCase(), cancelable: true })))
    location.reload(); // Streamlit reads it once
}

/** The first tab stop: a skip link past the bar. */
function makeSkip() {
  const onclick = (/** @type {MouseEvent} */ event) => {
    event.preventDefault(); // the address belongs to the picture
    document.getElementById("stMain")?.focus();
  };
  return h("a", { class: "skip", href: "#stMain", onclick }, "Skip to main content");
}

/** The second tab stop: a switch for single-character shortcuts, for speech input and accidental keys (WCAG 2.1.4). */
function makeLetters() {
  const title = "P, N, B, /, those of the projector, of lessons and of rooms";
  const name = () => `Single-key shortcuts: ${lettersAct() ? "on" : "off"}`;
  const act = () => {
    switchLetters();
    setText(press, name());
  };
  const press = button(name(), act, { class: "skip", title });
  return press;
}

/** Move along the groups or the tabs with the arrow keys. @param {KeyboardEvent} event */
function walk(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const links = [...(target.closest("nav")?.querySelectorAll("a") ?? [])];
  const now = links.indexOf(/** @type {HTMLAnchorElement} */ (target));
  const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: -1 }[event.key];
  if (now < 0 || next === undefined) return;
  event.preventDefault();
  links.at(next % links.length)?.focus();
}

/** Close Share with Escape and return the focus to its button. @param {KeyboardEvent} event */
function leave({ key }) {
  const open = openedShare();
  if (key !== "Escape" || !open) return;
  close();
  open.focus();
}

/** Show the tabs of the current group, copy the query of the address into the links, and mark the current page. */
function follow() {
  const bar = /** @type {HTMLElement} */ (document.getElementById(ID));
  const { path, group } = document.getElementById("headlight-unknown") ? { path: null, group: "" } : pageNow();
  const pages = PAGES.filter((page) => group && page.group === group);
  const tabs = /** @type {HTMLElement} */ (bar.querySelector(".tabs"));
  Object.assign(document.documentElement.dataset, { page: path ?? "", tabs: pages.length > 1 });
  tabs.ariaLabel = group;
  const links = pages.map(({ path, title }) => ["a", { "data-path": path }, title]);
  render(tabs, ...(links.length > 1 ? links : []));
  for (const link of bar.querySelectorAll("a[data-path]")) {
    const linkPath = link.getAttribute("data-path") ?? "";
    setAttribute(link, "href", addressOf(linkPath) + location.search);
    const isGroup = link.matches(".groups a") && link.textContent === group;
    setAttribute(link, "aria-current", linkPath === path ? "page" : isGroup ? "true" : null);
  }
}

function make() {
  const isFirst = ({ group }, index) => group && PAGES.findIndex((page) => page.group === group) === index;
  const groups = PAGES.filter(isFirst).map(({ path, group }) => h("a", { "data-path": path }, group));
  const lens = h("span", { class: "lens", "aria-hidden": "true" });
  const home = h("a", { class: "home", "data-path": "", "aria-label": "Headlight" }, lens, h("span", {}, "Headlight"));
  const projector = button("Projector", switchProjector, {
    class: "projector-switch",
    title: "enlarges one picture to the whole window (key P; Escape leaves)",
  });
  projector.append(h("kbd", { "aria-hidden": "true" }, "P"));
  const bar = h(
    "header",
    { id: ID },
    makeSkip(),
    makeLetters(),
    makeFullLink(),
    home,
    h("nav", { class: "groups", "aria-label": "Pages" }, ...groups),
    h("nav", { class: "tabs" }),
    span("push"),
    makeSearch(),
    pickers,
    share,
    makeOpener(),
    projector,
    button("", switchTheme, { class: "theme" }),
  );
  for (const come of ["pointerdown", "focusin"]) document.addEventListener(come, ({ target }) => close(target));
  addEventListener("headlight-leave", () => close());
  addEventListener("keydown", leave);
  addEventListener("headlight-address", follow);
  addEventListener("popstate", follow);
  bar.addEventListener("keydown", walk);
  listen();
  return bar;
}

/** The title of a page: the question that it answers, and how to read it. @param {Page} page */
export function makeTitle({ question, line }) {
  const words = h("p");
  forgetTerms();
  explain(words, line);
  return div("question", h("h1", {}, question), words);
}

/** Insert the bar, once, in this theme. @param {"dark" | "light"} theme */
export function drawBar(theme) {
  let bar = document.getElementById(ID);
  if (!bar) {
    bar = make();
    document.body.prepend(bar, makeSheet());
    follow();
  }
  setAttribute(bar, "class", theme);
  document.documentElement.style.colorScheme = theme; // also for the lists that Streamlit adds to the body
  const other = theme === "light" ? "dark theme" : "light theme";
  const switcher = /** @type {HTMLElement} */ (bar.querySelector(".theme"));
  setAttributes(switcher, { "aria-label": other, title: other });
  setText(switcher, theme === "light" ? "☾" : "☀");
}
