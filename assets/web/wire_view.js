// @ts-check
// A view whose picture comes over the wire. The server's script says what is to be shown, `state`; the numbers and what
// is said of them, `picture`, are asked for by the view itself: at once when the visitor changes something, here or in a
// control beside it. The script is told when he pauses.

import { setAttribute } from "./dom.js";
import { isLeaving } from "./leaving.js";
import { completed, differing, put } from "./link.js";
import { parts } from "./packets.js";
import { View } from "./view_base.js";
import { Wire } from "./wire.js";

/** @typedef {import("./messages.js").Wanted} Wanted */
/** @typedef {import("./messages.js").Control} Control */
/** @typedef {{turn: number} & Record<string, unknown>} Told what the visitor did, with its own turn: said again later, it is no newer */
/** @typedef {Record<string, string | string[] | null>} Own key of the link -> what the visitor has chosen here; null = nothing */

const TYPING_PAUSE = 400; // ms; who types a key every third of a second does not pause
const PAUSE = 150;
const LOOK = 40; // ms until it is looked again whether the picture has come
const LONGEST_UNTOLD = 2000; // ms that the script waits for it
const SOON = 60; // ms; who presses a thing does not see that its mark comes so much later
const LONGEST_TEXT = 6000; // characters of any value that the wire takes; of a longer one the script says what it keeps
const COMES = 300; // ms after the script's answer, until all that it writes into the address is there
const AGAIN = 500; // ms until it is looked whether the page was left
const UNHEARD = 3000; // ms until what the script has not heard is told again
const LONGEST_LINK = 6000; // characters; the script says what a longer one leaves out
const LOST = "The server cannot be reached. This is the last picture; the view goes on by itself.";

/** @template {Wanted} [State=any] @template [Picture=any] @extends {View<State>} */
export class WireView extends View {
  /** @param {ShadowRoot | HTMLElement} root @param {CSSStyleSheet[]} styles @param {string} kind */
  constructor(root, styles, kind) {
    super(root, styles, kind);
    this.picture = /** @type {Picture} */ (/** @type {unknown} */ (null));
    this.refusal = ""; // why there is no newer picture
    this.waiting = /** @type {import("./wire.js").Waiting} */ ("");
    this.pause = 0;
    this.unheard = 0;
    this.completing = 0;
    this.had = /** @type {Set<string>} */ (new Set()); // keys of controls beside the view that the address had: what it lacks of them was taken back
    this.untold = /** @type {Told | null} */ (null); // what the script will be told
    this.untoldSince = 0;
    this.told = /** @type {Told | null} */ (null); // what it was told, until it has heard it
    this.wire = new Wire({
      take: (bytes, question) => this.answered(bytes, question),
      refuse: (sentence) => this.refuse(sentence),
      wait: (waiting) => this.waits(waiting),
    });
    this.here = new AbortController(); // as long as the view is on the page
    const { signal } = this.here;
    addEventListener("headlight-address", () => this.follow(), { signal });
    addEventListener("popstate", () => clearTimeout(this.completing), { signal }); // what was said before it is older
    // before anything else happens, the script must know what was done here; another page reads it from the address,
    // and an event that comes after the switch would lead back here
    const flush = (/** @type {Event} */ event) => {
      if (isLeaving() || !event.composedPath().includes(this.element)) this.flush();
    };
    for (const act of ["pointerdown", "keydown"]) addEventListener(act, flush, { signal, capture: true });
    addEventListener("pagehide", () => this.flush(true), { signal });
  }

  // ---- for the views

  /** What the visitor has chosen here. @returns {Own} */
  own() {
    return {};
  }

  /** The same as the address says it. @returns {Own} */
  link() {
    return {};
  }

  /** The keys of the link whose control is this view: nothing beside it takes one out of the address. */
  get keys() {
    return Object.keys(this.own());
  }

  /** The route that has what is missing; empty where nothing is. @param {URLSearchParams} _query */
  route(_query) {
    return "";
  }

  /** Whether what was chosen can be drawn before this route's answer has come. @param {string} _route */
  isDrawable(_route) {
    return false;
  }

  /** Takes over what the script says of the visitor's choices. @param {State} _state */
  adopt(_state) {}

  /** What is here answers this query too: it asks for the same settings in other words. @param {URLSearchParams} _query */
  same(_query) {}

