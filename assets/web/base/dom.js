// Make DOM elements from plain values, and fetch routes of the server. Strings only ever become text
// nodes, so that no input can inject markup.

/** h("button", {class: "lamp", onclick: f, "aria-label": "…"}, "text", child) -> element
 * @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag
 * @param {Record<string, any>} props attributes and event handlers ("onclick")
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

/** @param {unknown} [text] other values than strings, such as the index that `fill` passes, make no text
 * @param {((event: MouseEvent) => void) | null} [onclick] @param {Record<string, any>} [props]
 * @param {...(Node | string)} children after the text
 */
export const button = (text, onclick = null, props = {}, ...children) =>
  h("button", { type: "button", onclick, ...props }, typeof text === "string" ? text : "", ...children);

/** Set an attribute, or remove it for null and false (ARIA has a state for false); an unchanged one is left alone.
 * @param {unknown} value */
export function setAttribute(element, name, value) {
  const isAbsent = value === null || value === undefined || (value === false && !name.startsWith("aria-"));
  if (isAbsent) element.removeAttribute(name);
  else if (element.getAttribute(name) !== textOf(name, value)) element.setAttribute(name, textOf(name, value));
}

/** @param {string} name @param {unknown} value */
const textOf = (name, value) => (value === true && !name.startsWith("aria-") ? "" : String(value));

/** Set several attributes. @param {Element} element @param {Record<string, unknown>} attributes */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
}

/** Set a text if it differs: an unchanged live region would be announced again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set the value of a field, unless the user is typing in it. @param {HTMLInputElement} field @param {string} value */
export function setField(field, value) {
  if ((field.type === "range" || !field.matches(":focus")) && field.value !== value) field.value = value;
}

/** Element -> the attributes and handlers that `render` gave it last. @type {WeakMap<Node, Record<string, any>>} */
const given = new WeakMap();

/** Draw an element: its attributes and handlers, if the first argument has some, and its children. A child is a text,
 * an element, or the description of one, ["li.named", { onclick }, ...children]. Elements that were drawn before are
 * reused, so that focus and scroll positions survive; what is no longer given is removed; empty children make no node.
 * @param {Element} element @param {...any} content
 */
export function render(element, ...content) {
  const [props, ...described] = withProps(content);
  for (const name of Object.keys({ ...given.get(element), ...props })) setProp(element, name, props[name]);
  given.set(element, props);
  const children = described.filter((child) => child || child === 0);
  children.forEach((child, index) => {
    const now = element.childNodes[index] ?? null;
    const next = drawn(element, now, child);
    if (next !== now) element.insertBefore(next, now);
  });
  while (element.childNodes.length > children.length) element.lastChild?.remove();
}

/** A text for `render`, in which addresses are links. @param {string} text */
export const linked = (text) =>
  text
    .split(/(https:[^\s,]+)/)
    .map((part, index) => (index % 2 ? ["a", { href: part, target: "_blank", rel: "noreferrer" }, part] : part));

/** @param {any[]} content */
const withProps = (content) =>
  Object.getPrototypeOf(content[0] ?? "") === Object.prototype ? content : [{}, ...content];

/** @param {any} element @param {string} name "--share" is a variable of the style sheet @param {any} value */
function setProp(element, name, value) {
  if (name.startsWith("on")) element[name] = value ?? null;
  else if (name.startsWith("--")) element.style.setProperty(name, value ?? null);
  else if (name === "checked") element.checked = value;
  else if (name === "value" && element.localName === "input") setField(element, value);
  else setAttribute(element, name, value);
}

const SPACES = { math: "http://www.w3.org/1998/Math/MathML", svg: "http://www.w3.org/2000/svg" };

/** The node of a child of `render`: the present one, if it was drawn from the same kind of description.
 * @param {Element} parent @param {ChildNode | null} now @param {any} child @returns {Node} */
function drawn(parent, now, child) {
  if (child instanceof Node) return child;
  if (!Array.isArray(child)) {
    const text = now instanceof Text ? now : new Text();
    if (text.data !== String(child)) text.data = child;
    return text;
  }
  const [kind, ...content] = child;
  const [tag, ...classes] = kind.split(".");
  const [props, ...children] = withProps(content);
  const isSame = now instanceof Element && given.has(now) && now.localName === tag;
  const element = isSame ? now : document.createElementNS(SPACES[tag] ?? parent.namespaceURI, tag);
  const name = [...classes, props.class].filter(Boolean).join(" ") || null;
  render(element, { type: tag === "button" ? "button" : null, ...props, class: name }, ...children);
  return element;
}

