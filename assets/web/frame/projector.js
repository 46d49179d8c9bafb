// Projector mode: one picture fills the window. P toggles it, Escape leaves it; the link stores it.

import { isShortcut, isTyped } from "../base/grid_keys.js";
import { read, write } from "../link/link.js";

const OPEN = '[aria-expanded="true"]'; // an open menu
const LAID_OVER = '[role="listbox"], [role="dialog"]'; // Streamlit's overlays

const isLarge = () => read().get("big") === "true";

export const switchProjector = () => write({ big: isLarge() ? null : "true" }, true);

function follow() {
  const { classList } = document.documentElement;
  if (classList.contains("projector") === isLarge()) return;
  classList.toggle("projector");
  dispatchEvent(new Event("headlight-projector"));
}

/** Return whether a menu is open, which Escape closes. @param {EventTarget[]} path from the focused element outwards */
const inMenu = (path) =>
  path.some(
    (node) =>
      node instanceof Element &&
      (node.matches(`${OPEN}, .settings`) || node.parentElement?.querySelector(`:scope > ${OPEN}`)),
  ) || document.querySelector(`#headlight-bar ${OPEN}, ${LAID_OVER}`) !== null;

/** Listen to the address, and to keys in the capture phase, before a menu closes itself. */
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
