// The effect of the changes on the head in focus: now − unchanged over its map, drawn as Compare draws right − left.

import { isDrawn } from "../base/curtain.js";
import { DifferenceMap, signedGradient } from "../picture/differences.js";
import { setText } from "../base/dom.js";
import { forbids } from "../link/painted.js";
import { rowOf } from "../wire/packets.js";
import { argmax, quoted, signed } from "../base/words.js";

const NAME = "New − original";

export class DifferenceOverlay {
  /** @param {Explore} view @param {GridActions} actions */
  constructor(view, actions) {
    this.view = view;
    this.map = new DifferenceMap(actions);
    this.map.share = 0.36; // of the cell height: numbers with a sign are longer
  }

  /** Return whether the difference is on and its baseline available; a lesson's curtain would hide one of the two
   * maps. */
  get isOn() {
    const { look, picture, visibleMap } = this.view;
    if (isDrawn()) return false;
    return look.difference && (picture.baseline !== null || (!visibleMap.weights && picture.effect !== null));
  }

  /** Return whether the last difference stays until the weights of another head arrive, to avoid flicker.
   * @param {BigMap} picture
   */
  isComing(picture) {
    const { visibleMap, isLate } = this.view;
    if (visibleMap.weights || isLate) return false;
    return this.isOn ? picture === this.map : !visibleMap.isHere && picture.picture !== null;
  }

  /** The difference to the baseline in place of a map, while it is on.
   * @param {MapPicture} mapPicture @returns {MapPicture} */
  overlay(mapPicture) {
    if (!this.isOn) return mapPicture;
    const { picture, at, visibleMap } = this.view;
    const { weights } = visibleMap;
    const [n, wide] = [visibleMap.tokens.length, visibleMap.keys.length];
    const original = weights && picture.baseline;
    const none = { weights: null, distances: [], forbidden: [""] };
    const { distances, forbidden, ...was } = original || none;
    const { change, bytes } = original?.difference() ?? { change: null, bytes: new Uint8Array(n * wide).fill(128) };
    const overlay = { name: `${NAME}, ${mapPicture.name}`, weights: change, map: { size: n, bytes }, whole: true };
    const cells = { forbids: forbids(forbidden, at.head, n, wide) }; // a cell that only the mask changed has a difference
    return Object.assign({ ...mapPicture, ...overlay, ...cells }, { sides: [was.weights, weights], distances });
  }

  /** The title: the largest change in the row in focus, or in the selected cell; null while there is none. */
  describeRow() {
    const { picture, visibleMap } = this.view;
    if (!this.isOn || !picture.baseline) return null;
    const row = rowOf(picture.baseline.difference().change, visibleMap.row, visibleMap.keys.length);
    const strongest = argmax(row.map(Math.abs));
    const key = visibleMap.key ?? strongest;
    if (!row[strongest]) return ["No difference from the original model in this row"];
    const query = ["span.query", quoted(visibleMap.tokens[visibleMap.row])];
    const keyName = ["span.key", quoted(visibleMap.keys[key])];
    return [`${NAME}: `, query, " → ", keyName, ` ${signed(row[key])}`];
  }

  /** @param {HTMLElement[]} parts */
  drawLegend([low, ramp, high, law]) {
    setText(low, "−1, less");
    ramp.style.backgroundImage = signedGradient(this.view.inks);
    setText(high, "+1, more");
    setText(law, this.view.look.lines ? "" : "each bar shows how much of a row’s weight moved, 0 to 1");
  }
}
