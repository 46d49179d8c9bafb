// What every page of the house shares: its question, the bar, the lesson beside it, and one entry of the history.

import { drawBar, makeTitle } from "./bar.js";
import { listenToCharts } from "./chart_keys.js";
import { themeOf } from "../base/colour.js";
import { openSheet } from "./control_sheet.js";
import { h, urlOf } from "../base/dom.js";
import { drawLesson } from "../lessons/lesson.js";
import { setParam, setHistory, write, writing } from "../link/link.js";
import { pageAt, pageNow } from "../base/page_list.js";
import { drawPickers } from "./pickers.js";
import { drawShare } from "./share.js";
import { drawRoom } from "../rooms/room_bar.js";
import { drawViews } from "../base/view_base.js";
import { MAIN, notify } from "../link/navigation.js";

/** @typedef {import("./pickers.js").Option} Option */
/** @typedef {import("../base/messages.js").House} House */

const PAPER = 718; // pixels of a sheet's width, A4 upright, between its margins

// whoever asks to print: ink on white, and as on the screen, since no view measures itself anew for the paper
addEventListener("beforeprint", () => {
  const { style } = document.documentElement;
  style.setProperty("--paper", String(Math.min(1, PAPER / innerWidth)));
  style.setProperty("--window", `${innerHeight}px`);
  drawViews("light");
});
addEventListener("afterprint", () => {
  document.documentElement.style.removeProperty("--window");
  drawViews();
});

const OURS = ["big", "learn", "film"]; // keys that no script writes

const OWN = ".view, .sheet, .question"; // what Streamlit draws no control in

/** True when one of Streamlit's controls was used since the page was entered: the bar and the views are ours. */
let touched = false;
/** The parameters that a control wrote since the last press: a run of the script that began before does not know it yet. */
let writes = /** @type {[string, string[]][]} */ ([]);
/** @param {Event} event */
const touch = ({ type, target }) => {
  touched ||= target instanceof Element && target.closest(MAIN) !== null && !target.closest(OWN);
  if (type === "pointerdown" || type === "keydown") writes = [];
};
for (const act of ["pointerdown", "keydown", "click", "input"]) addEventListener(act, touch, true);
addEventListener("popstate", () => {
  touched = false;
  writes = [];
});

/** Streamlit writes the address too. It makes an entry of the history for each value that its script sets: they belong
 * to that of their page. One of another page begins a late run of a page that was left: Streamlit is told again which one
 * is shown. And when a page is entered it takes away what the controls of the page before said: that stays, for the
 * pages behind it. A control writes one key, so what takes several away is no control.
 * @param {any} event the Navigation API's
 */
function join(event) {
  const { navigationType, cancelable, hashChange, destination } = event;
  if (!cancelable || hashChange || !destination.sameDocument || writing.isOurs) return;
  const [current, after] = [location.href, destination.url].map((url) => new URL(url).searchParams);
  const lost = new Set([...current.keys()].filter((key) => !after.has(key)));
  if (navigationType === "replace" && (!touched || lost.size > 1)) return event.preventDefault();
  if (navigationType === "replace")
    for (const key of new Set(after.keys()))
      if (`${after.getAll(key)}` !== `${current.getAll(key)}`) writes.push([key, after.getAll(key)]);
  if (navigationType !== "push") return;
  event.preventDefault();
  queueMicrotask(() => {
    const [next, now] = [new URL(destination.url), new URL(location.href)];
    if (next.pathname !== now.pathname) return notify();
    for (const key of OURS) setParam(next.searchParams, key, now.searchParams.getAll(key));
    for (const [key, values] of writes) if (!next.searchParams.has(key)) setParam(next.searchParams, key, values);
    setHistory("replaceState", history.state, next);
  });
}
/** @type {any} */ (window).navigation?.addEventListener("navigate", join);

listenToCharts();

/** Remove the heading of the previous page, which Streamlit removes only when the new script has ended.
 * @param {HTMLElement} current
 */
function forgetOthers(current) {
  for (const question of document.querySelectorAll(".st-key-stage .question")) {
    const place = /** @type {HTMLElement} */ (question.parentElement);
    if (place === current) continue;
    delete place.dataset.path;
    question.remove();
  }
}

/** @param {{data: [House], parentElement: HTMLElement}} component */
export function house({ data, parentElement }) {
  const [house] = data;
  // behind Streamlit's own styles; before them the page has it too, until this one is there
  if (!document.querySelector("link.house")) {
    const early = document.querySelector("link[href*='house.css']");
    document.head.append(
      h("link", { rel: "stylesheet", class: "house", href: house.css, onload: () => early?.remove() }),
    );
  }
  document.querySelector("link[rel~='icon']")?.setAttribute("href", urlOf("frame/icon.svg").href);
  document.documentElement.lang = "en";
  const page = pageAt(house.path);
  if (parentElement.dataset.path !== house.path) {
    openSheet(false);
    parentElement.replaceChildren(makeTitle(page));
  }
  parentElement.dataset.path = house.path;
  const theme = themeOf(parentElement);
  drawBar(theme);
  drawLesson(theme);
  if (page === pageNow()) {
    forgetOthers(parentElement);
    drawPickers(house.models, house.devices, house);
    drawShare(house);
    drawRoom(house.address, theme);
  }
}

/** Remove the parameters from the address that the script of the page could not use.
 * @param {{data: {unusable: string}}} component
 */
export const page_flags = ({ data }) => write(Object.fromEntries(data.unusable.split(" ").map((key) => [key, null])));
