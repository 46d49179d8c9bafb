// The difference of two maps: blue = less, orange = more, and beside each row how much of its weight went elsewhere.

import { BigMap } from "./map.js";
import { number } from "./words.js";

const COLOURS = {
  dark: { less: [110, 168, 255], none: [17, 24, 42], more: [255, 122, 61] },
  light: { less: [27, 89, 198], none: [255, 255, 255], more: [194, 65, 12] },
};
const BARS = 26; // pixels beside the map
const MIDDLE = 128; // the byte of no change

const colourOf = (share, theme) => {
  const { less, none, more } = COLOURS[theme];
  const to = share < 0 ? less : more;
  const far = Math.sqrt(Math.abs(share)); // as the maps themselves: √ of the weight
  return none.map((part, c) => Math.round(part + (to[c] - part) * far));
};
const shareOf = (byte) => (byte - MIDDLE) / 127;

/** −0.6 -> "−0.60", with a sign for what is not 0 and a power of ten for what is nearly 0. */
export function signed(value, write = number) {
  const size = Math.abs(value);
  const text =
    size > 0 && size < 0.00005
      ? size.toExponential(0).replace("-", "−")
      : size > 0.9999 && size < 1
        ? "0.9999"
        : write(size);
  return `${value < 0 ? "−" : value > 0 ? "+" : ""}${text}`;
}

/** The ramp as a CSS gradient, for the legend. */
export function signedGradient(theme) {
  const stops = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map(
    (share) => `rgb(${colourOf(share, theme).join(" ")}) ${50 + 50 * share}%`,
  );
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Differences as bytes, 128 for none. */
export const asBytes = (values) =>
  Uint8Array.from(values, (value) => MIDDLE + Math.round(127 * Math.max(-1, Math.min(1, value))));

/** Takes the farthest from none of each block of cells, so that a map of `size` fits into `room` pixels. */
function pooled({ size, bytes }, room) {
  const step = Math.ceil(size / Math.max(1, room));
  if (step <= 1) return { size, bytes };
  const small = Math.ceil(size / step);
  const result = new Uint8Array(small * small).fill(MIDDLE);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const at = Math.floor(i / step) * small + Math.floor(j / step);
      if (Math.abs(bytes[i * size + j] - MIDDLE) > Math.abs(result[at] - MIDDLE)) result[at] = bytes[i * size + j];
    }
  }
  return { size: small, bytes: result };
}

export class DifferenceMap extends BigMap {
  constructor(act) {
    super(act);
    this.beside = BARS;
    this.roomy = 29; // signs need more
  }

  /** `shown` as in BigMap, with differences as weights, their `asBytes` as map, and `distances`, one a row. */
  draw(shown, inks, room) {
    super.draw(shown, inks, room);
    const { left, top, side, step } = this;
    const context = this.base.getContext("2d");
    const longest = this.right - 10;
    context.fillStyle = inks.line;
    context.fillRect(left + side + 6, top, 1, side);
    shown.distances.slice(shown.first, shown.tokens.length - shown.last).forEach((distance, at) => {
      context.fillStyle = at + shown.first === shown.row ? inks.text : inks.muted;
      context.fillRect(
        left + side + 7,
        top + at * step + step * 0.2,
        Math.max(0, distance * longest),
        Math.max(0.5, step * 0.6),
      );
    });
  }

  image(cut, room) {
    const { size, bytes } = pooled(cut, room);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.max(1, size);
    const data = new ImageData(canvas.width, canvas.height);
    bytes.forEach((byte, at) => data.data.set([...colourOf(shareOf(byte), this.shown.theme), 255], 4 * at));
    canvas.getContext("2d").putImageData(data, 0, 0);
    return canvas;
  }

  written(value) {
    const text = Math.abs(value).toFixed(2);
    return text === "0.00" ? "" : `${value < 0 ? "−" : "+"}${text.startsWith("0") ? text.slice(1) : text.slice(0, 1)}`;
  }

  inkOn(byte) {
    const [r, g, b] = colourOf(shareOf(byte), this.shown.theme);
    return 0.299 * r + 0.587 * g + 0.114 * b > 125 ? "#0B0F19" : "#FFFFFF";
  }

  say([i, j]) {
    const { tokens, weights, sides } = this.shown;
    const [before, after] = sides.map((side) => number(side[i * tokens.length + j]));
    return `${tokens[i]} → ${tokens[j]} ${before} → ${after}, ${signed(weights[i * tokens.length + j])}`;
  }
}
