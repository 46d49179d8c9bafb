// The base class of all views: when they draw, what they send to the server, live announcements, and their lifetime. A
// view extends `View` with draw() and its event handlers, and with onMessage() if the message is not the state alone.

import { themeOf } from "./colour.js";
import { cover, isDrawn, isLearning, shownAlone } from "./curtain.js";
import { button, fill, h, setAttribute, setText, span } from "./dom.js";
import { isShortcut, walkedTiles } from "./grid_keys.js";

const NARROW = 640; // pixels of the view; below, one column
const COMPACT = 1060; // pixels of the view; below, on a tablet or beside a lesson, fewer parts are side by side
const PAUSE = 600; // ms without a change before an announcement

/** The mounted views. @type {Set<View>} */
export const views = new Set();

/** @typedef {"dark" | "light"} Theme */
/** @typedef {import("./messages.js").Ack} Ack */

/** @template {Ack} [State=any] */
export class View {
  /** @param {ShadowRoot | HTMLElement} root container of the view @param {CSSStyleSheet[]} styles
   * @param {string} kind the view's class, beside "view"
   * @param {string[]} choices fields of the state that the user sets: the response to an earlier click must not undo them
   */
  constructor(root, styles, kind, choices = []) {
    (root instanceof ShadowRoot ? root : document).adoptedStyleSheets = styles;
    this.root = root;
    this.kind = kind;
    this.choices = choices;
    this.state = /** @type {State} */ (/** @type {unknown} */ (null));
    this.turn = 0;
    this.acknowledged = 0;
    this.visit = "";
    this.wishes = /** @type {{turn: number, wish: object}[]} */ ([]);
    this.theme = /** @type {Theme} */ ("dark");
    this.themed = false; // whether the theme was read
    this.narrow = false;
    this.compact = false;
    this.projector = false; // one picture fills the window
    this.alone = ""; // the part that a lesson shows alone
    this.frame = 0;
    this.soon = 0;
    this.holds = /** @type {Record<string, unknown>} */ ({});
    this.announcement = "";
    this.saying = 0;
    this.page = location.pathname;
    this.aloud = h("p", { class: "aloud", "aria-live": "polite" });
    this.element = h("div", { class: kind ? `view ${kind}` : "view", hidden: "" });
    /** @type {(event: object) => void} */
    this.send = () => {};
  }

  /** Put the view's parts on the page and redraw when its size or the fonts change. @param {...Node} parts */
  show(...parts) {
    this.element.append(...parts, this.aloud);
    this.root.append(this.element);
    views.add(this);
    new ResizeObserver(() => this.resized()).observe(this.element);
    document.fonts?.ready.then(() => this.redraw());
    addEventListener("headlight-projector", this.projected);
    addEventListener("headlight-sheet", this.showAbove);
    addEventListener("headlight-curtain", this.curtained);
  }

  /** Handle a change of the projector mode. */
  projected = () => this.resized();

  /** Handle a change of the lesson's curtain: hidden parts must be gone in the same frame. */
  curtained = () => {
    if (isDrawn()) {
      clearTimeout(this.saying);
      setText(this.aloud, "");
      this.announcement = "";
    }
    cover(this.element, this.kind); // also if the view is too small to be drawn
    this.drawNow();
  };

  /** The part that stays visible above the sheet of controls on a phone. @returns {Element | null} */
  get main() {
    return null;
  }

  /** Scroll the main part into view when the sheet of controls opens. */
  showAbove = () => {
    if (this.narrow && this.main) bringUnderBar(this.main);
  };

  // ---- incoming messages

  /** Merge the state of a message; the user's choices since the last event stay. @param {State} state */
  onMessage(state) {
    // a new session starts its own count, but events from before the first session are still to be sent
    if (this.visit && this.visit !== state.visit) Object.assign(this, { turn: 0, wishes: [] });
    this.visit = state.visit;
    this.acknowledged = state.acknowledged;
    this.wishes = this.wishes.filter(({ turn }) => turn > state.acknowledged);
    const current = this.state;
    const answers = state.acknowledged >= this.turn;
    this.state = { ...state };
    if (answers) this.turn = state.acknowledged;
    else for (const name of this.choices) this.state[name] = current[name];
    this.redraw();
  }

