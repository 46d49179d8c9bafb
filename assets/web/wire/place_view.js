// A view with a cursor in the model: layer, head, query, and optionally a key.

import { arrived, movePlace, placeOf, clampPlace } from "../link/place.js";
import { omit } from "../link/link.js";
import { parseLook, reads } from "../link/look.js";
import { ApiView } from "./api_view.js";

/** @template {PictureAnswer} [Picture=any] @extends {ApiView<Picture>} */
export class PlaceView extends ApiView {
  at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
  placed = false; // the user chose layer and head
  rowChosen = false; // the user chose the row
  look = parseLook(""); // display options
  pictureOf = /** @type {string | null} */ (null); // what the picture was requested with

  /** The keys that do not change the picture. @param {URLSearchParams} _query @returns {string[]} */
  idleKeys(_query) {
    return [];
  }

  /** The part of a query that changes the picture. @param {URLSearchParams} query */
  relevant(query) {
    return `${omit(query, "look", ...this.idleKeys(query))} ${reads(parseLook(query.get("look") ?? ""))}`;
  }

  /** @param {URLSearchParams} query */
  onUnchanged(query) {
    this.pictureOf = this.relevant(query);
  }

  /** @param {Cursor} place */
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
    this.setPlace(movePlace(this, change));
  }

  /** @param {Partial<Look>} change */
  setDisplay(change) {
    Object.assign(this.look, change);
    this.onChange();
  }

  /** @param {Partial<At>} change */
  setCursor(change) {
    this.place(change);
    this.onChange();
  }
}
