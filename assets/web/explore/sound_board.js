// A sound as its model hears it: its wave over time, each moment in the colour of what the row in focus gives it, and a way to
// listen. A press, or the arrows, choose the row of a moment; where the rows are words, its column.

import { div, h, setAttribute, setText, svg, urlOf } from "../base/dom.js";
import { walked } from "../base/grid_keys.js";
import { number, ranked } from "../base/words.js";

const SHOWS =
  "The stronger the colour, the more the row looks at that moment: √ of the weight, the strongest one full.";
/** Kind of attention -> what is said of the wave. @type {Record<string, string>} */
const HOW = {
  encoder: `Press a moment, or walk with ← and →, for its row. ${SHOWS}`,
  cross: `Press a moment, or walk with ← and →, for its column. ${SHOWS}`,
  decoder: "The words look at one another here, and at no moment of the sound.",
};
const HEIGHT = 64;
const LEAST = 2; // pixels of a moment of silence

/** The bars of a wave, one a moment: from where and how high, in pixels. @param {[number, number][]} wave lowest and highest, −1 to 1 */
export function bars(wave) {
  const loudest = Math.max(...wave.map(([low, high]) => Math.max(-low, high)), 1e-3);
  return wave.map(([low, high]) => {
    const height = Math.max(LEAST, ((high - low) / loudest) * (HEIGHT / 2));
    const middle = HEIGHT / 2 - ((high + low) / loudest) * (HEIGHT / 4);
    return { top: middle - height / 2, height };
  });
}

export class SoundBoard {
  /** @param {import("./given.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.moments = svg("g", {});
    this.picture = svg("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }, this.moments);
    this.slider = h("div", { class: "wave", role: "slider", "aria-label": "Moment" }, this.picture);
    this.ends = div("ends label", h("span"), h("span"));
    this.player = /** @type {HTMLAudioElement} */ (h("audio", { controls: "", preload: "none" }));
    this.how = h("p", { class: "label" });
    const parts = [this.slider, this.ends, this.how];
    this.element = h("section", { class: "board sound", "aria-label": "Sound" }, ...parts);
    this.slider.addEventListener("click", ({ clientX }) => {
      const { left, width } = this.slider.getBoundingClientRect();
      this.go(Math.min(this.count - 1, Math.floor(((clientX - left) / width) * this.count)));
    });
    this.slider.addEventListener("keydown", (event) => {
      const to = walked(event, [0, this.now ?? 0], [0, 0], [0, this.count - 1]);
      if (!to || this.view.picture.group === "decoder") return;
      event.preventDefault();
      this.go(to[1]);
    });
  }

  get count() {
    return this.view.picture.heard?.wave.length ?? 0;
  }

  /** The moment in focus: the row's, or where the rows are words, the column's. */
  get now() {
    const { picture, at } = this.view;
    return picture.group === "encoder" ? at.row : picture.group === "cross" ? at.key : null;
  }

  /** @param {number} moment */
  go(moment) {
    const { picture, focus, at } = this.view;
    if (picture.group === "encoder") focus.pickRow(moment);
    else if (picture.group === "cross") this.view.go({ row: at.row, key: moment });
  }

  /** @param {import("./given.js").Shown} shown */
  draw({ name, file, weights, isNew }) {
    const { picture, maps } = this.view;
    const { heard, group } = picture;
    setAttribute(this.player, "src", urlOf(`api/heard?${file}`));
    setAttribute(this.player, "aria-label", name);
    setText(this.how, HOW[group]);
    if (!isNew || !heard) return;
    const { seconds, wave } = heard;
    const isLookedAt = group !== "decoder";
    const most = Math.max(...weights.subarray(0, wave.length)) || 1; // of a moment: the silence behind them may have more
    setAttribute(this.picture, "viewBox", `0 0 ${wave.length} ${HEIGHT}`);
    const moments = bars(wave).map(({ top, height }, at) => {
      const moment = /** @type {SVGElement} */ (svg("rect", { x: at, y: top, width: 1, height }));
      moment.style.setProperty("--share", isLookedAt ? `${100 * Math.sqrt(weights[at] / most)}%` : "0%");
      return moment;
    });
    const { now } = this;
    const place = now === null ? [] : [svg("rect", { x: now, y: 0, width: 1, height: HEIGHT, class: "place" })];
    this.moments.replaceChildren(...moments, ...place);
    const keys = maps.columns ?? maps.tokens;
    const [[best, weight]] = ranked(weights);
    const looks = `${maps.tokens[this.view.at.row]} looks most at ${keys[best]}: ${number(weight)}`;
    const values = { valuemin: 0, valuemax: wave.length - 1, valuenow: now ?? best, valuetext: looks };
    for (const [key, value] of Object.entries(values)) setAttribute(this.slider, `aria-${key}`, String(value));
    setAttribute(this.slider, "tabindex", isLookedAt ? "0" : null);
    setAttribute(this.slider, "aria-disabled", isLookedAt ? null : "true");
    const [start, end] = this.ends.children;
    setText(start, "0 s");
    setText(end, `${number(wave.length * seconds)} s`);
  }
}
