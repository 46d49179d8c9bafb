// The difference of two maps (blue = less, orange = more), with a bar per row for the share of its weight that moved.

import { inkFor, pixel, pixels, signedColour } from "../base/colour.js";
import { BigMap } from "./map.js";
import { pooled } from "../wire/packets.js";
import { isolated } from "../base/token_text.js";
import { number, shortSigned, signed } from "../base/words.js";

const BARS = 26; // pixels of the bars beside the map
const MIDDLE = 128; // the byte of no change

/** The colour of a difference, on a square-root scale like the maps.
 * @param {number} share −1 to 1 @param {Inks} inks
 */
const colourOf = (share, inks) => signedColour(Math.sign(share) * Math.sqrt(Math.abs(share)), inks);

const shareOf = (byte) => Math.max(-1, (byte - MIDDLE) / 127);

/** The colour scale as a CSS gradient, for the legend. @param {Inks} inks */
export function signedGradient(inks) {
  const stops = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map(
    (share) => `rgb(${colourOf(share, inks).join(" ")}) ${50 + 50 * share}%`,
  );
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Encode differences as bytes, 128 for none. @param {Float32Array} values */
export const asBytes = (values) =>
  Uint8Array.from(values, (value) => MIDDLE + Math.round(127 * Math.max(-1, Math.min(1, value))));

/** Noun and number format of differences in a table. @type {Writing} */
export const IN_TABLE = { what: "change", write: (value) => signed(value, (size) => size.toFixed(4)) };

/** @typedef {MapPicture & {sides: (Float32Array | null)[], distances: number[]}} ShownDifference */

/** A map of differences, as weights with their `asBytes`; `sides`: both maps, null while they are pending; and a
 * distance per row.
 */
export class DifferenceMap extends BigMap {
  /** @param {GridActions} actions */
  constructor(actions) {
    super(actions);
    Object.assign(this, { reservedWidth: BARS, roomy: 24, breadth: 2 }); // numbers with a sign are longer
  }

  /** @param {ShownDifference} mapPicture @param {Inks} inks @param {Room} room */
  draw(mapPicture, inks, room) {
    super.draw(mapPicture, inks, room);
    const { left, top, side, step, across } = this;
    const context = /** @type {CanvasRenderingContext2D} */ (this.base.getContext("2d"));
    const maxWidth = this.right - 10;
    context.fillStyle = inks.line;
    context.fillRect(left + across + 6, top, 1, side);
    mapPicture.distances
      .slice(mapPicture.first, mapPicture.tokens.length - mapPicture.last)
      .forEach((distance, index) => {
        context.fillStyle = index + mapPicture.first === mapPicture.row ? inks.text : inks.muted;
        const [x, y] = [left + across + 7, top + index * step + step * 0.2];
        context.fillRect(x, y, Math.max(0, distance * maxWidth), Math.max(0.5, step * 0.6));
      });
  }

  image(cut, room) {
    const colours = Uint32Array.from({ length: 256 }, (_, byte) => pixel(colourOf(shareOf(byte), this.inks)));
    return pixels(pooled(cut, room, MIDDLE), colours);
  }

  format(value) {
    return shortSigned(value);
  }

  inkOn(byte) {
    return inkFor(colourOf(shareOf(byte), this.inks));
  }

  say([i, j]) {
    const { tokens, keys, weights, sides } = /** @type {ShownDifference} */ (this.picture);
    const index = i * keys.length + j;
    const [left, right] = sides.map((side) => (side ? number(side[index]) : "…"));
    return `${isolated(tokens[i])} → ${isolated(keys[j])} ${left} → ${right}, ${weights ? signed(weights[index]) : "…"}`;
  }
}
