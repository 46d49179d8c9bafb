// Colour scales of the maps: a sequential ramp per theme for attention, and a diverging scale (blue = less, orange =
// more) from the CSS variables --less, --none and --more.

import { pixelRatio } from "./dom.js";

/** @typedef {[number, number, number]} Rgb */

const OWN = {
  dark: ["#11182A", "#2A1D12", "#6B3F0B", "#C07A14", "#F6B73C", "#FFF4DC"],
  light: ["#FFFFFF", "#FDEFD0", "#F6C560", "#DB8A1E", "#A34A06", "#4A1D02"],
};
const hexes = /** @type {Map<string, string>} */ (new Map()); // a canvas is slow to read
/** In forced-colors mode maps go from the system's Canvas to CanvasText, the only colours that the user allows. */
const FORCED = globalThis.matchMedia?.("(forced-colors: active)").matches ?? false;
const SYSTEM = FORCED ? ["Canvas", "CanvasText"].map(hexOf) : null;
const STOPS = SYSTEM ? { dark: SYSTEM, light: SYSTEM } : OWN;
/** The display settings of this browser (boot.js): more contrast for small weights, no hatching of blocked cells. */
const { contrast = "", hatch = "" } = globalThis.document?.documentElement?.dataset ?? {};
export const isPlain = hatch === "none";

/** A CSS colour as "#f6b73c", without its alpha; black for an invalid one. @param {string} css */
export function hexOf(css) {
  const known = hexes.get(css);
  if (known) return known;
  const probe = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  probe.fillStyle = "#000";
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const hex = `#${((r << 16) | (g << 8) | b).toString(16).padStart(6, "0")}`;
  hexes.set(css, hex);
  return hex;
}

/** @param {string} hex "#F6B73C" @returns {Rgb} */
export const rgb = (hex) =>
  /** @type {any} */ ([1, 3, 5].map((offset) => Number.parseInt(hex.slice(offset, offset + 2), 16)));

/** Interpolate between two colours; `share` 0 is the first.
 * @param {Rgb} from @param {Rgb} target @param {number} share @returns {Rgb} */
export function mixed(from, target, share) {
  const part = (/** @type {0 | 1 | 2} */ c) => Math.round(from[c] + (target[c] - from[c]) * share);
  return [part(0), part(1), part(2)];
}

/** A colour as a pixel of an image. @param {Rgb} colour */
export const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** @param {string[]} stops */
function ramp(stops) {
  const points = stops.map(rgb);
  return Array.from({ length: 256 }, (_, level) => {
    const position = (level / 255) * (points.length - 1);
    const low = Math.min(Math.floor(position), points.length - 2);
    return mixed(points[low], points[low + 1], position - low);
  });
}

/** The relative luminance of a colour (WCAG 2). @param {Rgb} colour */
function luminance(colour) {
  const [r, g, b] = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The ramp with a contrast of at least 3 : 1 to the background for every value above 0. @param {Rgb[]} colours */
export function standingOut(colours) {
  const lights = colours.map(luminance);
  const from = lights.findIndex((light) => Math.abs(Math.log((light + 0.05) / (lights[0] + 0.05))) >= Math.log(3));
  return colours.map((ground, index) =>
    index ? colours[from + Math.round(((index - 1) / 254) * (255 - from))] : ground,
  );
}

const rampOf = (/** @type {string[]} */ stops) => (contrast || FORCED ? standingOut(ramp(stops)) : ramp(stops));
const RAMPS = { dark: rampOf(STOPS.dark), light: rampOf(STOPS.light) };

/** Black or white, whichever has the higher contrast on a colour: at least 4.5 : 1. @param {Rgb} colour */
export const inkFor = (colour) => (luminance(colour) > 0.179 ? "#000000" : "#FFFFFF");

const INKS = { dark: RAMPS.dark.map(inkFor), light: RAMPS.light.map(inkFor) };

/** The position of a byte on the ramp, 0 to 1.
 * @param {Scale} scale @param {number} max the largest byte of the map, used by the scale "own"
 */
export function level(byte, scale, max) {
  if (scale === "linear") return byte / 255;
  if (scale === "own") return max ? byte / max : 0;
  return Math.sqrt(byte / 255);
}

/** @param {number} byte @param {Scale} scale @param {number} max */
const stepOf = (byte, scale, max) => Math.min(255, Math.round(255 * level(byte, scale, max)));

/** @param {number} byte @param {Theme} theme @param {Scale} scale @param {number} max */
const colourOf = (byte, theme, scale, max) => RAMPS[theme][stepOf(byte, scale, max)];

/** The CSS colour of a byte. @param {number} byte @param {Theme} theme @param {Scale} scale @param {number} max */
const cssOf = (byte, theme, scale, max) => `rgb(${colourOf(byte, theme, scale, max).join(" ")})`;

/** The 256 colours of a ramp as 32-bit pixels. @param {Theme} theme @param {Scale} scale @param {number} max */
export const palette = (theme, scale, max) =>
  Uint32Array.from({ length: 256 }, (_, byte) => pixel(colourOf(byte, theme, scale, max)));

/** The text colour that is legible on the colour of a byte.
 * @param {Theme} theme @param {Scale} scale @returns {string} */
export const inkOn = (byte, theme, scale, max) => INKS[theme][stepOf(byte, scale, max)];

/** The background of a byte and a legible text colour, as a style.
 * @param {number} byte @param {Theme} theme @param {Scale} scale @param {number} max */
export const tintOf = (byte, theme, scale, max) =>
  `background: ${cssOf(byte, theme, scale, max)}; color: ${inkOn(byte, theme, scale, max)};`;

/** The ramp as a CSS gradient, for the legend. @param {Theme} theme */
export const gradient = (theme) =>
  `linear-gradient(to right, ${[0, 1, 52, 103, 154, 205, 255].map((index) => `rgb(${RAMPS[theme][index]}) ${index / 2.55}%`)})`;

/** The byte that gets the full colour of a scale. @param {Uint8Array} bytes @param {Scale} scale */
export const mostOf = (bytes, scale) => (scale === "own" ? bytes.reduce((a, b) => Math.max(a, b), 0) : 255);

/** Render a map to a canvas of one pixel per cell. @param {Bytes} map @param {Theme} theme @param {Scale} scale */
export const picture = (map, theme, scale) => pixels(map, palette(theme, scale, mostOf(map.bytes, scale)));

/** Render a map to a canvas of one pixel per cell, with the given 256 colours.
 * @param {Bytes} map @param {Uint32Array} colours
 */
export const pixels = ({ size, bytes }, colours) =>
  canvasOf(columnsOf({ size, bytes }), size, (cells) => {
    for (let index = 0; index < bytes.length; index++) cells[index] = colours[bytes[index]];
  });

/** The number of columns of a map. @param {Bytes} map */
export const columnsOf = ({ size, bytes }) => (size ? bytes.length / size : 0);

/** Make a canvas and fill its pixels with `paint`. @param {(pixels: Uint32Array) => void} paint */
export function canvasOf(width, height, paint) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, width), Math.max(1, height)];
  if (!width || !height) return canvas;
  const image = new ImageData(width, height);
  paint(new Uint32Array(image.data.buffer));
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}

