// Draws the bar, the head of the page and its prerendered picture (headlight/api/prerender.py) before Streamlit has
// loaded, each at its final position. The view then moves into its Streamlit element. On the way to another page the head
// and the view are drawn likewise, while its script runs.

import { isSite, MAIN, pageNow } from "../link/navigation.js";
import { drawBar, makeTitle, savedTheme } from "./bar.js";
import { div, h } from "../base/dom.js";
import { drawLesson } from "../lessons/lesson.js";
import { drawnEarly } from "../base/mount.js";
import { views } from "../base/view_base.js";

const MAX_WAIT_MS = 15000; // for Streamlit, after which its own error page appears
const FONT_WAIT = 600; // ms for the font, so that lines do not reflow
/** The page of a view that owns its state -> its module. @type {Record<string, string>} */
export const VIEWS = {
  "": "explore/explore",
  "model-map": "model_map/model_map",
  compare: "compare/pair",
  masks: "masks/painter",
  shapes: "shapes/steps",
};
export const COLOURS = {
  dark: { "background-color": "#0E1320", "text-color": "#E8ECF6" },
  light: { "background-color": "#FBFAF6", "text-color": "#1B2233" },
};

/** The theme that Streamlit will choose. @returns {"dark" | "light"} */
export function theme() {
  const options = new URLSearchParams(location.search).getAll("embed_options");
  const saved = savedTheme();
  if (options.includes("dark_theme") || saved === "dark") return "dark";
  if (options.includes("light_theme") || saved === "light") return "light";
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

/** Return whether the head of the page is there. */
const ready = () =>
  Boolean(/** @type {HTMLLinkElement | null} */ (document.querySelector("link.house"))?.sheet) &&
  document.querySelector(`.st-key-stage [data-path="${pageNow().path}"] > .question`) !== null;

/** Return whether the page has content below its head. */
const isFilled = () => {
  const [, ...siblings] = document.querySelector(".st-key-stage")?.children ?? [];
  return siblings.some((element) => element.getBoundingClientRect().height > 0);
};

/** Decode the message that the page contains. @param {Element} block */
export const decode = (block) => Uint8Array.from(atob(block.textContent ?? ""), (letter) => letter.charCodeAt(0));

/** Draw the head of the page, and a place for its picture or placeholders of its cards.
 * @param {"dark" | "light"} now @param {boolean} hasPicture
 */
function prerender(now, hasPicture) {
  const place = hasPicture ? div("stage") : div("stage outline", div("card"), div("card"), div("card"));
  const page = pageNow();
  const element = h("div", { id: "headlight-early", class: now }, makeTitle(page), place);
  for (const [key, colour] of Object.entries(COLOURS[now])) element.style.setProperty(`--st-${key}`, colour);
  return { element, place };
}

/** @typedef {(file: string) => any} Open imports a module by its file name */

/** Draw the picture if the page has one.
 * @param {Open} open @param {HTMLElement} place @param {() => void} remove @param {HTMLElement} block
 */
function drawPicture(open, place, remove, block) {
  const { Kind } = open(block.dataset.file ?? "").view;
  const view = new Kind(place.attachShadow({ mode: "open" }));
  view.begin(decode(block));
  drawnEarly({ view, Kind, ready, remove });
  block.remove();
}

/** The path of the current page, and how to remove what is drawn early of it. */
const current = { path: "", leave: () => {} };

/** Draw another page at once, if a view owns its state. @param {Open} open */
function switchPage(open) {
  const { path } = pageNow();
  if (path === current.path) return;
  current.path = path;
  const { leave } = current;
  current.leave = () => {}; // it holds the view
  leave();
  const bar = /** @type {HTMLElement} */ (document.getElementById("headlight-bar"));
  if (!VIEWS[path] || !document.querySelector(".st-key-stage")) return;
  const { Kind } = open(`${VIEWS[path]}.js`).view;
  const stale = [...views].filter((view) => view instanceof Kind); // Streamlit has not removed its place yet
  if (stale.some((view) => view.isHere)) return;
  for (const view of stale) {
    view.leave();
    view.element.remove();
  }
  const { element, place } = prerender(bar.className === "light" ? "light" : "dark", true);
  const root = place.attachShadow({ mode: "open" });
  const { classList } = document.documentElement;
  classList.add("switching"); // hides the page before
  document.querySelector(MAIN)?.scrollTo(0, 0);
  document.body.append(element);
  const view = new Kind(root);
  view.visit = [...views].map(({ visit }) => visit).find(Boolean) ?? "";
  view.follow();
  const show = () => classList.remove("switching");
  const remove = () => {
    element.remove();
    show();
  };
  const early = /** @type {import("../base/mount.js").Early} */ ({ view, Kind, ready, show, remove });
  current.leave = () => {
    if (!element.isConnected) return;
    show();
    if (early.place) view.move(early.place);
    else view.leave();
    drawnEarly(null);
    remove();
  };
  setTimeout(current.leave, MAX_WAIT_MS);
  drawnEarly(early);
}

/** @param {Open} open */
async function draw(open) {
  const block = document.getElementById("headlight-first");
  const now = theme();
  const { element, place } = prerender(now, Boolean(block));
  const remove = () => element.remove();
  current.path = pageNow().path;
  addEventListener("popstate", () => setTimeout(() => switchPage(open))); // Streamlit hears of it first
  setTimeout(remove, MAX_WAIT_MS);
  const font = document.fonts.load('1rem "Source Sans"');
  await Promise.race([font, new Promise((done) => setTimeout(done, FONT_WAIT))]);
  drawBar(now);
  drawLesson(now);
  document.body.append(element);
  if (block) return drawPicture(open, place, remove, block);
  const leave = () => (ready() && isFilled() ? remove() : void requestAnimationFrame(leave));
  leave();
}

/** @param {Open} open */
export function begin(open) {
  if (isSite) return; // site/site.js begins there
  if (document.getElementById("headlight-unknown")) return drawBar(theme());
  const room = document.getElementById("headlight-phone");
  if (room) return open("rooms/phone.js").beginRoom(open, room, theme(), COLOURS[theme()]);
  draw(open)
    .catch(() => document.getElementById("headlight-early")?.remove())
    .finally(() => requestAnimationFrame(() => setTimeout(() => dispatchEvent(new Event("headlight-drawn")))));
}
