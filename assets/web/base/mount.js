// Mounts the views: one per place on the page, kept across reruns of the Streamlit script. The first one may be drawn
// before Streamlit has loaded.

import { views } from "./view_base.js";

/** @typedef {import("./view_base.js").View} View */
/** @typedef {{data: [any], parentElement: ShadowRoot, setTriggerValue: (name: string, value: unknown) => void}} Component */
/** @typedef {{view: View, Kind: unknown, ready: () => boolean, show?: () => void, remove: () => void,
 *   place?: ShadowRoot}} Early a prerendered view; `ready`: whether the layout around its final place is stable; `show`
 * makes that place visible; `remove` deletes the early one; `place`: the final one, once it is there
 */

/** The view that first.js drew before Streamlit had loaded. @type {Early | null} */
let early = null;

/** @param {Early | null} view */
export function drawnEarly(view) {
  early = view;
}

/** The prerendered view, if it is one of this kind; it moves into its place once the layout is stable.
 * @param {unknown} Kind @param {ShadowRoot} place
 */
function adopted(Kind, place) {
  const earlyView = early;
  if (!earlyView || earlyView.Kind !== Kind) return null;
  const { view, ready, show, remove } = earlyView;
  early = null;
  earlyView.place = place;
  const move = () => {
    if (view.root === place) return;
    if (place.isConnected && !ready()) return void requestAnimationFrame(move);
    show?.(); // what is hidden cannot take the focus that the view has
    view.move(place);
    remove();
  };
  move();
  return view;
}

/** Make the Streamlit component of a view. The view is released when its element has left the page.
 * @template {View} V @param {new (root: ShadowRoot) => V} Kind
 */
export function mount(Kind) {
  /** @type {WeakMap<ShadowRoot, {view: V, message: unknown}>} */
  const places = new WeakMap();

  /** Release a view, unless its place is still on the page: a later call may have replaced this one.
   * @param {ShadowRoot} place
   */
  function leave(place) {
    if (place.isConnected) return;
    places.get(place)?.view.leave();
    places.delete(place);
    place.replaceChildren(); // Streamlit may reuse the element
  }

  /** @param {Component} component */
  function component({ data, parentElement, setTriggerValue }) {
    const place = places.get(parentElement);
    const kept = place && views.has(place.view) ? place.view : null; // another page may have released it
    const view = kept ?? /** @type {V | null} */ (adopted(Kind, parentElement)) ?? new Kind(parentElement);
    places.set(parentElement, { view, message: data });
    view.send = (event) => {
      if (view.isHere) setTriggerValue("act", event);
    };
    view.themed = false; // a change of theme arrives as a call with the same message
    if (!kept || place?.message !== data) view.onMessage(data[0]);
    view.redraw();
    return () => leave(parentElement);
  }

  component.Kind = Kind; // read by the prerendering
  return component;
}
