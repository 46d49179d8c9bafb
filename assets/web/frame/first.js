// Draws the bar, the head of the page and its prerendered picture (headlight/api/prerender.py) before Streamlit has
// loaded, each at its final position. The view then moves into its Streamlit element.

import { pageNow } from "../link/navigation.js";
import { drawBar, makeTitle } from "./bar.js";
import { div, h } from "../base/dom.js";
import { drawLesson } from "../lessons/lesson.js";
import { drawnEarly } from "../base/mount.js";

const MAX_WAIT_MS = 15000; // for Streamlit, after which its own error page appears
const FONT_WAIT = 600; // ms for the font, so that lines do not reflow
const COLOURS = {
  dark: { "background-color": "#0E1320", "text-color": "#E8ECF6" },
  light: { "background-color": "#FBFAF6", "text-color": "#1B2233" },
};

/** The theme that Streamlit will choose. @returns {"dark" | "light"} */
function theme() {
  const options = new URLSearchParams(location.search).getAll("embed_options");
  const savedTheme = localStorage.getItem(`stActiveTheme-${location.pathname}-v2`)?.replaceAll('"', "").toLowerCase();
  if (options.includes("dark_theme") || savedTheme === "dark") return "dark";
  if (options.includes("light_theme") || savedTheme === "light") return "light";
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

/** Return whether the head of the page is there. */
const ready = () =>
  Boolean(/** @type {HTMLLinkElement | null} */ (document.querySelector("link.house"))?.sheet) &&
  document.querySelector(".st-key-stage .question") !== null;

/** Return whether the page has content below its head. */
const isFilled = () => {
  const [, ...siblings] = document.querySelector(".st-key-stage")?.children ?? [];
  return siblings.some((element) => element.getBoundingClientRect().height > 0);
};

/** Decode the message that the page contains. @param {Element} block */
const bytesOf = (block) => Uint8Array.from(atob(block.textContent ?? ""), (letter) => letter.charCodeAt(0));

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
  view.begin(bytesOf(block));
  drawnEarly({ view, Kind, ready, remove });
  block.remove();
}

/** @param {Open} open */
async function draw(open) {
  const block = document.getElementById("headlight-first");
  const now = theme();
  const { element, place } = prerender(now, Boolean(block));
  const remove = () => element.remove();
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
  const room = document.getElementById("headlight-phone");
  if (room) return open("rooms/phone.js").beginRoom(open, room, theme(), COLOURS[theme()]);
  draw(open)
    .catch(() => document.getElementById("headlight-early")?.remove())
    .finally(() => requestAnimationFrame(() => setTimeout(() => dispatchEvent(new Event("headlight-drawn")))));
}
