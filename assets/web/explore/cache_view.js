// The view "cache": generation token by token with a KV cache, its bytes, and keys reused at another position.

import { canvasOf, palette, pixel, signedColour } from "../base/colour.js";
import { button, contentWidth, div, h, LETTERS, render, setAttribute, setField, setText, span } from "../base/dom.js";
import { clip, everyOf, labelled } from "../picture/map_labels.js";
import { DrawnGrid } from "../picture/drawn_grid.js";
import { makeListing, updateListing } from "../picture/listing.js";
import { SideRequest } from "../wire/api_client.js";
import { counted, number, quoted } from "../base/words.js";
import { unpackFloats } from "../wire/packets.js";
import { writeAt } from "../link/look.js";

/** @typedef {import("../base/messages.js").CacheAnswer & {weights: Float32Array, strips: Float32Array[], d: number}} Answer strips: keys and values (n, d) */
/** @typedef {{left: number, top: number, cell: number, row: number, strip: number, width: number, height: number}} Layout pixels */

const SIZES = ["layers", "query heads", "key/value heads", "channels in a head", "tokens", "bytes per number"];
const BEAT = 700; // ms of a token while it plays
const LEGEND =
  "rows are queries, columns are keys; K and V of a token stand in its row, blue below 0 and orange above; the framed rows are computed in this step";

/** The bytes of a cache: keys and values. @param {number[]} sizes as in SIZES @param {number} kvHeads */
export const bytesOf = ([layers, , , channels, tokens, size], kvHeads) =>
  2 * layers * kvHeads * channels * tokens * size;

/** The typed sizes; null if they make no cache. @param {string[]} texts as in SIZES */
export function readSizes(texts) {
  const sizes = texts.map((text) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0));
  return sizes.length === SIZES.length && Math.min(...sizes) && sizes[1] % sizes[2] === 0 ? sizes : null;
}

