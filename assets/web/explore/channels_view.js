// Channels: what every channel of the head adds to the score of the pair in focus.

import { drawBars, layOutBars, orderOf, placeAt, runningSums } from "./channel_bars.js";
import { div, fill, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { FoldedTable } from "../picture/folded_table.js";
import { headName, writeAt } from "../link/look.js";
import { unpackFloats } from "../wire/packets.js";
import { choice, contentWidth } from "../base/view_base.js";
import { signed } from "../base/words.js";

/** @typedef {import("../base/messages.js").ChannelsAnswer & import("./channel_bars.js").Channels} Answer */

const SORTED = "sorted"; // as the link says it
const COLUMNS = ["channel", "q", "k", "q · k", "sum so far"];
const HIGH = 300; // pixels

export class ChannelsView {
  name = "channels";
  title = "Channels";
  route = "channels";
  state = "";

  /** @param {import("./explore.js").Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.order = choice(
      "Order of the channels",
      [
        ["", "in order"],
        [SORTED, "sorted", "the largest product first, what is below 0 last"],
      ],
      (state) => view.others.change(this, state),
    );
    this.said = div("said-of-view");
    this.notes = div("label");
    this.readout = div("readout");
    this.grid = new DrawnGrid({ pick: () => {}, hover: (text) => setText(this.readout, text) });
    this.table = new FoldedTable("Channels as a table", () => view.redraw());
    const legend = div("label", "up and orange: above 0, down and blue: below 0; full colour: the strongest");
    this.element = div(
      "channels-view",
      div("actions", this.order.element),
      this.said,
      this.grid.element,
      div("under", legend, this.readout),
      this.table.element,
      this.notes,
    );
  }

  asked() {
    return { at: writeAt(this.view.at, true) };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    const d = floats.length / 3;
    const part = (/** @type {number} */ at) => floats.subarray(at * d, (at + 1) * d);
    this.answer = { ...header, q: part(0), k: part(1), products: part(2) };
  }

  /** @param {import("../base/colour.js").Inks} inks */
  draw(inks) {
    const { answer, state, grid, table } = this;
    this.order.press(state === SORTED ? SORTED : "");
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    fill(this.said, answer.said, "p", setText);
    fill(this.notes, answer.notes, "p", setText);
    const { q, k, products } = answer;
    const head = headName(`${answer.layer}.${answer.head}`);
    const order = orderOf(products, state === SORTED);
    const sums = runningSums(products, order);
    const layout = layOutBars(answer, order, { width: contentWidth(this.element), height: HIGH });
    const say = (/** @type {number} */ place) => {
      const channel = order[place];
      const product = `${signed(q[channel])} × ${signed(k[channel])} = ${signed(products[channel])}`;
      return `channel ${channel}: ${product}; sum so far ${signed(sums[place])}`;
    };
    grid.draw(
      {
        name: `Channels of ${head}, “${answer.query}” → “${answer.looked}”`,
        how: "q × k, and the sum so far",
        size: [1, order.length],
        say: ([, place]) => say(place),
        boxOf: ([, place]) => ({
          left: layout.left + place * layout.wide,
          top: 0,
          width: layout.wide,
          height: layout.height,
        }),
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
