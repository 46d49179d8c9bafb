// Hatching of the masked cells of a map.

import { canvasOf } from "../base/colour.js";
import { pixelRatio } from "../base/dom.js";

/** Draw the hatching alone, to be laid over a map. @param {number} rows @param {number} columns
 * @param {(i: number, j: number) => boolean} isBlocked @param {{width: number, height: number}} room pixels
 * @param {string} ink @param {number} gap pixels between two lines
 */
export function hatchOf(rows, columns, isBlocked, { width, height }, ink, gap = 5) {
  const ratio = pixelRatio();
  const blocked = canvasOf(columns, rows, (pixels) => {
    for (let index = 0; index < pixels.length; index++)
      if (isBlocked(Math.floor(index / columns), index % columns)) pixels[index] = 0xff000000;
  });
  const canvas = document.createElement("canvas");
  // a canvas without a size, as before the first layout, cannot be drawn
  [canvas.width, canvas.height] = [width, height].map((side) => Math.max(1, Math.round(side * ratio)));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingEnabled = false;
  context.drawImage(blocked, 0, 0, canvas.width, canvas.height);
  context.globalCompositeOperation = "source-in";
  context.strokeStyle = ink;
  context.lineWidth = ratio;
  for (let offset = 0; offset < canvas.width + canvas.height; offset += gap * ratio) {
    context.moveTo(offset, 0);
    context.lineTo(offset - canvas.height, canvas.height);
  }
  context.stroke();
  return canvas;
}
