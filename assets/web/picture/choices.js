// @ts-check
// What one chooses from inside a panel: masks with small pictures, encodings, the temperature, and the heads' lamps.
// Explore's tiles and Compare's chips open the same ones.

import { allows } from "../link/changes.js";
import { button, contextOf, fill, h, setAttribute, setText } from "../base/dom.js";
import { POSITIONS, TEMPERATURES } from "../base/facts.js";

const SIDE = 8; // tokens of a small picture of a mask
const PIXELS = 44; // of it
const DEGREES =
  "Every score is divided by it before the softmax: below 1 the strongest word takes more, above 1 all come closer.";
const ABOUT_LAMPS = "Press a dot to switch that head off: its output becomes 0, and the later layers work without it.";
const FIRST = ["as trained", "none"]; // of the encodings; the others stand under a heading
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** One out of several; as among a browser's own radios, arrows choose the next one. @param {string} name */
export function radios(name, kind = "choices") {
  const list = h("div", { class: kind, role: "radiogroup", "aria-label": name });
  list.addEventListener("keydown", (event) => {
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    const choices = choicesOf(list);
    const at = choices.indexOf(/** @type {HTMLElement} */ (event.target));
    if (!step || at < 0) return;
    const next = choices[(at + step + choices.length) % choices.length];
    next.focus();
    next.click();
    event.preventDefault();
  });
  return list;
}

/** @param {HTMLElement} list @returns {HTMLElement[]} */
const choicesOf = (list) => [...list.querySelectorAll("[role='radio']")].map((one) => /** @type {HTMLElement} */ (one));

/** Empties what was filled for another model: its parts are others. @param {HTMLElement} parent @param {string} kind */
function renew(parent, kind) {
  if (parent.dataset.kind !== kind) parent.replaceChildren();
  parent.dataset.kind = kind;
}

/** Says which is chosen: the one that Tab reaches. @param {HTMLElement} list @param {string} now */
function mark(list, now) {
  const choices = choicesOf(list);
  const chosen = choices.find((choice) => choice.getAttribute("aria-label") === now) ?? choices[0];
  for (const choice of choices) {
    setAttribute(choice, "aria-checked", String(choice.getAttribute("aria-label") === now));
    setAttribute(choice, "tabindex", choice === chosen ? "0" : "-1");
  }
}

/** Draws the masks, each with its picture and what it does.
 * @param {HTMLElement} list @param {{name: string, line: string}[]} masks @param {string} now
 * @param {{choose: (name: string) => void, draw: (canvas: HTMLCanvasElement, name: string) => void}} way
 */
export function drawMasks(list, masks, now, { choose, draw }) {
  const make = (/** @type {number} */ at) => {
    const choice = button("", () => choose(masks[at].name), { role: "radio", class: "with-picture" });
    choice.append(h("canvas", { "aria-hidden": "true" }), h("span", { class: "name" }), h("span", { class: "line" }));
    return choice;
  };
  fill(list, masks, make, (choice, { name, line }) => {
    const [canvas, title, what] = choice.children;
    setText(title, name);
    setText(what, line);
    setAttribute(choice, "aria-label", name);
    draw(/** @type {HTMLCanvasElement} */ (canvas), name);
  });
  mark(list, now);
}

/** A small picture of a mask, empty where the rule is the visitor's own. @param {HTMLCanvasElement} canvas
 * @param {string} mask @param {Record<string, number> | null} numbers @param {{seen: string, hidden: string}} inks
 */
export function drawMask(canvas, mask, numbers, { seen, hidden }) {
  const context = contextOf(canvas, PIXELS, PIXELS);
  if (!numbers) return;
  const step = PIXELS / SIDE;
  for (let at = 0; at < SIDE * SIDE; at += 1) {
    const [i, j] = [Math.floor(at / SIDE), at % SIDE];
    context.fillStyle = allows(mask, numbers, i, j) ? seen : hidden;
    context.fillRect(j * step, i * step, step - 1, step - 1);
  }
}

