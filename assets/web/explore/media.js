// The inputs that replace the sentence in models of images and audio.

import { isolated } from "../base/token_text.js";
import { fillChoice } from "../base/choice.js";
import { areSame, div, h, render, setAttribute, setAttributes, setText, span, urlOf } from "../base/dom.js";
import { drawChoice, makeChoice } from "../sheets/patches.js";
import { number, sortByWeight } from "../base/words.js";
import { setParam } from "../link/link.js";
import { rowOf } from "../wire/packets.js";
import { walked } from "../base/grid_keys.js";

/** @typedef {"picture" | "sound"} Kind */
/** The data of a board: the names as text, the address of the file, the row in focus, and `isNew` on the first draw.
 * @typedef {{name: string, file: URLSearchParams, row: number, weights: Float32Array, isNew: boolean}} BoardState
 */

const SAYS = {
  picture: {
    question: "Which patches does each patch attend to?",
    line: "This is attention inside a vision transformer. It cuts the picture into patches, and each row of a map is one patch.",
  },
  sound: {
    question: "Which moments does each moment attend to?",
    line: "This is attention inside a speech model. It cuts the sound into moments, and each row of a map is one moment.",
  },
};

/** The image or audio input of the model, which one it is, and over its tokens the row in focus. A click on a token
 * selects its row.
 */
export class Media {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.files = /** @type {Record<Kind, string> | null} */ (null); // names of the uploaded files, from the page's script
    this.inputs = /** @type {unknown[]} */ ([]);
    this.requested = ""; // session and kind for which the upload control was requested
    this.question = h("h1");
    this.line = h("p", { class: "label" });
    this.names = h("div", { class: "presets", role: "group" });
    this.boards = { picture: pictureBoard(view), sound: new SoundBoard(view) };
    this.player = this.boards.sound.player;
    this.kinds = div("kinds", this.names, this.player);
    this.element = div("media", this.question, this.line, this.kinds);
    this.element.hidden = true; // until there is an input to draw
  }

  /** The kind of the input: an image, a sound, or "" for text. @returns {Kind | ""} */
  get kind() {
    const { picture } = this.view; // null until the first response
    return picture?.patches ? "picture" : picture?.sound ? "sound" : "";
  }

  /** The plural noun for the rows. @returns {"words" | "patches" | "moments"} */
  get rows() {
    const { kind, view } = this;
    if (kind === "picture") return "patches";
    return kind === "sound" && view.picture.group === "encoder" ? "moments" : "words";
  }

  /** Take over the names of the uploaded files from the page's script. @param {Record<Kind, string>} media */
  take(media) {
    const { files: previous, kind } = this;
    this.files = media;
    if (previous && kind && media[kind] && media[kind] !== previous[kind]) this.choose(media[kind]);
  }

  /** Select another image; its patches are the same, so the row stays. @param {string} name */
  choose(name) {
    this.view.setText(name);
  }

  draw() {
    const { view, kind } = this;
    const { picture, maps, at, weights } = view;
    this.element.hidden = !kind;
    for (const [own, board] of Object.entries(this.boards)) board.element.hidden = own !== kind;
    this.player.hidden = kind !== "sound";
    view.box.element.hidden = Boolean(kind) && !view.projector; // in the projector it is the bar at the bottom
    view.box.element.toggleAttribute("data-media", Boolean(kind));
    view.bar.chips.hidden = this.rows !== "words";
    // Hide the page's question and show the upload control. The attribute is on the root because a :has() selector
    // would be evaluated again with every new element.
    document.documentElement.toggleAttribute("data-media", Boolean(kind));
    const { undo } = view.changes;
    const home = kind ? this.kinds : view.inBox;
    if (undo.parentElement !== home) home.prepend(undo);
    if (!kind) return;
    const { element } = this.boards[kind];
    const place = this.placeOf(kind);
    if (element.parentElement !== place) place.insertBefore(element, place === this.element ? null : place.firstChild);
    this.askForFiles(kind);
    setText(this.question, SAYS[kind].question);
    setText(this.line, SAYS[kind].line);
    setAttribute(this.names, "aria-label", kind === "picture" ? "Pictures" : "Sounds");
    const { presets, sentence } = picture;
    const ownFile = this.files?.[kind];
    const names = ownFile ? [...presets, ownFile] : presets;
    const texts = names.map((name) => (name === ownFile ? `your own ${kind}` : name));
    fillChoice(this.names, texts, names.indexOf(view.text), (index) => this.choose(names[index]));
    if (!weights || !view.matching) return; // the weights are pending
    const name = texts[names.indexOf(sentence)] ?? kind;
    const now = [weights, at.row, at.key, name];
    const isNew = !areSame(this.inputs, now);
    this.inputs = now;
    const file = new URLSearchParams();
    for (const [key, value] of Object.entries({ model: view.modelName, dev: view.deviceName, s: sentence }))
      setParam(file, key, value);
    const keys = maps.columns ?? maps.tokens;
    this.boards[kind].draw({ name, file, row: at.row, weights: rowOf(weights, at.row, keys.length), isNew });
  }

  /** The container of the board: over the map for a wave, before the heads for an image, in the projector beside the
   * map. @param {Kind} kind */
  placeOf(kind) {
    const { narrow, projector, look, element, allHeads } = this.view;
    if (kind === "picture" && projector && !narrow) return element;
    return kind === "sound" || narrow || look.all ? this.element : allHeads;
  }

  /** Request the upload control for the first input of its kind: no other page needs it. @param {Kind} kind */
  askForFiles(kind) {
    const { visit } = this.view;
    if (!visit || this.requested === visit + kind) return;
    this.requested = visit + kind;
    this.view.tell({ reads: kind });
  }
}

