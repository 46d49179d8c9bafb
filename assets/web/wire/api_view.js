// The base class of views that own their state: read from the link when mounted and after Back, changed by the user,
// written to the address, and requested from the server. Nothing else reads or writes this state.

import { fillNotices, h, notices, setAttribute, setAttributes } from "../base/dom.js";
import { CALLED, LARGE_MODEL, MAX_LINK_BYTES, MAX_TEXT_LENGTH, MODEL } from "../base/facts.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { leftOut, OF_ONE_MODEL, OF_RIGHT_MODEL, setParam, read, write } from "../link/link.js";
import { baseOf, descriptions, isForeign, isRecording, titleOf } from "../link/model_name.js";
import { parts } from "./packets.js";
import { View } from "../base/view_base.js";
import { ApiClient } from "./api_client.js";
import { isolated } from "../base/token_text.js";

/** @param {string} text */
const short = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);

// Debounce of address updates in ms: browsers rate-limit them, and each takes a frame's time.
const PAUSE = { typing: 400, choosing: 100 };
const LOADS = "Loading SmolLM2-135M-Instruct, four-bit. The first time takes longer, because its weights are unpacked.";
const MODELS = ["model", "model2"]; // keys of models
const OF_HEADS = ["off", "off2", "unheard", "unheard2"];
const SHOWN = 60; // characters of a quoted sentence
const LOST = "The server cannot be reached. This is the last picture; it updates by itself when the server is back.";

/** @template {PictureAnswer} [Picture=any] @extends {View<any>} */
export class ApiView extends View {
  /** @param {ShadowRoot | HTMLElement} root @param {CSSStyleSheet[]} styles @param {string} kind */
  constructor(root, styles, kind) {
    super(root, styles, kind);
    this.picture = /** @type {Picture} */ (/** @type {unknown} */ (null));
    this.modelName = /** @type {string | null} */ (null); // as in the link; null = the default model
    this.deviceName = /** @type {string | null} */ (null);
    this.refused = /** @type {Set<string>} */ (new Set()); // parameters of unusable texts, replaced by their last usable values
    this.refusals = /** @type {Record<string, string>} */ ({}); // parameter of such a text, or "" for other errors -> reason
    this.fits = 0; // usable characters of the last refused text
    this.opened = true; // the link is unchanged since it was opened
    this.isNewest = true; // the picture is the response to the newest query
    this.openWarnings = /** @type {string[]} */ ([]); // warnings about the opened link
    this.isFitting = false; // another model was chosen, and its first picture is pending
    this.fallback = /** @type {Values | null} */ (null); // the link's parameters before that choice
    this.shortened = /** @type {Record<string, string>} */ ({}); // parameter of a text -> the part that was cut off
    this.waiting = /** @type {Waiting} */ ("");
    this.pause = 0;
    const { signal } = this.lifetime;
    const handlers = {
      take: (bytes, question) => this.onAnswer(bytes, question),
      refuse: (sentence, key, fits) => this.refuse(sentence, key, fits),
      wait: (waiting) => this.waits(waiting),
    };
    this.wire = new ApiClient(handlers, signal);
    this.noticeList = notices();
    this.bare = h("div", { class: "notices bare", role: "alert" }); // notices while there is no picture
    addEventListener("popstate", () => this.follow(), { signal });
    const finish = (/** @type {any} */ event) => {
      if (this.pause && !event.repeat && (isShortcut(event) || !isTyped(event))) this.writeAddress(); // the next act has its own entry
    };
    for (const type of ["pointerdown", "keydown", "click"]) addEventListener(type, finish, { signal, capture: true });
    addEventListener("headlight-leave", () => this.writeAddress(), { signal });
    addEventListener("headlight-choose", (event) => this.onModelEvent(/** @type {CustomEvent} */ (event)), { signal });
    addEventListener("pagehide", () => this.writeAddress(), { signal });
  }

  /** Take over the parameters of a link. @param {URLSearchParams} _link */
  readLink(_link) {}

  /** The link parameters of this view. @returns {Values} */
  toParams() {
    return {};
  }

  /** The request parameters: link parameters without those that do not change the picture, such as the cursor.
   * @returns {Values}
   */
  requestParams() {
    return this.toParams();
  }

  /** Words for the last usable text while the current one is not. @param {string} _key */
  staleLabel(_key) {
    return "Below is the previous text,";
  }

  /** The route of the missing data; "" if nothing is missing. @param {URLSearchParams} _query */
  route(_query) {
    return "";
  }

  /** Note that the current picture also answers this query. @param {URLSearchParams} _query */
  onUnchanged(_query) {}

  /** Apply the response to a query. @param {Uint8Array[]} _parts @param {URLSearchParams} _query */
  receive(_parts, _query) {}

