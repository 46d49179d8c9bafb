// A scatter plot of all heads by two measures; a click selects a head.

import { digits } from "./head_measures.js";
import { argmax } from "../base/words.js";
import { namedPart } from "../base/choice.js";
import { AXIS } from "../base/facts.js";
import { contentWidth, div, h, render, setText } from "../base/dom.js";
import { DrawnGrid } from "../picture/drawn_grid.js";

/** @typedef {{low: number, high: number, title: string}} Axis */
/** @typedef {{width: number, height: number, x: Axis, y: Axis, points: [number, number][]}} Scatter points: in pixels, one per head */

const HIGH = 360; // pixels of the plot
const MAX_NAMED = 3; // heads that are named at one point

export class HeadPlot {
  /** @param {HeadsView} view */
  constructor(view) {
    this.view = view;
    this.axes = /** @type {("x" | "y")[]} */ (["x", "y"]).map((axis) => {
      const choose = (/** @type {any} */ { target }) => view.change({ [axis]: target.value });
      return h("select", { "aria-label": axis === "x" ? "x axis" : "y axis", onchange: choose });
    });
    this.readout = div("readout");
    this.grid = new DrawnGrid({
      pick: (layer, head) => view.view.all.open(layer, head ?? 0),
      hover: (text) => setText(this.readout, text || this.say(view.head)),
    });
    const [across, up] = this.axes;
    this.controls = div("actions", namedPart("across", across), namedPart("up", up));
    this.element = div("head-plot", this.controls, this.grid.element, this.readout);
    this.measures = /** @type {Measure[]} */ ([]);
    this.layout = /** @type {Scatter | null} */ (null);
  }

  /** Show the readout of a head and of the heads at the same point. @param {number} index */
  say(index) {
    const { view, measures, layout } = this;
    const texts = measures.map(({ title, unit, values }) => `${title} ${digits(values?.[index] ?? 0)} ${unit}`);
    const others = layout ? atTheSamePlace(layout, index).map((index) => view.nameOf(index)) : [];
    const rest = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : "";
    const suffix = others.length ? `; over it ${others.slice(0, MAX_NAMED).join(", ")}${rest}` : "";
    return `${view.nameOf(index)}: ${texts.join(", ")}${suffix}`;
  }

  /** @param {Measure[]} columns */
  draw(columns) {
    const { view, settings: measures, head } = this.view;
    const columnOf = (/** @type {string} */ name) => columns.find((column) => column.name === name);
    const [x, y] = [columnOf(measures.x) ?? columns[0], columnOf(measures.y) ?? columns[1] ?? columns[0]];
    this.measures = [x, y];
    this.axes.forEach((select, index) => {
      const { name: value, description: title } = this.measures[index];
      render(select, { title }, ...columns.map(({ name, title }) => ["option", { value: name }, title]));
      select.value = value;
    });
    const { maps, inks } = view;
    const { layers, heads } = maps;
    const layout = layOutScatter(x, y, { width: contentWidth(this.element), height: HIGH });
    this.layout = layout;
    const toIndex = (/** @type {Cell} */ [layer, column]) => layer * heads + column;
    const off = new Set([...view.off].map((id) => toIndex(/** @type {Cell} */ (id.split(".").map(Number)))));
    const labelled = new Set([head, argmax(x.values ?? []), argmax(y.values ?? [])]);
    const marked = { focus: head, off, names: new Map([...labelled].map((index) => [index, this.view.nameOf(index)])) };
    if (!this.grid.element.matches(":focus-within")) this.grid.active = [view.at.layer, view.at.head];
    this.grid.drawGrid(
      {
        name: `Heads by ${x.title} and ${y.title}`,
        how: "up and down arrows change the layer, left and right arrows the head",
        size: [layers, heads],
        say: (place) => this.say(toIndex(place)),
        boxOf: (place) => boxOfPoint(layout, toIndex(place)),
        at: (left, top) => {
          const point = pointAt(layout, left, top);
          return point === null ? null : [Math.floor(point / heads), point % heads];
        },
      },
      layout,
      inks,
      [x.name, y.name, x.values, y.values, head, String([...off]), inks.text],
      (pen) => drawScatter(pen, layout, inks, marked),
    );
    if (!this.grid.element.matches(":hover, :focus-within")) setText(this.readout, this.say(head));
  }
}

const MARGIN = { left: 68, right: 14, top: 12, bottom: 46 }; // pixels
const RADIUS = 4;
const REACH = 14; // pixels from a point at which a click selects it
const STEPS = 4; // ticks of an axis

