// The mean over heads in the place of the head in focus, of a layer drawn at once from the bytes that are here.

import { meanOf } from "../link/look.js";
import { meanChoice } from "../picture/map_choice.js";
import { many } from "../base/words.js";

/** @typedef {import("../wire/packets.js").Maps} Maps */
/** @typedef {import("../base/colour.js").Bytes} Bytes */

export class MeanMap {
  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.choice = meanChoice(view, true);
    this.kept = { maps: /** @type {Maps | null} */ (null), layer: -1, map: /** @type {Bytes | null} */ (null) };
  }

  /** It is over heads, whichever. */
  get isOn() {
    return meanOf(this.view.look) !== "";
  }

  /** The map in focus as bytes; null where they have to come first. @returns {Bytes | null} */
  get map() {
    const { maps, at, look } = this.view;
    const mean = meanOf(look);
    if (!mean) return maps.map(at.layer, at.head);
    if (mean !== "mean") return null;
    if (this.kept.maps !== maps || this.kept.layer !== at.layer)
      this.kept = { maps, layer: at.layer, map: meanOfLayer(maps, at.layer) };
    return this.kept.map;
  }

  /** Where the map in focus is from. */
  get place() {
    const { maps, at, look } = this.view;
    const mean = meanOf(look);
    if (mean === "meanall") return `mean over the ${many(maps.layers * maps.heads, "head")} of all layers`;
    if (mean === "meanseen")
      return look.all ? "mean over the heads in sight" : `layer ${at.layer}, mean over the heads in sight`;
    return `layer ${at.layer}, ${mean ? `mean over ${many(maps.heads, "head")}` : `head ${at.head}`}`;
  }

  /** What the map in focus is called. */
  get name() {
    const { at } = this.view;
    return this.isOn ? `${this.place[0].toUpperCase()}${this.place.slice(1)}` : `Layer ${at.layer} head ${at.head}`;
  }

  draw() {
    const isLong = this.view.picture.tile > 0; // of one layer at a time the maps are here
    for (const press of this.choice.buttons.slice(2)) press.disabled = isLong;
    this.choice.draw();
  }
}

/** @param {Maps} maps @param {number} layer @returns {Bytes} */
function meanOfLayer(maps, layer) {
  const each = Array.from({ length: maps.heads }, (_, head) => maps.map(layer, head));
  const [{ size, bytes: cells }] = each;
  const sums = new Float32Array(cells.length);
  for (const { bytes } of each) bytes.forEach((byte, at) => (sums[at] += byte));
  return { size, bytes: Uint8Array.from(sums, (sum) => Math.round(sum / maps.heads)) };
}