/** Rows of the table of bytes: name, key/value heads and bytes. @param {number[]} sizes */
export function kindsOf(sizes) {
  const [, heads, kv] = sizes;
  const shared = kv === 1 || kv === heads ? Math.max(1, Math.floor(heads / 4)) : kv;
  const kinds = /** @type {[string, number][]} */ ([
    ["MHA: each query head has its own", heads],
    ["GQA: several share one", heads % shared ? 1 : shared],
    ["MQA: all share one", 1],
  ]);
  return kinds.map(([name, count]) => ({ name, count, bytes: bytesOf(sizes, count), isOwn: count === kv }));
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
    this.slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Generated tokens" });
    this.slider.oninput = () => this.change(0, this.slider.value);
    this.next = button("next token", () => this.change(0, String(this.step + 1)));
    this.playing = button("play", () => this.play(!this.timer), { "aria-pressed": "false" });
    this.count = span("label");
    const player = h("div", { class: "actions", role: "group", "aria-label": "Generation" });
    player.append(this.next, this.playing, this.slider, this.count);
    this.status = h("div", { class: "view-status", role: "status" });
    this.readout = div("readout");
    this.grid = new DrawnGrid({ pick: (row) => this.pick(row), hover: (text) => setText(this.readout, text ?? "") });
    this.time = new SideRequest(view, "speed", () => view.redraw(), String);
    this.measure = button("measure the time", () => this.time.ask(view.queryOfRun()));
    this.times = span("label");
    this.shift = this.field("positions further on", () => this.change(1, this.shift.value));
    this.reuse = div("view-status");
    this.changes = makeListing();
    this.fields = SIZES.map((name) => this.field(name, () => this.size()));
    this.refusal = h("p", { class: "label", role: "status" });
    this.bytes = makeListing();
    this.notes = div("label");
    const labelOf = (/** @type {HTMLInputElement} */ input) =>
      h("label", { class: "named" }, span("label", input.ariaLabel ?? ""), input);
    const picture = [div("scrolls", this.grid.element), div("map-foot", div("label", LEGEND), this.readout)];
    this.generation = div("generation", player, this.status, ...picture, div("actions", this.measure, this.times));
    this.reused = div("generation", h("h3", {}, "The same keys and values at another position"), labelOf(this.shift));
    this.reused.append(this.reuse, this.changes);
    const sizes = [h("h3", {}, "How many bytes a cache takes"), div("actions", ...this.fields.map(labelOf))];
    this.element = div("cache-view", this.notes, this.generation, this.reused, ...sizes, this.refusal, this.bytes);
  }

  /** @param {string} name @param {() => void} oninput */
  field(name, oninput) {
    const input = h("input", { type: "number", min: "0", step: "1", "aria-label": name, oninput });
    input.onkeydown = (event) => event.stopPropagation(); // digits here are no shortcuts
    return input;
  }

  /** The state in the link: generated tokens, the shift, and the typed sizes. */
  get texts() {
    const [step = "", shift = "", sizes = ""] = this.view.others.state.split(".");
    return [step, shift, sizes];
  }

  get step() {
    return Math.min(Number(this.texts[0]) || 0, (this.answer?.steps.length ?? 1) - 1);
  }

  /** The sizes in the link, otherwise those of the model with this text. @returns {number[]} */
  get sizes() {
    const { sizes = [1, 1, 1, 1, 1], tokens = [""] } = this.answer ?? {};
    const own = [...sizes.slice(0, 4), tokens.length, sizes[4]];
    return readSizes(this.texts[2].split("-")) ?? own;
  }

  /** @param {number} index of the part of the state @param {string} text */
  change(index, text) {
    if (!/^[\d-]*$/.test(text)) return; // the last usable text stays
    const texts = this.texts.with(index, text);
    const panel = ["cache", ...texts].join(".").replace(/\.+$/, "");
    this.view.dispatch({ type: "set", values: { panel } }, true);
  }

  size() {
    const sizes = readSizes(this.fields.map(({ value }) => value));
    setText(this.refusal, sizes ? "" : REFUSAL);
    if (sizes) this.change(2, sizes.join("-"));
  }

  /** @param {boolean} isOn */
  play(isOn) {
    clearTimeout(this.timer);
    this.timer = 0;
    const last = (this.answer?.steps.length ?? 1) - 1;
    const go = () => {
      if (this.step < last && this.element.isConnected) this.timer = setTimeout(go, BEAT);
      else this.timer = 0;
      if (this.step < last) this.change(0, String(this.step + 1));
      this.view.redraw();
    };
    if (isOn && this.step === last) this.change(0, "0");
    if (isOn) this.timer = setTimeout(go, BEAT);
    this.view.redraw();
  }

  close() {
    this.play(false);
    this.time.stop();
  }

  params() {
    return { at: writeAt(this.view.at, true), view: `cache..${this.texts[1]}` };
  }

  /** @param {Uint8Array[]} parts */
  take([message]) {
    const { header, floats } = unpackFloats(message);
    const n = header.tokens.length;
    const half = (floats.length - n * n) / 2;
    const strips = half > 0 ? [0, half].map((from) => floats.subarray(n * n + from, n * n + from + half)) : [];
    this.answer = { ...header, weights: floats.subarray(0, n * n), strips, d: Math.max(0, half / n) };
  }

  /** Go to the step that computed a row. @param {number} row */
  pick(row) {
    if (this.answer) this.change(0, String(Math.max(0, row - this.answer.prompt + 1)));
  }

  draw() {
    const { answer, step, time } = this;
    this.element.toggleAttribute("data-empty", !answer);
    if (!answer) return;
    const { steps, reason, notes, prompt, changes } = answer;
    this.generation.hidden = this.reused.hidden = Boolean(reason);
    render(this.notes, ...[reason, ...notes].filter(Boolean).map((text) => ["p", text]));
    this.drawSizes(answer);
    if (reason) return;
    setAttribute(this.slider, "max", steps.length - 1);
    setField(this.slider, String(step));
    this.next.disabled = step === steps.length - 1;
    setAttribute(this.playing, "aria-pressed", Boolean(this.timer));
    setText(this.playing, this.timer ? "pause" : "play");
    setText(this.count, `${counted(prompt, "token")} and ${step} of ${steps.length - 1} new`);
    render(this.status, ["p", steps[step]]);
    const isOld = time.key !== String(this.view.queryOfRun()) && time.pending === null;
    setText(this.times, time.pending !== null ? "measuring …" : isOld ? "" : (time.answer ?? time.refusal));
    setField(this.shift, String(answer.shift));
    render(this.reuse, ...answer.reuse.map((text) => ["p", text]));
    const block = {
      caption: "The weights of the head in focus that change most.",
      marks: [],
      right: [false, true, true],
    };
    updateListing(this.changes, { ...block, head: ["key", "right", "with reused keys"], rows: changes }, () => {});
    this.changes.hidden = !changes.length;
    this.drawGeneration(answer, prompt + step, step ? prompt + step - 1 : 0);
  }

  /** Draw the rows that are computed so far. @param {Answer} answer @param {number} end @param {number} first row of this step */
  drawGeneration(answer, end, first) {
    const { tokens, strips, weights } = answer;
    const { inks, theme, look } = this.view;
    const layout = layOut(tokens.length, strips.length, contentWidth(this.element));
    const { left, top, cell, row, strip } = layout;
    const columns = end + strips.length;
    const say = (/** @type {Cell} */ [i, j]) => {
      const when = i < first ? "read from the cache" : "computed in this step";
      if (j >= end) return `${["key", "value"][j - end]} of ${quoted(tokens[i])}: ${when}`;
      const weight = weights[i * tokens.length + j];
      return `${quoted(tokens[i])} → ${quoted(tokens[j])}: ${j > i ? "a later token" : `${number(weight)}, ${i < first ? "an earlier step" : when}`}`;
    };
    this.grid.drawGrid(
      {
        name: "Generation with a KV cache",
        how: "rows are queries, columns are keys, then the key and the value of the row",
        size: [end, columns],
        say,
        boxOf: ([i, j]) => {
          const box = { left: left + j * cell, top: top + i * row, width: cell, height: row };
          return j < end ? box : { ...box, left: layout.strips[j - end], width: strip };
        },
        at: (x, y) => {
          const i = Math.floor((y - top) / row);
          const j = Math.floor((x - left) / cell);
          const part = layout.strips.findIndex((from) => x >= from && x < from + strip);
          if (i < 0 || i >= end) return null;
          return part >= 0 && part < strips.length ? [i, end + part] : j >= 0 && j < end ? [i, j] : null;
        },
      },
      layout,
      inks,
      [answer, end, theme, look.scale, inks.text],
      (context) => drawCache(context, layout, answer, { end, first, inks, colours: palette(theme, look.scale, 255) }),
    );
  }

  /** @param {Answer} answer */
  drawSizes({ maxLength }) {
    const { sizes } = this;
    this.fields.forEach((field, index) => setField(field, String(sizes[index])));
    const rows = kindsOf(sizes).map(({ name, count, bytes, isOwn }) => [
      `${name}${isOwn ? " (these sizes)" : ""}`,
      count.toLocaleString("en"),
      bytes.toLocaleString("en"),
    ]);
    const tooLong =
      sizes[4] > maxLength
        ? ` The open model has positions for ${maxLength.toLocaleString("en")} tokens, so its own cache ends there.`
        : "";
    const caption = `2 (K and V) × layers × key/value heads × channels × tokens × bytes per number.${tooLong}`;
    updateListing(
      this.bytes,
      { caption, head: ["kind", "key/value heads", "bytes"], rows, marks: [], right: [false, true, true] },
      () => {},
    );
  }
}