/** Draws the encodings of the order that the model can take: no order first, right behind what it learnt with.
 * @param {HTMLElement} list @param {[string, string][]} offered names, with what is to be known of each
 * @param {string} now @param {(name: string) => void} choose
 */
export function drawPositions(list, offered, now, choose) {
  const first = offered.filter(([name]) => FIRST.includes(name));
  const others = offered.filter(([name]) => !FIRST.includes(name));
  const items = [...first, ...(others.length ? [null] : []), ...others];
  renew(list, offered.map(([name]) => name).join());
  const make = (/** @type {number} */ at) => {
    const item = items[at];
    if (!item) return h("p", { class: "label", role: "presentation" }, "Other encodings");
    const choice = button("", () => choose(item[0]), { role: "radio" });
    choice.append(h("span", { class: "name" }), h("span", { class: "line" }));
    return choice;
  };
  fill(list, items, make, (choice, item) => {
    if (!item) return;
    const [name, note] = item;
    setText(choice.children[0], name);
    setText(choice.children[1], POSITIONS[name] ?? "");
    setAttribute(choice, "title", note);
    setAttribute(choice, "aria-label", name);
  });
  mark(list, now);
}

/** Draws a lamp for each head of each layer, with both named at the sides, and says what a press does. @param {HTMLElement} lamps @param {{layers: number, heads: number}} model
 * @param {Set<string>} off "layer.head" of those that are off @param {(layer: number, head: number) => void} toggle
 */
export function drawLamps(lamps, { layers, heads }, off, toggle) {
  renew(lamps, `${layers} ${heads}`);
  lamps.style.setProperty("--heads", String(heads));
  if (!lamps.children.length) lamps.append(...makeLamps(layers, heads));
  lamps.onclick = ({ target }) => {
    const { layer, head } = target instanceof HTMLElement ? target.dataset : {};
    if (layer && head) toggle(Number(layer), Number(head));
  };
  for (const one of lamps.querySelectorAll(".lamp")) {
    const lamp = /** @type {HTMLElement} */ (one);
    setAttribute(lamp, "aria-pressed", String(!off.has(`${lamp.dataset.layer}.${lamp.dataset.head}`)));
  }
}

/** What it says, the numbers of the heads, then each layer with its lamps. @param {number} layers @param {number} heads */
function makeLamps(layers, heads) {
  const count = (/** @type {number} */ length) => Array.from({ length }, (_, at) => at);
  const aside = (/** @type {string} */ text, kind = "of-head") =>
    h("span", { class: kind, "aria-hidden": "true" }, text);
  const lampsOf = (/** @type {number} */ layer) =>
    count(heads).map((head) => {
      const name = `layer ${layer} head ${head}`;
      const props = { class: "lamp", "data-layer": layer, "data-head": head, "aria-label": name, title: name };
      return h("button", { type: "button", ...props });
    });
  return [
    h("p", { class: "label" }, ABOUT_LAMPS),
    aside("head"),
    ...count(heads).map((head) => aside(String(head))),
    ...count(layers).flatMap((layer) => [aside(`layer ${layer}`, "of-layer"), ...lampsOf(layer)]),
  ];
}

/** The slider of the softmax temperature. @param {string} name @param {(value: string) => void} set */
export function makeDegrees(name, set) {
  const [min, max] = TEMPERATURES.map(String);
  const range = { type: "range", min, max, step: "0.1", "aria-label": name };
  const input = /** @type {HTMLInputElement} */ (
    h("input", { ...range, oninput: () => set(String(Number(input.value))) })
  );
  const value = h("output", {});
  const ends = h("div", { class: "ends label" }, h("span", {}, "sharper"), h("span", {}, "blurrier"));
  const element = h("div", { class: "degrees" }, h("div", {}, input, value), ends, h("p", { class: "label" }, DEGREES));
  const say = (/** @type {string} */ now) => {
    if (input.value !== now) input.value = now;
    setText(value, now);
  };
  return { element, say };
}
