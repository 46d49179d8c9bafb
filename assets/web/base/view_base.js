// The base class of all views: when they draw, what they send to the server, live announcements, and their lifetime. A
// view extends `View` with draw() and its event handlers, and with onMessage() if the message is not the state alone.

import { inks, themeOf } from "./colour.js";
import { cover, curtain, isDrawn } from "./curtain.js";
import { bringUnderBar, h, setAttribute, setText } from "./dom.js";
import viewCss from "./view.css" with { type: "css" };

const NARROW = 640; // pixels of the view; below, one column
const COMPACT = 1060; // pixels of the view; below, on a tablet or beside a lesson, fewer parts are side by side
const PAUSE = 600; // ms without a change before an announcement

/** The mounted views. @type {Set<View>} */
export const views = new Set();

/** @template {Ack} [State=any] */
export class View {
  /** @param {ShadowRoot | HTMLElement} root container of the view @param {CSSStyleSheet[]} styles besides view.css
   * @param {string} kind the view's class, beside "view"
   * @param {string[]} choices fields of the state that the user sets: the response to an earlier click must not undo them
   */
  constructor(root, styles, kind, choices = []) {
    (root instanceof ShadowRoot ? root : document).adoptedStyleSheets = [viewCss, ...styles];
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
    this.inks = /** @type {Inks} */ ({}); // the colours of the canvases in this theme
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
    this.lifetime = new AbortController(); // aborted when the view leaves the page
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
    const { signal } = this.lifetime;
    addEventListener("headlight-projector", () => this.resized(), { signal });
    addEventListener("headlight-sheet", () => this.showAbove(), { signal });
    addEventListener("headlight-curtain", () => this.onCurtain(), { signal });
  }

  /** Handle a change of the lesson's curtain: hidden parts must be gone in the same frame. */
  onCurtain() {
    if (isDrawn()) {
      clearTimeout(this.saying);
      setText(this.aloud, "");
      this.announcement = "";
    }
    cover(this.element, this.kind); // also if the view is too small to be drawn
    this.drawNow();
  }

  /** The part that stays visible above the sheet of controls on a phone. @returns {Element | null} */
  get main() {
    return null;
  }

  /** Scroll the main part into view when the sheet of controls opens. */
  showAbove() {
    if (this.narrow && this.main) bringUnderBar(this.main);
  }

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

  /** Send an event. @param {object} event the state to apply */
  tell(event) {
    this.turn += 1;
    this.element.dataset.turn = String(this.turn);
    this.send({ turn: this.turn, ...event });
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
    this.lifetime.abort();
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
    this.alone = curtain.alone;
    setAttribute(this.element, "data-picture", this.alone || null);
    this.setClasses(this.holds);
    this.inks = inks(this.element);
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
    const { narrow, compact, kind } = this;
    const learning = document.documentElement.classList.contains("learning");
    const layout = { narrow, compact, projector: this.projector && !this.alone, learning };
    const all = Object.entries({ view: true, [kind]: kind, ...layout, ...kinds });
    const classes = all.filter(([, holds]) => holds).map(([name]) => name);
    setAttribute(this.element, "class", classes.join(" "));
  }

  /** Mark the picture as stale. @param {boolean} waiting */
  wait(waiting) {
    setAttribute(this.element, "data-waiting", waiting ? "" : null);
  }

  /** Draw the parts; called once per frame. @param {number} _width pixels of the view */
  draw(_width) {}
}

/** Draw every view now, in the given theme or in that of the page. @param {Theme | null} theme */
export function drawViews(theme = null) {
  for (const view of views) {
    if (!view.isReady || !view.element.isConnected) continue;
    Object.assign(view, theme ? { theme } : { themed: false });
    view.paint();
  }
}