  /** Show the prerendered picture. @param {Uint8Array} bytes */
  begin(bytes) {
    this.read();
    this.applyAnswer(bytes, this.query());
    this.drawNow();
  }

  get isReady() {
    return Boolean(this.picture) || this.notices.length > 0;
  }

  /** Take over the session from the page's script. @param {{visit: string}} message */
  onMessage({ visit }) {
    const isOther = this.visit !== visit;
    this.visit = visit;
    if (!this.picture && isOther) this.wire.cancelAll(); // what this visitor may see is asked for again
    if (!this.picture && (isOther || !this.opened)) this.read();
    this.ask();
    this.redraw();
  }

  /** Read the parameters of the address. */
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

  /** Follow Back, Forward, or another step of a lesson. */
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
    if (this.isHere) this.ask(); // a newer query may have relied on data that this response evicted
  }

  /** Apply the response to a query. @param {Uint8Array} bytes @param {URLSearchParams} query */
  applyAnswer(bytes, query) {
    this.clearErrors();
    this.isNewest = String(query) === String(this.query()); // the picture changes the query if a text was refused
    this.receive(parts(bytes), query);
    const { unusable } = this.picture;
    const key = MODELS.find((name) => name in unusable) ?? "";
    const warning = key && this.picture.warnings.find((/** @type {string} */ text) => text.includes(`${key}=`));
    if (this.isNewest && this.fallback && warning) return this.restore(key, warning.slice(warning.indexOf(". ") + 2));
    if (this.isNewest) this.fallback = null;
    const { refused, refusals, shortened } = this;
    // for another model no warnings: what it cannot use leaves the link
    const isUnusable = Object.keys(unusable).length > 0;
    const warnings = isUnusable && !this.isFitting ? this.picture.warnings : this.openWarnings;
    if (this.isNewest) this.isFitting = false;
    // a shorter sentence may lack the selected row; typed text updates the address after its debounce
    if (this.isNewest && !this.pause) this.writeAddress();
    if (!this.isNewest || !isUnusable) return;
    // unusable parameters must not stay in the link
    write(unusable);
    this.read();
    Object.assign(this, { refused, refusals, shortened, openWarnings: warnings });
    this.onUnchanged(this.query());
  }

  /** Keep only the errors that still hold. */
  clearErrors() {
    this.refusals = Object.fromEntries(Object.entries(this.refusals).filter(([key]) => this.refused.has(key)));
  }

  /** @param {string} sentence @param {string} key of the unusable text; "" for other errors @param {number} fits */
  refuse(sentence, key, fits) {
    const isShown = key === "model" && this.picture?.model === (this.modelName ?? MODEL);
    if (isShown) return this.refuse(sentence, "", fits);
    if (MODELS.includes(key)) return this.restore(key, sentence);
    this.fits = fits;
    this.refusals = { ...this.refusals, [key]: sentence };
    const again = key !== "" && !this.refused.has(key);
    this.refused.add(key);
    if (again) this.ask(); // everything else is computed for the last usable text
    this.redraw();
  }

  /** Return to the model before: the one that was chosen cannot be used. @param {string} key @param {string} sentence */
  restore(key, sentence) {
    const { picture } = this;
    const model = picture && picture.model !== MODEL ? picture.model : null;
    write(this.fallback ?? { [key]: key === "model" ? model : null });
    this.fallback = null;
    this.isFitting = false;
    this.read();
    this.openWarnings = [sentence];
    this.ask();
    this.redraw();
  }

  /** @param {Waiting} waiting */
  waits(waiting) {
    const marked = this.isLate && this.waiting;
    this.waiting = waiting;
    this.element.toggleAttribute("data-pending", waiting !== "");
    if (marked !== (this.isLate && waiting)) this.redraw();
  }

  /** Return whether the picture has been stale for long enough to show it. */
  get isLate() {
    return this.waiting === "slow" || this.waiting === "lost";
  }

  /** The notices: errors, warnings of the picture, and what the address omits. @returns {string[]} */
  get notices() {
    const { waiting, picture, refusals } = this;
    const refused = Object.entries(refusals).map(([key, reason]) => {
      const last = key && picture?.texts[key];
      return last ? `${reason} ${this.staleLabel(key)} “${isolated(short(last))}”.` : reason;
    });
    const isComing = this.isLate && (!picture || (this.modelName ?? MODEL) !== picture.model);
    const name = this.modelName ?? MODEL;
    const described = [titleOf(name), descriptions.get(baseOf(name))?.[1]].filter(Boolean).join(": ");
    const loads = name === LARGE_MODEL ? LOADS : isForeign(name) ? `Loading ${described} …` : "";
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
      fillNotices(this.noticeList, this.notices);
      super.paint();
    } else {
      setAttribute(this.element, "class", `view ${this.kind} without-picture`);
      this.element.prepend(this.bare);
      fillNotices(this.bare, this.notices);
      this.element.hidden = false;
      this.applyTheme();
    }
    setAttributes(this.element, { "data-late": this.isLate ? "" : null, "data-typing": this.pause ? "" : null });
  }

  /** All link parameters of this view, without defaults. @returns {Values} */
  get linkParams() {
    const { picture } = this;
    const values = /** @type {Values} */ ({ model: this.modelName, dev: this.deviceName, ...this.toParams() });
    if (!picture || picture.model !== (this.modelName ?? MODEL)) return values; // its defaults are not known yet
    const cursor = read().get("at"); // other pages have another default cursor
    const isExplicit = (/** @type {string} */ key) => key === "at" && values.at !== null && values.at === cursor;
    const isDefault = (/** @type {string} */ key) =>
      String(values[key] ?? "") === String(picture.defaults[key] ?? "") && !isExplicit(key);
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, isDefault(key) ? null : value]));
  }

  /** The link of the current state, which the address may lag behind. */
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
    this.redraw(); // the address may omit something
  }

  /** Cut a text to its maximum and warn about the rest. @param {string | null} text @param {string} key */
  clip(text, key) {
    delete this.shortened[key];
    if (text === null || text.length <= MAX_TEXT_LENGTH) return text;
    const called = `${CALLED[key][0].toUpperCase()}${CALLED[key].slice(1)}`;
    const [had, limit] = [text.length, MAX_TEXT_LENGTH].map((count) => count.toLocaleString("en"));
    this.shortened[key] = `${called} had ${had} characters; the first ${limit} are kept.`;
    return text.slice(0, MAX_TEXT_LENGTH);
  }

  /** The query of the current state. */
  query() {
    const query = new URLSearchParams();
    const params = this.opened ? this.asOpened() : this.requestParams();
    const last = Object.fromEntries([...this.refused].map((key) => [key, this.picture?.texts[key] ?? null]));
    const pairs = { model: this.modelName, dev: this.deviceName, ...params, ...last };
    for (const [key, value] of Object.entries(pairs)) setParam(query, key, value);
    query.sort();
    return query;
  }

  /** The parameters of the link as opened, unparsed: the server reports unusable ones. @returns {Values} */
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

  /** Request what is missing, if anything. */
  ask() {
    const request = this.request();
    if (request) return this.wire.ask(request.route, request.query, this.visit);
    this.wire.cancelAll();
    this.clearErrors();
  }

  /** Handle a change by the user. @param {boolean} [typing] more input follows */
  onChange(typing = false) {
    this.opened = false;
    this.openWarnings = [];
    this.refused = new Set();
    this.ask();
    if (this.isHere && !this.pause) write(this.linkParams, true);
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.writeAddress(), typing ? PAUSE.typing : PAUSE.choosing);
    // typed text is not stale before its response or debounce is due
    if (typing) setAttribute(this.element, "data-typing", "");
    else setTimeout(() => this.drawNow()); // not in the next frame, when the response may already wait for its drawing
  }

  /** Handle a choice in the bar, so that the script need not rerun. @param {CustomEvent} event */
  onModelEvent(event) {
    if (!this.isHere) return;
    event.preventDefault();
    this.choose(event.detail);
  }

  /** Apply another model or device from the bar; settings that only the previous model supports leave the link.
   * @param {Values} values
   */
  choose(values) {
    this.writeAddress();
    const { presets, fixed } = this.picture ?? {};
    const isPreset =
      presets?.includes(read().get("s") ?? "") || (fixed && "s" in fixed) || isRecording(`${values.model}`);
    const modelKeys = [...OF_ONE_MODEL, ...(isPreset ? ["s"] : [])];
    const dropped = "model" in values ? modelKeys : "model2" in values ? OF_RIGHT_MODEL : [];
    const link = read();
    const keys = [...dropped, ...Object.keys(values)];
    const fallback = dropped.length ? Object.fromEntries(keys.map((key) => [key, link.getAll(key)])) : null;
    write({ ...Object.fromEntries(dropped.map((key) => [key, null])), ...values }, true);
    this.follow();
    this.isFitting = dropped.length > 0;
    this.fallback ??= fallback;
  }

  /** Choose another kind of attention of the same model; the sentence stays, the heads differ. @param {string} model */
  chooseGroup(model) {
    this.writeAddress();
    write({ ...Object.fromEntries([...OF_ONE_MODEL, ...OF_HEADS].map((key) => [key, null])), model }, true);
    this.follow();
  }

  leave() {
    super.leave();
    clearTimeout(this.pause);
  }
}
