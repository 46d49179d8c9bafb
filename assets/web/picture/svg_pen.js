// What a canvas is drawn on with, for the drawings that are shapes, lines and texts: it makes an SVG of them.

import { svg } from "../base/dom.js";
import { asXml } from "./map_svg.js";

const ANCHORS = { left: "start", center: "middle", right: "end" };
const TURN = 180 / Math.PI; // degrees

/** @param {...number} numbers */
const written = (...numbers) => numbers.map((one) => Math.round(100 * one) / 100).join(" ");

/** The part of CanvasRenderingContext2D that is used; its arcs are whole circles. */
export class SvgPen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = /** @type {keyof typeof ANCHORS} */ ("left");
  textBaseline = "alphabetic";
  transform = "";
  element = svg("g", {});
  #path = "";
  #kept = /** @type {object[]} */ ([]);
  #ruler;

  /** @param {CanvasRenderingContext2D} ruler measures texts */
  constructor(ruler) {
    this.#ruler = ruler;
  }

  save() {
    const { element, ...style } = this;
    this.#kept.push(style);
  }

  restore() {
    Object.assign(this, this.#kept.pop());
  }

  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.transform += `translate(${written(x, y)})`;
  }

  /** @param {number} angle */
  rotate(angle) {
    this.transform += `rotate(${written(angle * TURN)})`;
  }

  beginPath() {
    this.#path = "";
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.#path += `M${written(x, y)}`;
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.#path += `L${written(x, y)}`;
  }

  /** @param {number[]} numbers */
  bezierCurveTo(...numbers) {
    this.#path += `C${written(...numbers)}`;
  }

  /** @param {number} x @param {number} y @param {number} radius */
  arc(x, y, radius) {
    const half = (/** @type {number} */ to) => `a${written(radius, radius)} 0 0 1 ${written(to, 0)}`;
    this.#path += `M${written(x - radius, y)}${half(2 * radius)}${half(-2 * radius)}`;
  }

  stroke() {
    this.#put("path", { d: this.#path, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
  }

  fill() {
    this.#put("path", { d: this.#path, fill: this.fillStyle });
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.#put("rect", { x, y, width, height, fill: this.fillStyle });
  }

  /** One without a width or a height is a line. @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.#path = `M${written(x, y)}h${written(width)}v${written(height)}h${written(-width)}z`;
    this.stroke();
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    const [, bold, size, family] = this.font.match(/^(bold )?([\d.]+)px (.*)$/) ?? [];
    const font = { "font-family": family, "font-size": size, "font-weight": bold ? "bold" : null };
    const place = { "text-anchor": ANCHORS[this.textAlign], x, y };
    const middle = this.textBaseline === "middle" ? "central" : null;
    this.#put("text", { ...font, ...place, "dominant-baseline": middle, fill: this.fillStyle }, asXml(text));
  }

  /** @param {string} text */
  measureText(text) {
    this.#ruler.font = this.font;
    return this.#ruler.measureText(text);
  }

  /** @param {string} tag @param {Record<string, unknown>} props @param {...string} texts */
  #put(tag, props, ...texts) {
    const own = { opacity: this.globalAlpha < 1 ? this.globalAlpha : null, transform: this.transform || null };
    this.element.append(svg(tag, { ...props, ...own }, ...texts));
  }
}
