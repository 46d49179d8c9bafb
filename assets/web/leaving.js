// @ts-check
// Whether this page is being left. What a view tells the script meanwhile would lead back here: Streamlit sends it in the
// name of the page that it shows, and the last word counts.

import { PAGE_LINK } from "./dom.js";

export const AWAY = `${PAGE_LINK}, .page-link`; // to another page: Streamlit's links, and those of the bar
const STAYS = 5000; // ms after a press on a link, until its page is thought to stay
const AGAIN = 200; // ms until it is looked whether the page was left

/** The page that is left, and when its link was pressed. @type {{path: string, at: number} | null} */
let left = null;

/** @param {Event} event */
function newAct(event) {
  const follows = !(event instanceof KeyboardEvent) || event.key === "Enter"; // other keys only pass by
  const onLink = follows && event.composedPath().some((node) => node instanceof Element && node.matches(AWAY));
  left = onLink ? { path: location.pathname, at: performance.now() } : null;
}
// before what hears the same act: views tell the script what is left to tell
for (const act of ["pointerdown", "keydown", "click"]) addEventListener(act, newAct, true);
addEventListener("popstate", () => {
  left = null; // back on a page that was left, or another step of a lesson
});

/** True from a press on a link to another page until that is there, or does not come. */
export const isLeaving = () => left !== null && left.path === location.pathname && performance.now() - left.at < STAYS;

/** Does it at once, or when the page that was to be left proves to stay; never when `place` has left it.
 * @param {Node} place @param {() => void} act
 */
export function onceStaying(place, act) {
  if (isLeaving()) setTimeout(() => onceStaying(place, act), AGAIN);
  else if (place.isConnected) act();
}
