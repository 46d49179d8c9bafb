// What all views share: when they draw, what they tell the server, what they say aloud, and how they come and go.
// A view extends `View` with draw(), its message's take() where that is not the state alone, and what the visitor does.

import { themeOf } from "./colour.js";
import { cover, isDrawn, isLearning, shownAlone } from "./curtain.js";
import { button, fill, h, setAttribute, setText, span } from "./dom.js";
import { isShortcut, walkedTiles } from "./grid_keys.js";

const NARROW = 640; // pixels of the view; below, one column
const COMPACT = 1060; // pixels of the view; below, on a tablet or beside a lesson, less stands side by side
const PAUSE = 600; // ms without a change, until it is said aloud

/** The views that are on the page. @type {Set<View>} */
export const views = new Set();

/** @typedef {"dark" | "light"} Theme */
/** @typedef {import("./messages.js").Ack} Ack */

/** @template {Ack} [State=any] */
export class View {
  /** @param {ShadowRoot | HTMLElement} root where the view is drawn @param {CSSStyleSheet[]} styles
   * @param {string} kind the view's class, beside "view"
   * @param {string[]} choices what in its state the visitor chooses: an answer to an earlier click must not undo it
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
    this.themed = false; // the theme was read
    this.narrow = false;
    this.compact = false;
    this.projector = false; // one picture is to be as large as the window allows
    this.alone = ""; // what a lesson shows of it
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

  /** Put the view's parts onto the page; drawn again when its size or the fonts change. @param {...Node} parts */
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

  /** The projector was switched on or off. */
  projected = () => this.resized();

  /** A lesson's curtain was drawn or opened: nothing of what it hides may stay, not for a frame. */
  curtained = () => {
    if (isDrawn()) {
      clearTimeout(this.saying);
      setText(this.aloud, "");
      this.announcement = "";
    }
    cover(this.element, this.kind); // also of a view that has no room to draw in
    this.drawNow();
  };

  /** The part that must stay visible above a sheet of controls on a phone. @returns {Element | null} */
  get main() {
    return null;
  }

  /** The controls of the page were opened. */
  showAbove = () => {
    if (this.narrow && this.main) bringUnderBar(this.main);
  };

  // ---- what comes in

  /** Take over the state of a message; choices made since the last click stay. @param {State} state */
  onMessage(state) {
    // a new session: what it says holds, but what was done before the first one is still to be told
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

  // ---- what goes out

  /** Send an event, with the pending one-time changes of the events that it replaces. @param {object} event what holds from now on @param {object} change what is to happen once */
  tell(event, change = {}) {
    this.turn += 1;
    this.element.dataset.turn = String(this.turn);
    if (Object.keys(change).length) this.wishes.push({ turn: this.turn, wish: change });
    this.send({ turn: this.turn, ...event, ...Object.assign({}, ...this.wishes.map((pending) => pending.wish)) });
  }

  /** Speaks once per pause. @param {string} text */
  say(text) {
    if (text === this.announcement || isDrawn()) return;
    this.announcement = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.aloud, text), PAUSE);
  }

  /** Tell whether its page is still shown. */
  get isHere() {
    return this.element.isConnected && location.pathname === this.page;
  }

  /** Stop listening: the view has left the page. */
  leave() {
    views.delete(this);
    removeEventListener("headlight-projector", this.projected);
    removeEventListener("headlight-sheet", this.showAbove);
    removeEventListener("headlight-curtain", this.curtained);
  }

  /** Move to another root, as it is. @param {ShadowRoot} root */
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

  /** Tell whether everything that is drawn has arrived. */
  get isReady() {
    return Boolean(this.state);
  }

  resized() {
    this.redraw();
  }

  /** Draw in the next frame, once. */
  redraw() {
    if (this.frame || !this.isReady) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  /** Draw after a while, unless it is drawn before. @param {number} wait ms */
  redrawSoon(wait) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.redraw(), wait);
  }

  /** Draw at once, in the time that is left until the next frame. */
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

  /** In the colours of the page, once they are known. */
  applyTheme() {
    if (!this.themed) this.theme = themeOf(this.root instanceof ShadowRoot ? this.root.host : this.root);
    this.themed = true;
    setAttribute(this.element, "data-theme", this.theme);
  }

  /** The classes of the view as it is now. @param {Record<string, unknown>} kinds name -> whether it holds */
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

  /** Marks what is shown as that of an earlier state. @param {boolean} waiting */
  wait(waiting) {
    setAttribute(this.element, "data-waiting", waiting ? "" : null);
  }

  /** Fill the parts, in a frame of its own. @param {number} _width pixels of the view */
  draw(_width) {}
}

