// A button that copies a text and confirms it.

import { button, setText } from "./dom.js";

const SHOWN = 2000; // ms until the button has its name again

/** @param {string} name @param {() => string} text */
export function makeCopy(name, text) {
  const press = button(name, copy, { "aria-live": "polite" });
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      setText(press, "copied");
      press.disabled = true;
      setTimeout(() => Object.assign(press, { textContent: name, disabled: false }), SHOWN);
    } catch {
      window.prompt("Copy this", text()); // the clipboard API needs a secure context
    }
  }
  return press;
}
