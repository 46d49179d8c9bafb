// How views come and go: one for each place on the page, kept from one run of the server's script to the next; the first
// may be there before Streamlit is.

/** @typedef {import("./view_base.js").View} View */
/** @typedef {{data: [any], parentElement: ShadowRoot, setTriggerValue: (name: string, value: unknown) => void}} Component */
/** @typedef {{view: View, Kind: unknown, ready: () => boolean, remove: () => void}} Early a view; whether all that stands
 * around its own place is there; what takes its early place away
 */

/** The view that was drawn before Streamlit was there: `first.js` says so. @type {Early | null} */
let early = null;

/** @param {Early} view */
export function drawnEarly(view) {
  early = view;
}

/** The view that is there already; it moves when nothing will push it about any more.
 * @param {unknown} Kind @param {ShadowRoot} place
 */
function adopted(Kind, place) {
  const earlyView = early;
  if (!earlyView || earlyView.Kind !== Kind) return null;
  const { view, ready, remove } = earlyView;
  early = null;
  const move = () => {
    if (place.isConnected && !ready()) return void requestAnimationFrame(move);
    view.move(place);
    remove();
  };
  move();
  return view;
}

/** The component of a view. Nothing is kept when its element has left the page.
 * @template {View} V @param {new (root: ShadowRoot) => V} Kind
 */
export function mount(Kind) {
  /** @type {WeakMap<ShadowRoot, {view: V, message: unknown}>} */
  const places = new WeakMap();

  /** Let a view go; also asked after a call that a later one overtook, while its place stays.
   * @param {ShadowRoot} place
   */
  function leave(place) {
    if (place.isConnected) return;
    places.get(place)?.view.leave();
    places.delete(place);
    place.replaceChildren(); // the place itself may be remembered for a while
  }

  /** @param {Component} component */
  function component({ data, parentElement, setTriggerValue }) {
    const place = places.get(parentElement);
    const view = place?.view ?? /** @type {V | null} */ (adopted(Kind, parentElement)) ?? new Kind(parentElement);
    places.set(parentElement, { view, message: data });
    view.send = (event) => {
      if (view.isHere) setTriggerValue("act", event);
    };
    view.themed = false; // a change of the theme comes as a call with the same message
    if (place?.message !== data) view.onMessage(data[0]);
    view.redraw();
    return () => leave(parentElement);
  }

  component.Kind = Kind; // for who draws it early
  return component;
}
