// Drawings of tensors: as matrices in tiles, coloured by head, and as memory.

import { canvasOf, hexOf, mixed, pixel, rgb } from "../base/colour.js";
import { contextOf, LETTERS } from "../base/dom.js";

const MAX_PIXELS = 300000; // elements of a tensor that are all drawn; larger ones are subsampled
const GAP = 2; // pixels between heads
const LEVELS = 64; // of a head's colour ramp
const [STRONG, WEAK, FAINT] = [48, 14, 8]; // levels of memory: the head in focus, the others, unused memory

/** The colour of a head; hues are evenly spread. @returns {import("../base/colour.js").Rgb} */
export function hue(head, heads, theme) {
  return rgb(hexOf(`hsl(${(360 * head) / heads} 60% ${theme === "light" ? 45 : 60}%)`));
}

/** @type {Map<string, Uint32Array>} */
const ramps = new Map();

/** The pixel ramp from the background to the colour of a head in `LEVELS` steps; grey without a head.
 * @param {Inks} inks
 */
function ramp(head, heads, theme, inks) {
  const key = `${head}/${heads} ${theme}`;
  const [from, end] = [rgb(inks.panel), head === null ? rgb(inks.muted) : hue(head, heads, theme)];
  const levels =
    ramps.get(key) ?? Uint32Array.from({ length: LEVELS + 1 }, (_, n) => pixel(mixed(from, end, n / LEVELS)));
  ramps.set(key, levels);
  return levels;
}

/** The ramp level of a value, 0 to LEVELS; masked values have 0. */
function strength(value, weights, scale) {
  if (value === -Infinity) return 0;
  if (weights) return (LEVELS * Math.sqrt(Math.min(1, value))) | 0; // dropout can make them larger than 1
  return (LEVELS * (0.12 + 0.88 * (0.5 + 0.5 * Math.max(-1, Math.min(1, value / scale))))) | 0;
}

/** Draw a tile with one pixel per element, subsampled by `stride`. */
function image(tensor, plan, tile, stride, theme, inks) {
  const [height, width] = [Math.ceil(plan.height / stride), Math.ceil(plan.width / stride)];
  // heads are never in rows, so index and colour of a cell are separable into row and column
  const columns = Array.from({ length: width }, (_, x) => plan.index(tile, 0, x * stride));
  const places = columns.map((place) => tensor.place(place));
  const colours = columns.map((place) => ramp(tensor.headOf(place), tensor.heads, theme, inks));
  const { memory, isWeights, scale } = tensor;
  return canvasOf(width, height, (pixels) => {
    for (let y = 0; y < height; y++) {
      const row = y * stride * tensor.strides[plan.rows.axis];
      for (let x = 0; x < width; x++)
        pixels[y * width + x] = colours[x][strength(memory[places[x] + row], isWeights, scale)];
    }
  });
}

/** The layout of a tensor: its last axis, or heads and channels, as columns; then rows; then tiles. */
function layout(tensor) {
  const seen = ({ letter, axis }) => letter !== "b" && (letter !== "" || tensor.sizes[axis] > 1);
  const axes = tensor.letters.map((letter, axis) => ({ letter, axis })).filter(seen);
  const split = axes.length > 2 && axes.at(-1).letter === "d" && axes.at(-2).letter === "h";
  let columns = [axes.pop()];
  if (split) columns = [axes.pop(), ...columns];
  if (axes.length > 1 && axes.at(-1).letter === "") columns = [axes.pop(), ...columns];
  const rows = axes.pop();
  const tiles = axes.pop() ?? null;
  const size = (axis) => tensor.sizes[axis.axis];
  return {
    tiles,
    rows,
    columns,
    count: tiles ? size(tiles) : 1,
    height: size(rows),
    width: columns.reduce((all, axis) => all * size(axis), 1),
    group: split ? tensor.sizes[columns.at(-1).axis] : 0,
    index(tile, y, x) {
      const place = new Array(tensor.sizes.length).fill(0);
      if (tiles) place[tiles.axis] = tile;
      place[rows.axis] = y;
      let rest = x;
      for (const axis of [...columns].reverse()) {
        place[axis.axis] = rest % size(axis);
        rest = Math.floor(rest / size(axis));
      }
      return place;
    },
  };
}

