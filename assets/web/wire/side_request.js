// A question beside that of a view's picture, answered in text, most often JSON: what came of the newest one.

import { ApiClient } from "./api_client.js";

/** @template [Answer=any] */
export class SideRequest {
  pending = /** @type {string | null} */ (null); // the query that is on its way
  key = /** @type {string | null} */ (null); // the one that was answered, or refused
  answer = /** @type {Answer | null} */ (null);
  refusal = ""; // why there is no answer

  /** @param {import("./api_view.js").ApiView} view @param {string} route @param {() => void} come told of both
   * @param {(text: string) => Answer} read
   */
  constructor(view, route, come = () => view.redraw(), read = JSON.parse) {
    this.view = view;
    this.route = route;
    const tell = (/** @type {string | null} */ request, /** @type {Answer | null} */ answer, refusal = "") => {
      if (this.pending === request) this.pending = null; // else a newer one is on its way
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

  /** Stop waiting: the server cancels the request, and the same one may be sent again. */
  stop() {
    this.wire.stop();
    this.pending = null;
  }
}
