// @ts-check
// A part of the page as an SVG picture: its boxes, lines of text, drawings and charts, each where it stands.

import { asXml, round, svg } from "./recording.js";

/** @typedef {{canvases: Map<HTMLCanvasElement, {element: Element}>}} Recorded */

const LEFT_OUT =
  ".actions, .menu, .menu-panel, .choices-panel, .bubble, .cell, .aloud, .push, a.from, .modebar, button";
const KEPT = "button.chip"; // tokens
const CLEAR = /^(transparent|rgba\(0, 0, 0, 0\))$/;
// what a drawing inside the page owes to style sheets
const OF_SHAPES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "display",
];
const OF_TEXT = { center: "middle", right: "end", end: "end" };

/** The children that are drawn: those in the shadow of an element stand in it. @param {Element} element */
const childrenOf = (element) => (element.shadowRoot ?? element).childNodes;

/** @param {Element} element @param {DOMRect} origin */
function boxOf(element, origin) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: round(left - origin.left), y: round(top - origin.top), width: round(width), height: round(height) };
}

/** Colours of a CSS gradient that goes to the right, as one of the drawing's own. @param {string} image @param {string} id */
function gradient(image, id) {
  const stops = [...image.matchAll(/(rgba?\([^)]*\)|#\w+)(?:\s+([\d.]+)%)?/g)];
  const at = (/** @type {number} */ place) => stops[place][2] ?? (100 * place) / Math.max(1, stops.length - 1);
  const made = stops.map(([, colour], place) => svg("stop", { offset: `${at(place)}%`, "stop-color": colour }));
  return svg("linearGradient", { id }, ...made);
}

class PageSvg {
  /** @param {DOMRect} origin @param {Recorded} recorded */
  constructor(origin, recorded) {
    this.origin = origin;
    this.recorded = recorded;
    this.gradients = 0;
  }

  /** @param {Element} element @param {Element} into */
  element(element, into) {
    const style = getComputedStyle(element);
    if (style.display === "none" || (element.matches(LEFT_OUT) && !element.matches(KEPT))) return;
    const box = boxOf(element, this.origin);
    if (style.visibility !== "hidden" && box.width && box.height && !(element instanceof SVGElement))
      this.box(style, box, into);
    if (element instanceof HTMLCanvasElement) return this.canvas(element, box, into);
    if (element instanceof SVGSVGElement) return this.drawing(element, box, into);
    if (element instanceof HTMLImageElement)
      return void into.append(svg("image", { ...box, href: element.currentSrc }));
    if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement)
      return this.field(element, style, box, into);
    const clips = /auto|scroll|hidden|clip/.test(style.overflow) && box.width > 1 && box.height > 1;
    const room = clips ? svg("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` }) : into;
    if (clips) into.append(room);
    const inner = Number(style.opacity) < 1 ? svg("g", { opacity: style.opacity }) : room;
    if (inner !== room) room.append(inner);
    this.behind(element, inner);
    for (const child of childrenOf(element)) {
      if (child instanceof Element) this.element(child, inner);
      else if (child instanceof Text && style.visibility !== "hidden") this.text(child, style, inner);
    }
  }

  /** What lies behind an element, and round it. @param {CSSStyleDeclaration} style @param {ReturnType<typeof boxOf>} box @param {Element} into */
  box(style, box, into) {
    const rx = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2) || null;
    let fill = CLEAR.test(style.backgroundColor) ? "none" : style.backgroundColor;
    if (style.backgroundImage.startsWith("linear-gradient")) {
      const id = `gradient${this.gradients++}`;
      into.append(gradient(style.backgroundImage, id));
      fill = `url(#${id})`;
    }
    const sides = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);
    const widths = sides.map((side) =>
      style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    );
    const even = widths.every((width) => width === widths[0]);
    const stroke = even && widths[0] && !CLEAR.test(style.borderTopColor) ? style.borderTopColor : null;
    if (fill !== "none" || stroke) {
      const half = stroke ? widths[0] / 2 : 0;
      const { x, y, width, height } = box;
      const inset = {
        x: x + half,
        y: y + half,
        width: Math.max(0, width - 2 * half),
        height: Math.max(0, height - 2 * half),
      };
      into.append(svg("rect", { ...inset, rx, fill, stroke, "stroke-width": stroke && widths[0] }));
    }
    if (!even) this.sides(style, box, widths, into);
  }

  /** @param {CSSStyleDeclaration} style @param {ReturnType<typeof boxOf>} box @param {number[]} widths @param {Element} into */
  sides(style, { x, y, width, height }, [top, right, bottom, left], into) {
    const lines = [
      { x, y, width, height: top, fill: style.borderTopColor },
      { x: x + width - right, y, width: right, height, fill: style.borderRightColor },
      { x, y: y + height - bottom, width, height: bottom, fill: style.borderBottomColor },
      { x, y, width: left, height, fill: style.borderLeftColor },
    ];
    for (const line of lines) if (line.width && line.height && !CLEAR.test(line.fill)) into.append(svg("rect", line));
  }

  /** @param {HTMLCanvasElement} canvas @param {ReturnType<typeof boxOf>} box @param {Element} into */
  canvas(canvas, box, into) {
    const shapes = this.recorded.canvases.get(canvas);
    if (!box.width || !box.height) return;
    const place = { transform: `translate(${box.x} ${box.y})` };
    if (shapes) into.append(svg("g", place, shapes.element.cloneNode(true)));
    else if (canvas.width && canvas.height) into.append(svg("image", { ...box, href: canvas.toDataURL() }));
  }

  /** A drawing that the page has as one, with what its style sheets say of it. @param {SVGSVGElement} element @param {ReturnType<typeof boxOf>} box @param {Element} into */
  drawing(element, box, into) {
    const copy = /** @type {SVGSVGElement} */ (element.cloneNode(true));
    const [from, to] = [element, copy].map((root) => [...root.querySelectorAll("*")]);
    from.forEach((own, at) => {
      const style = getComputedStyle(own);
      for (const name of OF_SHAPES) to[at].setAttribute(name, style.getPropertyValue(name));
      to[at].removeAttribute("style");
    });
    for (const name of ["style", "class"]) copy.removeAttribute(name);
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
    if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    into.append(copy);
  }

  /** @param {HTMLInputElement | HTMLSelectElement} element @param {CSSStyleDeclaration} style @param {ReturnType<typeof boxOf>} box @param {Element} into */
  field(element, style, { x, y, width, height }, into) {
    const text = element instanceof HTMLSelectElement ? (element.selectedOptions[0]?.text ?? "") : element.value;
    if (/^(checkbox|radio|range)$/.test(element.type)) return;
    const anchor = /** @type {Record<string, string>} */ (OF_TEXT)[style.textAlign] ?? "start";
    const share = { start: 0, middle: 0.5, end: 1 }[anchor] ?? 0;
    const [left, right] = [parseFloat(style.paddingLeft), parseFloat(style.paddingRight)];
    const at = x + left + share * (width - left - right);
    this.write(
      text,
      { x: round(at), y: round(y + height / 2 + 0.35 * parseFloat(style.fontSize)), "text-anchor": anchor },
      style,
      into,
    );
  }

  /** The lines that a text is broken into, each where it stands. @param {Text} node @param {CSSStyleDeclaration} style @param {Element} into */
  text(node, style, into) {
    const text = node.data;
    if (!text.trim()) return;
    const range = document.createRange();
    let [start, top] = [0, Number.NaN];
    const end = (/** @type {number} */ to) => {
      const line = text.slice(start, to);
      const from = start + line.length - line.trimStart().length;
      start = to;
      if (!line.trim()) return;
      range.setStart(node, from);
      range.setEnd(node, from + line.trim().length);
      const box = [...range.getClientRects()].find(({ width }) => width);
      if (!box) return;
      const y = box.top - this.origin.top + box.height / 2 + 0.35 * parseFloat(style.fontSize);
      const place = { x: round(box.left - this.origin.left), y: round(y), textLength: round(box.width) };
      this.write(line.trim().replace(/\s+/g, " "), place, style, into);
    };
    for (const { index, segment } of new Intl.Segmenter("en", { granularity: "word" }).segment(text)) {
      range.setStart(node, index);
      range.setEnd(node, index + segment.length);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      if (Math.abs(box.top - top) > box.height / 2) {
        if (index > start) end(index);
        top = box.top;
      }
      if (Number.isNaN(top)) top = box.top;
    }
    end(text.length);
  }

  /** The words that a style sheet writes behind an element's own. @param {Element} element @param {Element} into */
  behind(element, into) {
    const style = getComputedStyle(element, "::after");
    const words = /^"([^"]*[\p{L}\p{N}][^"]*)"/u.exec(style.content)?.[1];
    if (!words || style.display !== "inline") return;
    const { right, bottom, height } = element.getBoundingClientRect();
    const y = bottom - height / 2 - this.origin.top + 0.35 * parseFloat(style.fontSize);
    this.write(words.trim(), { x: round(right - this.origin.left), y: round(y), "text-anchor": "end" }, style, into);
  }

  /** @param {string} text @param {Record<string, unknown>} place @param {CSSStyleDeclaration} style @param {Element} into */
  write(text, place, style, into) {
    const font = { "font-family": style.fontFamily, "font-size": parseFloat(style.fontSize) };
    const weight = style.fontWeight === "400" ? null : style.fontWeight;
    const italic = style.fontStyle === "normal" ? null : style.fontStyle;
    into.append(
      svg("text", { ...place, ...font, "font-weight": weight, "font-style": italic, fill: style.color }, asXml(text)),
    );
  }
}

/** A part of the page as a drawing of its size. @param {Element} element @param {Recorded} recorded */
export function pageSvg(element, recorded) {
  const origin = element.getBoundingClientRect();
  const [width, height] = [Math.ceil(origin.width), Math.ceil(origin.height)];
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  new PageSvg(origin, recorded).element(element, made);
  return made;
}
