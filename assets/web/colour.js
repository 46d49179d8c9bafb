// From weight to colour. Attention glows: dark theme ink -> brown -> amber -> cream, light theme paper -> amber -> deep brown.

const STOPS = {
  dark: ["#11182A", "#2A1D12", "#6B3F0B", "#C07A14", "#F6B73C", "#FFF4DC"],
  light: ["#FFFFFF", "#FDEFD0", "#F6C560", "#DB8A1E", "#A34A06", "#4A1D02"],
};

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function ramp(stops) {
  const points = stops.map(rgb);
  return Array.from({ length: 256 }, (_, level) => {
    const at = (level / 255) * (points.length - 1);
    const low = Math.min(Math.floor(at), points.length - 2);
    return points[low].map((from, c) => Math.round(from + (points[low + 1][c] - from) * (at - low)));
  });
}

const RAMPS = { dark: ramp(STOPS.dark), light: ramp(STOPS.light) };

/** How far up the ramp a byte lies, 0 to 1. `most` is the largest byte of the map, used by the scale "own". */
export function level(byte, scale, most) {
  if (scale === "linear") return byte / 255;
  if (scale === "own") return most ? byte / most : 0;
  return Math.sqrt(byte / 255);
}

/** 256 colours, one a byte, as 32-bit pixels. */
export function palette(theme, scale, most) {
  const pixels = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const [r, g, b] = RAMPS[theme][Math.min(255, Math.round(255 * level(byte, scale, most)))];
    pixels[byte] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return pixels;
}

/** Ink that can be read on the colour of a byte. */
export function inkOn(byte, theme, scale, most) {
  const [r, g, b] = RAMPS[theme][Math.min(255, Math.round(255 * level(byte, scale, most)))];
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1B1206" : "#FFF7E6";
}

/** The ramp as a CSS gradient, for the legend. */
export const gradient = (theme) => `linear-gradient(to right, ${STOPS[theme].join(", ")})`;

/** A map {size, bytes} as a canvas of one pixel a cell. */
export function picture({ size, bytes }, theme, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.max(1, size);
  if (!size) return canvas;
  const most = scale === "own" ? bytes.reduce((a, b) => Math.max(a, b), 0) : 255;
  const colours = palette(theme, scale, most);
  const image = new ImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < bytes.length; at++) pixels[at] = colours[bytes[at]];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** "light" or "dark": what the page's background is. */
export function themeOf(element) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(element).getPropertyValue("--st-background-color").trim() || "#000";
  const [r, g, b] = rgb(probe.fillStyle);
  return 0.299 * r + 0.587 * g + 0.114 * b > 128 ? "light" : "dark";
}

/** Everything that the canvases paint with, read from the page. */
export function inks(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    text: read("--ink"),
    muted: read("--muted"),
    line: read("--line"),
    query: read("--query"),
    key: read("--key"),
    panel: read("--panel"),
    mono: read("--mono"),
  };
}
