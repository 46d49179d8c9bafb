// The view "cache": generation token by token with a KV cache, its bytes, and keys reused at another position.

import { BigMap, TALL, wholeMap } from "../picture/map.js";
import { canvasOf, pixel, signedColour } from "../base/colour.js";
import { contentWidth, div, render, setText } from "../base/dom.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {import("../base/messages.js").CacheAnswer & {weights: Float32Array, strips: Float32Array[]}} Answer strips: keys and values (n, d) */

const SIZES = ["layers", "query heads", "key/value heads", "channels in a head", "tokens", "bytes per number"];
const KINDS = ["MHA", "GQA", "MQA"];
const FORMULA =
  "Bytes (key/value heads): 2 for K and V × layers × key/value heads × channels × tokens × bytes per number. MHA has a key/value head for each query head, GQA one for several, MQA one for all.";
const BEAT = 700; // ms of a token while it plays
const [HIGH, LABEL, GAP] = [480, 56, 12]; // pixels of the map, of the words behind it, and between K and V
const LEGEND =
  "rows are queries, columns keys; K and V of a token stand in its row, blue below 0, orange above; framed: computed in this step";
const REFUSAL =
  "Sizes are whole numbers from 1, and the query heads are a multiple of the key/value heads; the table shows the last ones that fit.";

const halt = (/** @type {Event} */ event) => event.stopPropagation(); // digits and arrows are no shortcuts here

/** A field for a number. @param {string} name @param {number} value @param {(event: any) => void} oninput */
const field = (name, value, oninput) => [
  "label.named",
  ["span.label", name],
  ["input", { type: "number", min: 0, step: 1, "aria-label": name, value: String(value), oninput, onkeydown: halt }],
];

/** @param {HTMLElement} element @param {{caption: string, head: string[], rows: string[][]}} table */
const list = (element, table) => updateListing(element, { ...table, marks: [], right: [false, true, true] }, () => {});

/** The typed sizes; null if they make no cache. @param {string[]} texts as in SIZES */
function readSizes(texts) {
  const sizes = texts.map((text) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0));
  return sizes.length === SIZES.length && Math.min(...sizes) && sizes[1] % sizes[2] === 0 ? sizes : null;
}

/** The bytes of a cache. @param {number[]} sizes as in SIZES @param {number} kvHeads */
const bytesOf = ([layers, , , channels, tokens, size], kvHeads) =>
  (2 * layers * kvHeads * channels * tokens * size).toLocaleString("en");

/** The key/value heads of each of KINDS; sizes without groups have groups of their smallest divisor. @param {number[]} sizes */
function kindsOf([, heads, kv]) {
  let grouped = kv > 1 && kv < heads ? kv : 2;
  while (grouped < heads && heads % grouped) grouped += 1;
  return [heads, Math.min(grouped, heads), 1];
}