  /** Takes the answer to a query. @param {Uint8Array[]} _parts @param {URLSearchParams} _query */
  receive(_parts, _query) {}

  /** What the script will say, as far as the link tells. @param {URLSearchParams} _link @returns {Partial<State>} */
  assumed(_link) {
    return {};
  }

  // ---- what comes in

  /** Shows what came with the page, before the script has said anything. @param {Uint8Array} bytes */
  begin(bytes) {
    const query = location.search.slice(1);
    const link = new URLSearchParams(query);
    this.receive(parts(bytes), link);
    const said = { visit: "", heard: 0, query, session: query, kept: [], notices: [], unusable: [] };
    this.state = /** @type {any} */ ({ ...said, ...this.assumed(link) });
    this.adopt(this.state);
    this.redraw();
  }

  get ready() {
    return Boolean(this.state && this.picture);
  }

  /** @param {State} state */
  take(state) {
    // another session, which has not heard what was done in the one before
    const last = this.untold ?? this.told;
    if (last && this.visit && this.visit !== state.visit)
      Object.assign(this, { visit: state.visit, turn: 1, wishes: [], untold: { ...last, turn: 1 } });
    const before = this.state;
    const answers = super.take(state);
    if (answers) {
      clearTimeout(this.pause);
      clearTimeout(this.completing);
      this.completing = setTimeout(() => this.completeAddress(), COMES);
      // what the script still says of a key may be older than the act that took it out of the address
      const [earlier, said] = [before, state].map(
        (own) => new URLSearchParams(/** @type {any} */ (own)?.session ?? ""),
      );
      const own = this.own(); // of these the script says what was done here
      const same = (/** @type {string} */ key) => `${said.getAll(key)}` === `${earlier.getAll(key)}`;
      const still = (/** @type {string} */ key) => said.has(key) && same(key) && !(key in own);
      this.had = new Set([...this.had].filter(still));
      this.remember();
      this.untold = this.told = null;
      this.refusal = ""; // the script says it too, and what is shown instead
      this.adopt(state);
      const here = /** @type {any} */ (this.picture)?.digest === state.wanted;
      if (here && !this.newer.length) this.same(this.query());
    } else if (this.untold) this.flush();
    this.ask();
    return answers;
  }

  /** A control beside the view was changed: the address says so before the script does. */
  follow() {
    clearTimeout(this.completing);
    this.remember();
    // another model has other heads and sentences: which, its script says
    if (this.state && this.isHere && !this.newer.includes("model")) this.ask();
  }

  /** @param {Uint8Array} bytes @param {string} question */
  answered(bytes, question) {
    this.refusal = "";
    this.receive(parts(bytes), new URLSearchParams(question.slice(question.indexOf("?") + 1)));
    this.drawNow();
  }

  /** @param {string} sentence */
  refuse(sentence) {
    this.refusal = sentence;
    this.redraw();
  }

  /** @param {import("./wire.js").Waiting} waiting */
  waits(waiting) {
    const marked = this.isLate;
    this.waiting = waiting;
    this.element.toggleAttribute("data-pending", waiting !== "");
    if (marked !== this.isLate) this.redraw();
  }

  /** True when the picture has been an earlier one for long enough to say so. */
  get isLate() {
    return this.waiting === "slow" || this.waiting === "lost";
  }

  /** What must be said: why there is no newer picture, then what the script and the picture say. @returns {string[]} */
  get notices() {
    const { refusal, waiting, state, picture } = this;
    const own = [waiting === "lost" ? LOST : "", refusal].filter(Boolean);
    return [...new Set([...own, ...state.notices, .../** @type {any} */ (picture).notices])];
  }

  paint() {
    super.paint();
    setAttribute(this.element, "data-late", this.isLate ? "" : null);
  }

  // ---- what goes out

  /** The link to what is seen now, which the script may not have heard of yet. */
  get address() {
    const url = new URL(location.href);
    if (this.heard < this.turn)
      for (const [key, value] of Object.entries(this.link()))
        put(url.searchParams, key, value === null ? [] : [value].flat());
    return url.href;
  }

  /** Notes which keys of controls beside the view the address has. */
  remember() {
    const { keys } = this;
    for (const key of new URLSearchParams(location.search).keys()) if (!keys.includes(key)) this.had.add(key);
  }

