// A view that owns what is shown: it reads the link when it is mounted and after Back, holds what the visitor chooses
// since, writes that into the address, and asks the server for the picture of it. Nobody else knows or says any of it.

import { h, setAttribute } from "../base/dom.js";
import { CALLED, LARGE_MODEL, MAX_LINK_BYTES, MAX_TEXT_LENGTH, MODEL } from "../base/facts.js";
import { leftOut, OF_ONE_MODEL, OF_RIGHT_MODEL, setParam, read, write } from "../link/link.js";
import { isForeign, isRecording, titleOf } from "../link/model_name.js";
import { parts } from "./packets.js";
import { fillNotices, View } from "../base/view_base.js";
import { ApiClient } from "./api_client.js";

/** @param {string} text */
const short = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);

/** @typedef {import("../link/link.js").Values} Values */
/** @typedef {import("../base/messages.js").PictureAnswer} PictureAnswer what every picture says of its query */

// ms until the address says what is typed or chosen: browsers take few changes of it a second, and each takes them as long
// as a frame, which is the picture's
const PAUSE = { typing: 400, choosing: 100 };
const LOADS =
  "Loading SmolLM2 with its 135 million parameters. The first time takes longer, because they are unpacked.";
const OF_HEADS = ["off", "off2", "unheard", "unheard2"];
const SHOWN = 60; // characters of a sentence that is repeated
const LOST = "The server cannot be reached. This is the last picture; it updates by itself when the server is back.";

/** @template {PictureAnswer} [Picture=any] @extends {View<any>} */
export class ApiView extends View {
  /** @param {ShadowRoot | HTMLElement} root @param {CSSStyleSheet[]} styles @param {string} kind */
  constructor(root, styles, kind) {
    super(root, styles, kind);
    this.picture = /** @type {Picture} */ (/** @type {unknown} */ (null));
    this.modelName = /** @type {string | null} */ (null); // as in the link; null = MiniLM
    this.deviceName = /** @type {string | null} */ (null);
    this.refused = /** @type {Set<string>} */ (new Set()); // keys of texts that cannot be used: the last ones that could are shown
    this.refusals = /** @type {Record<string, string>} */ ({}); // key of such a text, or "" of anything else -> why not
    this.fits = 0; // characters of the text refused last that could be used
    this.opened = true; // the link is shown as it was opened: nothing was chosen since
    this.isNewest = true; // the answer that has come is to the newest question
    this.openWarnings = /** @type {string[]} */ ([]); // what was said of the link as it was opened
    this.isFitting = false; // another model was chosen, and its first picture has not come
    this.shortened = /** @type {Record<string, string>} */ ({}); // key of a text -> what was left out of it
    this.waiting = /** @type {import("./api_client.js").Waiting} */ ("");
    this.pause = 0;
    this.lifetime = new AbortController(); // as long as the view is on the page
    const { signal } = this.lifetime;
    const handlers = {
      take: (bytes, question) => this.onAnswer(bytes, question),
      refuse: (sentence, key, fits) => this.refuse(sentence, key, fits),
      wait: (waiting) => this.waits(waiting),
    };
    this.wire = new ApiClient(handlers, signal);
    this.bare = h("div", { class: "notices bare", role: "alert" }); // what is said while there is no picture
    addEventListener("popstate", () => this.follow(), { signal });
    addEventListener("headlight-leave", () => this.writeAddress(), { signal });
    addEventListener("headlight-choose", (event) => this.onModelEvent(/** @type {CustomEvent} */ (event)), { signal });
    addEventListener("pagehide", () => this.writeAddress(), { signal });
  }

  // ---- for the views

  /** Take over the parameters of a link. @param {URLSearchParams} _link */
  readLink(_link) {}

  /** The link parameters of this view. @returns {Values} */
  toParams() {
    return {};
  }

  /** The request parameters: those of the link without the ones that change no picture, as the place within a map.
   * @returns {Values}
   */
  requestParams() {
    return this.toParams();
  }

  /** Words for the last text that could be used, as long as the present one cannot. @param {string} _key */
  staleLabel(_key) {
    return "Below is the previous text,";
  }

  /** The route that has what is missing; empty where nothing is. @param {URLSearchParams} _query */
  route(_query) {
    return "";
  }

  /** A query is answered by the picture that is here, which was asked for in other words: the view notes them. @param {URLSearchParams} _query */
  onUnchanged(_query) {}

  /** Apply the answer to a query. @param {Uint8Array[]} _parts @param {URLSearchParams} _query */
  receive(_parts, _query) {}

  // ---- what comes in

  /** Show what came with the page. @param {Uint8Array} bytes */
  begin(bytes) {
    this.read();
    this.applyAnswer(bytes, this.query());
    this.drawNow();
  }

  get isReady() {
    return Boolean(this.picture) || this.notices.length > 0;
  }

