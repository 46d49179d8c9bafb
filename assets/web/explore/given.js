// Of a model that reads no text, in the place of the sentence: the picture or the sound that it is given, which one it is, and
// over its tokens the row in focus. A press on a token chooses its row.

import { areSame, div, h, setAttribute, setText } from "../base/dom.js";
import { put } from "../link/link.js";
import { rowOf } from "../wire/packets.js";
import { fillChoice } from "../base/view_base.js";
import { PictureBoard } from "./picture_board.js";
import { SoundBoard } from "./sound_board.js";

/** @typedef {import("./explore.js").Explore} Explore */
/** @typedef {"picture" | "sound"} Kind */
/** What a board draws: the text of the names, the address of the file, and the row in focus; `isNew`: it was not drawn yet.
 * @typedef {{name: string, file: URLSearchParams, row: number, weights: Float32Array, isNew: boolean}} Shown
 */
/** @typedef {{element: HTMLElement, draw(shown: Shown): void}} Board */

const SAYS = {
  picture: {
    question: "Which patches does each patch look at?",
    line: "This is attention inside a vision transformer: it cuts the picture into patches, and each row of a map is one patch.",
  },
  sound: {
    question: "Which moments does each moment look at?",
    line: "This is attention inside a speech model: it cuts the sound into moments, and each row of a map is one moment.",
  },
};

export class Given {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.own = /** @type {Record<Kind, string> | null} */ (null); // the names of the visitor's, once the script has said them
    this.drawn = /** @type {unknown[]} */ ([]);
    this.asked = ""; // the visit whose script was asked for the control of files, and for which
    this.question = h("h1");
    this.line = h("p", { class: "label" });
    this.names = h("div", { class: "presets", role: "group" });
    this.boards = { picture: new PictureBoard(view), sound: new SoundBoard(view) };
    this.player = this.boards.sound.player;
    this.kinds = div("kinds", this.names, this.player);
    this.element = div("given", this.question, this.line, this.kinds);
    this.element.hidden = true; // until one is drawn
  }

  /** What of the kind is given, or nothing where it is a text. @returns {Kind | ""} */
  get kind() {
    const { picture } = this.view; // null until the first has come
    return picture?.patches ? "picture" : picture?.heard ? "sound" : "";
  }

  /** What the rows are, in the word for many. @returns {"words" | "patches" | "moments"} */
  get rows() {
    const { kind, view } = this;
    if (kind === "picture") return "patches";
    return kind === "sound" && view.picture.group === "encoder" ? "moments" : "words";
  }

  /** What the script says: another file of the visitor's was brought. @param {Record<Kind, string>} own */
  take(own) {
    const { own: before, kind } = this;
    this.own = own;
    if (before && kind && own[kind] && own[kind] !== before[kind]) this.choose(own[kind]);
  }

  /** Another picture has the same patches: the row stays. @param {string} name */
  choose(name) {
    this.view.model.remember(true);
    this.view.type(name);
  }

  draw() {
    const { view, kind } = this;
    const { picture, maps, at, weights } = view;
    this.element.hidden = !kind;
    for (const [own, board] of Object.entries(this.boards)) board.element.hidden = own !== kind;
    this.player.hidden = kind !== "sound";
    view.box.element.hidden = Boolean(kind) && !view.projector; // there it is the bar at the foot
    view.box.element.toggleAttribute("data-given", Boolean(kind));
    view.bar.chips.hidden = this.rows !== "words";
    // The page hides its own question, and shows the control for a file. The root says so: a style that asks what a part
    // of the page holds is asked again with every element that comes.
    document.documentElement.toggleAttribute("data-given", Boolean(kind));
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
    const { presets, typed } = picture;
    const own = this.own?.[kind];
    const names = own ? [...presets, own] : presets;
    const texts = names.map((name) => (name === own ? `your own ${kind}` : name));
    fillChoice(this.names, texts, names.indexOf(view.text), (which) => this.choose(names[which]));
    if (!weights || !view.matching) return; // its numbers are on their way
    const name = texts[names.indexOf(typed)] ?? kind;
    const now = [weights, at.row, at.key, name];
    const isNew = !areSame(this.drawn, now);
    this.drawn = now;
    const file = new URLSearchParams();
    for (const [key, value] of Object.entries({ model: view.modelName, dev: view.deviceName, s: typed }))
      put(file, key, value);
    const keys = maps.columns ?? maps.tokens;
    this.boards[kind].draw({ name, file, row: at.row, weights: rowOf(weights, at.row, keys.length), isNew });
  }

  /** Where its board stands: a wave over the map, a picture before the heads, and in the projector beside the map. @param {Kind} kind */
  placeOf(kind) {
    const { narrow, projector, look, element, allHeads } = this.view;
    if (kind === "picture" && projector && !narrow) return element;
    return kind === "sound" || narrow || look.all ? this.element : allHeads;
  }

  /** The control for a file comes when the first of its kind is shown: no other page waits for it. @param {Kind} kind */
  askForFiles(kind) {
    const { visit } = this.view;
    if (!visit || this.asked === visit + kind) return;
    this.asked = visit + kind;
    this.view.tell({ reads: kind });
  }
}
