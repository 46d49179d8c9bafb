// One head under each positional encoding: a thumbnail each, and the selected one enlarged.

import { drawHatch, picture } from "../base/colour.js";
import { contentWidth, contextOf, div, h, panel, render, setText, span, windowHeight } from "../base/dom.js";
import { BigMap, blockedMark, wholeMap } from "../picture/map.js";
import { headChoice } from "../picture/map_choice.js";
import { forbids } from "../link/painted.js";
import { mount } from "../base/mount.js";
import { toBytes } from "../wire/packets.js";
import { View } from "../base/view_base.js";
import encodingsCss from "./encodings.css" with { type: "css" };

/** @typedef {import("../base/messages.js").EncodingsState & Ack} State */

const GROUPS = [
  { learnt: true, title: "Trained with this", note: "", link: "" },
  {
    learnt: false,
    title: "Not used in training",
    note: "This model was trained with its own encoding. The others show what breaks when it is replaced, not which encoding is better. To find that out, train a model with each: ",
    link: "compared on Train →",
  },
];
const HIGH = 400; // pixels of the large map
const READABLE = 12.5; // pixels of a number at a root font of 16 pixels; 16 pixels when projected
const AROUND = 175; // pixels around a projected map: bar, title, frame

/** @extends {View<State>} */
class Encodings extends View {
  constructor(root) {
    super(root, [encodingsCss], "encodings", ["selection", "layer", "head"]);
    this.packed = ""; // source of the unpacked maps
    this.maps = /** @type {Float32Array[]} */ ([]);
    this.bytes = /** @type {Bytes[]} */ ([]);
    this.row = -1; // highlighted row of the large map
    this.key = /** @type {number | null} */ (null);
    this.large = new BigMap({
      pick: (row, key) => {
        Object.assign(this, { row, key });
        this.redraw();
      },
      hover: (text) => this.read(text),
    });
    this.name = h("h2");
    this.place = span("label");
    this.readout = h("p", { class: "readout" });
    this.note = h("p", { class: "note-below" });
    this.groups = h("div", { class: "all", role: "group", "aria-label": "Encodings" });
    const header = [div("titles", this.name, this.place)];
    const holder = div("holder", this.large.element);
    this.enlarged = panel("enlarged", null, header, holder, this.readout, this.note);
    this.blocked = blockedMark();
    this.choice = headChoice(this);
    this.show(div("bar", ...this.choice.elements, div("legend", this.blocked)), this.enlarged, this.groups);
  }

  /** @param {number} width */
  draw(width) {
    const { tiles, selection, tokens, keys, forbidden, layer, head } = this.state;
    const place = `layer ${layer} head ${head}`;
    this.choice.draw();
    this.blocked.hidden = !forbidden.some(Boolean);
    this.unpack();
    const chosenIndex = tiles.findIndex(({ name }) => name === selection);
    const index = Math.max(0, chosenIndex);
    const caption = `Mean weight of ${place} on the previous token, by encoding. Press a map to enlarge it.`;
    render(this.groups, ...GROUPS.map((group) => this.drawGroup(group)), ["p.label", caption]);
    this.drawThumbnails();
    setText(this.name, tiles[index].sentence);
    setText(this.place, "each row is one word, each column a word that it may attend to");
    setText(this.note, tiles[index].note);
    const [row, key] = [Math.min(this.row, tokens.length - 1), this.key];
    const name = `${place}, ${tiles[index].title}`;
    const mapPicture = wholeMap(tokens, this.maps[index], {
      keys,
      name,
      forbids: forbids(forbidden, head, tokens.length, keys.length),
      row,
      key,
      theme: this.theme,
      map: this.bytes[index],
    });
    const room = { width: contentWidth(this.enlarged), height: this.room(width) };
    this.large.smallest = this.projector ? READABLE : 10;
    this.large.draw(mapPicture, this.inks, room);
    this.read(null);
  }

  /** The height available to the large map in pixels. @param {number} width */
  room(width) {
    if (!this.projector) return Math.min(HIGH, Math.max(280, width));
    return Math.max(320, windowHeight() - AROUND);
  }

  unpack() {
    const { maps, tokens, keys, tiles } = this.state;
    if (maps === this.packed) return;
    this.packed = maps;
    const bytes = Uint8Array.from(atob(maps), (letter) => letter.charCodeAt(0));
    const floats = new Float32Array(bytes.buffer);
    const cells = tokens.length * keys.length;
    this.maps = tiles.map((_, index) => floats.subarray(index * cells, (index + 1) * cells));
    this.bytes = this.maps.map((map) => ({ size: tokens.length, bytes: toBytes(map) }));
  }

  /** A group of maps under a heading. @param {(typeof GROUPS)[number]} group */
  drawGroup({ learnt, title, note, link }) {
    const tiles = this.state.tiles.filter((tile) => tile.learnt === learnt);
    const id = learnt ? "learnt" : "unseen";
    const words = note && ["p.label", note, ["a", { href: "./train" }, link]];
    const props = { role: "group", "aria-labelledby": id, class: learnt ? "learnt" : null, hidden: !tiles.length };
    const list = ["div.maps", ...tiles.map((tile) => this.drawTile(tile))];
    return ["div.group", props, ["div", ["h3", { id }, title], words], list];
  }

  /** @param {EncodingTile} encoding */
  drawTile({ name, title, figure, sentence }) {
    const state = { "data-name": name, "aria-label": sentence, "aria-pressed": name === this.state.selection };
    const parts = [
      ["canvas", { "aria-hidden": "true" }],
      ["span.name", title],
      ["span.encoding-figure", figure],
    ];
    return ["button.encoding", { ...state, onclick: () => this.choose(name) }, ...parts];
  }

  drawThumbnails() {
    const { tiles, forbidden, head, tokens, keys } = this.state;
    const isBlocked = forbids(forbidden, head, tokens.length, keys.length);
    for (const tile of /** @type {Iterable<HTMLElement>} */ (this.groups.querySelectorAll(".encoding"))) {
      const index = tiles.findIndex(({ name }) => name === tile.dataset.name);
      const side = Math.max(24, Math.floor(contentWidth(tile)));
      const context = contextOf(tile.firstElementChild, side, side);
      context.imageSmoothingEnabled = false;
      context.drawImage(picture(this.bytes[index], this.theme, "root"), 0, 0, side, side);
      drawHatch(context, tokens.length, keys.length, isBlocked, { width: side, height: side }, this.inks.hatch);
    }
  }

  /** The message, which has the sizes and the head in focus. */
  get picture() {
    return this.state;
  }

  get at() {
    return this.state;
  }

  /** @param {{layer?: number, head?: number}} change */
  setCursor(change) {
    const { layer, head } = { ...this.state, ...change };
    this.tell({ layer, head });
  }

  /** @param {string} name */
  choose(name) {
    this.state.selection = name;
    this.redraw();
    this.tell({ selection: name });
  }

  /** @param {string | null} text */
  read(text) {
    const { row, key, maps, state } = this;
    const place = row >= 0 && key !== null && row < state.tokens.length && key < state.tokens.length;
    const readout = place && maps.length ? this.large.say([row, key]) : "point at a cell, or tap it, to read it";
    setText(this.readout, text ?? readout);
  }
}

export const view = mount(Encodings);
