// The channels of one pair as bars: q, k and their product one under the other, what is above 0 up and what is below
// down, and under them the sum so far.

/** @typedef {import("../base/colour.js").Inks} Inks */
/** @typedef {{q: Float32Array, k: Float32Array, products: Float32Array}} Channels */
/** @typedef {{name: string, top: number, height: number, values: ArrayLike<number>, most: number}} Strip of bars, and the size that fills half of it */

const GAP = 10; // pixels between two strips
const LEFT = 62; // pixels of their names
const LEAST_WIDE = 3; // pixels of a channel

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

/** Where all of it stands. @param {Channels} channels @param {number[]} order @param {{width: number, height: number}} room */
export function layOutBars({ q, k, products }, order, { width, height }) {
  const wide = Math.max(LEAST_WIDE, (width - LEFT) / order.length);
  const each = (height - 3 * GAP) / 5; // the product, which is looked at, has twice the room
  const sums = runningSums(products, order);
  const inOrder = (/** @type {Float32Array} */ values) => order.map((channel) => values[channel]);
  const largest = (/** @type {ArrayLike<number>} */ values) =>
    Array.from(values).reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
  const strips = /** @type {Strip[]} */ ([]);
  let top = 0;
  for (const [name, values, share] of /** @type {[string, number[], number][]} */ ([
    ["q", inOrder(q), 1],
    ["k", inOrder(k), 1],
    ["q · k", inOrder(products), 2],
    ["sum so far", sums, 1],
  ])) {
    strips.push({ name, top, height: share * each, values, most: largest(values) });
    top += share * each + GAP;
  }
  return { order, strips, wide, left: LEFT, width: LEFT + wide * order.length, height };
}

/** @typedef {ReturnType<typeof layOutBars>} Layout */

/** A bar from the middle of its strip: its top and its height. @param {Strip} strip @param {number} value @returns {[number, number]} */
export function barOf({ top, height, most }, value) {
  const long = (height / 2) * (value / most);
  return [top + height / 2 - Math.max(0, long), Math.abs(long)];
}

/** The place in order at a pixel; null beside the bars. @param {Layout} layout @param {number} x */
export function placeAt({ order, left, wide }, x) {
  const at = Math.floor((x - left) / wide);
  return at >= 0 && at < order.length ? at : null;
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Set<number>} strongest channels @param {Inks} inks */
export function drawBars(context, { order, strips, wide, left, width }, strongest, inks) {
  const bar = Math.max(1, wide - Math.min(3, wide / 4));
  context.textBaseline = "middle";
  strips.forEach((strip, at) => {
    const middle = strip.top + strip.height / 2;
    Object.assign(context, { fillStyle: inks.muted, font: `12px ${inks.mono}`, textAlign: "left" });
    strip.name.split(" so ").forEach((part, line, all) => {
      context.fillText(line ? `so ${part}` : part, 0, middle + 14 * (line - (all.length - 1) / 2));
    });
    context.fillStyle = inks.line;
    context.fillRect(left, middle - 0.5, width - left, 1);
    for (let place = 0; place < order.length; place += 1) {
      const value = strip.values[place];
      const [top, long] = barOf(strip, value);
      const isOther = at === 2 && !strongest.has(order[place]);
      context.fillStyle = value < 0 ? inks.less : inks.more;
      context.globalAlpha = isOther ? 0.45 : at === 2 ? 1 : 0.8;
      context.fillRect(left + place * wide, top, bar, Math.max(value ? 1 : 0, long));
    }
    context.globalAlpha = 1;
  });
}
