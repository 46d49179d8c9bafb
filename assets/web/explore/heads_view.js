// All heads of the run by a measure.

import { div } from "../base/dom.js";

/** @typedef {import("./explore.js").Explore} Explore */

export class HeadsView {
  name = "heads";
  title = "All heads by a measure";
  route = "overview";
  ofRun = true;
  state = "";
  element = div("heads-view");

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
  }

  /** @param {Uint8Array[]} _parts */
  take(_parts) {}

  draw() {}
}
