// The small drawings of what can be changed in a model: mask, positions, heads, temperature, weights.

import { svg } from "../base/dom.js";

const ICONS = {
  mask: "M3 3h4v4H3zM3 10h4v4H3zM10 10h4v4h-4zM3 17h4v4H3zM10 17h4v4h-4zM17 17h4v4h-4z",
  pos: "M2 12c2.5-9 5-9 7.5 0s5 9 7.5 0 3.500-7 5-5",
  off: "M12 6a6 6 0 1 0 .01 0M4 20 20 4",
  t: "M2 20c6 0 6-16 10-16s4 16 10 16",
  lw: "M4 4v16M20 4v16M4 4h3M4 20h3M20 4h-3M20 20h-3M9 9h.01M15 9h.01M9 15h.01M15 15h.01",
};

/** The small drawing of what can be changed in a model. @param {keyof typeof ICONS} name */
export const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
