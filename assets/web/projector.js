// @ts-check
// The projector: one picture as large as the window allows. P goes there and back, Escape goes back.

import { isShortcut, isTyped } from "./grid_keys.js";

/** The control behind it: one of Streamlit's, so that the script knows of it. */
const control = () => /** @type {HTMLInputElement | null} */ (document.querySelector(".st-key-big input"));

const OPEN = '[aria-expanded="true"]'; // what opened something
const LAID_OVER = '[role="listbox"], [role="dialog"], [data-testid="stPopoverBody"]'; // what Streamlit opens

/** What was chosen before that control was there. @type {boolean | null} */
let untold = null;

/** Tells whether the visitor pressed it again since the script was told this. @param {boolean} large */
export const isPressedAgain = (large) => (untold ?? control()?.checked ?? large) !== large;

/** Has the address say whether it is projected. @param {boolean} large */
export function sayLarge(large) {
  const url = new URL(location.href);
  if ((url.searchParams.get("big") === "true") === large) return;
  if (large) url.searchParams.set("big", "true");
  else url.searchParams.delete("big");
  history.replaceState(history.state, "", url);
}

export function switchProjector() {
  untold = document.documentElement.classList.toggle("projector");
  dispatchEvent(new Event("headlight-projector"));
  if (!control()) sayLarge(untold); // a script that has not begun begins with the address
  tell();
}

/** Presses the control, as soon as it is there. */
function tell() {
  const own = control();
  if (untold === null) return;
  if (!own) {
    setTimeout(tell, 50);
    return;
  }
  if (own.checked !== untold) own.click();
  untold = null;
}

/** True in a menu that is open: Escape closes it. @param {EventTarget[]} path from what has the focus outwards */
const inMenu = (path) =>
  path.some(
    (at) => at instanceof Element && (at.matches(OPEN) || at.parentElement?.querySelector(`:scope > ${OPEN}`)),
  ) || document.querySelector(`#headlight-bar ${OPEN}, ${LAID_OVER}`) !== null;

/** Listens to the keys, before a menu that closes forgets that it was open. */
export function listenForKeys() {
  const listen = (/** @type {KeyboardEvent} */ event) => {
    const { key } = event;
    const path = event.composedPath();
    if (isShortcut(event) || isTyped(event)) return;
    const projected = document.documentElement.classList.contains("projector");
    const leaves = key === "Escape" && projected && !inMenu(path);
    if (key === "p" || key === "P" || leaves) switchProjector();
  };
  addEventListener("keydown", listen, true);
}
