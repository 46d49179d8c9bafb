// The diagram of a model, from the tokens at the bottom to the result at the top: a column for each stack, in which the
// residual stream is one thick line, and the parts that add to it stand beside it. Boxes are buttons over an SVG of lines.

import { button, div, h, render, setAttribute, setText } from "../base/dom.js";

/** @typedef {import("../base/messages.js").MapBox} MapBox */
/** @typedef {{box: MapBox, x: number, y: number, width: number, height: number}} Place of a box, in pixels */

const [BRANCH, SIDE] = [1, 2]; // lanes beside the stream, 0
/** Pixels of a row with its gap, of a box, and of the diameter of an addition. */
const SIZES = { mouse: { least: 40, most: 66, box: 38, add: 24 }, finger: { least: 64, most: 64, box: 44, add: 44 } };
const FLAT = 0.78; // height of a row with an addition
const HEAD = 5; // pixels of half an arrow’s head
const PAUSE = 1500; // ms at each box while they play
const READ = ["tokens", "pooling", "head", "probabilities"]; // outside of the residual stream

/** @param {number} size @param {string} letter of an axis whose size is not known */
const sizeOf = (size, letter) => (size ? size.toLocaleString("en") : letter);

/** Place every box. @param {MapBox[]} boxes @param {number} width @param {number} room in pixels @param {boolean} narrow */
function placesOf(boxes, width, room, narrow) {
  const sizes = narrow ? SIZES.finger : SIZES.mouse;
  const count = boxes.some(({ column }) => column) ? 2 : 1;
  const columns = Array.from({ length: count }, (_, column) => boxes.filter((box) => box.column === column));
  const heightOf = (/** @type {MapBox} */ { kind, lane }) => (lane === SIDE ? 0 : kind === "add" && !narrow ? FLAT : 1);
  const tallest = Math.max(...columns.map((column) => column.reduce((sum, box) => sum + heightOf(box), 0)));
  const unit = Math.max(sizes.least, Math.min(sizes.most, room / tallest));
  const height = narrow ? sizes.box : Math.min(sizes.box, unit * 0.62);
  const places = /** @type {Map<string, Place>} */ (new Map());
  const share = width / count;
  const lines = columns.map((column, index) => {
    const [left, right] = [share * index + 8, share * (index + 1) - 8];
    const line = left + 0.2 * share;
    const hasSide = column.some(({ lane }) => lane === SIDE);
    const end = hasSide ? left + 0.7 * share : right - (count > 1 ? 4 : 0.12 * share);
    const spans = [
      [left, left + 0.6 * share],
      [line + sizes.add / 2 + 14, end],
      [end + 18, right],
    ];
    let bottom = unit * tallest;
    for (const box of column) {
      const isAdd = box.kind === "add";
      const [from, to] = isAdd ? [line - sizes.add / 2, line + sizes.add / 2] : spans[box.lane];
      const own = isAdd ? sizes.add : height;
      places.set(box.name, { box, x: from, y: bottom - own, width: to - from, height: own });
      bottom -= unit * heightOf(box);
    }
    return line;
  });
  return { places, lines, height: unit * tallest, gap: unit - height, beside: sizes.add / 2 + 6 };
}

/** Draw an arrow. @param {Place} from @param {Place} to @param {number} line of the target’s column @param {boolean} hasStream */
function drawArrow(from, to, line, hasStream) {
  const middle = (/** @type {Place} */ { x, width }) => x + width / 2;
  const [level, foot, top, right] = [to.y + to.height / 2, to.y + to.height, from.y, to.x + to.width];
  const lanes = `${from.box.lane}${to.box.lane}`;
  const isStream = hasStream && lanes === "00" && ![from, to].some(({ box }) => READ.includes(box.kind));
  let [path, x, y, turn] = [`M${line} ${top}V${foot}`, line, foot, 0];
  if (from.box.column !== to.box.column) {
    const start = `M${from.x + from.width} ${from.y + from.height / 2}`;
    [path, x, y, turn] = [`${start}H${to.x - 14}V${level}H${to.x}`, to.x, level, 90];
  } else if (from.box.lane === SIDE) [path, x, y, turn] = [`M${from.x} ${level}H${right}`, right, level, -90];
  else if (lanes === "11") [path, x] = [`M${middle(from)} ${top}V${foot}`, middle(to)];
  else if (from.box.lane === BRANCH)
    [path, x, y, turn] = [`M${middle(from)} ${top}V${level}H${right}`, right, level, -90];
  else if (to.box.lane === BRANCH) [path, x] = [`M${line} ${foot + HEAD + 2}H${middle(to)}V${foot}`, middle(to)];
  const head = { d: `M${-HEAD} ${HEAD}L0 0L${HEAD} ${HEAD}Z`, transform: `translate(${x} ${y}) rotate(${turn})` };
  return ["g", { class: isStream ? "stream" : "flow" }, ["path", { d: path }], ["path.head", head]];
}

