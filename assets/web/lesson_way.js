// @ts-check
// The way from one step to the next: the address of the step becomes a new entry of the history, and Streamlit is told as
// it is told of Back, so that what the address says holds, and what it leaves out is as it was at first.

import { PAGE_LINK } from "./dom.js";

/** Goes to an address of this app in the same visit; anew where Streamlit is not there yet. @param {URL} url */
export function go(url) {
  if (!document.querySelector(PAGE_LINK)) return location.assign(url);
  History.prototype.pushState.call(history, null, "", url); // frame.js joins those of one page, which are several steps here
  dispatchEvent(new PopStateEvent("popstate", { state: null }));
}
