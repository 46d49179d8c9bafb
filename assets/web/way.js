// @ts-check
// The way from one page, or one step of a lesson, to the next. The address says all that the next one needs, so it is
// entered first; then Streamlit is told as Back tells it: by an event of the browser's own, after which the address holds.

import { enter } from "./link.js";

/** True when the script of a page has been here: before that, Streamlit knows no pages. */
const isThere = () => document.querySelector(".st-key-stage") !== null;

/** How the present page was come to: by a link of the bar, which carries all that the page before it said. */
export const arrival = { byBar: false };
addEventListener("popstate", () => {
  arrival.byBar = false;
});

/** Goes to an address of this app, in the same visit. @param {URL | string} to */
export function go(to, { byBar = false } = {}) {
  dispatchEvent(new Event("headlight-leave")); // views write what the address does not say yet
  const url = new URL(to, location.href);
  if (!isThere()) return location.assign(url);
  enter(url);
  const { state } = history;
  const { href } = location;
  location.replace(`${href}#`); // a step within the document, which every listener hears as popstate, at once
  history.replaceState(state, "", href);
  arrival.byBar = byBar;
}
