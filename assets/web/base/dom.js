// Elements from plain values. Text only ever becomes a text node.

/** h("button", {class: "lamp", onclick: f, "aria-label": "…"}, "text", child) -> element
 * @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag
 * @param {Record<string, any>} props attributes, and handlers under their names ("onclick")
 * @param {...(Node | string | null | undefined)} children
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) Object.assign(element, { [name]: value });
    else setAttribute(element, name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} kind its class @param {...(Node | string | null | undefined)} children */
export const div = (kind, ...children) => h("div", { class: kind }, ...children);

/** @param {string} kind its class @param {...(Node | string | null | undefined)} children */
export const span = (kind, ...children) => h("span", { class: kind }, ...children);

/** @param {string} text @param {(event: MouseEvent) => void} onclick @param {Record<string, any>} props
 * @param {...(Node | string)} children behind the text
 */
export const button = (text, onclick, props = {}, ...children) =>
  h("button", { type: "button", onclick, ...props }, text, ...children);

/** An element of a drawing, its numbers to two digits. @param {string} tag @param {Record<string, unknown>} props
 * @param {...(Node | string)} children
 */
export function svg(tag, props, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props))
    if (value !== null)
      element.setAttribute(name, String(typeof value === "number" ? Math.round(100 * value) / 100 : value));
  element.append(...children);
  return element;
}

/** Sets, or for null and false removes, an attribute; touches nothing that is already so. @param {unknown} value */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Set a text only when it differs, so that a screen reader does not hear it twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set a field, unless it has the focus. @param {HTMLInputElement} field @param {string} value */
export function setField(field, value) {
  if (!field.matches(":focus") && field.value !== value) field.value = value;
}

/** Put one child for each item into `parent`, reusing those that are there, so that focus survives.
 * @template Item @template {Element} [Child=HTMLElement] @param {readonly Item[]} items
 * @param {((index: number) => Child) | keyof HTMLElementTagNameMap} make a child, or the name of its kind
 * @param {(child: Child, item: Item, index: number) => void} update
 */
export function fill(parent, items, make, update) {
  while (parent.children.length > items.length) parent.lastElementChild?.remove();
  while (parent.children.length < items.length)
    parent.append(typeof make === "string" ? h(make) : make(parent.children.length));
  items.forEach((item, index) => update(/** @type {Child} */ (parent.children[index]), item, index));
}

/** Tell whether two lists have the same items in the same order. @param {unknown[]} left @param {unknown[]} right */
export const areSame = (left, right) =>
  left.length === right.length && left.every((thing, index) => thing === right[index]);

/** The address of a file, or a route, of ours: its path from the folder of all rooms. @param {string} path */
export const urlOf = (path) => new URL(`../${path}`, import.meta.url);

/** Marks a row or column of cells: a frame, or a tick at both ends where a frame would cover what it marks. */
export function frame(context, x, y, width, height, colour) {
  const thin = Math.min(width, height);
  if (thin >= 6) {
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.strokeRect(x, y, width, height);
    return;
  }
  context.fillStyle = colour;
  const wide = Math.max(2, thin);
  if (width > height) for (const end of [x - 6, x + width]) context.fillRect(end, y + thin / 2 - wide / 2, 6, wide);
  else for (const end of [y - 6, y + height]) context.fillRect(x + thin / 2 - wide / 2, end, wide, 6);
}

export const LETTERS = 12; // pixels of the smallest that are drawn

/** Pixels of a canvas for each of the page's, while a picture is made to take along (picture_file.js); 0 = as the screen. */
export const drawing = { ratio: 0 };

export const pixelRatio = () => drawing.ratio || window.devicePixelRatio || 1;

/** A canvas sized in CSS pixels and drawn in those of the screen; returns its cleared context. */
export function contextOf(canvas, width, height) {
  const ratio = pixelRatio();
  const [w, hgt] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== hgt) {
    canvas.width = w;
    canvas.height = hgt;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Pixels from the top of the window to an element, as if the page were not scrolled. @param {Element} element */
export const topOf = (element) =>
  element.getBoundingClientRect().top + (document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0);