/** @type {Record<string, string>} */
const NAMES = { h: "head", i: "query", j: "key" };

/** Draw a tensor as its matrices; returns the caption and the clickable areas.
 * @param {HTMLCanvasElement} canvas @param {Tensor} tensor
 * @param {{theme: string, colours: Inks, width: number, room: number, head: number, scale: number}} state
 * width, room: available width and height in pixels; scale: of the type size
 * @returns {{seen: string, areas: Area[]}}
 */
export function drawTiles(canvas, tensor, { theme, colours, width, room, head, scale }) {
  const plan = layout(tensor);
  if (!tensor.isSent) {
    contextOf(canvas, width, 1);
    return { seen: "too many numbers to send", areas: [] };
  }
  const stride = Math.ceil(Math.sqrt(tensor.count / MAX_PIXELS));
  const single = plan.count === 1;
  const perRow = single ? 1 : Math.min(plan.count, width < 360 ? 4 : 6);
  const [gap, label] = single ? [0, 0] : [6, 14 * scale]; // pixels
  const wide = Math.floor((width - gap * (perRow - 1)) / perRow);
  const fit = single
    ? [24, Math.min(96, innerHeight / 10) * scale, plan.height * 8 * scale]
    : [20, 46 * scale * scale, (wide * plan.height) / plan.width];
  const lines = Math.ceil(plan.count / perRow);
  const maxHeight = (room - (lines - 1) * gap) / lines - label;
  const high = Math.max(fit[0], Math.min(fit[1], fit[2], maxHeight));
  const context = contextOf(canvas, width, lines * (high + label) + (lines - 1) * gap);
  context.font = `${LETTERS * scale}px ${colours.mono}`;
  context.textBaseline = "top";
  const areas = Array.from({ length: plan.count }, (_, tile) => {
    const [x, y] = [(tile % perRow) * (wide + gap), Math.floor(tile / perRow) * (high + label + gap)];
    const letter = plan.tiles?.letter ?? "";
    if (label) {
      context.fillStyle = letter === "h" && tile === head ? colours.text : colours.muted;
      context.fillText(wide < 54 * scale ? String(tile) : `${NAMES[letter] ?? ""} ${tile}`, x, y);
    }
    const canvas = image(tensor, plan, tile, stride, theme, colours);
    const box = { x, y: y + label, width: wide, height: high };
    return drawTile(context, canvas, tensor, plan, tile, box, head, colours.text);
  }).flat();
  const size = `${plan.height} × ${plan.width}${stride > 1 ? `, one number in ${stride} each way` : ""}`;
  const blocks =
    plan.group && plan.group < plan.width ? `, read as ${plan.width / plan.group} blocks of ${plan.group}` : "";
  return { seen: single ? `${size}${blocks}` : `${plan.count} matrices of ${size}`, areas };
}

/** Draw one matrix with gaps between split heads, and frame the head in focus. @returns {Area[]} */
function drawTile(context, canvas, tensor, plan, tile, { x, y, width, height }, head, ink) {
  context.imageSmoothingEnabled = width < plan.width;
  context.drawImage(canvas, x, y, width, height);
  const isOfChannels = plan.columns[0].letter === "c" && tensor.ofHeads;
  const size = plan.group || (isOfChannels ? tensor.dHead : plan.width);
  const part = (width * size) / plan.width;
  const areas = Array.from({ length: Math.ceil(plan.width / size) }, (_, n) => {
    const headIndex = tensor.headOf(plan.index(tile, 0, n * size));
    return { x: x + n * part, y, width: part, height, head: headIndex };
  });
  if (plan.group) for (const area of areas.slice(1)) context.clearRect(area.x - GAP / 2, y, GAP, height);
  if (areas.length > 1 || plan.tiles?.letter === "h")
    for (const area of areas.filter((candidate) => candidate.head === head)) {
      Object.assign(context, { strokeStyle: ink, lineWidth: 1.5 });
      context.strokeRect(area.x + 0.75, y + 0.75, area.width - 1.5, height - 1.5);
    }
  return areas;
}

