// Drawings for papers: which there are, and a map as one: a shape a colour, the numbers in its cells, and the tokens at both
// sides.

import { isPlain, mostOf } from "../base/colour.js";
import { svg } from "../base/dom.js";
import { LEAN, clip } from "./map_labels.js";
import { trimmed } from "../wire/packets.js";

/** @typedef {import("./map.js").BigMap} BigMap */
/** @typedef {object} Drawing
 * @property {string} [name] where nothing else on the page names it
 * @property {boolean} isThere all of it is drawn
 * @property {string} whyNoSvg why it cannot be had as shapes, in a sentence; empty where it can
 * @property {() => SVGElement} svg it, as it was drawn last
 */

/** What stands on the page and can be had as shapes and texts, by its element. @type {WeakMap<Element, Drawing>} */
export const drawings = new WeakMap();

const NOT_XML = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu; // but for the white space among it, what XML cannot hold

const MOST_CELLS = 200 ** 2; // of a drawing, whose cells may each be a colour, a number and a stroke

/** Why a map is no drawing, in a sentence; nothing where it can be one. @param {BigMap} map */
export function whyNoSvg({ visible, seen }) {
  const cells = visible.length * seen.length;
  if (cells <= MOST_CELLS) return "";
  const [most, own] = [MOST_CELLS, cells].map((count) => count.toLocaleString("en"));
  return `An SVG may have ${most} cells, this map has ${own}: take the PNG, or a shorter sentence.`;
}

/** A text that may stand in XML. @param {string} text */
export const asXml = (text) => text.replace(NOT_XML, (one) => (/\s/.test(one) ? " " : "\uFFFD"));

/** The cells that have a colour, colour by colour, with those side by side in one. @param {HTMLCanvasElement} cells one pixel each */
function shapesOf(cells) {
  const { width: n, height: rows } = cells;
  const { data } = /** @type {CanvasRenderingContext2D} */ (cells.getContext("2d")).getImageData(0, 0, n, rows);
  const pixels = new Uint32Array(data.buffer);
  /** @type {Map<number, string>} */
  const paths = new Map();
  for (let i = 0; i < rows; i++)
    for (let j = 0, to = 0; j < n; j = to) {
      const colour = pixels[i * n + j];
      for (to = j + 1; to < n && pixels[i * n + to] === colour; ) to++;
      paths.set(colour, `${paths.get(colour) ?? ""}M${j} ${i}h${to - j}v1h${j - to}z`);
    }
  return [...paths].map(([colour, d]) =>
    svg("path", { fill: `rgb(${colour & 255},${(colour >> 8) & 255},${(colour >> 16) & 255})`, d }),
  );
}

/** A map as it was drawn last, with every token. @param {BigMap} map */
export function mapSvg(map) {
  const { left, top, right, side, step, across, wide, visible, seen, inks } = map;
  const shown = /** @type {import("./map.js").MapPicture} */ (map.shown);
  const { first, last, weights, keys, name, scale } = shown;
  const cut = trimmed(shown.map, first, last);
  const most = mostOf(cut.bytes, scale);
  const [width, height] = [left + across + right, top + side + 4];
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": asXml(name) });
  const place = { transform: `translate(${left} ${top}) scale(${wide} ${step})`, "shape-rendering": "crispEdges" };
  made.append(svg("g", { class: "map", ...place }, ...shapesOf(map.image(cut, Number.POSITIVE_INFINITY))));
  const write = (/** @type {string} */ text, /** @type {number} */ size, /** @type {object} */ how) => {
    const font = { "font-family": inks.mono, "font-size": size, "dominant-baseline": "central" };
    made.append(svg("text", { ...font, ...how }, asXml(text)));
  };
  const number = Number(map.element.dataset.number); // pixels; 0 where the cells have none
  const ofCell = { "font-family": inks.sans, "text-anchor": "middle" };
  const letters = Math.min(map.font, step * 0.95);
  visible.forEach((token, i) => {
    write(clip(token), letters, { x: left - 7, y: top + (i + 0.5) * step, "text-anchor": "end", fill: inks.muted });
    seen.forEach((_, j) => {
      const [x, y] = [left + j * wide, top + i * step];
      if (!isPlain && shown.forbids(i + first, j + first))
        made.append(svg("path", { d: `M${x} ${y + step}l${wide} ${-step}`, stroke: inks.line }));
      const text = number && weights ? map.inCell(weights[(i + first) * keys.length + j + first]) : "";
      const fill = map.inkOn(cut.bytes[i * seen.length + j], most);
      if (text) write(text, number, { ...ofCell, x: x + wide / 2, y: y + step / 2, fill });
    });
  });
  seen.forEach((token, j) => {
    const turned = `translate(${left + (j + 0.5) * wide} ${top - 7}) rotate(${(-LEAN * 180) / Math.PI})`;
    write(clip(token), letters, { transform: turned, fill: inks.key });
  });
  const y = top + (shown.row - first) * step;
  const frame = { fill: "none", stroke: inks.query, "stroke-width": 2 };
  if (shown.row >= first && shown.row - first < visible.length)
    made.append(svg("rect", { x: left, y, width: across, height: step, ...frame }));
  return made;
}
