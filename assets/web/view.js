// The map view: takes both messages in, keeps what the visitor looks at, draws, and tells the server.
// `maps` is mounted where it is seen; `focus` has no picture of its own and hands its message to the view.

import { styles } from "./dom.js";
import { unpackFocus, unpackMaps } from "./packets.js";
import { View } from "./stage.js";

const STYLES = await styles("./view.css");

const views = new WeakMap();
let view = null; // the one that is on the page
let latest = null; // a focus that came before its view

export function maps({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) {
    parentElement.adoptedStyleSheets = STYLES;
    views.set(parentElement, new View(parentElement));
  }
  view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  if (view.packed !== data) {
    view.packed = data;
    view.takeMaps(unpackMaps(data));
  }
  if (latest) view.takeFocus(latest);
  view.themeChanged();
}

export function focus({ data }) {
  latest = unpackFocus(data);
  if (view) view.takeFocus(latest);
}
