// What switching each head off alone does to the sentence vector: asked for by hand, and given up as soon as nobody waits.

import { Wire } from "../wire/wire.js";

export class HeadEffects {
  /** @param {import("./explore.js").Explore} view @param {() => void} come told once they are here */
  constructor(view, come) {
    this.view = view;
    this.come = come;
    this.of = /** @type {string | null} */ (null); // the query that the values are of
    this.asked = /** @type {string | null} */ (null); // the one that is on its way
    this.values = /** @type {Float32Array | null} */ (null); // 1 − cosine, a head each
    this.said = "";
    const hears = { take: (bytes) => this.take(bytes), refuse: (sentence) => this.end(sentence) };
    this.wire = new Wire(hears, view.here.signal);
  }

  /** Those of the run as it is now. */
  get now() {
    return this.of === String(this.view.queryOfRun()) ? this.values : null;
  }

  ask() {
    const query = this.view.queryOfRun();
    this.asked = String(query);
    this.said = "Each head is switched off alone …";
    this.wire.ask("each", query, this.view.visit);
    this.view.redraw();
  }

  /** What is asked of another run nobody waits for. */
  follow() {
    if (this.asked !== null && this.asked !== String(this.view.queryOfRun())) this.end("");
  }

  /** @param {Uint8Array} bytes */
  take(bytes) {
    /** @type {import("../base/messages.js").HeadCosines} */
    const { cosines } = JSON.parse(new TextDecoder().decode(bytes));
    this.values = Float32Array.from(cosines.flat(), (cosine) => Math.max(0, 1 - cosine)); // below 0 is rounding
    this.of = this.asked;
    this.end("");
    this.come();
  }

  /** @param {string} said why there are none */
  end(said) {
    this.wire.stop();
    Object.assign(this, { asked: null, said });
    this.view.redraw();
  }
}
