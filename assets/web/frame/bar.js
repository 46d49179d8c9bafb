// The navigation bar: brand, pages in groups, model and device, Share, projector and theme. It is outside Streamlit's
// elements, there from the first frame, and survives page changes.

import { addressOf, PAGES, pageNow } from "../link/navigation.js";
import { makeOpener, makeSheet } from "./control_sheet.js";
import { button, div, h, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { lettersAct, switchLetters } from "../base/grid_keys.js";
import { pickers } from "./pickers.js";
import { listen, switchProjector } from "./projector.js";
import { makeSearch } from "./search.js";
import { share } from "./share.js";
import { explain, forgetTerms } from "../base/terms.js";

const ID = "headlight-bar";
const OPENED = ':is(.group > button, .menu, .share-place > button)[aria-expanded="true"]';
const storeOf = (/** @type {string} */ path) => `stActiveTheme-${path}-v2`; // where Streamlit 1.67 stores the user's theme, per page

/** @param {Page} page @param {string} text */
const makeLink = ({ path }, text) => h("a", { class: "page-link", "data-path": path }, text);

/** A menu of the pages of a group; a group of one page is a plain link. @param {string} name @param {Page[]} pages */
function makeGroup(name, pages) {
  if (pages.length === 1) return div("group single", makeLink(pages[0], name), h("span", {}, pages[0].question));
  const items = pages.map((page) => h("li", {}, makeLink(page, page.title), h("span", {}, page.question)));
  const opener = button(name, () => open(opener.getAttribute("aria-expanded") !== "true"), {
    "aria-expanded": "false",
  });
  const element = div("group", opener, h("ul", {}, ...items));
  const open = (/** @type {boolean} */ is) => {
    close();
    setAttribute(opener, "aria-expanded", String(is));
  };
  return element;
}

/** Close the open menus, except one that contains the target. @param {EventTarget | null} target */
function close(target = null) {
  for (const opener of document.querySelectorAll(`#${ID} ${OPENED}`))
    if (!(target instanceof Node && opener.parentElement?.contains(target)))
      setAttribute(opener, "aria-expanded", "false");
}

function switchTheme() {
  const theme = JSON.stringify(document.getElementById(ID)?.className === "light" ? "Dark" : "Light");
  for (const { path } of PAGES) localStorage.setItem(storeOf(addressOf(path)), theme);
  localStorage.setItem(storeOf(location.pathname), theme);
  location.reload();
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

/** Move through the pages of a group, which opens, with the arrow keys; on a phone through all pages.
 * @param {KeyboardEvent} event */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const target = /** @type {HTMLElement} */ (event.target);
  const holder = target.closest(".group") ?? target.closest(".menu");
  if (!step || !holder) return;
  const menu = /** @type {HTMLElement} */ (document.querySelector(`#${ID} .menu`));
  const isPhone = menu.checkVisibility();
  const opener = isPhone ? menu : holder.querySelector("button");
  const links = /** @type {HTMLElement[]} */ ([
    ...(isPhone ? document.querySelectorAll(`#${ID} nav a`) : holder.querySelectorAll("ul a")),
  ]);
  if (!links.length) return;
  event.preventDefault();
  if (opener?.getAttribute("aria-expanded") === "false") opener.click();
  const now = links.indexOf(target);
  const from = now < 0 && step < 0 ? 0 : now;
  links[(from + step + links.length) % links.length].focus();
}

/** Close the open menu with Escape and return the focus to its button. @param {KeyboardEvent} event */
function leave({ key }) {
  const open = /** @type {HTMLElement | null} */ (document.querySelector(`#${ID} ${OPENED}`));
  if (key !== "Escape" || !open) return;
  close();
  open.focus();
}

/** Copy the query of the address into the links, and mark the current page. */
function follow() {
  const bar = /** @type {HTMLElement} */ (document.getElementById(ID));
  const { path, group, title, parent } = pageNow();
  document.documentElement.dataset.page = path;
  for (const link of bar.querySelectorAll("a[data-path]")) {
    const linkPath = link.getAttribute("data-path") ?? "";
    setAttribute(link, "href", addressOf(linkPath) + location.search);
    setAttribute(link, "aria-current", linkPath === (parent || path) ? "page" : null);
  }
  for (const element of bar.querySelectorAll(".group"))
    setAttribute(element, "data-current", element.firstElementChild?.textContent === group ? "" : null);
  setText(bar.querySelector(".menu"), title);
}

function make() {
  const listed = PAGES.filter(({ parent }) => !parent);
  const names = [...new Set(listed.map(({ group }) => group))];
  const pagesOf = (/** @type {string} */ name) => listed.filter(({ group }) => group === name);
  const groups = names.map((name) => makeGroup(name, pagesOf(name)));
  const lens = h("span", { class: "lens", "aria-hidden": "true" });
  const home = h("a", { class: "home", "data-path": "", "aria-label": "Headlight" }, lens, h("span", {}, "Headlight"));
  const menu = button("", () => open(menu.getAttribute("aria-expanded") !== "true"), {
    class: "menu",
    "aria-expanded": "false",
  });
  const open = (/** @type {boolean} */ is) => setAttribute(menu, "aria-expanded", String(is));
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
    home,
    menu,
    h("nav", { "aria-label": "Pages" }, ...groups),
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