  /** Take over the message of the page's script: the visit, and nothing of the picture. @param {{visit: string}} message */
  onMessage({ visit }) {
    this.visit = visit;
    if (!this.picture) this.read();
    this.ask();
    this.redraw();
  }

  /** Take over the parameters of the address. */
  read() {
    const link = read();
    [this.modelName, this.deviceName] = [link.get("model"), link.get("dev")];
    this.refused = new Set();
    this.refusals = {};
    this.opened = true;
    this.shortened = {};
    this.openWarnings = [];
    this.readLink(link);
  }

  /** Back, Forward, or another step of a lesson. */
  follow() {
    clearTimeout(this.pause);
    this.pause = 0;
    if (!this.isHere) return;
    this.read();
    this.ask();
    this.redraw();
  }

  /** @param {Uint8Array} bytes @param {string} question */
  onAnswer(bytes, question) {
    this.applyAnswer(bytes, new URLSearchParams(question.slice(question.indexOf("?") + 1)));
    this.drawNow();
    if (this.isHere) this.ask(); // a newer question may have counted on what an older answer has taken away
  }

  /** Apply the answer to a query. @param {Uint8Array} bytes @param {URLSearchParams} query */
  applyAnswer(bytes, query) {
    this.clearErrors();
    this.isNewest = String(query) === String(this.query()); // which the picture then changes, where a text was refused
    this.receive(parts(bytes), query);
    const { unusable } = this.picture;
    const { refused, refusals, shortened } = this;
    // of another model nothing is said: what it cannot take of the one before leaves the link
    const isUnusable = Object.keys(unusable).length > 0;
    const warnings = isUnusable && !this.isFitting ? this.picture.warnings : this.openWarnings;
    if (this.isNewest) this.isFitting = false;
    // a shorter sentence may lack the row that was chosen, and what is typed says so after its pause
    if (this.isNewest && !this.pause) this.writeAddress();
    if (!this.isNewest || !isUnusable) return;
    // what the link said and could not be used must not stay in it; the picture is that of the rest
    write(unusable);
    this.read();
    Object.assign(this, { refused, refusals, shortened, openWarnings: warnings });
    this.onUnchanged(this.query());
  }

  /** Only what still cannot be used is said. */
  clearErrors() {
    this.refusals = Object.fromEntries(Object.entries(this.refusals).filter(([key]) => this.refused.has(key)));
  }

  /** @param {string} sentence @param {string} key of the text that cannot be used; "" of anything else @param {number} fits */
  refuse(sentence, key, fits) {
    this.fits = fits;
    this.refusals = { ...this.refusals, [key]: sentence };
    const again = key !== "" && !this.refused.has(key);
    this.refused.add(key);
    if (again) this.ask(); // everything else that is chosen is shown of the last text that could be used
    this.redraw();
  }

  /** @param {import("./api_client.js").Waiting} waiting */
  waits(waiting) {
    const marked = this.isLate && this.waiting;
    this.waiting = waiting;
    this.element.toggleAttribute("data-pending", waiting !== "");
    if (marked !== (this.isLate && waiting)) this.redraw();
  }

  /** Tell whether the picture has been stale for long enough to say so. */
  get isLate() {
    return this.waiting === "slow" || this.waiting === "lost";
  }

  /** The notices: why there is no newer picture, those of the picture, and what the address leaves out. @returns {string[]} */
  get notices() {
    const { waiting, picture, refusals } = this;
    const refused = Object.entries(refusals).map(([key, reason]) => {
      const last = key && picture?.texts[key];
      return last ? `${reason} ${this.staleLabel(key)} “${short(last)}”.` : reason;
    });
    const isComing = this.isLate && (!picture || (this.modelName ?? MODEL) !== picture.model);
    const name = this.modelName ?? MODEL;
    const loads = name === LARGE_MODEL ? LOADS : isForeign(name) ? `Loading ${titleOf(name)} …` : "";
    const coming = isComing ? loads : "";
    const left = leftOut().map((key) => CALLED[key]);
    const limit = MAX_LINK_BYTES.toLocaleString("en");
    const omits = left.length
      ? `The full link would be longer than ${limit} bytes, so it leaves out ${left.join(" and ")}.`
      : "";
    const pictureNotices = picture?.notices.filter((notice) => !picture.warnings.includes(notice)) ?? [];
    const sentences = [waiting === "lost" ? LOST : "", coming, ...refused, ...this.openWarnings, ...pictureNotices];
    return [...new Set([...sentences, ...Object.values(this.shortened), omits].filter(Boolean))];
  }

  paint() {
    if (this.picture) {
      this.bare.remove();
      super.paint();
    } else {
      setAttribute(this.element, "class", `view ${this.kind} without-picture`);
      this.element.prepend(this.bare);
      fillNotices(this.bare, this.notices);
      this.element.hidden = false;
      this.applyTheme();
    }
    setAttribute(this.element, "data-late", this.isLate ? "" : null);
    setAttribute(this.element, "data-typing", this.pause ? "" : null);
  }

