// The mean over the heads of a layer in the place of the head in focus: drawn at once from the bytes that are here.

import { button, setAttribute } from "../base/dom.js";

/** @typedef {import("./explore.js").Explore} Explore */
/** @typedef {import("../wire/packets.js").Maps} Maps */
/** @typedef {import("../base/colour.js").Bytes} Bytes */

export class MeanMap {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.opener = button("mean over the heads", () => view.change({ mean: !view.look.mean }), {
      class: "toggle",
      title: "the map that nn.MultiheadAttention returns by default",
    });
    this.kept = { maps: /** @type {Maps | null} */ (null), layer: -1, map: /** @type {Bytes | null} */ (null) };
  }

  /** The map in focus as bytes. @returns {Bytes} */
  get map() {
    const { maps, at, look } = this.view;
    if (!look.mean) return maps.map(at.layer, at.head);
    if (this.kept.maps !== maps || this.kept.layer !== at.layer || !this.kept.map)
      this.kept = { maps, layer: at.layer, map: meanOf(maps, at.layer) };
    return this.kept.map ?? maps.map(at.layer, at.head);
  }

  /** Where the map in focus is from. */
  get place() {
    const { maps, at, look } = this.view;
    return `layer ${at.layer}, ${look.mean ? `mean over ${maps.heads} heads` : `head ${at.head}`}`;
  }

  /** What the map in focus is called. */
  get name() {
    const { maps, at, look } = this.view;
    return look.mean ? `Layer ${at.layer}, mean over ${maps.heads} heads` : `Layer ${at.layer} head ${at.head}`;
  }

  draw() {
    setAttribute(this.opener, "aria-pressed", String(this.view.look.mean));
  }
}

/** @param {Maps} maps @param {number} layer @returns {Bytes} */
function meanOf(maps, layer) {
  const each = Array.from({ length: maps.heads }, (_, head) => maps.map(layer, head));
  const [{ size, bytes: cells }] = each;
  const sums = new Float32Array(cells.length);
  for (const { bytes } of each) bytes.forEach((byte, at) => (sums[at] += byte));
  return { size, bytes: Uint8Array.from(sums, (sum) => Math.round(sum / maps.heads)) };
}