/** The range of an axis, which includes 0. @param {Measure} measure @returns {Axis} */
function axisOf({ title, unit, values }) {
  const all = Array.from(values ?? []);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  return { low, high: high > low ? high : low + 1, title: `${title} (${unit})` };
}

/** @param {Measure} across @param {Measure} up @param {{width: number, height: number}} size @returns {Scatter} */
export function layOutScatter(across, up, { width, height }) {
  const [x, y] = [axisOf(across), axisOf(up)];
  const points = Array.from(across.values ?? [], (value, index) =>
    placed({ width, height, x, y }, value, up.values?.[index] ?? 0),
  );
  return { width, height, x, y, points };
}

/** @param {Omit<Scatter, "points">} layout @param {number} across @param {number} up @returns {[number, number]} */
function placed({ width, height, x, y }, across, up) {
  const { left, right, top, bottom } = MARGIN;
  return [
    left + ((across - x.low) / (x.high - x.low)) * (width - left - right),
    height - bottom - ((up - y.low) / (y.high - y.low)) * (height - top - bottom),
  ];
}

/** The heads whose points are within reach of a pixel, the nearest first.
 * @param {Scatter} layout @param {number} left @param {number} top @param {number} reach */
function near({ points }, left, top, reach) {
  const far = points.map(([x, y]) => Math.hypot(x - left, y - top));
  return [...far.keys()].filter((index) => far[index] <= reach).sort((a, b) => far[a] - far[b]);
}

/** The head whose point is nearest to a pixel within reach; null if there is none. @param {Scatter} layout */
export const pointAt = (layout, left, top) => near(layout, left, top, REACH)[0] ?? null;

/** The other heads at the same point. @param {Scatter} layout @param {number} index */
const atTheSamePlace = (layout, index) =>
  near(layout, ...layout.points[index], 2 * RADIUS).filter((other) => other !== index);

/** @param {Scatter} layout @param {number} index */
export function boxOfPoint({ points }, index) {
  const [x, y] = points[index];
  const wide = RADIUS + 4;
  return { left: x - wide, top: y - wide, width: 2 * wide, height: 2 * wide };
}

const write = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));

/** @param {CanvasRenderingContext2D} pen @param {Scatter} layout @param {Inks} inks
 * @param {{focus: number, off: Set<number>, names: Map<number, string>}} marked the head in focus, the ablated heads, and
 * the heads with name labels
 */
export function drawScatter(pen, layout, inks, { focus, off, names }) {
  const { width, height, x, y, points } = layout;
  pen.font = `${AXIS.tick}px ${inks.sans}`;
  const [left, bottom] = placed(layout, x.low, y.low);
  const [right, top] = placed(layout, x.high, y.high);
  Object.assign(pen, { strokeStyle: inks.line, fillStyle: inks.muted, lineWidth: 1 });
  for (let step = 0; step <= STEPS; step += 1) {
    const [across, up] = [x, y].map(({ low, high }) => low + (step / STEPS) * (high - low));
    const [px, py] = placed(layout, across, up);
    pen.strokeRect(px, top, 0, bottom - top);
    pen.strokeRect(left, py, right - left, 0);
    pen.textAlign = "center";
    pen.fillText(write(across), px, bottom + 16);
    pen.textAlign = "right";
    pen.fillText(write(up), left - 6, py + 4);
  }
  Object.assign(pen, { font: `${AXIS.title}px ${inks.sans}`, textAlign: "center" });
  pen.fillText(x.title, (left + right) / 2, height - 6);
  pen.save();
  pen.translate(14, (top + bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(y.title, 0, 0);
  pen.restore();
  for (const [index, point] of points.entries()) {
    drawPoint(pen, point, inks.panel, inks.panel, RADIUS + 1); // a ring that separates touching points
    drawPoint(pen, point, off.has(index) ? null : inks.head, inks.head);
  }
  drawPoint(pen, points[focus], inks.accent, inks.text, RADIUS + 2);
  pen.fillStyle = inks.text;
  for (const [index, name] of names) {
    const [px, py] = points[index];
    const isRight = px > width / 2;
    pen.textAlign = isRight ? "right" : "left";
    pen.fillText(name, px + (isRight ? -9 : 9), py - 6);
  }
}

/** Draw a head as a disc, an ablated one as a ring.
 * @param {CanvasRenderingContext2D} pen @param {[number, number]} at pixels @param {string | null} fill @param {string} edge
 */
function drawPoint(pen, [x, y], fill, edge, radius = RADIUS) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) Object.assign(pen, { fillStyle: fill }).fill();
  Object.assign(pen, { strokeStyle: edge, lineWidth: 1.5 }).stroke();
}
