// The progress of a long text through the model: computed layers, time, and a stop button.

import { div, render } from "../base/dom.js";
import { runOf } from "./state.js";
import { mapsOf, unpack } from "../wire/packets.js";
import { Part } from "./part.js";

export class Progress extends Part {
  run = ""; // the run in progress
  done = 0;
  layers = 0;
  isStopped = false;
  digest = ""; // digest of the picture whose layers are here
  body = new Uint8Array(); // thumbnails of the layers
  element = div("progress-line");

  /** The maps that have arrived, merged with the earlier layers of a long text.
   * @param {Uint8Array} packed @param {URLSearchParams} query
   */
  take(packed, query) {
    const { header, body } = unpack(packed);
    const { digest, layers, heads, thumbnail, first, done } = header;
    if (first === undefined) {
      Object.assign(this, { run: "", digest: "" });
      return mapsOf({ header, body });
    }
    const layerBytes = heads * thumbnail ** 2;
    if (this.digest !== digest)
      Object.assign(this, { digest, isStopped: false, body: new Uint8Array(layers * layerBytes) });
    this.body.set(body, first * layerBytes);
    this.comes(done, layers, query);
    return mapsOf({ header, body: this.body });
  }

  /** @param {number} done layers that have arrived @param {number} layers their total @param {URLSearchParams} query */
  comes(done, layers, query) {
    Object.assign(this, { done, layers, run: done < layers ? runOf(query) : "" });
  }

  /** The progress as text; empty while nothing is loading. */
  get sentence() {
    const { run, done, layers, isStopped, view } = this;
    if (!run) return "";
    if (isStopped) return `Stopped after ${done} of ${layers} layers of this text.`;
    const { layer } = view.at;
    const next = layer < done ? "The other layers follow" : `Layer ${layer} follows`;
    const last = view.picture?.group === "decoder" ? ", then the likeliest next words" : "";
    return `${done} of ${layers} layers of this text are computed. ${next}${last}.`;
  }

  /** Stop or resume. The previous text stays until the first layer of the new one. */
  toggle() {
    const { view, done, layers } = this;
    if (view.maps?.digest === this.digest) {
      this.isStopped = !this.isStopped;
      view.ask();
      return view.redraw();
    }
    view.wire.cancelAll();
    view.refuse(`Stopped after ${done} of ${layers} layers.`, "s", 0);
  }

  draw() {
    this.element.hidden = !this.run;
    if (!this.run) return;
    const bar = { max: this.layers, value: this.done, "aria-label": "Layers computed" };
    const press = ["button", { onclick: () => this.toggle() }, this.isStopped ? "continue" : "stop"];
    render(this.element, ["progress", bar], ["span.label", this.sentence], press);
  }
}