const OF_PATCHES =
  "Press a patch, or a token outside the picture, to see its row. A darker patch has a smaller weight in this row (√ of the weight; the strongest patch is undimmed).";

/** The board of an image as the model sees it, with the row in focus over its patches. @param {Explore} view */
function pictureBoard(view) {
  const image = h("img", { alt: "" });
  const choice = makeChoice(image);
  const hint = h("p", { class: "label" }, OF_PATCHES);
  const element = h("section", { class: "patches board", "aria-label": "Picture" }, choice, hint);
  const draw = (/** @type {BoardState} */ { name, file, row, weights, isNew }) => {
    const { picture, maps, focus } = view;
    setAttribute(image, "src", urlOf(`api/image?${file}`));
    if (!isNew || !picture.patches) return;
    const { specialTokens: rest, columns: across } = picture.patches;
    const max = Math.max(...weights.subarray(rest)); // of the patches: special tokens often have more weight than all of them
    const block = { name, rest, across, tokens: maps.tokens, row, weights, max, inside: [] };
    drawChoice(choice, block, (token) => focus.pickRow(token));
  };
  return { element, draw };
}

const SHOWS =
  "A stronger colour means a larger weight in this row (√ of the weight; the strongest moment has full colour).";
/** Kind of attention -> caption of the wave. @type {Record<string, string>} */
const OF_MOMENTS = {
  encoder: `Press a moment, or move with ← and →, to see its row. ${SHOWS}`,
  cross: `Press a moment, or move with ← and →, to see its column. ${SHOWS}`,
  decoder: "Here the words attend to each other, not to the sound.",
};
const HEIGHT = 64;
const MIN_PIXELS = 2; // pixels of a silent moment

/** The bars of a wave, one per moment: top and height in pixels.
 * @param {[number, number][]} wave lowest and highest, −1 to 1 */
export function bars(wave) {
  const loudest = Math.max(...wave.map(([low, high]) => Math.max(-low, high)), 1e-3);
  return wave.map(([low, high]) => {
    const height = Math.max(MIN_PIXELS, ((high - low) / loudest) * (HEIGHT / 2));
    const middle = HEIGHT / 2 - ((high + low) / loudest) * (HEIGHT / 4);
    return { top: middle - height / 2, height };
  });
}

/** The board of a sound: its wave over time, each moment coloured by its weight in the row in focus, and a player. A
 * click or the arrow keys select the row of a moment, or its column where the rows are words.
 */