const REFUSAL =
  "Sizes are whole numbers from 1, and the query heads a multiple of the key/value heads; the table shows the last ones that fit.";

// ---- the drawing: the map on the left, K and V of each token in its row, a frame around what this step computes

const [LEFT, RIGHT, TOP, GAP] = [92, 62, 20, 16]; // pixels

/** @param {number} count of tokens @param {number} strips 2, or 0 without keys and values @param {number} room pixels
 * @returns {Layout & {strips: number[]}} */
export function layOut(count, strips, room) {
  const strip = strips ? Math.max(24, Math.min(128, 0.14 * room)) : 0;
  const inside = room - LEFT - RIGHT - strips * (strip + GAP);
  const cell = Math.max(2, Math.min(24, inside / count));
  const row = Math.max(3, Math.min(cell, 20));
  const from = LEFT + count * cell + GAP;
  const starts = Array.from({ length: strips }, (_, index) => from + index * (strip + GAP));
  const width = from + strips * (strip + GAP) + RIGHT - GAP;
  return { left: LEFT, top: TOP, cell, row, strip, width, height: TOP + count * row + 4, strips: starts };
}

/** @param {CanvasRenderingContext2D} context @param {ReturnType<typeof layOut>} layout @param {Answer} answer
 * @param {{end: number, first: number, inks: Inks, colours: Uint32Array}} step `end`: rows so far; `first`: that of this step */
function drawCache(context, layout, { tokens, weights, strips, d }, { end, first, inks, colours }) {
  const { left, top, cell, row, strip } = layout;
  const n = tokens.length;
  const put = (/** @type {HTMLCanvasElement} */ image, /** @type {number} */ x, /** @type {number} */ width) =>
    context.drawImage(image, x, top, width, end * row);
  context.imageSmoothingEnabled = false;
  const map = canvasOf(end, end, (cells) => {
    for (let i = 0; i < end; i += 1)
      for (let j = 0; j <= i; j += 1) cells[i * end + j] = colours[Math.round(255 * Math.min(1, weights[i * n + j]))];
  });
  put(map, left, end * cell);
  strips.forEach((numbers, index) => {
    const most = numbers.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-9);
    const image = canvasOf(d, end, (cells) => {
      for (let at = 0; at < d * end; at += 1) {
        const share = numbers[at] / most;
        cells[at] = pixel(signedColour(Math.sign(share) * Math.sqrt(Math.abs(share)), inks));
      }
    });
    put(image, layout.strips[index], strip);
  });
  Object.assign(context, {
    font: `${LETTERS}px ${inks.mono}`,
    textBaseline: "middle",
    textAlign: "right",
    fillStyle: inks.query,
  });
  for (const token of labelled(end, everyOf(LETTERS, row), [end - 1]))
    context.fillText(clip(tokens[token]), left - 6, top + (token + 0.5) * row);
  Object.assign(context, { textAlign: "left", fillStyle: inks.text });
  context.fillText("weights", left, top / 2);
  layout.strips.forEach((from, index) => context.fillText(["K", "V"][index], from, top / 2));
  const [side, middle] = [
    layout.width - RIGHT + 6,
    (/** @type {number} */ a, /** @type {number} */ b) => top + ((a + b) / 2) * row,
  ];
  context.fillText("new", side, middle(first, end));
  if (first) context.fillText("cached", side, middle(0, first));
  context.strokeStyle = inks.accent;
  context.lineWidth = 2;
  for (const [x, width] of [[left, end * cell], ...layout.strips.map((from) => [from, strip])])
    context.strokeRect(x - 1, top + first * row - 1, width + 2, (end - first) * row + 2);
}