/** Highlight a step along an axis: every element on it, and the jump from one to the next.
 * @param {CanvasRenderingContext2D} context @param {{places: number[], from: number, to: number}} jump
 * @param {{line: number, lines: number, width: number, high: number}} size @param {Inks} colours
 */
function light(context, { places, from, to }, { line, lines, width, high }, colours) {
  const [wide, tall] = [width / line, high / lines];
  const [w, t] = [Math.max(3, wide), Math.max(3, tall)];
  const middle = (/** @type {number} */ place) =>
    /** @type {[number, number]} */ ([((place % line) + 0.5) * wide, (Math.floor(place / line) + 0.5) * tall]);
  const dot = (/** @type {number} */ place, more = 0) => {
    const [x, y] = middle(place);
    context.fillRect(x - w / 2 - more, y - t / 2 - more, w + 2 * more, t + 2 * more);
  };
  context.fillStyle = colours.panel;
  context.globalAlpha = 0.6;
  context.fillRect(0, 0, width, high);
  context.globalAlpha = 1;
  context.fillStyle = colours.text;
  for (const place of places) dot(place);
  context.fillStyle = context.strokeStyle = colours.more;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(...middle(from));
  context.lineTo(...middle(to));
  context.stroke();
  for (const place of [from, to]) dot(place, 1);
}

/** Draw the memory of a tensor line by line: the head in focus coloured, its row bright, the rest faint.
 * @param {HTMLCanvasElement} canvas @param {Tensor} tensor
 * @param {{theme: string, colours: Inks, width: number, head: number, row: number}} state
 * @param {ReturnType<Tensor["jump"]>} [jump] a highlighted step along an axis
 * @returns {string} the caption
 */
export function drawMemory(canvas, tensor, { theme, colours, width, head, row }, jump = null) {
  const { memory, heads, strides, sizes, letters } = tensor;
  canvas.hidden = !tensor.isSent || memory.length > MAX_PIXELS;
  if (canvas.hidden)
    return tensor.isSent ? `its memory has ${memory.length.toLocaleString("en")} places, too many to draw` : "";
  const steps = strides.filter((_, axis) => sizes[axis] > 1 && letters[axis] !== "b");
  const line = Math.max(1, ...steps);
  const lines = Math.ceil(memory.length / line);
  const rowAxis = tensor.axis(tensor.plane(head).rows);
  const level = (/** @type {number | null} */ index, /** @type {number} */ n) => ramp(index, heads, theme, colours)[n];
  const bright = pixel(theme === "light" ? [27, 34, 51] : [255, 244, 220]);
  const shades = Array.from({ length: heads }, (_, index) => level(index, index === head ? STRONG : WEAK));
  const grey = level(null, STRONG);
  const bitmap = canvasOf(line, lines, (pixels) => {
    pixels.fill(level(null, FAINT), 0, memory.length);
    tensor.forEach((place, index) => {
      const headIndex = tensor.headOf(index);
      if ((headIndex === null || headIndex === head) && index[rowAxis] === row) pixels[place] = bright;
      else pixels[place] = headIndex === null ? grey : shades[headIndex];
    });
  });
  const high = Math.min(96, Math.max(lines * 2, Math.min(72, innerHeight / 14, lines * 8)));
  const context = contextOf(canvas, width, high);
  context.imageSmoothingEnabled = line > width * 1.5;
  context.drawImage(bitmap, 0, 0, width, high);
  if (jump) light(context, jump, { line, lines, width, high }, colours);
  return `the numbers in the order of memory, ${line.toLocaleString("en")} in a line`;
}
