// The view "channels": the contribution of each channel of a head to the score of the pair in focus.

import { choice } from "../base/choice.js";
import { AXIS } from "../base/facts.js";
import { contentWidth, div, render, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { FoldedTable } from "../picture/listing.js";
import { headName, writeAt } from "../link/look.js";
import { quoted, signed } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";

/** @typedef {{q: Float32Array, k: Float32Array, products: Float32Array}} Channels */
/** @typedef {{name: string, top: number, height: number, values: number[], zero: number, unit: number}} Strip of bars; zero: y of 0; unit: pixels per 1 */
/** @typedef {import("../base/messages.js").ChannelsAnswer & Channels} Answer */

const SORTED = "sorted"; // value in the link
/** @type {[string, string, string?][]} */
const ORDERS = [
  ["", "in order"],
  [SORTED, "sorted", "the largest product first, negative ones last"],
];
const COLUMNS = ["channel", "q", "k", "q · k", "sum so far"];
const HIGH = 300; // pixels of the drawing

export class ChannelsView {
  name = "channels";
  title = "Split a score into its channels";
  about = "which numbers of query and key make the score large?";
  route = "channels";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.order = choice("Order of the channels", ORDERS, (state) => view.others.show(this, state));
    this.status = div("view-status");
    this.notes = div("label");
    this.readout = div("readout");
    this.grid = new DrawnGrid({ pick: () => {}, hover: (text) => setText(this.readout, text ?? "") });
    this.table = new FoldedTable("Channels as a table", () => view.redraw());
    const legend = div("label", "orange bars are positive, blue ones negative; the strongest are in full colour");
    const [grid, table, footer] = [this.grid.element, this.table.element, div("map-foot", legend, this.readout)];
    this.element = div(
      "channels-view",
      div("actions", this.order.element),
      this.status,
      grid,
      footer,
      table,
      this.notes,
    );
  }

  params() {
    return { at: writeAt(this.view.at, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    const d = floats.length / 3;
    const part = (/** @type {number} */ index) => floats.subarray(index * d, (index + 1) * d);
    this.answer = { ...header, q: part(0), k: part(1), products: part(2) };
  }

  draw() {
    const { answer, grid, table, view } = this;
    const { inks, others } = view;
    const { state } = others;
    this.order.press(state === SORTED ? SORTED : "");
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    render(this.status, ...answer.sentences.map((text) => ["p", text]));
    render(this.notes, ...answer.notes.map((text) => ["p", text]));
    const { q, k, products } = answer;
    const head = headName(`${answer.layer}.${answer.head}`);
    const order = orderOf(products, state === SORTED);
    const sums = runningSums(products, order);
    const layout = layOutBars(answer, order, { width: contentWidth(this.element), height: HIGH });
    const box = { left: 0, top: 0, width: layout.wide, height: layout.height };
    const say = (/** @type {number} */ place) => {
      const channel = order[place];
      const product = `${signed(q[channel])} × ${signed(k[channel])} = ${signed(products[channel])}`;
      return `channel ${channel}: ${product}; sum so far ${signed(sums[place])}`;
    };
    grid.drawGrid(
      {
        name: `Channels of ${head}, ${quoted(answer.query)} → ${quoted(answer.keyToken)}`,
        how: "q × k, and the sum so far",
        size: [1, order.length],
        say: ([, place]) => say(place),
        boxOf: ([, place]) => ({ ...box, left: layout.left + place * layout.wide }),
        at: (x) => {
          const place = placeAt(layout, x);
          return place === null ? null : [0, place];
        },
      },
      layout,
      inks,
      [answer, state, inks.text],
      (context) => drawBars(context, layout, new Set(answer.strong), inks),
    );
    if (!table.isOpen) return;
    const rows = order.map((channel, place) => {
      const values = [q[channel], k[channel], products[channel], sums[place]];
      return [String(channel), ...values.map((value) => signed(value))];
    });
    table.fill(COLUMNS, rows);
  }
}

// ---- bars: q, k and their products, one strip each, positive up and negative down, then the running sum

const GAP = 12; // pixels between two strips
const LEFT = 62; // pixels of their names
const BELOW = 18; // pixels of the axis labels
const MIN_WIDTH = 3; // pixels of a channel, at least
const PRODUCT = "q · k";

/** The channels in order, or by product, the largest first.
 * @param {ArrayLike<number>} products @param {boolean} sorted */
export function orderOf(products, sorted) {
  const order = [...Array(products.length).keys()];
  return sorted ? order.sort((a, b) => products[b] - products[a] || a - b) : order;
}

/** The running sum after each channel in this order. @param {ArrayLike<number>} products @param {number[]} order */
export function runningSums(products, order) {
  let sum = 0;
  return order.map((channel) => (sum += products[channel]));
}

/** Lay out a strip of bars; the positive and negative parts share its height.
 * @param {string} name @param {number[]} values @param {number} top @param {number} height @returns {Strip} */
function stripOf(name, values, top, height) {
  const [up, down] = [Math.max(0, ...values), Math.min(0, ...values)];
  const unit = up > down ? height / (up - down) : 0;
  return { name, top, height, values, zero: top + (unit ? up * unit : height / 2), unit };
}

/** The layout of the rows. @param {Channels} channels @param {number[]} order @param {{width: number, height: number}} room */
export function layOutBars({ q, k, products }, order, { width, height }) {
  const wide = Math.max(MIN_WIDTH, (width - LEFT) / order.length);
  const rowHeight = (height - BELOW - 3 * GAP) / 5; // the product, which matters most, has twice the height
  const inOrder = (/** @type {Float32Array} */ values) => order.map((channel) => values[channel]);
  const strips = /** @type {Strip[]} */ ([]);
  let top = 0;
  for (const [name, values, share] of /** @type {[string, number[], number][]} */ ([
    ["q", inOrder(q), 1],
    ["k", inOrder(k), 1],
    [PRODUCT, inOrder(products), 2],
    ["sum", runningSums(products, order), 1],
  ])) {
    strips.push(stripOf(name, values, top, share * rowHeight));
    top += share * rowHeight + GAP;
  }
  return { order, strips, wide, left: LEFT, width: LEFT + wide * order.length, height };
}

/** @typedef {ReturnType<typeof layOutBars>} Layout */

/** The bar of a value, from the line of 0: its top and height.
 * @param {Strip} strip @param {number} value @returns {[number, number]} */
export const barOf = ({ zero, unit }, value) => [zero - Math.max(0, value * unit), Math.abs(value) * unit];

/** The index of the channel at a pixel; null beside the bars. @param {Layout} layout @param {number} x */
export function placeAt({ order, left, wide }, x) {
  const index = Math.floor((x - left) / wide);
  return index >= 0 && index < order.length ? index : null;
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Set<number>} strongest channels @param {Inks} inks */
export function drawBars(context, { order, strips, wide, left, width, height }, strongest, inks) {
  const bar = Math.max(1, wide - Math.min(3, wide / 4));
  context.textBaseline = "middle";
  for (const { name, top, height: high, values, zero, unit } of strips) {
    Object.assign(context, { fillStyle: inks.muted, font: `${AXIS.tick}px ${inks.sans}`, textAlign: "left" });
    context.fillText(name, 0, top + high / 2);
    values.forEach((value, place) => {
      const [up, long] = barOf({ name, top, height: high, values, zero, unit }, value);
      context.fillStyle = value < 0 ? inks.less : inks.more;
      context.globalAlpha = name === PRODUCT && !strongest.has(order[place]) ? 0.7 : 1; // a contrast of 3 : 1 and more in both themes
      context.fillRect(left + place * wide, up, bar, Math.max(value ? 1 : 0, long));
    });
    context.globalAlpha = 1;
    context.fillStyle = inks.muted;
    context.fillRect(left, zero - 0.5, width - left, 1);
  }
  const interval = Math.ceil((2 * AXIS.tick) / wide);
  Object.assign(context, { fillStyle: inks.muted, textAlign: "center" });
  for (let place = 0; place < order.length; place += interval)
    context.fillText(String(order[place]), left + place * wide + bar / 2, height - BELOW / 2);
}
