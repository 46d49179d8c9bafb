// The diagram of a model, from the tokens at the bottom to the result at the top: a column for each stack, in which the
// residual stream is one thick line, and the parts that add to it stand beside it. Boxes are buttons over an SVG of lines.

import { button, h, render, setAttribute } from "../base/dom.js";

/** @typedef {import("../base/messages.js").MapBox} MapBox */
/** @typedef {{box: MapBox, x: number, y: number, width: number, height: number}} Place of a box, in pixels */

const [STREAM, BRANCH, SIDE] = [0, 1, 2]; // lanes
/** Pixels of a row with its gap, of a box, and of the diameter of an addition. */
const SIZES = { mouse: { least: 40, most: 66, box: 38, add: 24 }, finger: { least: 64, most: 64, box: 44, add: 44 } };
const PAUSE = 1500; // ms at each box while they play
const FLAT = 0.78; // height of a row with an addition
const HEAD = 5; // pixels of half an arrow’s head
const READ = ["tokens", "pooling", "head", "probabilities"]; // outside of the residual stream

/** The sizes of a shape, with the letters of its axes. @param {MapBox} box */
export const sizesOf = ({ shape }) =>
  shape.map(([letter, size]) => (size ? size.toLocaleString("en") : letter)).join(" × ");

/** The rows of a column from the bottom up; a box beside another one shares its row. @param {MapBox[]} boxes */
function rowsOf(boxes) {
  const rows = /** @type {MapBox[][]} */ ([[]]);
  for (const box of boxes) {
    const row = /** @type {MapBox[]} */ (rows.at(-1));
    row.push(box);
    if (box.lane !== SIDE) rows.push([]);
  }
  return rows.filter((row) => row.length);
}

/** @param {MapBox[]} row */
const isFlat = (row) => row.every(({ kind }) => kind === "add");

/** Place every box.
 * @param {MapBox[]} boxes @param {number} width @param {number} room height to fill, in pixels @param {boolean} narrow
 */
function placesOf(boxes, width, room, narrow) {
  const sizes = narrow ? SIZES.finger : SIZES.mouse;
  const weightOf = (/** @type {MapBox[]} */ row) => (isFlat(row) && !narrow ? FLAT : 1);
  const columns = [0, 1]
    .map((column) => rowsOf(boxes.filter((box) => box.column === column)))
    .filter((rows) => rows.length);
  const tallest = Math.max(...columns.map((rows) => rows.reduce((sum, row) => sum + weightOf(row), 0)));
  const unit = Math.max(sizes.least, Math.min(sizes.most, room / tallest));
  const [height, whole] = [narrow ? sizes.box : Math.min(sizes.box, unit * 0.62), unit * tallest];
  const places = /** @type {Map<string, Place>} */ (new Map());
  const lines = columns.map((rows, column) => {
    const share = width / columns.length;
    const [left, right] = [share * column + 8, share * (column + 1) - 8];
    const line = left + 0.2 * share;
    const hasSide = rows.flat().some(({ lane }) => lane === SIDE);
    const end = hasSide ? left + 0.7 * share : right - (columns.length > 1 ? 4 : 0.12 * share);
    const spans = {
      [STREAM]: [left, left + 0.6 * share],
      [BRANCH]: [line + sizes.add / 2 + 14, end],
      [SIDE]: [end + 18, right],
    };
    let bottom = whole;
    for (const row of rows) {
      const tall = unit * weightOf(row);
      for (const box of row) {
        const [from, to] = spans[box.lane];
        const isAdd = box.kind === "add";
        const own = isAdd ? sizes.add : height;
        const [x, wide] = isAdd ? [line - sizes.add / 2, sizes.add] : [from, to - from];
        places.set(box.name, { box, x, y: bottom - own, width: wide, height: own });
      }
      bottom -= tall;
    }
    return line;
  });
  return { places, lines, height: whole, gap: unit - height };
}

