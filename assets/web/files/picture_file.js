// @ts-check
// Picture files of what the page shows: SVG, PNG at twice its size, and PNG for a slide, with a caption and the link.

import { drawing } from "../base/dom.js";
import { pageSvg } from "./page_svg.js";
import { Recorder, TOO_LARGE, asXml, svg } from "./recording.js";
import { views } from "../base/view_base.js";

/** @typedef {import("../base/view_base.js").Theme} Theme */
/** @typedef {{element: Element, name: string}} Picture a part of the page that can be taken along */
/** @typedef {{lines: string[], link: string}} Caption */

const CHART = '[data-testid="stPlotlyChart"]';
const FRAMED = ".panel, .all-heads";
const NO_PICTURE = ".menu-panel, .choices-panel, .change, .choices";
const ALL = "All of these together";
const MOST_PIXELS = 8192; // of a side of a PNG
const MARGIN = 16;
const LINE = 18; // pixels of a line of the caption
const FONT = '"Source Sans", "Source Sans 3", sans-serif';
const SLIDE = /** @type {const} */ ([1920, 1080]);
const COLOURS = {
  dark: { page: "#0E1320", ink: "#E8ECF6", muted: "#93A0BD" },
  light: { page: "#FBFAF6", ink: "#1B2233", muted: "#5A6375" },
};

/** The parts of the page that stand in a frame, and its charts, in order. @returns {Picture[]} */
export function picturesOfPage() {
  const stage = document.querySelector(".st-key-stage");
  /** @type {Element[]} */
  const found = [];
  const look = (/** @type {ParentNode} */ root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches(`${FRAMED}, ${CHART}`) && !element.matches(NO_PICTURE)) found.push(element);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  if (stage) look(stage);
  const seen = found.filter(
    (element) => element.checkVisibility({ visibilityProperty: true }) && element.clientHeight > 40,
  );
  const outer = seen.filter((element) => !seen.some((other) => other !== element && other.contains(element)));
  const large = outer.filter((element) => element.matches(".large"));
  const together = [...views].filter(({ element }) => outer.filter((one) => element.contains(one)).length > 1);
  const whole = together.map(({ element }) => ({ element, name: ALL }));
  const single = [...large, ...outer.filter((element) => !large.includes(element))].map((element) => ({
    element,
    name: nameOf(element),
  }));
  return [...single, ...whole];
}

/** @param {Element} element */
function nameOf(element) {
  const heading = element.querySelector("h2, h3");
  const name =
    element.getAttribute("aria-label") ??
    heading?.textContent ??
    element.querySelector("[aria-label]")?.getAttribute("aria-label");
  return (name ?? "").trim().slice(0, 80) || (element.matches(CHART) ? "Chart" : "Picture");
}

/** Has the views draw once more, in a theme, while it is written down; afterwards they stand as before.
 * @template Result @param {Theme | null} theme null = as shown @param {(recorder: Recorder) => Result} make
 */
function recorded(theme, make) {
  const recorder = new Recorder();
  const before = [...views].map((view) => ({ view, theme: view.theme }));
  const draw = () => {
    for (const { view } of before) if (view.ready && view.element.isConnected) view.paint();
  };
  try {
    drawing.recorder = recorder;
    for (const { view } of before) if (theme) view.theme = theme;
    draw();
    return make(recorder);
  } finally {
    drawing.recorder = null;
    for (const { view, theme: own } of before) view.theme = own;
    if (theme) draw();
  }
}

/** @param {string} text @param {number} size @param {number} width pixels that it may take */
function fitted(text, size, width) {
  const most = Math.max(12, Math.floor(width / (0.5 * size)));
  return asXml(text.length > most ? `${text.slice(0, most - 1)}…` : text);
}

/** @param {Caption} caption @param {Theme} theme @param {{x: number, y: number, width: number, size: number}} place */
function captionOf({ lines, link }, theme, { x, y, width, size }) {
  const { ink, muted } = COLOURS[theme];
  const style = { x, "font-family": FONT };
  return [...lines, link].map((line, at) =>
    svg(
      "text",
      { ...style, y: y + at * size * 1.3, "font-size": at ? size * 0.86 : size, fill: at ? muted : ink },
      fitted(line, size, width),
    ),
  );
}

/** A picture as a drawing with its caption. @param {Picture} picture @param {Theme} theme @param {boolean} asShown @param {Caption} caption */
export function svgOf({ element }, theme, asShown, caption) {
  const inner = recorded(asShown ? null : theme, (recorder) => pageSvg(element, recorder));
  const [wide, high] = ["width", "height"].map((name) => Number(inner.getAttribute(name)));
  const width = Math.max(wide, 420) + 2 * MARGIN;
  const height = high + 2 * MARGIN + LINE * 1.4 * (caption.lines.length + 1);
  inner.setAttribute("x", String(MARGIN));
  inner.setAttribute("y", String(MARGIN));
  const place = { x: MARGIN, y: high + 2 * MARGIN + LINE * 0.6, width: width - 2 * MARGIN, size: 14 };
  const ground = svg("rect", { width: "100%", height: "100%", fill: COLOURS[theme].page });
  const title = svg("title", {}, asXml(caption.lines[0] ?? ""));
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, title, ground, inner);
  made.append(...captionOf(caption, theme, place));
  return made;
}

/** The same on a slide of 16 : 9. @param {Picture} picture @param {Theme} theme @param {boolean} asShown @param {Caption} caption */
export function slideOf({ element }, theme, asShown, caption) {
  const inner = recorded(asShown ? null : theme, (recorder) => pageSvg(element, recorder));
  const [width, height] = SLIDE;
  for (const [name, value] of Object.entries({ x: 60, y: 40, width: width - 120, height: height - 190 }))
    inner.setAttribute(name, String(value));
  const made = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  made.append(svg("rect", { width, height, fill: COLOURS[theme].page }), inner);
  made.append(...captionOf(caption, theme, { x: 60, y: height - 105, width: width - 120, size: 30 }));
  return made;
}

/** @param {Element} made */
export const textOf = (made) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(made)}`;

/** The house's letters, for a drawing that is to be painted: a picture takes none from the page. */
async function letters() {
  const faces = [...document.styleSheets].flatMap((sheet) => {
    try {
      return [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule);
    } catch {
      return []; // of another place
    }
  });
  const own = faces.find((rule) => rule.cssText.includes("Source Sans"))?.cssText;
  const address = own && /url\("([^"]+)"\)/.exec(own)?.[1];
  if (!address) return null;
  const bytes = await (await fetch(new URL(address, location.href))).blob();
  const data = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(bytes);
  });
  return svg("style", {}, `@font-face { font-family: "Source Sans"; font-weight: 200 900; src: url("${data}"); }`);
}

/** A drawing as PNG. @param {Element} made @param {number} scale @returns {Promise<Blob>} */
export async function pngOf(made, scale) {
  const [width, height] = ["width", "height"].map((name) => Math.round(scale * Number(made.getAttribute(name))));
  if (Math.max(width, height) > MOST_PIXELS) throw new RangeError(TOO_LARGE);
  const style = await letters();
  if (style) made.prepend(style);
  const address = URL.createObjectURL(new Blob([textOf(made)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).drawImage(image, 0, 0, width, height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new RangeError(TOO_LARGE);
    return /** @type {Blob} */ (blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}
