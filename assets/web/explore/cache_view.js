// The view "cache": generation token by token with a KV cache, its bytes, and keys reused at another position.

import { canvasOf, palette, pixel, signedColour } from "../base/colour.js";
import { button, contentWidth, div, h, LETTERS, render, setAttribute, setField, setText, span } from "../base/dom.js";
import { clip, everyOf, labelled } from "../picture/map_labels.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { SideRequest } from "../wire/api_client.js";
import { number, quoted } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {import("../base/messages.js").CacheAnswer & {weights: Float32Array, strips: Float32Array[]}} Answer strips: keys and values (n, d) */
/** @typedef {ReturnType<typeof layOut>} Layout */

const SIZES = ["layers", "query heads", "key/value heads", "channels in a head", "tokens", "bytes per number"];
const KINDS = ["MHA: one key/value head for each query head", "GQA: one for several", "MQA: one for all"];
const BEAT = 700; // ms of a token while it plays
const LEGEND =
  "rows are queries, columns keys; K and V of a token stand in its row, blue below 0, orange above; framed: computed in this step";
const REFUSAL =
  "Sizes are whole numbers from 1, and the query heads are a multiple of the key/value heads; the table shows the last ones that fit.";

/** The typed sizes; null if they make no cache. @param {string[]} texts as in SIZES */
export function readSizes(texts) {
  const sizes = texts.map((text) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0));
  return sizes.length === SIZES.length && Math.min(...sizes) && sizes[1] % sizes[2] === 0 ? sizes : null;
}

/** The key/value heads and bytes of each of KINDS; without groups in these sizes GQA has a quarter of the heads.
 * @param {number[]} sizes */