  // ---- what goes out

  /** The link parameters of all this view's keys, without defaults. @returns {Values} */
  get linkParams() {
    const { picture } = this;
    const values = /** @type {Values} */ ({ model: this.modelName, dev: this.deviceName, ...this.toParams() });
    if (!picture || picture.model !== (this.modelName ?? MODEL)) return values; // whose defaults are not known yet
    const cursor = read().get("at"); // which other pages have another default of
    const isSaid = (/** @type {string} */ key) => key === "at" && values.at !== null && values.at === cursor;
    const isDefault = (/** @type {string} */ key) =>
      String(values[key] ?? "") === String(picture.defaults[key] ?? "") && !isSaid(key);
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, isDefault(key) ? null : value]));
  }

  /** The link to what is seen now, which the address may not say yet. */
  get address() {
    const url = new URL(location.href);
    const link = read();
    for (const [key, value] of Object.entries(this.linkParams)) setParam(link, key, value);
    url.search = String(link);
    return url.href;
  }

  writeAddress() {
    clearTimeout(this.pause);
    this.pause = 0;
    setAttribute(this.element, "data-typing", null);
    if (this.isHere) write(this.linkParams);
    this.redraw(); // it may omit something
  }

  /** A text within its bound; what is beyond it is told. @param {string | null} text @param {string} key */
  clip(text, key) {
    delete this.shortened[key];
    if (text === null || text.length <= MAX_TEXT_LENGTH) return text;
    const called = `${CALLED[key][0].toUpperCase()}${CALLED[key].slice(1)}`;
    const [had, limit] = [text.length, MAX_TEXT_LENGTH].map((count) => count.toLocaleString("en"));
    this.shortened[key] = `${called} had ${had} characters; the first ${limit} are kept.`;
    return text.slice(0, MAX_TEXT_LENGTH);
  }

  /** The query of what is to be shown. */
  query() {
    const query = new URLSearchParams();
    const params = this.opened ? this.asOpened() : this.requestParams();
    const last = Object.fromEntries([...this.refused].map((key) => [key, this.picture?.texts[key] ?? null]));
    const pairs = { model: this.modelName, dev: this.deviceName, ...params, ...last };
    for (const [key, value] of Object.entries(pairs)) setParam(query, key, value);
    query.sort();
    return query;
  }

  /** The parameters of the link as it was opened, unparsed: the server reports those that cannot be used. @returns {Values} */
  asOpened() {
    const link = read();
    const params = this.toParams();
    const keys = [...Object.keys(params), "big"].filter((key) => link.has(key));
    return Object.fromEntries(keys.map((key) => [key, key in this.shortened ? params[key] : link.getAll(key)]));
  }

  /** The next request, or null. @returns {{route: string, query: URLSearchParams} | null} */
  request() {
    const query = this.query();
    const route = this.route(query);
    return route ? { route, query } : null;
  }

  /** Ask for what is missing, if anything is. */
  ask() {
    const request = this.request();
    if (request) return this.wire.ask(request.route, request.query, this.visit);
    this.wire.cancelAll();
    this.clearErrors();
  }

  /** The visitor has chosen something. @param {boolean} [typing] it goes on */
  onChange(typing = false) {
    this.opened = false;
    this.openWarnings = [];
    this.refused = new Set();
    this.ask();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.writeAddress(), typing ? PAUSE.typing : PAUSE.choosing);
    // what is typed shows nothing new until its answer, or its pause, comes
    if (typing) setAttribute(this.element, "data-typing", "");
    else this.redraw();
  }

  /** Take over a choice of the bar; the script need not know of it then. @param {CustomEvent} event */
  onModelEvent(event) {
    if (!this.isHere) return;
    event.preventDefault();
    this.choose(event.detail);
  }

  /** Another model, or another device, was chosen in the bar. What only the model before could take leaves the link.
   * @param {Values} values
   */
  choose(values) {
    this.writeAddress();
    const { presets, fixed } = this.picture ?? {};
    const isPreset =
      presets?.includes(read().get("s") ?? "") || (fixed && "s" in fixed) || isRecording(`${values.model}`);
    const modelKeys = [...OF_ONE_MODEL, ...(isPreset ? ["s"] : [])];
    const dropped = "model" in values ? modelKeys : "model2" in values ? OF_RIGHT_MODEL : [];
    write({ ...Object.fromEntries(dropped.map((key) => [key, null])), ...values });
    this.follow();
    this.isFitting = dropped.length > 0;
  }

  /** Another kind of attention of the same model: the sentence stays, its heads are others. @param {string} model */
  chooseGroup(model) {
    this.writeAddress();
    write({ ...Object.fromEntries([...OF_ONE_MODEL, ...OF_HEADS].map((key) => [key, null])), model });
    this.follow();
  }

  leave() {
    super.leave();
    this.lifetime.abort();
    clearTimeout(this.pause);
  }
}