  // ---- outgoing events

  /** Send an event, with the pending one-time changes of the events that it replaces.
   * @param {object} event lasting state @param {object} change one-time changes */
  tell(event, change = {}) {
    this.turn += 1;
    this.element.dataset.turn = String(this.turn);
    if (Object.keys(change).length) this.wishes.push({ turn: this.turn, wish: change });
    this.send({ turn: this.turn, ...event, ...Object.assign({}, ...this.wishes.map((pending) => pending.wish)) });
  }

  /** Announce a text to screen readers, debounced. @param {string} text */
  say(text) {
    if (text === this.announcement || isDrawn()) return;
    this.announcement = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.aloud, text), PAUSE);
  }

  /** Return whether the view's page is still the current one. */
  get isHere() {
    return this.element.isConnected && location.pathname === this.page;
  }

  /** Stop listening after the view has left the page. */
  leave() {
    views.delete(this);
    removeEventListener("headlight-projector", this.projected);
    removeEventListener("headlight-sheet", this.showAbove);
    removeEventListener("headlight-curtain", this.curtained);
  }

  /** Move the view to another root without redrawing it. @param {ShadowRoot} root */
  move(root) {
    const host = /** @type {any} */ (this.root);
    /** @type {any} */ (root).adoptedStyleSheets = host.adoptedStyleSheets;
    const active = /** @type {any} */ (host.activeElement);
    const range = active && [active.selectionStart, active.selectionEnd];
    this.root = root;
    root.append(this.element);
    active?.focus();
    if (range && range[0] !== undefined && range[0] !== null) active.setSelectionRange(...range);
    this.redraw();
  }

  // ---- drawing

  /** Return whether everything that is drawn has arrived. */
  get isReady() {
    return Boolean(this.state);
  }

  resized() {
    this.redraw();
  }

  /** Schedule one redraw for the next frame. */
  redraw() {
    if (this.frame || !this.isReady) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  /** Redraw after a delay unless it happens earlier. @param {number} wait ms */
  redrawSoon(wait) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.redraw(), wait);
  }

  /** Draw now, in the rest of the current frame. */
  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.isReady) this.paint();
  }

  paint() {
    clearTimeout(this.soon);
    this.element.hidden = false;
    const width = this.element.clientWidth;
    if (!width) return;
    this.applyTheme();
    this.narrow = width < NARROW;
    this.compact = width < COMPACT;
    this.projector = document.documentElement.classList.contains("projector");
    this.alone = shownAlone();
    setAttribute(this.element, "data-picture", this.alone || null);
    this.setClasses(this.holds);
    this.draw(width);
    cover(this.element, this.kind);
    Object.assign(this.element.dataset, { turn: this.turn, acknowledged: this.acknowledged });
  }

  /** Apply the theme of the page, once it is known. */
  applyTheme() {
    if (!this.themed) this.theme = themeOf(this.root instanceof ShadowRoot ? this.root.host : this.root);
    this.themed = true;
    setAttribute(this.element, "data-theme", this.theme);
  }

  /** Toggle the classes of the view's element. @param {Record<string, unknown>} kinds name -> whether it holds */
  setClasses(kinds) {
    this.holds = kinds;
    const classes = Object.entries({
      narrow: this.narrow,
      compact: this.compact,
      projector: this.projector && !this.alone,
      learning: isLearning(),
      ...kinds,
    }).filter(([, holds]) => holds);
    setAttribute(
      this.element,
      "class",
      ["view", this.kind, ...classes.map(([name]) => name)].filter(Boolean).join(" "),
    );
  }

  /** Mark the picture as stale. @param {boolean} waiting */
  wait(waiting) {
    setAttribute(this.element, "data-waiting", waiting ? "" : null);
  }

  /** Draw the parts; called once per frame. @param {number} _width pixels of the view */
  draw(_width) {}
}

