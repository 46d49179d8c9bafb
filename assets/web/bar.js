// @ts-check
// The bar on top of every page: the brand, the pages in their groups, the projector and the theme. It stands beside
// everything that Streamlit draws, from the first frame on, and stays when the page changes.

import { makeOpener, makeSheet } from "./control_sheet.js";
import { button, h, PAGE_LINK, setAttribute } from "./dom.js";
import { drawLesson } from "./lesson.js";
import { addressOf, PAGES } from "./page_list.js";
import { listenForKeys, switchProjector } from "./projector.js";

/** @typedef {import("./page_list.js").Page} Page */

const ID = "headlight-bar";
const OPENED = ':is(.group > button, .menu)[aria-expanded="true"]';
const LATE = 8000; // ms that a link of Streamlit's is waited for
const STREAMLITS = `.st-key-pages ${PAGE_LINK}`; // its own links, which are not seen: they change the page
const storeOf = (/** @type {string} */ path) => `stActiveTheme-${path}-v2`; // where Streamlit 1.67 keeps the theme that a visitor chose, page by page

/** The page that was pressed last and is not there yet. @type {string | null} */
let wanted = null;
addEventListener("popstate", () => {
  wanted = null;
});

/** Streamlit's own link to a page. @param {string} path */
const linkTo = (path) =>
  /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(STREAMLITS)]).find(
    (link) => new URL(link.getAttribute("href") || "./", location.href).pathname === addressOf(path),
  );

/** What a link of the bar leads to: the page with all that is said here, and what earlier pages left behind.
 * @param {string} path
 */
export function completed(path) {
  const url = new URL(addressOf(path), location.href);
  const [, kept] = (linkTo(path)?.getAttribute("href") ?? "").split("?");
  url.search = [location.search.slice(1), kept].filter(Boolean).join("&");
  return url.href;
}

/** Goes to another page, with all that is said here; false where that takes Streamlit, which is not there yet.
 * @param {string} title
 */
export function goTo(title) {
  const page = PAGES.find((own) => own.title === title);
  const own = page && linkTo(page.path);
  own?.click();
  return Boolean(own);
}

/** A click on a link of the bar is one on Streamlit's, which keeps the visit. @param {MouseEvent} event */
function follow(event) {
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  link.href = completed(link.dataset.path ?? "");
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  close();
  const { path = "" } = link.dataset;
  if (wanted === null ? link.getAttribute("aria-current") === "page" : wanted === path) return;
  wanted = path;
  press(path);
}

/** Presses Streamlit's link to a page, as soon as it is there. @param {string} path @param {number} [since] */
function press(path, since = performance.now()) {
  const own = linkTo(path);
  const waited = performance.now() - since;
  if (own) own.click();
  else if (waited > LATE) location.assign(completed(path));
  else setTimeout(() => press(path, since), 50);
}

/** @param {Page} page @param {string} text */
function makeLink(page, text) {
  const link = h(
    "a",
    { class: "page-link", href: completed(page.path), "data-path": page.path, onclick: follow },
    text,
  );
  for (const kind of ["pointerover", "pointerdown", "focusin"])
    link.addEventListener(kind, () => setAttribute(link, "href", completed(page.path)));
  return link;
}

/** A group that opens to its pages; one that has only one is a link to it. @param {string} name @param {Page[]} pages */
function makeGroup(name, pages) {
  if (pages.length === 1)
    return h("div", { class: "group alone" }, makeLink(pages[0], name), h("span", {}, pages[0].question));
  const items = pages.map((page) => h("li", {}, makeLink(page, page.title), h("span", {}, page.question)));
  const opener = button(name, () => open(opener.getAttribute("aria-expanded") !== "true"), {
    "aria-expanded": "false",
  });
  const element = h("div", { class: "group" }, opener, h("ul", {}, ...items));
  const open = (/** @type {boolean} */ is) => {
    close();
    setAttribute(opener, "aria-expanded", String(is));
  };
  return element;
}

/** Closes what is open. */
function close() {
  for (const opener of document.querySelectorAll(`#${ID} ${OPENED}`)) setAttribute(opener, "aria-expanded", "false");
}

/** The theme of every page; the whole state is in the link. */
function switchTheme() {
  const chosen = JSON.stringify(document.getElementById(ID)?.className === "light" ? "Dark" : "Light");
  for (const { path } of PAGES) localStorage.setItem(storeOf(addressOf(path)), chosen);
  localStorage.setItem(storeOf(location.pathname), chosen);
  location.reload();
}

