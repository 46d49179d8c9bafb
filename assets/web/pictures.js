// Pictures of tensors: as matrices in tiles, one colour a head, and as the memory that they lie in.

import { contextOf } from "./dom.js";

const MOST_PIXELS = 300000; // elements of a tensor that are drawn one by one; of a larger one every second, third, …

/** A hue a head, evenly spread, as [r, g, b]; grey where there is no head. */
export function hue(head, heads, theme) {
  if (head === null) return theme === "light" ? [90, 99, 117] : [147, 160, 189];
  const lightness = theme === "light" ? 0.45 : 0.6;
  const turn = (head / heads) * 12;
  return [0, 8, 4].map((n) => {
    const k = (n + turn) % 12;
    return Math.round(
      255 * (lightness - 0.6 * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))),
    );
  });
}

const PAPER = { dark: [21, 28, 46], light: [255, 255, 255] };
const LEVELS = 64;
const ramps = new Map();

/** Pixels from the paper to the full colour of a head, in `LEVELS` steps. */
function ramp(head, heads, theme) {
  const key = `${head}/${heads} ${theme}`;
  if (!ramps.has(key)) {
    const [from, to] = [PAPER[theme], hue(head, heads, theme)];
    const level = (n) => from.map((part, c) => Math.round(part + ((to[c] - part) * n) / LEVELS));
    ramps.set(
      key,
      Uint32Array.from({ length: LEVELS + 1 }, (_, n) => pixel(level(n))),
    );
  }
  return ramps.get(key);
}

const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** How strong a value is drawn, 0 to LEVELS; what is forbidden is not drawn at all. */
function strength(value, weights, scale) {
  if (value === -Infinity) return 0;
  if (weights) return (LEVELS * Math.sqrt(value)) | 0;
  return (LEVELS * (0.12 + 0.88 * (0.5 + 0.5 * Math.max(-1, Math.min(1, value / scale))))) | 0;
}

/** One tile as an image of one pixel an element, or of every second, third, … */
function image(tensor, plan, tile, every, theme) {
  const [height, width] = [Math.ceil(plan.height / every), Math.ceil(plan.width / every)];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const data = new ImageData(width, height);
  const pixels = new Uint32Array(data.data.buffer);
  // heads lie in tiles or in columns, never in rows: place and colour of a cell are its row's plus its column's
  const columns = Array.from({ length: width }, (_, x) => plan.index(tile, 0, x * every));
  const places = columns.map((at) => tensor.place(at));
  const colours = columns.map((at) => ramp(tensor.headOf(at), tensor.heads, theme));
  const { memory, isWeights, scale } = tensor;
  for (let y = 0; y < height; y++) {
    const row = y * every * tensor.strides[plan.rows.axis];
    for (let x = 0; x < width; x++)
      pixels[y * width + x] = colours[x][strength(memory[places[x] + row], isWeights, scale)];
  }
  canvas.getContext("2d").putImageData(data, 0, 0);
  return canvas;
}

/** How a tensor is laid out: the last axis, or heads and channels together, are columns; before them rows; then tiles. */
function layout(tensor) {
  const axes = tensor.letters.map((letter, axis) => ({ letter, axis })).filter(({ letter }) => letter !== "b");
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
      const at = new Array(tensor.sizes.length).fill(0);
      if (tiles) at[tiles.axis] = tile;
      at[rows.axis] = y;
      let rest = x;
      for (const axis of [...columns].reverse()) {
        at[axis.axis] = rest % size(axis);
        rest = Math.floor(rest / size(axis));
      }
      return at;
    },
  };
}

const NAMES = { h: "head", i: "query", j: "key" };