/** The path of an arrow, and where its head points.
 * @param {Place} from @param {Place} to @param {number} line of the target’s column
 */
function routeOf(from, to, line) {
  const middle = (/** @type {Place} */ { x, width }) => x + width / 2;
  const level = to.y + to.height / 2;
  const [foot, top] = [to.y + to.height, from.y];
  if (from.box.column !== to.box.column)
    return {
      path: `M${from.x + from.width} ${from.y + from.height / 2}H${to.x - 14}V${level}H${to.x}`,
      head: [to.x, level, 90],
    };
  if (from.box.lane === SIDE)
    return { path: `M${from.x} ${level}H${to.x + to.width}`, head: [to.x + to.width, level, -90] };
  if (from.box.lane === BRANCH && to.box.lane === BRANCH)
    return { path: `M${middle(from)} ${top}V${foot}`, head: [middle(to), foot, 0] };
  if (from.box.lane === BRANCH)
    return { path: `M${middle(from)} ${top}V${level}H${to.x + to.width}`, head: [to.x + to.width, level, -90] };
  if (to.box.lane === BRANCH) {
    const y = foot + HEAD + 2;
    return { path: `M${line} ${y}H${middle(to)}V${foot}`, head: [middle(to), foot, 0] };
  }
  return {
    path: `M${line} ${top}V${foot}`,
    head: [line, foot, 0],
    isStream: !READ.includes(from.box.kind) && !READ.includes(to.box.kind),
  };
}

export class Diagram {
  /** @param {{choose: (name: string) => void, open: () => void}} acts */
  constructor(acts) {
    this.acts = acts;
    this.lines = h("div", { class: "lines", "aria-hidden": "true" });
    this.boxes = h("div", {
      class: "boxes-layer",
      role: "group",
      "aria-label": "Parts of the model, from the tokens up",
    });
    this.boxes.onkeydown = (event) => this.key(event);
    this.element = h("div", { class: "diagram" }, this.lines, this.boxes);
    this.names = /** @type {string[]} */ ([]); // in the order of the pass
    this.now = "";
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    const last = this.names.length - 1;
    const at = this.names.indexOf(this.now);
    const steps = { ArrowUp: at + 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowLeft: at - 1, Home: 0, End: last };
    const next = steps[/** @type {keyof typeof steps} */ (key)];
    if (key === "Enter") this.acts.open();
    else if (next === undefined) return;
    else this.step(Math.max(0, Math.min(last, next)), true);
    event.preventDefault();
  }

  /** Choose a box by its place in the pass. @param {number} index @param {boolean} [focuses] */
  step(index, focuses = false) {
    const name = this.names[index];
    if (name === undefined || name === this.now) return;
    this.acts.choose(name);
    if (focuses) /** @type {HTMLElement | null} */ (this.boxes.querySelector(`[data-box="${name}"]`))?.focus();
  }