export function bytesOf([layers, heads, kv, channels, tokens, size]) {
  const grouped = kv > 1 && kv < heads ? kv : Math.ceil(heads / 4);
  return [heads, grouped, 1].map((count) => ({ count, bytes: 2 * layers * count * channels * tokens * size }));
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
    const field = (/** @type {string} */ name, /** @type {() => void} */ oninput, type = "number") => {
      const onkeydown = (/** @type {Event} */ event) => event.stopPropagation(); // digits and arrows are no shortcuts here
      return h("input", { type, min: "0", step: "1", "aria-label": name, oninput, onkeydown });
    };
    const labelOf = (/** @type {HTMLInputElement} */ input) =>
      h("label", { class: "named" }, span("label", input.getAttribute("aria-label")), input);
    this.slider = field("generated tokens", () => this.change(0, this.slider.value), "range");
    this.next = button("next token", () => this.change(0, String(this.step + 1)));
    this.playing = button("play", () => this.play(!this.timer));
    this.status = h("div", { class: "view-status", role: "status" });
    this.readout = div("readout");
    const pick = (/** @type {number} */ row) =>
      this.change(0, String(Math.max(0, row + 1 - (this.answer?.prompt ?? 0))));
    this.grid = new DrawnGrid({ pick, hover: (text) => setText(this.readout, text ?? "") });
    this.time = new SideRequest(view, "speed", () => view.redraw(), String);
    const measure = button("measure the time", () => this.time.ask(view.queryOfRun()));
    this.times = span("label");
    this.shift = field("positions further on", () => this.change(1, this.shift.value));
    this.reuse = div("view-status");
    this.changes = makeListing();
    this.fields = SIZES.map((name) => field(name, () => this.resize()));
    this.refusal = h("p", { class: "label", role: "status" });
    this.bytes = makeListing();
    this.reason = h("p");
    this.notes = div("label");
    this.generation = div("cache-view", div("actions", this.next, this.playing, this.slider), this.status);
    const foot = div("map-foot", div("label", LEGEND), this.readout);
    this.generation.append(div("scrolls", this.grid.element), foot, this.notes, div("actions", measure, this.times));
    this.generation.append(
      h("h3", {}, "Keys and values reused at another position"),
      labelOf(this.shift),
      this.reuse,
      this.changes,
    );
    const sizes = div("actions", ...this.fields.map(labelOf));
    this.element = div(
      "cache-view",
      this.reason,
      this.generation,
      h("h3", {}, "Bytes of a cache"),
      sizes,
      this.refusal,
      this.bytes,
    );
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

  resize() {
    const sizes = readSizes(this.fields.map(({ value }) => value));
    setText(this.refusal, sizes ? "" : REFUSAL);
    if (sizes) this.change(2, sizes.join("-"));
  }

  /** @param {boolean} isOn */
  play(isOn) {
    clearInterval(this.timer);
    if (isOn && this.step === this.last) this.change(0, "0");
    const go = () => (this.step < this.last ? this.change(0, String(this.step + 1)) : this.play(false));
    this.timer = isOn ? setInterval(go, BEAT) : 0;
    this.view.redraw();
  }

  close() {
    this.play(false);
    this.time.stop();
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
    this.answer = { ...header, weights: floats, strips };
  }

  draw() {
    const { answer, step, last, time } = this;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    setText(this.reason, answer.reason);
    this.generation.hidden = Boolean(answer.reason);
    this.reason.hidden = !answer.reason;
    render(this.notes, ...answer.notes.map((text) => ["p", text]));
    this.drawBytes(answer, answer.reason ? answer.tokens.length : answer.prompt + step);
    if (answer.reason) return;
    setAttribute(this.slider, "max", last);
    setField(this.slider, String(step));
    this.next.disabled = step === last;
    setAttribute(this.playing, "aria-pressed", Boolean(this.timer));
    setText(this.playing, this.timer ? "pause" : "play");
    render(this.status, ["p", answer.steps[step]]);
    const isOld = time.key !== String(this.view.queryOfRun());
    setText(this.times, time.pending !== null ? "measuring …" : isOld ? "" : (time.answer ?? time.refusal));
    setField(this.shift, String(answer.shift));
    render(this.reuse, ...answer.reuse.map((text) => ["p", text]));
    const caption = "Weights of this token in the head in focus that change most.";
    const table = { caption, head: ["key", "right", "with reused keys"], rows: answer.changes, marks: [] };
    updateListing(this.changes, { ...table, right: [false, true, true] }, () => {});
    this.changes.hidden = !answer.changes.length;
    this.drawGrid(answer, answer.prompt + step, step ? answer.prompt + step - 1 : 0);
  }

  /** Draw the table of bytes, for the open model and for typed sizes. @param {Answer} answer @param {number} count of tokens */
  drawBytes({ sizes, maxLength }, count) {
    const own = [...sizes.slice(0, 4), count, sizes[4]];
    const typed = readSizes(this.texts[2].split("-"));
    const columns = [own, ...(typed ? [typed] : [])];
    this.fields.forEach((field, index) => setField(field, String((typed ?? own)[index])));
    const cell = (/** @type {number[]} */ column, /** @type {number} */ kind) => {
      const { count, bytes } = bytesOf(column)[kind];
      return `${bytes.toLocaleString("en")} (${count}${count === column[2] ? ", as it is" : ""})`;
    };
    const limit = `The open model has positions for ${maxLength.toLocaleString("en")} tokens, and its cache ends there.`;
    const table = {
      caption: `2 (K and V) × layers × key/value heads (in brackets) × channels × tokens × bytes per number. ${typed && typed[4] > maxLength ? limit : ""}`,
      head: ["bytes", `this model, ${count} tokens`, "sizes typed in"].slice(0, columns.length + 1),
      rows: KINDS.map((kind, index) => [kind, ...columns.map((column) => cell(column, index))]),
    };
    updateListing(this.bytes, { ...table, marks: [], right: [false, true, true] }, () => {});
  }

  /** Draw the rows so far. @param {Answer} answer @param {number} end @param {number} first row of this step */
  drawGrid(answer, end, first) {
    const { tokens, strips, weights } = answer;
    const { inks, theme, look } = this.view;
    const layout = layOut(tokens.length, strips.length, contentWidth(this.element));
    const say = (/** @type {Cell} */ [i, j]) => {
      const when = i < first ? "cached" : "computed in this step";
      if (j >= end) return `${["key", "value"][j - end]} of ${quoted(tokens[i])}, ${when}`;
      const pair = `${quoted(tokens[i])} → ${quoted(tokens[j])}`;
      return j > i ? `${pair}: masked` : `${pair}: ${number(weights[i * tokens.length + j])}`;
    };
    const boxes = [...layout.columns.slice(0, end), ...layout.columns.slice(tokens.length)];
    const grid = {
      name: "Generation with a KV cache",
      how: "queries and keys, then the key and the value of the row",
      size: /** @type {Cell} */ ([end, boxes.length]),
      say,
      boxOf: (/** @type {Cell} */ [i, j]) => ({ ...boxes[j], top: TOP + i * layout.row, height: layout.row }),
      at: (/** @type {number} */ x, /** @type {number} */ y) => {
        const i = Math.floor((y - TOP) / layout.row);
        const j = boxes.findIndex(({ left, width }) => x >= left && x < left + width);
        return i >= 0 && i < end && j >= 0 ? /** @type {Cell} */ ([i, j]) : null;
      },
    };
    const step = { end, first, inks, colours: palette(theme, look.scale, 255) };
    const inputs = [answer, end, theme, look.scale, inks.text];
    this.grid.drawGrid(grid, layout, inks, inputs, (context) => drawCache(context, layout, answer, step));
  }
}

