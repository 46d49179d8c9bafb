// The bottom sheet with the controls of a page on a phone. Its background, title and close button are drawn here;
// house.css moves the controls of the bar and of Streamlit onto it.

import { button, h, setAttribute } from "../base/dom.js";

const ID = "headlight-sheet";
const MODEL = "#headlight-bar .pickers"; // its first part

const opener = () => /** @type {HTMLElement | null} */ (document.querySelector("#headlight-bar .jump"));
const isOpen = () => document.documentElement.classList.contains("sheet-open");

/** Place the controls of Streamlit below the model. */
const measured = new ResizeObserver(() => {
  const high = /** @type {HTMLElement | null} */ (document.querySelector(MODEL))?.offsetHeight ?? 0;
  document.documentElement.style.setProperty("--model", `${high}px`);
});

/** Open or close the sheet; views scroll their picture above it. @param {boolean} is */
export function openSheet(is) {
  if (is === isOpen()) return;
  document.documentElement.classList.toggle("sheet-open", is);
  const toggle = opener();
  if (toggle) setAttribute(toggle, "aria-expanded", is);
  const model = document.querySelector(MODEL);
  measured.disconnect();
  if (is && model) measured.observe(model);
  if (is) requestAnimationFrame(() => dispatchEvent(new Event("headlight-sheet")));
}

/** Close the sheet from within and return the focus to its button. */
function leave() {
  openSheet(false);
  opener()?.focus();
}

export const makeOpener = () =>
  button("⚙", () => openSheet(!isOpen()), {
    class: "jump",
    "aria-label": "controls",
    "aria-expanded": "false",
    "aria-controls": ID,
    title: "controls",
  });

export function makeSheet() {
  const close = button("×", leave, { "aria-label": "close the controls" });
  addEventListener("keydown", ({ key, target }) => {
    const inList = target instanceof Element && target.matches("input[aria-expanded='true']"); // Escape closes the list, not the sheet
    if (key === "Escape" && isOpen() && !inList) leave();
  });
  return h("section", { id: ID, "aria-label": "Controls" }, h("h2", {}, "Controls"), close);
}