  /** @param {import("../base/messages.js").ModelMap} picture @param {string} now the box in focus
   * @param {number} layer @param {number} width @param {number} room @param {boolean} narrow
   */
  draw({ boxes, arrows, repeats }, now, layer, width, room, narrow) {
    Object.assign(this, { names: boxes.map(({ name }) => name), now });
    const { places, lines, height, gap } = placesOf(boxes, width, room, narrow);
    this.element.style.height = `${height}px`;
    render(this.boxes, ...[...places.values()].map((place) => this.drawBox(place, place.box.name === now)));
    const placed = (/** @type {string} */ name) => /** @type {Place} */ (places.get(name));
    const hasStream = boxes.some(({ kind }) => kind === "add");
    const routes = arrows.map(([from, to]) => routeOf(placed(from), placed(to), lines[placed(to).box.column]));
    const order = [false, true].flatMap((thick) =>
      routes.filter(({ isStream = false }) => (isStream && hasStream) === thick),
    );
    const frames = lines.map((line, column) =>
      drawFrame([...places.values()], column, { repeats, layer, gap, line, width: width / lines.length }),
    );
    const labels = [...places.values()].map((place) => drawShape(place, lines[place.box.column]));
    render(this.lines, [
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}` },
      ...frames.flat(),
      ...order.flatMap((route) => drawRoute(route, hasStream)),
      ...labels.filter(Boolean),
    ]);
  }

  /** @param {Place} place @param {boolean} isNow */
  drawBox({ box, x, y, width, height }, isNow) {
    const sizes = sizesOf(box);
    const label = [box.title, box.note, sizes && `shape ${sizes}`].filter(Boolean).join(", ");
    const props = {
      class: `box ${box.kind}`,
      "data-box": box.name,
      "aria-pressed": isNow,
      "aria-label": label,
      title: label,
      tabindex: isNow ? "0" : "-1",
      "--x": `${x}px`,
      "--y": `${y}px`,
      "--width": `${width}px`,
      "--height": `${height}px`,
      onclick: () => this.acts.choose(box.name),
    };
    const parts = box.kind === "add" ? ["+"] : [["span.name", box.title], box.note && ["span.note-line", box.note]];
    return ["button", props, ...parts];
  }
}

/** @param {{path: string, head: (number | string)[], isStream?: boolean}} route */
const drawRoute = ({ path, head: [x, y, turn], isStream }, /** @type {boolean} */ hasStream) => [
  ["path", { class: isStream && hasStream ? "stream" : "flow", d: path }],
  [
    "path",
    {
      class: isStream && hasStream ? "head stream-head" : "head",
      d: `M${-HEAD} ${HEAD}L0 0L${HEAD} ${HEAD}Z`,
      transform: `translate(${x} ${y}) rotate(${turn})`,
    },
  ],
];

/** The shape on the arrow that leaves a box. @param {Place} place @param {number} line */
function drawShape({ box, x, y, width }, line) {
  if (!box.shape.length || box.lane === SIDE) return null;
  const left = (box.lane === BRANCH ? x + width / 2 : line) + 8;
  const parts = box.shape.flatMap(([letter, size], index) => [
    ...(index ? [["tspan", " × "]] : []),
    ["tspan", { class: letter }, size ? size.toLocaleString("en") : letter],
  ]);
  return ["text", { x: left, y: y - 5 }, ...parts];
}

/** The frame around the boxes of a layer. @param {Place[]} places @param {number} column */
function drawFrame(places, column, { repeats, layer, gap, line, width }) {
  const inside = places.filter(({ box }) => box.column === column && box.place === "layer");
  if (!inside.length) return [];
  const top = Math.min(...inside.map(({ y }) => y)) - gap * 0.62;
  const bottom = Math.max(...inside.map(({ y, height }) => y + height)) + gap * 0.62;
  const [x, right] = [column * width + 1, (column + 1) * width - 1];
  return [
    ["rect", { class: "layer", x, y: top, width: right - x, height: bottom - top, rx: 10 }],
    ["text", { class: "times", x: right - 8, y: top + 18 }, ["tspan.which", `layer ${layer} `], `× ${repeats}`],
    ...(inside.some(({ box }) => box.kind === "add")
      ? [["text", { transform: `translate(${line - beside} ${bottom - 12}) rotate(-90)` }, "residual stream"]]
      : []),
  ];
}

/** A button that steps through the boxes by itself, until the last one.
 * @param {{begin: () => void, step: () => boolean, signal: AbortSignal}} acts `step` returns whether there was a next box
 */
export function makePlay({ begin, step, signal }) {
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    setAttribute(press, "aria-pressed", "false");
    press.textContent = "play ▶";
  };
  const press = button("play ▶", () => {
    if (timer) return stop();
    begin();
    setAttribute(press, "aria-pressed", "true");
    press.textContent = "stop ■";
    timer = setInterval(() => step() || stop(), PAUSE);
  });
  signal.addEventListener("abort", stop);
  press.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return press;
}