/** The first that Tab reaches: past the bar, to the page. */
const makeSkip = () =>
  h(
    "a",
    {
      class: "skip",
      href: "#stMain",
      onclick: (/** @type {MouseEvent} */ event) => {
        event.preventDefault(); // the address is the picture's
        document.getElementById("stMain")?.focus();
      },
    },
    "Skip to main content",
  );

/** Arrows walk along the pages of a group, and open it; on a phone along those of all. @param {KeyboardEvent} event */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const at = /** @type {HTMLElement} */ (event.target);
  const holder = at.closest(".group") ?? at.closest(".menu");
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
  const now = links.indexOf(at);
  const from = now < 0 && step < 0 ? 0 : now;
  links[(from + step + links.length) % links.length].focus();
}

/** Escape closes what is open; the focus goes back to what opened it. @param {KeyboardEvent} event */
function leave({ key }) {
  const open = /** @type {HTMLElement | null} */ (document.querySelector(`#${ID} ${OPENED}`));
  if (key !== "Escape" || !open) return;
  close();
  open.focus();
}

function make() {
  const names = [...new Set(PAGES.map(({ group }) => group))];
  const groups = names.map((name) =>
    makeGroup(
      name,
      PAGES.filter(({ group }) => group === name),
    ),
  );
  const lens = h("span", { class: "lens", "aria-hidden": "true" });
  const home = h(
    "a",
    { class: "home", href: "./", "data-path": "", "aria-label": "Headlight", onclick: follow },
    lens,
    h("span", {}, "Headlight"),
  );
  const menu = button("", () => open(menu.getAttribute("aria-expanded") !== "true"), {
    class: "menu",
    "aria-expanded": "false",
  });
  const open = (/** @type {boolean} */ is) => setAttribute(menu, "aria-expanded", String(is));
  const projector = button("Projector", switchProjector, {
    class: "projector-switch",
    title: "one picture as large as the window allows: P; Escape leaves it",
  });
  projector.append(h("kbd", { "aria-hidden": "true" }, "P"));
  const bar = h(
    "header",
    { id: ID },
    makeSkip(),
    home,
    menu,
    h("nav", { "aria-label": "Pages" }, ...groups),
    h("span", { class: "push" }),
    h("span", { class: "share-room", "aria-hidden": "true" }),
    makeOpener(),
    projector,
    button("", switchTheme, { class: "theme" }),
  );
  document.addEventListener("pointerdown", ({ target }) => {
    if (!(target instanceof Node && bar.contains(target))) close();
  });
  bar.addEventListener("keydown", walk);
  bar.addEventListener("keydown", leave);
  listenForKeys();
  return bar;
}

/** The question that a page answers, and how to read it. @param {Page} page */
export const makeTitle = ({ question, line }) =>
  h("div", { class: "question" }, h("h1", {}, question), h("p", {}, line));

/** Puts the bar there once, and says which page it is. @param {"dark" | "light"} theme @param {Page} page */
export function drawBar(theme, { path, title, group }) {
  let bar = document.getElementById(ID);
  if (!bar) {
    bar = make();
    document.body.prepend(bar, makeSheet());
  }
  if (path === wanted) wanted = null;
  setAttribute(bar, "class", theme);
  document.documentElement.style.colorScheme = theme; // also for what Streamlit hangs on the body: Share, lists
  for (const link of bar.querySelectorAll(".page-link")) {
    const isNow = link.getAttribute("data-path") === path;
    setAttribute(link, "aria-current", isNow ? "page" : null);
  }
  for (const own of bar.querySelectorAll(".group")) {
    const name = own.firstElementChild?.textContent;
    setAttribute(own, "data-current", name === group ? "" : null);
  }
  const menu = /** @type {HTMLElement} */ (bar.querySelector(".menu"));
  if (menu.textContent !== title) menu.textContent = title;
  const other = theme === "light" ? "dark theme" : "light theme";
  const switcher = /** @type {HTMLElement} */ (bar.querySelector(".theme"));
  setAttribute(switcher, "aria-label", other);
  setAttribute(switcher, "title", other);
  switcher.textContent = theme === "light" ? "☾" : "☀";
  drawLesson(theme);
}