/** The colour of a signed share. @param {number} share −1 to 1, shaped after any gamma @param {Inks} inks */
export const signedColour = (share, { less, none, more }) =>
  mixed(rgb(none), rgb(share < 0 ? less : more), Math.abs(share));

/** The theme of the background behind an element. @param {Element} element @returns {Theme} */
export function themeOf(element) {
  const ground = SYSTEM?.[0] ?? hexOf(getComputedStyle(element).getPropertyValue("--st-background-color").trim());
  return luminance(rgb(ground)) > 0.2 ? "light" : "dark";
}

/** @typedef {ReturnType<typeof inks>} Inks */

const NAMES = "ink muted line accent query key head panel less none more hatch allowed".split(" "); // CSS variables of the style sheet

/** Read the colours of the canvases from the style sheet. @param {Element} element */
export function inks(element) {
  const style = getComputedStyle(element);
  const read = (/** @type {string} */ name) => {
    const value = style.getPropertyValue(`--${name}`).trim();
    return FORCED ? hexOf(value) : value; // the CSS variables hold keywords such as CanvasText
  };
  const [text, ...colours] = NAMES.map(read);
  const [muted, line, accent, query, key, head, panel, less, none, more, hatch, allowed] = colours;
  const fonts = { mono: style.getPropertyValue("--mono").trim(), sans: style.fontFamily };
  return { text, muted, line, accent, query, key, head, panel, less, none, more, hatch, allowed, ...fonts };
}

/** The hatching as a pattern of lines with this gap in pixels.
 * @param {CanvasRenderingContext2D} context @param {string} ink @param {number} gap
 */
function hatchPattern(context, ink, gap) {
  const ratio = pixelRatio();
  const side = Math.round(gap * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = side;
  const lines = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  lines.strokeStyle = ink;
  lines.lineWidth = ratio;
  for (const shift of [-side, 0, side]) {
    lines.moveTo(shift - 1, side + 1); // beyond the corners, so that the lines join those of the next tile
    lines.lineTo(shift + side + 1, -1);
  }
  lines.stroke();
  const pattern = /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** Hatch the blocked cells of a map that is drawn in this box, unless this browser shows no hatching.
 * @param {CanvasRenderingContext2D} context @param {number} rows @param {number} columns
 * @param {(i: number, j: number) => boolean} isBlocked
 * @param {{left?: number, top?: number, width: number, height: number}} box pixels
 * @param {string} ink @param {number} [gap] pixels between two lines
 */
export function drawHatch(context, rows, columns, isBlocked, { left = 0, top = 0, width, height }, ink, gap = 5) {
  if (isPlain) return;
  const ratio = pixelRatio();
  const snap = (/** @type {number} */ at) => Math.round(at * ratio) / ratio; // no seams between rows
  context.save();
  context.fillStyle = hatchPattern(context, ink, gap);
  for (let i = 0; i < rows; i++) {
    const [y, below] = [i, i + 1].map((row) => snap(top + (row * height) / rows));
    let start = -1; // of a run of blocked cells
    for (let j = 0; j <= columns; j++) {
      const inRun = j < columns && isBlocked(i, j);
      if (inRun && start < 0) start = j;
      if (inRun || start < 0) continue;
      const [x, end] = [start, j].map((column) => snap(left + (column * width) / columns));
      context.fillRect(x, y, end - x, below - y);
      start = -1;
    }
  }
  context.restore();
}
