// The channels of one pair as bars: q, k and their product one under the other, what is above 0 up and what is below
// down, and under them the sum so far.

import { LETTERS } from "../base/dom.js";

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {{q: Float32Array, k: Float32Array, products: Float32Array}} Channels */
/** @typedef {{name: string, top: number, height: number, values: number[], zero: number, unit: number}} Strip of bars: where 0 is, and pixels of a 1 */

const GAP = 12; // pixels between two strips
const LEFT = 62; // pixels of their names
const BELOW = 18; // pixels of the channels' numbers
const LEAST_WIDE = 3; // pixels of a channel
const FONT = LETTERS;
const PRODUCT = "q · k";

/** The channels in order, or with the largest product first and the smallest last. @param {ArrayLike<number>} products @param {boolean} sorted */
export function orderOf(products, sorted) {
  const order = [...Array(products.length).keys()];
  return sorted ? order.sort((one, other) => products[other] - products[one] || one - other) : order;
}

/** The sum after each channel, in this order. @param {ArrayLike<number>} products @param {number[]} order */
export function runningSums(products, order) {
  let sum = 0;
  return order.map((channel) => (sum += products[channel]));
}

/** A strip of bars, as high as it is: what is above 0 and what is below share its room. @param {string} name @param {number[]} values @param {number} top @param {number} height @returns {Strip} */
function stripOf(name, values, top, height) {
  const [up, down] = [Math.max(0, ...values), Math.min(0, ...values)];
  const unit = up > down ? height / (up - down) : 0;
  return { name, top, height, values, zero: top + (unit ? up * unit : height / 2), unit };
}

/** Where all of it stands. @param {Channels} channels @param {number[]} order @param {{width: number, height: number}} room */
export function layOutBars({ q, k, products }, order, { width, height }) {
  const wide = Math.max(LEAST_WIDE, (width - LEFT) / order.length);
  const each = (height - BELOW - 3 * GAP) / 5; // the product, which is looked at, has twice the room
  const inOrder = (/** @type {Float32Array} */ values) => order.map((channel) => values[channel]);
  const strips = /** @type {Strip[]} */ ([]);
  let top = 0;
  for (const [name, values, share] of /** @type {[string, number[], number][]} */ ([
    ["q", inOrder(q), 1],
    ["k", inOrder(k), 1],
    [PRODUCT, inOrder(products), 2],
    ["sum", runningSums(products, order), 1],
  ])) {
    strips.push(stripOf(name, values, top, share * each));
    top += share * each + GAP;
  }
  return { order, strips, wide, left: LEFT, width: LEFT + wide * order.length, height };
}

/** @typedef {ReturnType<typeof layOutBars>} Layout */

/** A bar from the line of 0: its top and its height. @param {Strip} strip @param {number} value @returns {[number, number]} */
export const barOf = ({ zero, unit }, value) => [zero - Math.max(0, value * unit), Math.abs(value) * unit];

/** The place in order at a pixel; null beside the bars. @param {Layout} layout @param {number} x */
export function placeAt({ order, left, wide }, x) {
  const at = Math.floor((x - left) / wide);
  return at >= 0 && at < order.length ? at : null;
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Set<number>} strongest channels @param {Inks} inks */
export function drawBars(context, { order, strips, wide, left, width, height }, strongest, inks) {
  const bar = Math.max(1, wide - Math.min(3, wide / 4));
  context.textBaseline = "middle";
  for (const { name, top, height: high, values, zero, unit } of strips) {
    Object.assign(context, { fillStyle: inks.muted, font: `${FONT}px ${inks.mono}`, textAlign: "left" });
    context.fillText(name, 0, top + high / 2);
    values.forEach((value, place) => {
      const [up, long] = barOf({ name, top, height: high, values, zero, unit }, value);
      context.fillStyle = value < 0 ? inks.less : inks.more;
      context.globalAlpha = name === PRODUCT && !strongest.has(order[place]) ? 0.7 : 1; // 3 : 1 and more in both themes
      context.fillRect(left + place * wide, up, bar, Math.max(value ? 1 : 0, long));
    });
    context.globalAlpha = 1;
    context.fillStyle = inks.muted;
    context.fillRect(left, zero - 0.5, width - left, 1);
  }
  const every = Math.ceil((2 * FONT) / wide);
  Object.assign(context, { fillStyle: inks.muted, textAlign: "center" });
  for (let place = 0; place < order.length; place += every)
    context.fillText(String(order[place]), left + place * wide + bar / 2, height - BELOW / 2);
}
