// A view with a cursor in the model: layer, head, query, and optionally a key.

import { arrived, moved, placeOf, clampPlace } from "../link/place.js";
import { ApiView } from "./api_view.js";

/** @typedef {import("../link/look.js").At} At */
/** @typedef {import("../base/messages.js").PictureAnswer} Placed common fields of a picture with a default cursor */

/** @template {Placed} [Picture=any] @extends {ApiView<Picture>} */
export class PlaceView extends ApiView {
  at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
  placed = false; // the user chose layer and head
  rowChosen = false; // the user chose the row

  /** @param {import("../link/place.js").Place} place */
  setPlace({ at, placed, rowChosen }) {
    Object.assign(this.at, at);
    Object.assign(this, { placed, rowChosen });
  }

  /** Take over the cursor of a link. @param {URLSearchParams} link */
  adoptPlace(link) {
    this.setPlace(placeOf(link.get("at"), this.picture));
  }

  /** Move the parts of the cursor that the user did not choose to those of the newest picture.
   * @param {number} tokens @param {number} [keys] */
  choosePlace(tokens, keys = tokens) {
    if (this.isNewest) this.setPlace(arrived(this, this.picture, tokens, keys));
  }

  /** Clamp the cursor to the drawn picture. @param {number} tokens of the picture @param {number} [keys] */
  keepWithin(tokens, keys = tokens) {
    this.setPlace(clampPlace(this, this.picture, tokens, keys));
  }

  /** Move the cursor; a null row lets the page choose it. @param {Partial<At>} change */
  place(change) {
    this.setPlace(moved(this, change));
  }

  /** @param {Partial<At>} change */
  setCursor(change) {
    this.place(change);
    this.onChange();
  }
}
