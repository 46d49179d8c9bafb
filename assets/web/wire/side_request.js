// A request beside that of a view's picture, answered in text, mostly JSON; keeps the response to the newest query.

import { ApiClient } from "./api_client.js";

/** @template [Answer=any] */
export class SideRequest {
  pending = /** @type {string | null} */ (null); // query of the pending request
  key = /** @type {string | null} */ (null); // query of the response or rejection
  answer = /** @type {Answer | null} */ (null);
  refusal = ""; // why there is no response

  /** @param {import("./api_view.js").ApiView} view @param {string} route @param {() => void} come called for a response or rejection
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
