// A button that copies a text, and says that it did.

import { button, setText } from "./dom.js";

const SHOWN = 2000; // ms that it says so

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
      window.prompt("Copy this", text()); // without a secure context the clipboard is closed
    }
  }
  return press;
}
