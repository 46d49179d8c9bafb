// @ts-check
// The way from one page, or one step of a lesson, to the next. The address says all that the next one needs, so it is
// entered first; then Streamlit is told as Back tells it: by an event of the browser's own, after which the address holds.

import { enter } from "./link.js";

/** How one came to what the address says: by the bar, which takes along what another page shows, or otherwise. */
export const arrival = { byBar: false };
let going = false;
addEventListener("popstate", () => {
  arrival.byBar &&= going; // Back and Forward lead to what was
});

/** True when the script of a page has been here: before that, Streamlit knows no pages. */
const isThere = () => document.querySelector(".st-key-stage") !== null;

/** Goes to an address of this app, in the same visit. @param {URL | string} to @param {{byBar?: boolean}} [how] */
export function go(to, { byBar = false } = {}) {
  dispatchEvent(new Event("headlight-leave")); // views write what the address does not say yet
  const url = new URL(to, location.href);
  if (!isThere()) return location.assign(url);
  enter(url);
  const { state } = history;
  const { href } = location;
  Object.assign(arrival, { byBar });
  going = true;
  location.replace(`${href}#`); // a step within the document, which every listener hears as popstate, at once
  going = false;
  history.replaceState(state, "", href);
}
