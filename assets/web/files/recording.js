// @ts-check
// What the views draw on their canvases, written down as shapes: for pictures that are larger or sharper than a screen.

const SVG = "http://www.w3.org/2000/svg";
const MOST_CELLS = 2 ** 20; // of all maps of a picture; more make a file that nothing opens
const SHIFT = /** @type {Record<string, number>} */ ({ middle: 0.35, top: 0.8, alphabetic: 0 }); // of the letters' size
const ANCHORS = /** @type {Record<string, string>} */ ({
  center: "middle",
  right: "end",
  left: "start",
  start: "start",
});
export const TOO_LARGE = "This picture is too large to draw as a file; the numbers can be had as CSV or NPZ.";

/** svg("rect", {x: 1}, child) -> element @param {string} tag @param {Record<string, unknown>} props @param {...(Node | string)} children */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props))
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

const NOT_XML = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu; // but for the white space among it, what XML cannot hold

/** A text that may stand in XML. @param {string} text */
export const asXml = (text) => text.replace(NOT_XML, (one) => (/\s/.test(one) ? " " : "\uFFFD"));

/** To a hundredth of a pixel. @param {number} value */
export const round = (value) => Math.round(value * 100) / 100;

/** The shapes of one canvas, while it is drawn. */
class Shapes {
  /** @param {Recorder} recorder @param {CanvasRenderingContext2D} context */
  constructor(recorder, context) {
    this.recorder = recorder;
    this.context = context;
    this.element = svg("g");
    this.path = "";
  }

  /** Where the context stands, in pixels of the page. */
  get transform() {
    const { a, b, c, d, e, f } = this.context.getTransform();
    const own = [a, b, c, d, e, f].map((value) => value / (window.devicePixelRatio || 1));
    return own.join() === "1,0,0,1,0,0" ? null : `matrix(${own.join(" ")})`;
  }

  /** @param {string} tag @param {Record<string, unknown>} props @param {...(Node | string)} children */
  add(tag, props, ...children) {
    const { globalAlpha } = this.context;
    const opacity = globalAlpha === 1 ? null : globalAlpha;
    this.element.append(svg(tag, { ...props, transform: this.transform, opacity }, ...children));
  }

  get line() {
    const { strokeStyle, lineWidth } = this.context;
    const dashes = this.context.getLineDash().join(" ");
    return { fill: "none", stroke: strokeStyle, "stroke-width": lineWidth, "stroke-dasharray": dashes || null };
  }

  fillRect(x, y, width, height) {
    this.add("rect", { x, y, width, height, fill: this.context.fillStyle });
  }

  strokeRect(x, y, width, height) {
    this.add("rect", { x, y, width, height, ...this.line });
  }

  /** @param {string} text */
  fillText(text, x, y) {
    const { font, textAlign, textBaseline, fillStyle } = this.context;
    const size = parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? "12");
    this.add(
      "text",
      {
        x,
        y: round(y + (SHIFT[textBaseline] ?? 0) * size),
        "font-size": size,
        "font-weight": /\bbold\b/.test(font) ? "bold" : null,
        "font-family": font.replace(/^.*?px\s*/, ""),
        "text-anchor": ANCHORS[textAlign],
        fill: fillStyle,
      },
      asXml(text),
    );
  }

  /** A map of one pixel a cell: cells of one colour are one shape. @param {HTMLCanvasElement} source @param {...number} box */
  drawImage(source, ...box) {
    const [sx, sy, sw, sh] = box.length > 4 ? box : [0, 0, source.width, source.height];
    const [x, y, width, height] = box.slice(-4);
    this.recorder.count(sw * sh);
    const pixels = this.recorder.pixels(source, [sx, sy, sw, sh]);
    /** @type {Map<number, string>} */
    const paths = new Map();
    for (let i = 0; i < sh; i++)
      for (let j = 0, to = 0; j < sw; j = to) {
        const colour = pixels[i * sw + j];
        for (to = j + 1; to < sw && pixels[i * sw + to] === colour; ) to++;
        if (colour >>> 24) paths.set(colour, `${paths.get(colour) ?? ""}M${j} ${i}h${to - j}v1h${j - to}z`);
      }
    const shapes = [...paths].map(([colour, d]) =>
      svg("path", { fill: `rgb(${colour & 255},${(colour >> 8) & 255},${(colour >> 16) & 255})`, d }),
    );
    const place = `translate(${x} ${y}) scale(${width / sw} ${height / sh})`;
    this.add("g", {}, svg("g", { class: "map", transform: place, "shape-rendering": "crispEdges" }, ...shapes));
  }

  clearRect(x, y, width, height) {
    const { canvas } = this.context;
    const [wide, high] = [parseFloat(canvas.style.width), parseFloat(canvas.style.height)];
    if (x <= 0 && y <= 0 && width >= wide && height >= high) this.element.replaceChildren();
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${round(x)} ${round(y)}`;
  }

  rect(x, y, width, height) {
    this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}z`;
  }

  /** @param {...number} points */
  bezierCurveTo(...points) {
    this.path += `C${points.map(round).join(" ")}`;
  }

  stroke() {
    this.add("path", { d: this.path, ...this.line });
  }
}

/** Writes down what is drawn between its making and its use; the canvases are drawn as ever. */
export class Recorder {
  constructor() {
    /** @type {Map<HTMLCanvasElement, Shapes>} */
    this.canvases = new Map();
    this.cells = 0;
    const scratch = document.createElement("canvas"); // one to read from: those of the views are drawn with
    this.scratch = /** @type {CanvasRenderingContext2D} */ (scratch.getContext("2d", { willReadFrequently: true }));
  }

  /** The pixels of a part of a canvas, row by row. @param {HTMLCanvasElement} source @param {number[]} part */
  pixels(source, [x, y, width, height]) {
    Object.assign(this.scratch.canvas, { width, height });
    this.scratch.drawImage(source, x, y, width, height, 0, 0, width, height);
    return new Uint32Array(this.scratch.getImageData(0, 0, width, height).data.buffer);
  }

  /** More cells of maps. @param {number} more */
  count(more) {
    this.cells += more;
    if (this.cells > MOST_CELLS) throw new RangeError(TOO_LARGE);
  }

  /** The context of a canvas that also writes down. @param {CanvasRenderingContext2D} context @param {boolean} anew what it drew before is gone */
  context(context, anew) {
    const { canvas } = context;
    const shapes = (!anew && this.canvases.get(canvas)) || new Shapes(this, context);
    this.canvases.set(canvas, shapes);
    return new Proxy(context, {
      get: (own, name) => {
        const value = Reflect.get(own, name, own);
        if (typeof value !== "function") return value;
        return (/** @type {unknown[]} */ ...args) => {
          if (name in shapes) /** @type {any} */ (shapes)[name](...args);
          return value.apply(own, args);
        };
      },
      set: (own, name, value) => Reflect.set(own, name, value, own),
    });
  }
}