class SoundBoard {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.slider = h("div", { class: "wave", role: "slider", "aria-label": "Moment" });
    this.player = h("audio", { controls: "", preload: "none" });
    this.hint = h("p", { class: "label" });
    this.element = h("section", { class: "board sound", "aria-label": "Sound" }, this.slider, this.hint);
    this.slider.addEventListener("click", ({ clientX }) => {
      const { left, width } = this.slider.getBoundingClientRect();
      this.go(Math.min(this.count - 1, Math.floor(((clientX - left) / width) * this.count)));
    });
    this.slider.addEventListener("keydown", (event) => {
      const next = walked(event, [0, this.now ?? 0], [0, 0], [0, this.count - 1]);
      if (!next || this.view.picture.group === "decoder") return;
      event.preventDefault();
      this.go(next[1]);
    });
  }

  get count() {
    return this.view.picture.sound?.wave.length ?? 0;
  }

  /** The moment in focus: the row, or the column where the rows are words. */
  get now() {
    const { picture, at } = this.view;
    return picture.group === "encoder" ? at.row : picture.group === "cross" ? at.key : null;
  }

  /** @param {number} moment */
  go(moment) {
    const { picture, focus, at } = this.view;
    if (picture.group === "encoder") focus.pickRow(moment);
    else if (picture.group === "cross") this.view.setCursor({ row: at.row, key: moment });
  }

  /** @param {BoardState} state */
  draw({ name, file, weights, isNew }) {
    const { picture, maps } = this.view;
    const { sound, group } = picture;
    setAttributes(this.player, { src: urlOf(`api/audio?${file}`), "aria-label": name });
    setText(this.hint, OF_MOMENTS[group]);
    if (!isNew || !sound) return;
    const { wave } = sound;
    const isLookedAt = group !== "decoder";
    const max = Math.max(...weights.subarray(0, wave.length)) || 1; // of the moments: the silence after the sound may have more weight
    const moments = bars(wave).map(({ top, height }, index) => {
      const share = isLookedAt ? `${100 * Math.sqrt(weights[index] / max)}%` : "0%";
      return ["rect", { x: index, y: top.toFixed(2), width: 1, height: height.toFixed(2), "--share": share }];
    });
    const { now } = this;
    const place = now !== null && ["rect.place", { x: now, y: 0, width: 1, height: HEIGHT }];
    const keys = maps.columns ?? maps.tokens;
    const [[best, weight]] = sortByWeight(weights);
    const sentence = `${isolated(maps.tokens[this.view.at.row])} attends most to ${isolated(keys[best])}: ${number(weight)}`;
    const values = { "aria-valuemin": 0, "aria-valuemax": wave.length - 1, "aria-valuenow": now ?? best };
    const use = { tabindex: isLookedAt ? "0" : null, "aria-disabled": isLookedAt ? null : "true" };
    const size = { viewBox: `0 0 ${wave.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    render(this.slider, { ...values, ...use, "aria-valuetext": sentence }, ["svg", size, ["g", ...moments, place]]);
  }
}

/** The notice that a recording is not a live model, and a slider over its training steps.
 * @param {Explore} view
 */
export function recordedSteps(view) {
  const reason = span("reason");
  const oninput = () => view.setText(view.picture.presets[Number(slider.value)]);
  const slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Training step", oninput });
  const count = span("count");
  const player = div("player", slider, count);
  const element = div("recorded", player, reason);
  element.hidden = true; // until a recording is drawn

  /** Draw the slider of a recording in place of the controls that need a model. */
  const draw = () => {
    const { picture, text, box, bar, media } = view;
    const { presets, fixed } = picture;
    const why = media.kind ? "" : (fixed.s ?? "");
    element.hidden = !why;
    setText(reason, why);
    box.input.readOnly = Boolean(why);
    if (why) box.element.hidden = true;
    for (const line of document.querySelectorAll(".question p")) line.toggleAttribute("hidden", Boolean(why));
    bar.presetMenu.element.hidden = Boolean(why);
    player.hidden = presets.length < 2;
    if (player.hidden) return;
    setAttribute(slider, "max", String(presets.length - 1));
    const index = presets.indexOf(text);
    if (Number(slider.value) !== index) slider.value = String(index);
    setAttribute(slider, "aria-valuetext", text);
    setText(count, `${text}, ${index + 1} of ${presets.length}`);
  };
  return { element, draw };
}