export class CacheView {
  name = "cache";
  title = "Generate with a KV cache";
  about = "what is computed for the next word, and what is kept?";
  route = "cache";

  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    this.answer = /** @type {Answer | null} */ (null);
    this.timer = 0;
    this.refusal = "";
    this.readout = div("readout");
    this.map = new CacheMap({
      pick: (row) => this.go(row + 1 - (this.answer?.prompt ?? 0)),
      hover: (text) => setText(this.readout, text ?? ""),
    });
    this.changes = makeListing();
    this.bytes = makeListing();
    this.element = div("cache-view");
  }

  /** The state in the link: generated tokens, shift and typed sizes. */
  get texts() {
    return [...this.view.others.state.split("."), "", ""].slice(0, 3);
  }

  get last() {
    return Math.max(0, (this.answer?.steps.length ?? 1) - 1);
  }

  get step() {
    return Math.min(Number(this.texts[0]) || 0, this.last);
  }

  /** Change a part of the state; an unusable text leaves the last one. @param {number} index @param {string} text */
  change(index, text) {
    if (!/^[\d-]+$/.test(text)) return;
    const panel = [this.name, ...this.texts.with(index, text)].join(".").replace(/\.+$/, "");
    this.view.dispatch({ type: "set", values: { panel } }, true);
  }

  /** Show another number of generated tokens. @param {number} step */
  go(step) {
    this.change(0, String(Math.max(0, step)));
  }

  /** @param {Event} event in a field of the sizes */
  resize({ target }) {
    const fields = /** @type {HTMLElement} */ (target).closest(".actions")?.querySelectorAll("input") ?? [];
    const sizes = readSizes([...fields].map(({ value }) => value));
    this.refusal = sizes ? "" : REFUSAL;
    if (sizes) this.change(2, sizes.join("-"));
    else this.view.redraw();
  }

  /** @param {boolean} isOn */
  play(isOn) {
    clearInterval(this.timer);
    if (isOn && this.step === this.last) this.go(0);
    const isLeft = () => this.step === this.last || !this.element.isConnected;
    const beat = () => (isLeft() ? this.play(false) : this.go(this.step + 1));
    this.timer = isOn ? setInterval(beat, BEAT) : 0;
    this.view.redraw();
  }

  close() {
    this.play(false);
  }

  params() {
    return { at: writeAt(this.view.at, true), view: `${this.name}..${this.texts[1]}` };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    const cells = header.tokens.length ** 2;
    const half = (floats.length - cells) / 2;
    const strips = half > 0 ? [cells, cells + half].map((from) => floats.subarray(from, from + half)) : [];
    this.answer = { ...header, weights: floats.subarray(0, cells), strips };
  }

  draw() {
    const { answer, step } = this;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const { reason, tokens, prompt, sizes, maxLength, changes } = answer;
    const count = reason ? tokens.length : prompt + step;
    const own = [...sizes.slice(0, 4), count, sizes[4]];
    const typed = readSizes(this.texts[2].split("-"));
    const fields = SIZES.map((name, index) => field(name, (typed ?? own)[index], (event) => this.resize(event)));
    const parts = reason ? [["p", reason]] : this.generation(answer, bytesOf(own, own[2]));
    const limit = ` This model’s own cache ends at ${maxLength.toLocaleString("en")} tokens.`;
    const calculator = [
      ["h3", "How many bytes a cache takes"],
      ["div.actions", ...fields],
      ["p.label", { role: "status" }, this.refusal],
      ["p.label", FORMULA, typed && typed[4] > maxLength && limit],
    ];
    render(this.element, ...parts, ...calculator, this.bytes);
    const columns = typed ? [own, typed] : [own];
    const cell = (/** @type {number[]} */ column, /** @type {number} */ kvHeads) =>
      `${bytesOf(column, kvHeads)} (${kvHeads}${kvHeads === column[2] ? ", as it is" : ""})`;
    list(this.bytes, {
      caption: "",
      head: ["kind", `this model, ${count} tokens`, "sizes typed in"].slice(0, columns.length + 1),
      rows: KINDS.map((kind, index) => [kind, ...columns.map((column) => cell(column, kindsOf(column)[index]))]),
    });
    if (reason) return;
    const caption = "This token’s weights that change most, in that head.";
    list(this.changes, { caption, head: ["key", "right", "with reused keys"], rows: changes });
    this.drawMap(answer, count, step ? count - 1 : 0);
  }

  /** The parts that need a cache. @param {Answer} answer @param {string} bytes so far */
  generation({ steps, notes, shift, reuse }, bytes) {
    const { step, last, timer } = this;
    const slide = (/** @type {any} */ event) => this.go(Number(event.target.value));
    const slider = { type: "range", min: 0, max: last, value: String(step), oninput: slide, onkeydown: halt };
    return [
      [
        "div.actions",
        ["button", { disabled: step === last, onclick: () => this.go(step + 1) }, "next token"],
        ["button", { "aria-pressed": Boolean(timer), onclick: () => this.play(!timer) }, timer ? "pause" : "play"],
        ["input", { ...slider, "aria-label": "generated tokens" }],
      ],
      ["div.view-status", { role: "status" }, `${steps[step]} So far that is ${bytes} bytes.`],
      ["div.scrolls", this.map.element],
      ["div.map-foot", ["div.label", LEGEND], this.readout],
      ["div.label", ...notes.map((text) => ["p", text])],
      ["h3", "Keys and values reused at another position"],
      field("positions further on", shift, (event) => this.change(1, event.target.value)),
      ["div.view-status", ...reuse.map((text) => ["p", text])],
      this.changes,
    ];
  }

  /** Draw the rows so far. @param {Answer} answer @param {number} end @param {number} first row of this step */
  drawMap({ tokens, weights, strips }, end, first) {
    const { map, view } = this;
    const { theme, look, inks } = view;
    const n = tokens.length;
    const width = contentWidth(this.element);
    map.part = { strips, first, end };
    map.reservedWidth = LABEL + strips.length * (Math.max(24, Math.min(128, 0.11 * width)) + GAP);
    const more = { name: "Generation with a KV cache", row: -1, theme, scale: look.scale };
    const forbids = (/** @type {number} */ i, /** @type {number} */ j) => i < j && j < end;
    const rows = weights.map((weight, index) => (index < end * n ? weight : 0));
    const names = tokens.map((token, i) => (i < end ? token : ""));
    map.draw(wholeMap(names, rows, { ...more, forbids }), inks, { width, height: HIGH, tall: TALL });
  }
}

