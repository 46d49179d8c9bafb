// The blocked cells of a small map as slanted lines over all of them: a hatch in each would not be seen.

import { canvasOf, isPlain } from "../base/colour.js";
import { pixelRatio } from "../base/dom.js";
import { forbids } from "../link/painted.js";

const STEP = 5; // pixels from one line to the next
const MOST_KEPT = 60; // one a head, where heads have masks of their own
/** @type {Map<string, HTMLCanvasElement>} */
const kept = new Map();

/** The lines alone, to be drawn over a map without its first and last tokens; null where nothing is blocked.
 * @param {string[]} forbidden as `forbids` takes it @param {number} head @param {number} n tokens @param {number} keys that they look at
 * @param {[number, number]} ends first and last tokens left out @param {{width: number, height: number}} room pixels
 * @param {string} ink
 */
export function hatched(forbidden, head, n, keys, [first, last], { width, height }, ink) {
  const text = forbidden[head] ?? forbidden[0];
  if (!text || isPlain) return null;
  const kind = [text, n, keys, first, last, width, height, pixelRatio(), ink].join(" ");
  const known = kept.get(kind);
  if (known) return known;
  if (kept.size >= MOST_KEPT) kept.clear();
  const [rows, wide, isBlocked] = [n - first - last, keys - first - last, forbids(forbidden, head, n, keys)];
  const blocked = canvasOf(wide, rows, (pixels) => {
    for (let at = 0; at < pixels.length; at++)
      if (isBlocked(first + Math.floor(at / wide), first + (at % wide))) pixels[at] = 0xff000000;
  });
  const made = lined(blocked, width, height, ink);
  kept.set(kind, made);
  return made;
}

/** Slanted lines where a small picture is opaque. @param {HTMLCanvasElement} blocked @param {string} ink */
function lined(blocked, width, height, ink) {
  const ratio = pixelRatio();
  const canvas = document.createElement("canvas");
  // a view that is not laid out yet has no room, and a canvas of no size cannot be drawn
  [canvas.width, canvas.height] = [width, height].map((side) => Math.max(1, Math.round(side * ratio)));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingEnabled = false;
  context.drawImage(blocked, 0, 0, canvas.width, canvas.height);
  context.globalCompositeOperation = "source-in";
  context.strokeStyle = ink;
  context.lineWidth = ratio;
  for (let at = 0; at < canvas.width + canvas.height; at += STEP * ratio) {
    context.moveTo(at, 0);
    context.lineTo(at - canvas.height, canvas.height);
  }
  context.stroke();
  return canvas;
}