  /** The keys of which the address says something else than the script knew: controls beside the view, changed since. */
  get newer() {
    const { session = "", kept = [] } = /** @type {Partial<Control>} */ (/** @type {unknown} */ (this.state));
    return differing(session, [...kept, ...Object.keys(this.own())], this.had);
  }

  /** Writes what the controls say into the address where it is missing: Streamlit leaves out what code says of a control
   * that is new on the page.
   */
  completeAddress() {
    const { session = "", kept = [] } = /** @type {Partial<Control>} */ (/** @type {unknown} */ (this.state));
    const url = completed(session, kept, this.had, Object.keys(this.own()));
    if (url && this.isHere && this.heard >= this.turn) history.replaceState(history.state, "", url);
  }

  /** The query of what is to be shown: what the script says, what controls beside the view say since, what was chosen here. */
  query() {
    const wanted = new URLSearchParams(this.state.query);
    const now = new URLSearchParams(location.search);
    for (const key of this.newer) put(wanted, key, now.getAll(key));
    for (const [key, value] of Object.entries(this.own())) put(wanted, key, value === null ? [] : [value].flat());
    wanted.sort();
    return wanted;
  }

  /** Asks for what is missing, if anything is. */
  ask() {
    const query = this.query();
    if ([...query.values()].some((text) => text.length > LONGEST_TEXT)) return;
    const route = this.route(query);
    if (route) return this.wire.ask(route, query, this.visit);
    this.wire.settle();
    if (this.refusal) this.refuse("");
  }

  /** Draws, asks, and tells the script when the visitor pauses. @param {object} event @param {boolean} [typing] */
  chose(event, typing = false) {
    this.turn += 1; // no earlier answer may undo it
    this.element.dataset.turn = String(this.turn);
    this.refusal = "";
    this.ask();
    // a drawing of what is here already would take the processor from the picture that is on its way
    if (this.waiting && !this.isDrawable(this.route(this.query()))) this.redrawSoon(SOON);
    else this.redraw();
    this.untold = { ...event, turn: this.turn };
    this.untoldSince = performance.now();
    this.flushAfter(typing ? TYPING_PAUSE : PAUSE);
  }

  /** Tells the script after a pause, once no picture is on its way: its run would take the processor from that.
   * @param {number} pause ms
   */
  flushAfter(pause) {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      const isComing = this.waiting === "asked" || this.waiting === "slow";
      if (isComing && performance.now() - this.untoldSince < LONGEST_UNTOLD) this.flushAfter(LOOK);
      else this.flush();
    }, pause);
  }

  /** Tells the script what it has not been told; of a page that is being left only the address. */
  flush(leaving = isLeaving()) {
    clearTimeout(this.pause);
    const event = this.untold;
    // of a page that is left, also what was told a moment ago: nobody may hear it any more
    if (leaving ? this.heard < this.turn : event && (!this.visit || this.waiting === "lost")) this.writeAddress();
    if (!event) return;
    if (!this.visit) return; // the script is not there yet, and begins with the address
    if (leaving) {
      this.pause = setTimeout(() => this.flush(), AGAIN); // the page may not be left after all
      return;
    }
    this.untold = null;
    this.told = event;
    this.tellNow(event, UNHEARD);
  }

  /** Tells it, and again as long as nobody has heard it: the server may be gone, and come back as another one. What is
   * newer and untold will be told in its place.
   * @param {Told} event @param {number} wait ms
   */
  tellNow(event, wait) {
    clearTimeout(this.unheard);
    if (!this.isHere || this.untold || this.heard >= event.turn) return;
    if (wait > UNHEARD) this.writeAddress();
    this.send({ ...event, ...this.wished });
    this.unheard = setTimeout(() => this.tellNow(event, Math.min(2 * wait, 8 * UNHEARD)), wait);
  }

  /** What nobody may hear is in the address: another page, or another server, begins with that. The script writes it too,
   * as it stands in its controls, so it is left to it where it can.
   */
  writeAddress() {
    const { address } = this;
    if (this.isHere && new URL(address).search.length <= LONGEST_LINK && address !== location.href)
      history.replaceState(history.state, "", address);
  }

  leave() {
    super.leave();
    this.here.abort();
    this.wire.stop();
    clearTimeout(this.pause);
    clearTimeout(this.unheard);
    clearTimeout(this.completing);
  }
}