/** A map with the key and the value of each token in its row, and a frame around what a step computes. */
class CacheMap extends BigMap {
  part = { strips: /** @type {Float32Array[]} */ ([]), first: 0, end: 0 }; // rows `first` to `end` are of this step

  /** @param {number} unit @param {Room} room */
  paint(unit, room) {
    super.paint(unit, room);
    const { inks, left, top, step, across, wide, right, reservedWidth, font, visible } = this;
    const { strips, first, end } = this.part;
    const context = /** @type {CanvasRenderingContext2D} */ (this.base.getContext("2d"));
    const width = (reservedWidth - LABEL) / 2 - GAP;
    const start = left + across + right - reservedWidth;
    context.clearRect(left, top + end * step, across, (visible.length - end) * step); // not generated yet
    context.clearRect(left + end * wide, top, across - end * wide, end * step);
    context.strokeStyle = inks.line;
    context.setLineDash([4, 4]);
    context.strokeRect(left, top, across, visible.length * step); // the room for the tokens to come
    context.setLineDash([]);
    Object.assign(context, { font: `${font}px ${inks.mono}`, textAlign: "left", fillStyle: inks.text });
    Object.assign(context, { strokeStyle: inks.accent, lineWidth: 2 });
    const frame = (/** @type {number} */ x, /** @type {number} */ width) =>
      context.strokeRect(x, top + first * step, width, (end - first) * step);
    frame(left, end * wide);
    strips.forEach((numbers, index) => {
      const x = start + index * (width + GAP);
      const most = numbers.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-9);
      const image = canvasOf(numbers.length / visible.length, end, (cells) => {
        for (let at = 0; at < cells.length; at += 1)
          cells[at] = pixel(signedColour(Math.sign(numbers[at]) * Math.sqrt(Math.abs(numbers[at]) / most), inks));
      });
      context.drawImage(image, x, top, width, end * step);
      context.fillText(["K", "V"][index], x, top - font);
      frame(x, width);
    });
    const x = start + reservedWidth - LABEL + GAP / 2;
    context.fillText("new", x, top + ((first + end) / 2) * step);
    if (first) context.fillText("cached", x, top + (first / 2) * step);
  }

  /** @param {Cell} at */
  say(at) {
    return at[0] < this.part.end ? super.say(at) : "not generated yet";
  }
}
