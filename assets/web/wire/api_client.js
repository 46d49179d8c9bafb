// The client of the data API: the newest query wins, superseded requests are aborted, and connection errors and busy
// servers are retried. A side request fetches a text beside a view's picture.

import { transport } from "../base/dom.js";
import { MAX_QUERY_BYTES } from "../base/facts.js";

/** @typedef {{take: (bytes: Uint8Array, question: string) => void, refuse: (sentence: string, key: string, fits: number) => void, wait?: (state: Waiting) => void}} Handlers */

const SLOW = 200; // ms without a response before the picture is marked as stale
const AGAIN = [300, 600, 1200, 2500, 5000]; // ms between retries of an unreachable server
const MAX_IN_FLIGHT = 2; // the newest request, and the previous one, whose picture is drawn if it arrives first
const OLD_PAGE = "Headlight was updated. Reload this page to see new pictures.";

const TOO_LONG = `This is too long to send. At most ${MAX_QUERY_BYTES.toLocaleString("en")} bytes are allowed; shorten it.`;

const KEPT = /^(maps|focus|pair|initial|masks|entry|steps|architecture)\?/; // the routes of pictures: a query has one response
const MAX_KEPT = { answers: 16, bytes: 2 ** 21 };
/** The last pictures by their questions, for Back and for other pages. @type {Map<string, Uint8Array<ArrayBuffer>>} */
const kept = new Map();

/** @param {string} question @param {Uint8Array<ArrayBuffer>} bytes */
function keep(question, bytes) {
  kept.delete(question);
  if (KEPT.test(question) && bytes.length < MAX_KEPT.bytes) kept.set(question, bytes.slice());
  if (kept.size > MAX_KEPT.answers) kept.delete([...kept.keys()][0]);
}

/** The longest parameter of a query. @param {URLSearchParams} query */
const longestOf = (query) => [...query].reduce((a, b) => (b[1].length > a[1].length ? b : a))[0];

export class ApiClient {
  /** @param {Handlers} handlers @param {AbortSignal} [signal] aborts everything */
  constructor(handlers, signal) {
    this.handlers = { wait: () => {}, ...handlers };
    signal?.addEventListener("abort", () => this.stop());
    this.question = ""; // the newest query
    this.count = 0;
    this.latestDrawn = 0; // number of the request whose picture is drawn
    this.failures = 0;
    this.retryTimer = 0;
    this.slow = 0;
    /** @type {Map<number, AbortController>} */
    this.inFlight = new Map();
  }

  /** Send a query, unless it is the pending one.
   * @param {string} route @param {URLSearchParams} query @param {string} visit */
  ask(route, query, visit) {
    const question = `${route}?${query}`;
    if (question === this.question) return;
    if (question.length > MAX_QUERY_BYTES) return this.handlers.refuse(TOO_LONG, longestOf(query), 0);
    this.question = question;
    this.failures = 0;
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.handlers.wait("slow"), SLOW);
    this.handlers.wait("pending");
    this.send(visit);
  }

  /** Discard pending requests: their responses are no longer needed. */
  cancelAll() {
    const waited = this.question && this.latestDrawn !== this.count;
    this.stop();
    this.latestDrawn = ++this.count;
    if (waited) this.markIdle();
  }

  stop() {
    clearTimeout(this.retryTimer);
    clearTimeout(this.slow);
    for (const controller of this.inFlight.values()) controller.abort();
    this.inFlight.clear();
    this.question = "";
  }

  /** @param {string} visit */
  send(visit) {
    clearTimeout(this.retryTimer);
    const number = ++this.count;
    const controller = new AbortController();
    this.inFlight.set(number, controller);
    for (const [older, early] of [...this.inFlight].slice(0, -MAX_IN_FLIGHT)) {
      early.abort();
      this.inFlight.delete(older);
    }
    this.fetch(number, this.question, visit, controller).finally(() => this.inFlight.delete(number));
  }

  /** @param {number} number @param {string} question @param {string} visit @param {AbortController} controller */
  async fetch(number, question, visit, { signal }) {
    const isNewest = () => number === this.count;
    try {
      const headers = visit ? { "Headlight-Visit": visit } : undefined;
      const known = kept.get(question);
      const answer = await (known ? new Response(known) : transport.send(`api/${question}`, { signal, headers }));
      const bytes = answer.status === 200 ? new Uint8Array(await answer.arrayBuffer()) : null;
      const sentence = bytes ? "" : await answer.text();
      if (number < this.latestDrawn || signal.aborted) return; // a newer response came first
      if (bytes) {
        keep(question, bytes);
        this.latestDrawn = number;
        if (isNewest()) this.markIdle();
        this.handlers.take(bytes, question);
      } else if (isNewest()) this.refused(answer, visit, sentence);
    } catch {
      if (!signal.aborted && isNewest())
        this.scheduleRetry(AGAIN[Math.min(this.failures, AGAIN.length - 1)], visit, "lost");
    }
  }

  /** @param {Response} answer @param {string} visit @param {string} sentence */
  refused(answer, visit, sentence) {
    const busy = [204, 429].includes(answer.status) || answer.status >= 500;
    if (busy && (answer.status !== 500 || this.failures < 1)) {
      const seconds = Number(answer.headers.get("Retry-After")) || 1;
      return this.scheduleRetry(1000 * seconds, visit, "slow");
    }
    this.markIdle();
    const headerOf = (/** @type {string} */ name) => answer.headers.get(`Headlight-${name}`) ?? "";
    return this.handlers.refuse(answer.status === 404 ? OLD_PAGE : sentence, headerOf("Key"), Number(headerOf("Fits")));
  }

  /** @param {number} ms @param {string} visit @param {Waiting} why */
  scheduleRetry(ms, visit, why) {
    this.failures += 1;
    this.handlers.wait(why);
    this.retryTimer = setTimeout(() => this.send(visit), ms);
  }

  /** Reset the retries after a response to the newest query. */
  markIdle() {
    this.failures = 0;
    clearTimeout(this.slow);
    this.handlers.wait("");
  }
}

/** @template [Answer=any] */
export class SideRequest {
  pending = /** @type {string | null} */ (null); // query of the pending request
  key = /** @type {string | null} */ (null); // query of the response or rejection
  answer = /** @type {Answer | null} */ (null);
  refusal = ""; // why there is no response

  /** @param {ApiView} view @param {string} route @param {() => void} come called for a response or rejection
   * @param {(text: string) => Answer} read
   */
  constructor(view, route, come = () => view.redraw(), read = JSON.parse) {
    this.view = view;
    this.route = route;
    const tell = (/** @type {string | null} */ request, /** @type {Answer | null} */ answer, refusal = "") => {
      if (this.pending === request) this.pending = null; // otherwise a newer one is pending
      Object.assign(this, { key: request, answer, refusal });
      come();
    };
    const handlers = {
      take: (bytes, question) => tell(question.slice(route.length + 1), read(new TextDecoder().decode(bytes))),
      refuse: (sentence) => tell(this.pending, null, sentence),
    };
    this.wire = new ApiClient(handlers, view.lifetime.signal);
  }

  /** @param {URLSearchParams} query */
  ask(query) {
    this.pending = String(query);
    this.wire.ask(this.route, query, this.view.visit);
  }

  /** Cancel the request; the same query may be sent again. */
  stop() {
    this.wire.stop();
    this.pending = null;
  }
}