// ---- the drawing: the map on the left, K and V of each token in its row, a frame around what this step computes

const [LEFT, RIGHT, TOP, GAP] = [84, 54, 20, 12]; // pixels

/** @param {number} count of tokens @param {number} strips 2, or 0 without keys and values @param {number} room pixels */
export function layOut(count, strips, room) {
  const strip = Math.max(24, Math.min(128, 0.12 * room));
  const cell = Math.max(2, Math.min(24, (room - LEFT - RIGHT - strips * (strip + GAP)) / count));
  const row = Math.max(3, Math.min(20, 460 / count));
  const columns = Array.from({ length: count }, (_, index) => ({ left: LEFT + index * cell, width: cell }));
  const behind = (/** @type {number} */ index) => LEFT + count * cell + GAP + index * (strip + GAP);
  for (let index = 0; index < strips; index += 1) columns.push({ left: behind(index), width: strip });
  return { row, columns, width: behind(strips) + RIGHT, height: TOP + count * row + 4 };
}

/** @param {CanvasRenderingContext2D} context @param {Layout} layout @param {Answer} answer
 * @param {{end: number, first: number, inks: Inks, colours: Uint32Array}} step `end`: rows so far; `first`: that of this step */
function drawCache(context, { row, columns, width }, { tokens, weights, strips }, { end, first, inks, colours }) {
  const n = tokens.length;
  const map = canvasOf(end, end, (cells) => {
    for (let i = 0; i < end; i += 1)
      for (let j = 0; j <= i; j += 1) cells[i * end + j] = colours[Math.round(255 * Math.min(1, weights[i * n + j]))];
  });
  const images = strips.map((numbers) => {
    const most = numbers.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-9);
    return canvasOf(numbers.length / n, end, (cells) => {
      for (let at = 0; at < cells.length; at += 1) {
        const share = numbers[at] / most;
        cells[at] = pixel(signedColour(Math.sign(share) * Math.sqrt(Math.abs(share)), inks));
      }
    });
  });
  const parts = [{ left: LEFT, width: end * columns[0].width }, ...columns.slice(n)];
  Object.assign(context, { imageSmoothingEnabled: false, strokeStyle: inks.accent, lineWidth: 2 });
  Object.assign(context, { font: `${LETTERS}px ${inks.mono}`, textBaseline: "middle", fillStyle: inks.text });
  [map, ...images].forEach((image, index) => {
    const { left, width } = parts[index];
    context.drawImage(image, left, TOP, width, end * row);
    context.strokeRect(left - 1, TOP + first * row - 1, width + 2, (end - first) * row + 2);
    context.fillText(["weights", "K", "V"][index], left, TOP / 2);
  });
  const write = (/** @type {string} */ text, /** @type {number} */ from, /** @type {number} */ to) =>
    context.fillText(text, width - RIGHT + 2 - GAP, TOP + ((from + to) / 2) * row);
  write("new", first, end);
  if (first) write("cached", 0, first);
  Object.assign(context, { textAlign: "right", fillStyle: inks.query });
  for (const token of labelled(end, everyOf(LETTERS, row), [end - 1]))
    context.fillText(clip(tokens[token]), LEFT - 6, TOP + (token + 0.5) * row);
}
