// A view that looks at one place of the model: a head of a layer, and in its map a query and perhaps a key.

import { parseAt } from "../link/look.js";
import { WireView } from "./wire_view.js";

/** @typedef {import("../link/look.js").At} At */
/** @typedef {import("../base/messages.js").PictureAnswer & At} Placed what every picture says, and where the page looks by itself */

/** @template {Placed} [Picture=any] @extends {WireView<Picture>} */
export class PlaceView extends WireView {
  at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
  placed = false; // the visitor, not the page, has chosen layer and head,
  rowChosen = false; // and the row

  /** Takes over what a link says of the place. @param {URLSearchParams} link */
  adoptPlace(link) {
    const { picture } = this;
    const said = link.get("at");
    const { layer, head, row, key } = parseAt(said ?? String(picture?.defaults.at ?? "0.0"));
    this.at = { layer, head, row: row ?? picture?.row ?? 0, key: row === null ? (picture?.key ?? null) : key };
    this.placed = said !== null;
    this.rowChosen = row !== null;
  }

  /** What was not chosen of the place is the page's choice; a shorter sentence lacks the row that was.
   * @param {number} tokens @param {number} [keys]
   */
  choosePlace(tokens, keys = tokens) {
    const { at, picture } = this;
    const { layer, head, row, key } = picture;
    if (!this.isNewest) return;
    this.rowChosen &&= at.row < tokens;
    if (!this.placed) Object.assign(at, { layer, head });
    if (!this.rowChosen) Object.assign(at, { row, key });
    if (at.key !== null && at.key >= keys) at.key = null;
  }

  /** A row or key that the sentence lacks is no choice. @param {number} tokens of the picture that is drawn @param {number} [keys] */
  keepWithin(tokens, keys = tokens) {
    const { at, picture } = this;
    if (at.row >= tokens) {
      this.rowChosen = false;
      Object.assign(at, { row: Math.min(picture.row, tokens - 1), key: picture.key });
    }
    if (at.key !== null && at.key >= keys) at.key = null;
  }

  /** Looks at a place; at its row as the page chooses it where that is null. @param {Partial<At>} change */
  place({ row, ...change }) {
    if (row !== undefined) this.rowChosen = row !== null;
    Object.assign(this.at, change, this.rowChosen && row !== undefined ? { row } : {});
    this.placed = true;
  }

  /** @param {Partial<At>} change */
  go(change) {
    this.place(change);
    this.chose();
  }
}
