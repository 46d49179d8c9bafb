// Groups of buttons in one frame, one of which may be pressed.

import { button, h, render, setAttribute, span } from "./dom.js";
import { isShortcut, walkedTiles } from "./grid_keys.js";

/** A group of buttons in one frame. @param {string} label @param {...(Node | string)} buttons */
export const group = (label, ...buttons) =>
  h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);

/** Make a group of buttons one tab stop (roving tabindex), at the focused or pressed button; the arrow keys, Home and
 * End move the focus.
 * @param {HTMLElement} group @param {number} [columns] buttons per row
 */
export function setRovingTabindex(group, columns = 1) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...group.querySelectorAll(":scope > :enabled")]);
  const stop =
    buttons.find((button) => button.matches(":focus")) ??
    buttons.find((button) => button.getAttribute("aria-pressed") === "true") ??
    buttons[0];
  for (const button of buttons) setAttribute(button, "tabindex", button === stop ? "0" : "-1");
  group.onkeydown = (event) => {
    const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const target = index < 0 || isShortcut(event) ? null : walkedTiles(event, index, buttons.length, columns);
    if (target === null) return;
    event.preventDefault();
    buttons[target].focus();
    setRovingTabindex(group, columns);
  };
}

/** A group of buttons with one pressed: {element, press(value)}.
 * @template Value @param {[Value, string, string?][]} options value, text and accessible name
 * @param {(value: Value) => void} choose
 */
export function choice(label, options, choose) {
  const buttons = options.map(([value, text, title]) => button(text, () => choose(value), { title }));
  const element = group(label, ...buttons);
  /** @param {Value} now */
  const press = (now) => {
    options.forEach(([value], index) => setAttribute(buttons[index], "aria-pressed", String(value === now)));
    setRovingTabindex(element);
  };
  return { element, buttons, press };
}

/** The choice between a map and its table, at the right above the map. @param {(table: boolean) => void} choose */
export function mapOrTable(choose) {
  const modes = ["map", "table"].map((mode) => /** @type {[boolean, string]} */ ([mode === "table", mode]));
  const made = choice("Map or table", modes, choose);
  made.element.classList.add("map-or-table");
  return made;
}

/** Fill a group with one button per text, one of them pressed.
 * @param {string[]} texts @param {(at: number) => void} choose
 * @param {string} word noun for numbers among them, for the accessible name
 */
export function fillChoice(parent, texts, selected, choose, word = "") {
  const drawOption = (/** @type {string} */ text, /** @type {number} */ index) => {
    const label = word && /^\d+$/.test(text) ? `${word} ${text}` : null;
    return ["button", { onclick: () => choose(index), "aria-label": label, "aria-pressed": index === selected }, text];
  };
  render(parent, ...texts.map(drawOption));
  setRovingTabindex(parent);
}

/** The numbers from 0 as texts of buttons. @param {number} count */
export const numbers = (count) => Array.from({ length: count }, (_, number) => String(number));

/** A label beside a part. @param {string} text @param {Element} part */
export const namedPart = (text, part) =>
  span("named", h("span", { class: "label", "aria-hidden": part.hasAttribute("aria-label") }, text), part);
