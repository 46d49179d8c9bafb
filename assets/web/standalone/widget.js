// The picture of one run as a notebook widget (anywidget); its cursor is state shared with Python.

import { open } from "./standalone.js";
import widgetCss from "./widget.css" with { type: "css" };

/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 * on: (names: string, call: () => void) => void, off: (names: string, call: () => void) => void}} Model the anywidget model
 */

const SHARED = /** @type {(keyof Spot)[]} */ (["layer", "head", "row", "key"]);
const CHANGES = SHARED.map((name) => `change:${name}`).join(" ");

/** Render the widget in a shadow root, which isolates its styles from the notebook's.
 * @param {{model: Model, el: HTMLElement}} given
 * @returns {() => void} its cleanup
 */
export function render({ model, el }) {
  const root = el.attachShadow({ mode: "open" });
  /** @type {DataView} */
  const { buffer, byteOffset, byteLength } = model.get("message");
  const shared = () => /** @type {Spot} */ (Object.fromEntries(SHARED.map((name) => [name, model.get(name)])));
  const view = open(root, new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)), (cursor) => {
    for (const name of SHARED) model.set(name, cursor[name]);
    model.save_changes();
  });
  root.adoptedStyleSheets.push(widgetCss);
  const follow = () => {
    Object.assign(view.at, shared()); // without `setCursor`, which would send the change back to Python
    view.redraw();
  };
  model.on(CHANGES, follow);
  follow();
  return () => {
    model.off(CHANGES, follow);
    view.leave();
  };
}
