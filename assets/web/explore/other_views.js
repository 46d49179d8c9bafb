// The other views of the run, under the large map: one at a time, in the link as `view=name.state`. Only the open one
// sends requests, once the picture is here.

import { CacheView } from "./cache_view.js";
import { ChannelsView } from "./channels_view.js";
import { setRovingTabindex } from "../base/choice.js";
import { div, h, render, setAttribute, setText } from "../base/dom.js";
import { FlowView } from "./flow_view.js";
import { HeadsView } from "./heads_view.js";
import { LensView } from "./lens_view.js";
import { ResidualView } from "./residual_view.js";
import { setParam } from "../link/link.js";
import { parts } from "../wire/packets.js";
import { ApiClient } from "../wire/api_client.js";
import { Part } from "./part.js";

/** @typedef {object} OtherView
 * @property {string} name its name in the link
 * @property {string} title text of its toggle button
 * @property {string} about the question that it answers
 * @property {string} route its route; "" = it sends its own requests
 * @property {() => Values} params parameters added to the query of the run
 * @property {HTMLElement} element
 * @property {(parts: Uint8Array[]) => void} take
 * @property {() => void} draw draws it, also before the first response
 * @property {() => void} [close] cancels its own requests
 */

export class OtherViews extends Part {
  current = /** @type {OtherView | null} */ (null); // the this.view drawn last
  /** @type {OtherView[]} */
  all = [HeadsView, FlowView, ChannelsView, CacheView, ResidualView, LensView].map((Kind) => new Kind(this.view));
  wire = new ApiClient(
    {
      take: (bytes, question) => this.take(bytes, question),
      refuse: (sentence) => setText(this.refusal, sentence), // the previous content stays
      wait: (waiting) => setAttribute(this.room, "data-late", ["slow", "lost"].includes(waiting) ? "" : null),
    },
    this.view.lifetime.signal,
  );
  row = h("div", { class: "view-toggles", role: "group", "aria-label": "Other views" });
  refusal = h("p", { class: "label refusal", role: "status" });
  room = div("view-room");
  element = h(
    "section",
    { class: "other-views", "aria-label": "Other views of this run" },
    this.row,
    this.refusal,
    this.room,
  );

  /** The open view, from the link. @returns {OtherView | null} */
  get open() {
    const [name] = (this.view.state.panel ?? "").split(".");
    return this.all.find((view) => view.name === name) ?? null;
  }

  /** Open a view in a state, or close it if null. @param {OtherView | null} view @param {string} [state] */
  show(view, state) {
    setText(this.refusal, ""); // belongs to the previous state
    this.view.dispatch({ type: "set", values: { panel: view && [view.name, state].filter(Boolean).join(".") } });
  }

  /** The view's own state in the link, such as the selected measures. */
  get state() {
    return (this.view.state.panel ?? "").split(".").slice(1).join(".");
  }

  /** @param {Uint8Array} bytes @param {string} question */
  take(bytes, question) {
    const { open } = this;
    if (question.split("?")[0] !== open?.route) return;
    setText(this.refusal, "");
    open.take(parts(bytes));
    this.view.redraw();
  }

  /** @param {OtherView} open */
  ask(open) {
    if (!open.route) return this.wire.cancelAll();
    const query = this.view.queryOfRun();
    for (const [key, value] of Object.entries(open.params())) setParam(query, key, value);
    query.sort();
    this.wire.ask(open.route, query, this.view.visit);
  }

  draw() {
    const { view, open, room, current } = this;
    if (open !== current) {
      current?.close?.();
      this.wire.stop();
      setText(this.refusal, "");
      this.current = open;
    }
    const lines = this.all.flatMap((view) => {
      const isOpen = view === open;
      const press = ["button", { "aria-pressed": isOpen, onclick: () => this.show(isOpen ? null : view) }, view.title];
      return [press, ["span.label", view.about]];
    });
    render(this.row, ...lines);
    setRovingTabindex(this.row);
    room.hidden = !open;
    const isPicture = view.alone === "panel view"; // elsewhere there is room for one picture only
    if (!open || (!isPicture && (view.alone || (view.projector && !view.narrow)))) return;
    if (room.firstChild !== open.element) room.replaceChildren(open.element);
    this.ask(open);
    open.draw();
  }
}
