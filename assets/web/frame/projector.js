// The projector: one picture as large as the window allows. P goes there and back, Escape goes back; the link says it.

import { isShortcut, isTyped } from "../base/grid_keys.js";
import { read, write } from "../link/link.js";

const OPEN = '[aria-expanded="true"]'; // what opened something
const LAID_OVER = '[role="listbox"], [role="dialog"]'; // what Streamlit opens

const isLarge = () => read().get("big") === "true";

export const switchProjector = () => write({ big: isLarge() ? null : "true" });

/** Do what the address says. */
function follow() {
  const { classList } = document.documentElement;
  if (classList.contains("projector") === isLarge()) return;
  classList.toggle("projector");
  dispatchEvent(new Event("headlight-projector"));
}

/** Tell whether a menu is open, which Escape closes. @param {EventTarget[]} path from what has the focus outwards */
const inMenu = (path) =>
  path.some(
    (node) =>
      node instanceof Element &&
      (node.matches(`${OPEN}, .settings`) || node.parentElement?.querySelector(`:scope > ${OPEN}`)),
  ) || document.querySelector(`#headlight-bar ${OPEN}, ${LAID_OVER}`) !== null;

/** Listen to the address, and to the keys before a menu that closes forgets that it was open. */
export function listen() {
  follow();
  addEventListener("headlight-address", follow);
  addEventListener("popstate", follow);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const { key } = event;
    if (isShortcut(event) || isTyped(event)) return;
    const leaves = key === "Escape" && isLarge() && !inMenu(event.composedPath());
    if (key === "p" || key === "P" || leaves) switchProjector();
  };
  addEventListener("keydown", press, true);
}