/** The shape on the arrow that leaves a box. @param {Place} place @param {number} line */
function drawShape({ box, x, y, width }, line) {
  if (!box.shape.length || box.lane === SIDE) return null;
  const left = (box.lane === BRANCH ? x + width / 2 : line) + 8;
  const parts = box.shape.map(([letter, size], n) => [`tspan.${letter}`, (n ? " × " : "") + sizeOf(size, letter)]);
  return ["text", { x: left, y: y - 5 }, ...parts];
}

export class Diagram {
  /** @param {{choose: (name: string) => void, open: () => void}} acts */
  constructor(acts) {
    this.acts = acts;
    this.lines = h("div", { class: "lines", "aria-hidden": "true" });
    this.boxes = h("div", { role: "group", "aria-label": "Parts of the model, from the tokens up" });
    this.boxes.onkeydown = (event) => this.key(event);
    this.element = div("diagram", this.lines, this.boxes);
    this.names = /** @type {string[]} */ ([]); // in the order of the pass
    this.now = "";
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const [at, last] = [this.names.indexOf(this.now), this.names.length - 1];
    const steps = { ArrowUp: at + 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowLeft: at - 1, Home: 0, End: last };
    const next = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (event.ctrlKey || event.metaKey || event.altKey || (next === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (next === undefined) return this.acts.open();
    const name = this.names[Math.max(0, Math.min(last, next))];
    this.step(name);
    /** @type {HTMLElement | null} */ (this.boxes.querySelector(`[data-box="${name}"]`))?.focus();
  }

  /** @param {string | undefined} name of a box @returns {boolean} whether there is one */
  step(name) {
    if (name && name !== this.now) this.acts.choose(name);
    return Boolean(name);
  }

  /** A button that steps through the boxes by itself, until the last one. @param {AbortSignal} signal */
  makePlay(signal) {
    let timer = 0;
    const show = () => {
      setAttribute(press, "aria-pressed", String(timer > 0));
      setText(press, timer ? "stop ■" : "play ▶");
    };
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      show();
    };
    const next = () => this.names[this.names.indexOf(this.now) + 1];
    const press = button("play ▶", () => {
      if (timer) return stop();
      if (!next()) this.step(this.names[0]);
      timer = setInterval(() => this.step(next()) || stop(), PAUSE);
      show();
    });
    signal.addEventListener("abort", stop);
    press.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
    return press;
  }

  /** @param {import("../base/messages.js").ModelMap} picture @param {string} now the box in focus
   * @param {{width: number, room: number, narrow: boolean}} space in pixels
   */
  draw({ boxes, arrows, repeats, layer }, now, { width, room, narrow }) {
    Object.assign(this, { names: boxes.map(({ name }) => name), now });
    const { places, lines, height, gap, beside } = placesOf(boxes, width, room, narrow);
    const all = [...places.values()];
    this.element.style.height = `${height}px`;
    render(this.boxes, ...all.map((place) => this.drawBox(place)));
    const hasStream = boxes.some(({ kind }) => kind === "add");
    const routes = arrows.map((names) => {
      const [from, to] = names.map((name) => /** @type {Place} */ (places.get(name)));
      return drawArrow(from, to, lines[to.box.column], hasStream);
    });
    const frames = lines.flatMap((line, column) => {
      const inside = all.filter(({ box }) => box.column === column && box.place === "layer");
      const top = Math.min(...inside.map(({ y }) => y)) - gap * 0.62;
      const bottom = Math.max(...inside.map(({ y, height }) => y + height)) + gap * 0.62;
      const [x, wide] = [(column * width) / lines.length + 1, width / lines.length - 2];
      const name = ["text", { transform: `translate(${line - beside} ${bottom - 12}) rotate(-90)` }, "residual"];
      return [
        ["rect", { class: "layer", x, y: top, width: wide, height: bottom - top, rx: 10 }],
        ["text.times", { x: x + wide - 8, y: top + 18 }, ["tspan.which", `layer ${layer} · `], `× ${repeats}`],
        hasStream && name,
      ];
    });
    const shapes = all.map((place) => drawShape(place, lines[place.box.column]));
    render(this.lines, ["svg", { width, height }, ...frames, ...routes, ...shapes]);
  }

  /** @param {Place} place */
  drawBox({ box, x, y, width, height }) {
    const sizes = box.shape.map(([letter, size]) => sizeOf(size, letter)).join(" × ");
    const label = [box.title, box.note, sizes && `shape ${sizes}`].filter(Boolean).join(", ");
    const isNow = box.name === this.now;
    const state = { "data-box": box.name, "aria-pressed": isNow, "aria-label": label, tabindex: isNow ? "0" : "-1" };
    const place = { "--x": `${x}px`, "--y": `${y}px`, "--width": `${width}px`, "--height": `${height}px` };
    const parts = box.kind === "add" ? ["+"] : [["span.name", box.title], box.note && ["span.note-line", box.note]];
    const onclick = () => this.acts.choose(box.name);
    return ["button", { class: `box ${box.kind}`, title: label, onclick, ...state, ...place }, ...parts];
  }
}
