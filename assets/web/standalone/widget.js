// The picture of one run as a widget of a notebook (anywidget): what is looked at in it is state that Python shares.

import { open } from "./standalone.js";
import widgetCss from "./widget.css" with { type: "css" };

/** @typedef {import("./standalone.js").Place} Place */
/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 * on: (names: string, call: () => void) => void, off: (names: string, call: () => void) => void}} Model anywidget's
 */

const SHARED = /** @type {(keyof Place)[]} */ (["layer", "head", "row", "key"]);
const CHANGES = SHARED.map((name) => `change:${name}`).join(" ");

/** Draw the widget, in a shadow of its own: no style of ours reaches the notebook, and none of the notebook's us.
 * @param {{model: Model, el: HTMLElement}} given
 * @returns {() => void} what takes it away
 */
export function render({ model, el }) {
  const root = el.attachShadow({ mode: "open" });
  /** @type {DataView} */
  const { buffer, byteOffset, byteLength } = model.get("message");
  const shared = () => /** @type {Place} */ (Object.fromEntries(SHARED.map((name) => [name, model.get(name)])));
  const view = open(root, new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)), (cursor) => {
    for (const name of SHARED) model.set(name, cursor[name]);
    model.save_changes();
  });
  root.adoptedStyleSheets.push(widgetCss);
  const follow = () => {
    Object.assign(view.at, shared()); // not by `go`, which would tell Python what it has just said
    view.redraw();
  };
  model.on(CHANGES, follow);
  follow();
  return () => {
    model.off(CHANGES, follow);
    view.leave();
  };
}