// ---- shared parts

/** Draw every view now, in the given theme or in that of the page. @param {Theme | null} theme */
export function drawViews(theme = null) {
  for (const view of views) {
    if (!view.isReady || !view.element.isConnected) continue;
    Object.assign(view, theme ? { theme } : { themed: false });
    view.paint();
  }
}

/** Scroll an element to the top, under the navigation bar. @param {Element} element */
export function bringUnderBar(element) {
  /** @type {HTMLElement} */ (element).style.scrollMarginTop = "56px";
  element.scrollIntoView({ block: "start" });
}

/** A group of buttons in one frame. @param {string} label @param {...(Node | string)} buttons */
export const group = (label, ...buttons) =>
  h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);

/** @param {Element} group @returns {HTMLButtonElement[]} */
const buttonsOf = (group) =>
  /** @type {HTMLButtonElement[]} */ ([...group.children].filter((child) => !child.matches(":disabled")));

/** Move the focus between buttons with the arrow keys, Home and End. @param {KeyboardEvent} event */
function walk(event) {
  const buttons = buttonsOf(/** @type {Element} */ (event.currentTarget));
  const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
  const target = index < 0 || isShortcut(event) ? null : walkedTiles(event, index, buttons.length, 1);
  if (target === null) return;
  event.preventDefault();
  buttons[target].focus();
}

/** Make a group of buttons one tab stop (roving tabindex), at the pressed button. @param {HTMLElement} group */
export function setRovingTabindex(group) {
  const buttons = buttonsOf(group);
  const stop =
    buttons.find((button) => button.matches(":focus")) ??
    buttons.find((button) => button.getAttribute("aria-pressed") === "true") ??
    buttons[0];
  for (const button of buttons) setAttribute(button, "tabindex", button === stop ? "0" : "-1");
  group.onkeydown = walk;
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

/** The choice between a map and its table; `ending` makes the names plural. @param {(table: boolean) => void} choose */
export function mapOrTable(label, ending, choose) {
  const modes = ["map", "table"].map((mode) => [mode === "table", mode + ending]);
  return choice(label, /** @type {[boolean, string][]} */ (modes), choose);
}

/** Fill a group with one button per text, one of them pressed.
 * @param {string[]} texts @param {(at: number) => void} choose
 * @param {string} word noun for numbers among them, for the accessible name
 */
export function fillChoice(parent, texts, selected, choose, word = "") {
  const make = (/** @type {number} */ index) => button("", () => choose(index));
  fill(parent, texts, make, (element, text, index) => {
    setText(element, text);
    setAttribute(element, "aria-label", word && /^\d+$/.test(text) ? `${word} ${text}` : null);
    setAttribute(element, "aria-pressed", String(index === selected));
  });
  setRovingTabindex(parent);
}

/** The numbers from 0 as texts of buttons. @param {number} count */
export const numbers = (count) => Array.from({ length: count }, (_, number) => String(number));

/** A label beside a part. @param {string} text @param {Element} part */
export const namedPart = (text, part) =>
  span("named", h("span", { class: "label", "aria-hidden": part.hasAttribute("aria-label") }, text), part);

/** A framed part of a view.
 * @param {string | null} label accessible name; null if its heading suffices
 * @param {(Node | string | null)[]} header @param {...(Node | null)} inside
 */
export const panel = (kind, label, header, ...inside) =>
  h("section", { class: `panel ${kind}`, "aria-label": label }, h("header", {}, ...header), ...inside);

/** @param {Element} parent @param {string[]} sentences */
export const fillNotices = (parent, sentences) => fill(parent, sentences, "p", setText);

/** The live region for notices. */
export const notices = () => h("div", { class: "notices", role: "status" });

/** The size of 1 rem in pixels. */
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

/** The width of an element's content box in pixels. @param {Element} element */
export function contentWidth(element) {
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}
