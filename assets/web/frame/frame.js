// The parts that all pages share: title, navigation bar, lesson, and one history entry per page.

import { drawBar, makeTitle } from "./bar.js";
import { listenToCharts } from "./chart_keys.js";
import { themeOf } from "../base/colour.js";
import { openSheet } from "./control_sheet.js";
import { followHeight } from "./embedding.js";
import { h, urlOf } from "../base/dom.js";
import { listenToFragments } from "./landing.js";
import { drawLesson } from "../lessons/lesson.js";
import { enter, isNewAct, setParam, setHistory, write, writing } from "../link/link.js";
import { KEYS } from "../base/page_facts.js";
import { drawPickers } from "./pickers.js";
import { preparePrint } from "./print.js";
import { drawShare } from "./share.js";
import { drawRoom } from "../rooms/room_bar.js";
import { MAIN, notify, pageAt, pageNow } from "../link/navigation.js";

const PAUSE = 1000; // ms between two texts that are typed into a control, which writes late
const OURS = ["big", "embed", "learn", "film"]; // parameters that no script writes

const OWN = ".view, .sheet, .question"; // elements without Streamlit controls

/** Whether anything of the page was used since it was opened: before that, a script has no reason to remove keys. */
let isUsed = false;
/** Whether a Streamlit control was used since the page was opened; the bar and the views do not count. */
let touched = false;
/** Parameters that controls wrote since the last click: a script run that started earlier does not have them yet. */
let writes = /** @type {[string, string[]][]} */ ([]);
/** The parameters of the control's last write, and when it was: typing adds one entry a pause. */
const typed = { keys: "", at: 0 };
/** @param {Event} event */
const touch = ({ type, target }) => {
  if (target instanceof Element && target.closest(MAIN)) {
    isUsed = true;
    touched ||= !target.closest(OWN);
  }
  if (type === "pointerdown" || type === "keydown") writes = [];
};
for (const act of ["pointerdown", "keydown", "click", "input"]) addEventListener(act, touch, true);
addEventListener("popstate", () => {
  isUsed = touched = false;
  writes = [];
});

/** Correct the history entries that Streamlit writes. It adds one for each parameter that its script sets, and none for
 * a control; here each act of the user adds one, and all other changes are merged into the current entry. One with another page's path comes from a late run of a page that was left:
 * Streamlit gets the current page again. When a page is opened, Streamlit removes the parameters of the previous
 * page's controls; they stay for the next pages. A control writes one parameter, so a removal of several is not a
 * control.
 * @param {any} event the Navigation API's
 */
function join(event) {
  const { navigationType, cancelable, hashChange, destination } = event;
  if (!cancelable || hashChange || !destination.sameDocument || writing.isOurs) return;
  const [current, after] = [location.href, destination.url].map((url) => new URL(url).searchParams);
  const lost = new Set([...current.keys()].filter((key) => !after.has(key)));
  if (navigationType === "replace" && (!touched || lost.size > 1)) return event.preventDefault();
  if (navigationType === "replace") {
    const isOther = (/** @type {string} */ key) => `${after.getAll(key)}` !== `${current.getAll(key)}`;
    const keys = [...new Set([...current.keys(), ...after.keys()])].filter(isOther);
    for (const key of keys) if (after.has(key)) writes.push([key, after.getAll(key)]);
    const isTyping = typed.keys === String(keys) && performance.now() - typed.at < PAUSE;
    Object.assign(typed, { keys: String(keys), at: performance.now() });
    if (isTyping || !isNewAct()) return enter();
    event.preventDefault();
    setHistory("pushState", history.state, destination.url);
  }
  if (navigationType !== "push") return;
  event.preventDefault();
  queueMicrotask(() => {
    const [next, now] = [new URL(destination.url), new URL(location.href)];
    if (next.pathname !== now.pathname) return notify();
    const others = Object.keys(KEYS).filter((title) => !isUsed && title !== pageNow().title);
    const removed = others.flatMap((title) => KEYS[title]).filter((key) => !next.searchParams.has(key));
    for (const key of [...OURS, ...removed]) setParam(next.searchParams, key, now.searchParams.getAll(key));
    for (const [key, values] of writes) if (!next.searchParams.has(key)) setParam(next.searchParams, key, values);
    setHistory(isUsed && isNewAct() ? "pushState" : "replaceState", history.state, next);
  });
}
/** @type {any} */ (window).navigation?.addEventListener("navigate", join);

preparePrint();
listenToCharts();
listenToFragments();

/** Remove the heading of the previous page, which Streamlit would keep until the new script has ended.
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
  // must follow Streamlit's own styles; the page has a copy before them until then
  if (!document.querySelector("link.house")) {
    const early = document.querySelector("link[href*='house.css']");
    document.head.append(
      h("link", { rel: "stylesheet", class: "house", href: house.css, onload: () => early?.remove() }),
    );
  }
  document.querySelector("link[rel~='icon']")?.setAttribute("href", urlOf("frame/icon.svg").href);
  document.documentElement.lang = "en";
  document.querySelector(MAIN)?.setAttribute("tabindex", "-1"); // what is in it can be focused, and shows it
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
    followHeight();
  }
}

/** Remove parameters that the script of the page could not use from the address.
 * @param {{data: {unusable: string}}} component
 */
export const page_flags = ({ data }) => write(Object.fromEntries(data.unusable.split(" ").map((key) => [key, null])));
