// What changes while its words stay fades from what it was into what it is, so that an eye can follow each cell: another
// head, layer, mask or encoding. The new picture is there at once; a copy of the old one lies over it and goes.

import { h } from "../base/dom.js";

const TIME = 250; // milliseconds, as long as an eye rests on one place
const AT_REST = 500; // what changes sooner after the last time is being dragged or played, and is drawn at once

/** @type {WeakMap<HTMLCanvasElement, {words: string, made: unknown[], at: number}>} */
const drawn = new WeakMap();

/** Lets go what a canvas shows; called before it is drawn anew.
 * @param {HTMLCanvasElement} canvas
 * @param {string} words or what else stays: with other ones it is another picture
 * @param {unknown[]} made what the picture is made from: where all of it is the same, nothing changes
 */
export function fade(canvas, words, made) {
  const last = drawn.get(canvas);
  if (last?.words === words && made.every((one, at) => one === last.made[at])) return;
  const at = performance.now();
  drawn.set(canvas, { words, made, at });
  if (last?.words !== words || at - last.at < AT_REST || !canvas.width) return;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { width, height, offsetLeft, offsetTop, style } = canvas;
  const former = h("canvas", { class: "over fades", "aria-hidden": "true" });
  Object.assign(former, { width, height });
  const place = { left: `${offsetLeft}px`, top: `${offsetTop}px` };
  Object.assign(former.style, { ...place, width: style.width, height: style.height });
  former.getContext("2d")?.drawImage(canvas, 0, 0);
  canvas.after(former);
  const going = former.animate({ opacity: [1, 0] }, { duration: TIME, easing: "ease-out" });
  going.onfinish = () => former.remove();
}

/** Lets go the map that a canvas shows; called before another is drawn there.
 * @param {HTMLCanvasElement} canvas @param {import("./map.js").MapPicture} shown
 */
export function fadeMap(canvas, { tokens, keys, first, last, map }) {
  const { buffer, byteOffset } = map.bytes; // of the same bytes there is another view each time
  fade(canvas, [...tokens, "", ...keys, first, last].join("\n"), [buffer, byteOffset]);
}
