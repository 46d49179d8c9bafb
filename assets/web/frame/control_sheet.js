// On a phone the controls of a page are a sheet from below. Its ground, its title and × are drawn here, beside the bar;
// the controls on it are the bar's and Streamlit's (house.css puts them there).

import { button, h, setAttribute } from "../base/dom.js";

const ID = "headlight-sheet";
const MODEL = "#headlight-bar .pickers"; // the first on it

const opener = () => /** @type {HTMLElement | null} */ (document.querySelector("#headlight-bar .jump"));
const isOpen = () => document.documentElement.classList.contains("sheet-open");

/** The rail begins where the model ends. */
const measured = new ResizeObserver(() => {
  const high = /** @type {HTMLElement | null} */ (document.querySelector(MODEL))?.offsetHeight ?? 0;
  document.documentElement.style.setProperty("--model", `${high}px`);
});

/** Open or close it; views bring their picture into sight above an open one. @param {boolean} is */
export function openSheet(is) {
  if (is === isOpen()) return;
  document.documentElement.classList.toggle("sheet-open", is);
  const toggle = opener();
  if (toggle) setAttribute(toggle, "aria-expanded", String(is));
  const model = document.querySelector(MODEL);
  measured.disconnect();
  if (is && model) measured.observe(model);
  if (is) requestAnimationFrame(() => dispatchEvent(new Event("headlight-sheet")));
}

/** Close it by hand: who closed it stands at what opens it. */
function leave() {
  openSheet(false);
  opener()?.focus();
}

/** The button in the bar that opens the sheet. */
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
    const inList = target instanceof Element && target.matches("input[aria-expanded='true']"); // which Escape closes
    if (key === "Escape" && isOpen() && !inList) leave();
  });
  return h("section", { id: ID, "aria-label": "Controls" }, h("h2", {}, "Controls"), close);
}
