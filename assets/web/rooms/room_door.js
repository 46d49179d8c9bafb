// The door of a room: its code, and what is kept of who goes in, before he does.

import { button, h, setAttribute, setText } from "../base/dom.js";
import { join } from "./room_line.js";

export function makeDoor() {
  const title = h("h1");
  const name = h("span");
  const typed = { maxlength: "12", autocomplete: "off", autocapitalize: "characters" };
  const field = h("input", { name: "code", required: "", ...typed });
  const press = button("", () => {}, { type: "submit", class: "strong" });
  const said = h("p", { role: "alert" });
  const lines = ["kept", "gone", "sentences"].map((key) => /** @type {const} */ ([key, h("p", { class: "small" })]));
  const privacy = h("a", { href: "./room/privacy" });
  const element = h("form", { class: "door" }, title, h("label", {}, name, field), press, said);
  element.append(...lines.map(([, line]) => line), privacy);
  element.onsubmit = (event) => {
    event.preventDefault();
    join(field.value.replaceAll(/[^A-Za-z0-9]/g, ""));
  };
  /** @param {Record<string, string>} text @param {string} why one is outside again @param {boolean} isIn */
  const draw = (text, why, isIn) => {
    element.hidden = isIn;
    setText(title, text.title);
    setText(name, text.code);
    setText(press, text.join);
    setText(said, why);
    setText(privacy, text.privacy);
    setAttribute(privacy, "target", "_blank");
    for (const [key, line] of lines) setText(line, text[key]);
  };
  return { element, draw };
}