/** Draws a tensor as its matrices; returns what is seen in words, and fills `areas` with what a click on it means. */
export function drawTiles(canvas, tensor, { theme, colours, width, head }) {
  const plan = layout(tensor);
  if (!tensor.here) {
    contextOf(canvas, width, 1);
    canvas.areas = [];
    return "its numbers were too many to send";
  }
  const every = Math.ceil(Math.sqrt(tensor.count / MOST_PIXELS));
  const perRow = plan.count === 1 ? 1 : Math.min(plan.count, width < 360 ? 4 : 6);
  const gap = plan.count === 1 ? 0 : 6;
  const label = plan.count === 1 ? 0 : 13;
  const wide = Math.floor((width - gap * (perRow - 1)) / perRow);
  const high =
    plan.count === 1
      ? Math.max(24, Math.min(96, plan.height * 8))
      : Math.max(20, Math.min(46, (wide * plan.height) / plan.width));
  const lines = Math.ceil(plan.count / perRow);
  const context = contextOf(canvas, width, lines * (high + label) + (lines - 1) * gap);
  context.font = `11px ${colours.mono}`;
  context.textBaseline = "top";
  canvas.areas = [];
  for (let tile = 0; tile < plan.count; tile++) {
    const x = (tile % perRow) * (wide + gap);
    const y = Math.floor(tile / perRow) * (high + label + gap);
    if (label) {
      context.fillStyle = plan.tiles.letter === "h" && tile === head ? colours.text : colours.muted;
      context.fillText(wide < 54 ? String(tile) : `${NAMES[plan.tiles.letter] ?? ""} ${tile}`, x, y);
    }
    const top = y + label;
    const groups = plan.group ? plan.width / plan.group : 1;
    const space = plan.group ? Math.min(3, wide / groups / 4) : 0;
    const part = (wide - space * (groups - 1)) / groups;
    const drawn = image(tensor, plan, tile, every, theme);
    context.imageSmoothingEnabled = part < plan.width / groups;
    for (let n = 0; n < groups; n++) {
      const from = (n * plan.width) / groups;
      context.drawImage(
        drawn,
        from / every,
        0,
        drawn.width / groups,
        drawn.height,
        x + n * (part + space),
        top,
        part,
        high,
      );
      const own = tensor.headOf(plan.index(tile, 0, from));
      const area = {
        x: x + n * (part + space),
        y: top,
        width: part,
        height: high,
        head: plan.columns[0].letter === "c" ? null : own,
      };
      canvas.areas.push(area);
      if (area.head === head && (plan.group || plan.tiles?.letter === "h")) outline(context, area, colours.text);
    }
    if (plan.columns[0].letter === "c" && tensor.ofHeads) {
      const own = (wide * tensor.dHead) / plan.width;
      for (let from = 0; from * tensor.dHead < plan.width; from++)
        canvas.areas.push({ x: x + from * own, y: top, width: own, height: high, head: from % tensor.heads });
      outline(context, { x: x + own * head, y: top, width: own, height: high }, colours.text);
    }
  }
  const rows = `${plan.height} × ${plan.width}${every > 1 ? `, one number in ${every} each way` : ""}`;
  return plan.count === 1
    ? `${rows}${plan.group ? `, read as ${plan.width / plan.group} blocks of ${plan.group}` : ""}`
    : `${plan.count} matrices of ${rows}`;
}

function outline(context, { x, y, width, height }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(x + 0.75, y + 0.75, width - 1.5, height - 1.5);
}

/** Draws the memory of a tensor line by line: the head in sight in its colour, the row in sight bright, the rest faint; says what is seen. */
export function drawMemory(canvas, tensor, { theme, width, head, row }) {
  canvas.hidden = !tensor.here || tensor.memory.length > MOST_PIXELS;
  if (canvas.hidden)
    return tensor.here ? `its memory: ${tensor.memory.length.toLocaleString("en")} places, too many to draw` : "";
  const steps = tensor.strides.filter((stride, axis) => tensor.sizes[axis] > 1 && tensor.letters[axis] !== "b");
  const line = Math.max(1, ...steps);
  const lines = Math.ceil(tensor.memory.length / line);
  const drawn = document.createElement("canvas");
  [drawn.width, drawn.height] = [line, lines];
  const data = new ImageData(line, lines);
  const pixels = new Uint32Array(data.data.buffer);
  pixels.fill(ramp(null, 1, theme)[8], 0, tensor.memory.length);
  const rowAxis = tensor.axis(tensor.plane(head).rows);
  const bright = pixel(theme === "light" ? [27, 34, 51] : [255, 244, 220]);
  const shades = Array.from(
    { length: tensor.heads },
    (_, own) => ramp(own, tensor.heads, theme)[own === head ? 48 : 14],
  );
  const grey = ramp(null, 1, theme)[48];
  tensor.each((place, index) => {
    const own = tensor.headOf(index);
    if ((own === null || own === head) && index[rowAxis] === row) pixels[place] = bright;
    else pixels[place] = own === null ? grey : shades[own];
  });
  drawn.getContext("2d").putImageData(data, 0, 0);
  const high = Math.min(96, Math.max(lines * 2, Math.min(64, lines * 7)));
  const context = contextOf(canvas, width, high);
  context.imageSmoothingEnabled = line > width * 1.5;
  context.drawImage(drawn, 0, 0, width, high);
  return `its memory, place by place, ${line.toLocaleString("en")} a line`;
}
