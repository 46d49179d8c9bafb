// PNG files of the pictures on a page: its canvases at a higher resolution or as a slide, with a caption and the link.

import { drawing } from "../base/dom.js";
import { drawViews, views } from "../base/view_base.js";

/** @typedef {{element: Element, name: string}} Picture a part of the page that can be exported */
/** @typedef {{lines: string[], theme: Theme}} Caption lines under the picture, the link last */

const FRAMED = ".panel, .all-heads, .drawn";
const WRITTEN = "h2, h3, .tile .name"; // texts that belong to the canvases
const ALL = "All of these together";
const LARGER = 2; // than on the screen
const MAX_PIXELS = 8000; // pixels per side; larger pictures get a lower resolution
const MARGIN = 16;
const FONT = '"Source Sans", "Source Sans 3", sans-serif';
const SLIDE = { width: 1920, height: 1080 };
const COLOURS = {
  dark: { page: "#0E1320", ink: "#E8ECF6", muted: "#93A0BD" },
  light: { page: "#FBFAF6", ink: "#1B2233", muted: "#5A6375" },
};

/** @param {Element} element @param {string} kind */
const inSight = (element, kind) =>
  [...element.querySelectorAll(kind)].filter(
    (element) => element.clientWidth && element.checkVisibility({ visibilityProperty: true }),
  );

/** The framed parts of the page that have a canvas: the large map first, the whole view last. @returns {Picture[]} */
export function picturesOfPage() {
  return [...views].flatMap(({ element }) => {
    const framed = inSight(element, FRAMED).filter(
      (element) => inSight(element, "canvas").length && !element.matches(".drawn:not([data-name])"),
    );
    const outer = framed.filter((element) => !framed.some((other) => other !== element && other.contains(element)));
    const large = outer.filter((element) => element.matches(".large"));
    const ordered = [...large, ...outer.filter((element) => !large.includes(element))];
    const pictures = ordered.map((element) => ({ element, name: nameOf(element) }));
    return outer.length > 1 ? [...pictures, { element, name: ALL }] : pictures;
  });
}

/** @param {Element} element */
function nameOf(element) {
  const name =
    element.getAttribute("data-name") ??
    element.getAttribute("aria-label") ??
    element.querySelector("h2, h3")?.textContent;
  return (name ?? "").trim().slice(0, 80) || "Picture";
}

/** Redraw the views in a theme and at a pixel ratio, call `make`, and restore them.
 * @template Result @param {Theme} theme @param {number} ratio @param {() => Result} make
 */
function drawAs(theme, ratio, make) {
  try {
    drawing.ratio = ratio;
    drawViews(theme);
    return make();
  } finally {
    drawing.ratio = 0;
    drawViews();
  }
}

/** @param {number} width @param {number} height @param {Theme} theme */
function paper(width, height, theme) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: Math.ceil(width), height: Math.ceil(height) });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.fillStyle = COLOURS[theme].page;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  return pen;
}

/** Compose the canvases of a part of the page and their titles at their positions.
 * @param {Element} element @param {Theme} theme @param {number} larger scale factor
 */
function composed(element, theme, larger) {
  const parts = [...inSight(element, "canvas"), ...inSight(element, WRITTEN)];
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
  const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
  const scale = Math.min(larger, MAX_PIXELS / Math.max(right - left, bottom - top));
  const pen = paper(scale * (right - left), scale * (bottom - top), theme);
  pen.scale(scale, scale);
  pen.translate(-left, -top);
  parts.forEach((part, index) => {
    const box = boxes[index];
    if (part instanceof HTMLCanvasElement) return pen.drawImage(part, box.left, box.top, box.width, box.height);
    const { fontWeight, fontSize, fontFamily, color } = getComputedStyle(part);
    Object.assign(pen, { font: `${fontWeight} ${fontSize} ${fontFamily}`, fillStyle: color, textBaseline: "middle" });
    pen.fillText(part.textContent ?? "", box.left, box.top + box.height / 2, box.width + 2);
  });
  return pen.canvas;
}

/** Truncate a line to the width. @param {string} line @param {number} size @param {number} width pixels */
function fitted(line, size, width) {
  const maxLetters = Math.max(12, Math.floor(width / (0.5 * size)));
  return line.length > maxLetters ? `${line.slice(0, maxLetters - 1)}…` : line;
}

/** @param {CanvasRenderingContext2D} pen @param {Caption} caption @param {{x: number, y: number, width: number, size: number}} place */
function write(pen, { lines, theme }, { x, y, width, size }) {
  lines.forEach((line, index) => {
    pen.fillStyle = index ? COLOURS[theme].muted : COLOURS[theme].ink;
    pen.font = `${index ? 0.86 * size : size}px ${FONT}`;
    pen.textBaseline = "top";
    pen.fillText(fitted(line, size, width), x, y + index * size * 1.35, width);
  });
}

/** @param {Picture} picture @param {Caption} caption @param {boolean} asSlide */
export async function pngOf({ element }, caption, asSlide) {
  const { lines, theme } = caption;
  const larger = asSlide ? 2 * LARGER : LARGER;
  const canvas = drawAs(theme, larger, () => composed(element, theme, larger));
  const [margin, size] = asSlide ? [60, 30] : [LARGER * MARGIN, LARGER * 14];
  const captionHeight = lines.length * size * 1.35;
  const canvasSize = {
    width: Math.max(canvas.width, 420 * LARGER) + 2 * margin,
    height: canvas.height + captionHeight + 3 * margin,
  };
  const { width, height } = asSlide ? SLIDE : canvasSize;
  const pen = paper(width, height, theme);
  const room = { width: width - 2 * margin, height: height - captionHeight - 3 * margin };
  const fits = asSlide ? Math.min(room.width / canvas.width, room.height / canvas.height) : 1;
  const left = asSlide ? (width - fits * canvas.width) / 2 : margin;
  pen.drawImage(canvas, left, margin, fits * canvas.width, fits * canvas.height);
  write(pen, caption, { x: margin, y: height - captionHeight - margin, width: room.width, size });
  return /** @type {Promise<Blob>} */ (
    new Promise((done) => pen.canvas.toBlob((blob) => done(/** @type {Blob} */ (blob)), "image/png"))
  );
}
