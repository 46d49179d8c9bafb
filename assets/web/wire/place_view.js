// A view that looks at one place of the model: a head of a layer, and in its map a query and perhaps a key.

import { arrived, moved, placeOf, clampPlace } from "../link/place.js";
import { ApiView } from "./api_view.js";

/** @typedef {import("../link/look.js").At} At */
/** @typedef {import("../base/messages.js").PictureAnswer} Placed what every picture says, where the page looks by itself too */

/** @template {Placed} [Picture=any] @extends {ApiView<Picture>} */
export class PlaceView extends ApiView {
  at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
  placed = false; // the visitor, not the page, has chosen layer and head,
  rowChosen = false; // and the row

  /** @param {import("../link/place.js").Place} place */
  setPlace({ at, placed, rowChosen }) {
    Object.assign(this.at, at);
    Object.assign(this, { placed, rowChosen });
  }

  /** Take over the place of a link. @param {URLSearchParams} link */
  adoptPlace(link) {
    this.setPlace(placeOf(link.get("at"), this.picture));
  }

  /** Move to where the newest picture stands what was not chosen of the place. @param {number} tokens @param {number} [keys] */
  choosePlace(tokens, keys = tokens) {
    if (this.isNewest) this.setPlace(arrived(this, this.picture, tokens, keys));
  }

  /** Keep the place within the picture that is drawn. @param {number} tokens of it @param {number} [keys] */
  keepWithin(tokens, keys = tokens) {
    this.setPlace(clampPlace(this, this.picture, tokens, keys));
  }

  /** Looks at a place; at its row as the page chooses it where that is null. @param {Partial<At>} change */
  place(change) {
    this.setPlace(moved(this, change));
  }

  /** @param {Partial<At>} change */
  setCursor(change) {
    this.place(change);
    this.onChange();
  }
}
