// What is changed in the model, as a visitor of Explore changes it, takes it back, and carries it to other pages.

import { changed } from "../link/changes.js";
import { sortKey } from "../picture/heads_order.js";
import { headName, meanOf, writeAt } from "../link/look.js";

/** @typedef {import("../link/changes.js").Controls} Controls */
/** @typedef {import("./explore.js").Explore} Explore */
/** @typedef {Explore["at"] & {text: string, rowChosen: boolean}} Sentence and what is looked at in it */
/** @typedef {{controls: Controls, off: Set<string>, sentence: Sentence | null}} Before sentence: where a press changed it */

const LONGEST_PAST = 20; // changes that can be undone

export class ModelChanges {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.controls = /** @type {Controls} */ ({}); // what the link says of them
    this.slid = ""; // the controls that a slide goes on with
    this.past = /** @type {Before[]} */ ([]); // what was before each change
  }

  get off() {
    return this.view.off;
  }

  /** There is no difference to see while nothing is changed. */
  keepDifference() {
    const { look, off } = this.view;
    look.difference &&= changed(this.controls, off).length > 0;
  }

  /** @param {Controls} change @param {boolean} [sliding] it goes on, and is undone as one */
  change(change, sliding = false) {
    const keys = Object.keys(change).join();
    if (!sliding || !this.view.pause || keys !== this.slid) this.remember();
    this.slid = keys;
    this.controls = { ...this.controls, ...change };
    this.view.chose(sliding);
  }

  /** @param {Iterable<string>} off the heads that are off from now on */
  switchHeads(off) {
    this.remember();
    this.view.off = new Set(off);
    this.view.chose();
  }

  /** Another sentence at one press. @param {string} text */
  retype(text) {
    this.remember(true);
    this.view.type(text, true);
  }

  /** The sentence, and what is looked at in it. @returns {Sentence} */
  get sentence() {
    const { text, at, rowChosen } = this.view;
    return { ...at, text, rowChosen };
  }

  set sentence({ text, rowChosen, ...at }) {
    const { view } = this;
    view.text = text;
    view.look.keys = []; // of the tokens before
    view.place(at);
    view.rowChosen = rowChosen;
  }

  /** Keeps what is, so that it can come back. @param {boolean} [sentence] this too: what was typed key by key stays */
  remember(sentence = false) {
    const { controls, view } = this;
    const now = { controls: { ...controls }, off: new Set(view.off), sentence: sentence ? this.sentence : null };
    this.past = [...this.past.slice(1 - LONGEST_PAST), now];
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.controls = before.controls;
    this.view.off = before.off;
    if (before.sentence) this.sentence = before.sentence;
    this.view.chose();
  }

  reset() {
    this.remember();
    this.view.off = new Set();
    this.controls = { ...this.controls, mask: null, pos: null, t: null, unheard: null };
    this.view.chose();
  }

  // ---- to other pages

  /** The link that compares the model as it was trained with what is seen. */
  comparison() {
    const { view, controls } = this;
    const now = new URL(view.address).searchParams;
    const link = new URLSearchParams();
    link.set("at", writeAt(view.at, true)); // also where the page chose it: there it would choose another one
    for (const key of ["s", "model", "dev"]) for (const value of now.getAll(key)) link.append(key, value);
    for (const [key, value] of Object.entries({ ...controls, pos: controls.pos ?? "as trained" }))
      if (value !== null) link.append(`${key}2`, value);
    for (const id of view.off) link.append("off2", headName(id));
    const mean = meanOf(view.look);
    if (mean && mean !== "meanseen") link.set("look", mean); // which Compare has too
    return `./compare?${link}`;
  }

  /** The link to the arithmetic of the cell in focus. */
  byHand() {
    const url = new URL("./by-hand", location.href);
    url.search = new URL(this.view.address).search;
    url.searchParams.set("ex", "a real cell");
    url.searchParams.set("at", writeAt({ ...this.view.at, key: this.view.at.key ?? sortKey(this.view) }, true));
    return url.href;
  }
}