// ---- parts that views have in common

/** Draw every view in a theme, at once; without one in that of the page. @param {Theme | null} theme */
export function drawViews(theme = null) {
  for (const view of views) {
    if (!view.isReady || !view.element.isConnected) continue;
    Object.assign(view, theme ? { theme } : { themed: false });
    view.paint();
  }
}

/** Scroll what is to be seen to the top, under the bar of the page. @param {Element} element */
export function bringUnderBar(element) {
  /** @type {HTMLElement} */ (element).style.scrollMarginTop = "56px";
  element.scrollIntoView({ block: "start" });
}

/** Buttons in one frame. @param {string} label @param {...(Node | string)} buttons */
export const group = (label, ...buttons) =>
  h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);

/** @param {Element} group @returns {HTMLButtonElement[]} */
const buttonsOf = (group) =>
  /** @type {HTMLButtonElement[]} */ ([...group.children].filter((child) => !child.matches(":disabled")));

/** Arrows, Home and End go from button to button. @param {KeyboardEvent} event */
function walk(event) {
  const buttons = buttonsOf(/** @type {Element} */ (event.currentTarget));
  const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
  const target = index < 0 || isShortcut(event) ? null : walkedTiles(event, index, buttons.length, 1);
  if (target === null) return;
  event.preventDefault();
  buttons[target].focus();
}

/** Make a row of buttons one tab stop, at the pressed one; arrows move the focus. @param {HTMLElement} group */
export function setRovingTabindex(group) {
  const buttons = buttonsOf(group);
  const stop =
    buttons.find((button) => button.matches(":focus")) ??
    buttons.find((button) => button.getAttribute("aria-pressed") === "true") ??
    buttons[0];
  for (const button of buttons) setAttribute(button, "tabindex", button === stop ? "0" : "-1");
  group.onkeydown = walk;
}

/** A group of buttons of which one is pressed: {element, press(value)}.
 * @template Value @param {[Value, string, string?][]} options value, text, and what a longer name says
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

/** The choice between a map and its table; `ending` makes them several. @param {(table: boolean) => void} choose */
export function mapOrTable(label, ending, choose) {
  const modes = ["map", "table"].map((mode) => [mode === "table", mode + ending]);
  return choice(label, /** @type {[boolean, string][]} */ (modes), choose);
}

/** Fill a group with a button for each text, one of them pressed.
 * @param {string[]} texts @param {(at: number) => void} choose
 * @param {string} word what the numbers among them are, for who hears them
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

/** "0", "1", … as texts of buttons. @param {number} count */
export const numbers = (count) => Array.from({ length: count }, (_, number) => String(number));

/** A word and what it names, side by side. @param {string} text @param {Element} part */
export const namedPart = (text, part) =>
  span("named", h("span", { class: "label", "aria-hidden": part.hasAttribute("aria-label") }, text), part);

/** A framed part of a view.
 * @param {string | null} label its name for who hears it; null where its heading says enough
 * @param {(Node | string | null)[]} header @param {...(Node | null)} inside
 */
export const panel = (kind, label, header, ...inside) =>
  h("section", { class: `panel ${kind}`, "aria-label": label }, h("header", {}, ...header), ...inside);

/** @param {Element} parent @param {string[]} sentences */
export const fillNotices = (parent, sentences) => fill(parent, sentences, "p", setText);

/** The element for notices that must not be overlooked. */
export const notices = () => h("div", { class: "notices", role: "status" });

/** Pixels of 1 rem. */
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Pixels that the content of an element may take. @param {Element} element */
export function contentWidth(element) {
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}