/** Return whether two lists have the same items in the same order. @param {unknown[]} left @param {unknown[]} right */
export const areSame = (left, right) =>
  left.length === right.length && left.every((thing, index) => thing === right[index]);

/** The URL of a file or route of this server, relative to its root. @param {string} path */
export const urlOf = (path) => new URL(`../${path}`, import.meta.url);

/** The way of all requests to the data API; a site without a server answers them itself (site/site.js). */
export const transport = {
  /** @param {string} path @param {RequestInit} [request] @returns {Promise<Response>} */
  send: (path, request) => fetch(urlOf(path), request),
};

/** An error whose message is for the user. */
export class UserError extends Error {}

export const LOST = "The server cannot be reached; try again.";

/** Fetch a route of this server. Throws a `UserError` with the reason of a rejection.
 * @param {string} path @param {RequestInit} [request]
 */
export async function fetchRoute(path, request) {
  const response = await transport.send(path, request).catch((error) => {
    throw error.name === "AbortError" ? error : new UserError(LOST);
  });
  if (!response.ok) throw new UserError(await response.text());
  return response;
}

/** Call an asynchronous function once, and again after a failure. @template T @param {() => Promise<T>} load */
export function once(load) {
  let promise = /** @type {Promise<T> | null} */ (null);
  return () =>
    (promise ??= load().catch((error) => {
      promise = null;
      throw error;
    }));
}

/** Mark a row or column of cells: a frame, or ticks at both ends where a frame would cover the cells. */
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

export const LETTERS = 12; // pixels; the smallest legible type on a canvas

/** The device pixel ratio of canvases while an image is exported (picture_file.js); 0 = the screen's. */
export const drawing = { ratio: 0 };

export const pixelRatio = () => drawing.ratio || window.devicePixelRatio || 1;

/** Size a canvas in CSS pixels for the screen's resolution and return its cleared context. */
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

/** The distance from the top of the page to an element, in pixels. @param {Element} element */
export const topOf = (element) =>
  element.getBoundingClientRect().top + (document.querySelector('[data-testid="stMain"]')?.scrollTop ?? 0);

/** The height of the window for layouts; in a frame that follows the page's height, the height that it began with. */
export const windowHeight = () => Number(document.documentElement.dataset.height ?? window.innerHeight);

/** Scroll an element to the top, under the navigation bar. @param {Element} element */
export const bringUnderBar = (element) => element.scrollIntoView({ block: "start" }); // its container has the padding

/** A framed part of a view.
 * @param {string | null} label accessible name; null if its heading suffices
 * @param {(Node | string | null)[]} header @param {...(Node | null)} inside
 */
export const panel = (kind, label, header, ...inside) =>
  h("section", { class: `panel ${kind}`, "aria-label": label }, h("header", {}, ...header), ...inside);

/** A collapsible part. @param {string} title @param {Record<string, any>} props @param {...Node} inside */
export const fold = (title, props, ...inside) => h("details", props, h("summary", {}, title), ...inside);

/** Show notices, one line each; what follows an empty line of a notice is folded.
 * @param {Element} parent @param {string[]} sentences */
export function fillNotices(parent, sentences) {
  const drawLine = (/** @type {string} */ sentence) => {
    const [first, rest] = sentence.split("\n\n", 2);
    const more = ["details", { title: "more about this" }, ["summary", "?"], ["span", rest]];
    return ["p", first, rest && more];
  };
  render(parent, ...sentences.map(drawLine));
}

/** The live region for notices. */
export const notices = () => h("div", { class: "notices", role: "status" });

/** The size of 1 rem in pixels. */
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

/** The width of an element's content box in pixels. @param {Element} element */
export function contentWidth(element) {
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

const COPIED_MS = 2000; // until the button has its name again

/** A button that copies a text and confirms it. @param {string} name @param {() => string} text */
export function makeCopy(name, text) {
  const press = button(name, copy, { "aria-live": "polite" });
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      setText(press, "copied");
      press.disabled = true;
      setTimeout(() => Object.assign(press, { textContent: name, disabled: false }), COPIED_MS);
    } catch {
      window.prompt("Copy this", text()); // the clipboard API needs a secure context
    }
  }
  return press;
}
