// Keyboard access to Plotly charts: arrow keys move the readout from point to point, and Enter clicks the point.

import { isShortcut } from "../base/grid_keys.js";

/** @typedef {{count: number, hoverOf: (point: number) => object, place: (point: number) => [number, number]}} Line */

const CHART = ".stPlotlyChart";
const KEYS = "Left and right move along a curve, up and down change the curve, Enter selects.";

/** Chart -> the line and point with the keyboard focus. @type {WeakMap<Element, [number, number]>} */
const places = new WeakMap();

/** The parts of a chart that have a readout: curves, and the rows of a heatmap. @param {any} plot @returns {Line[]} */
function linesOf({ _fullData: traces, calcdata }) {
  return traces.flatMap((/** @type {any} */ trace, /** @type {number} */ curveNumber) => {
    if (trace.visible !== true || trace.hoverinfo === "skip") return [];
    if (trace.z) {
      const [{ x, y }] = calcdata[curveNumber]; // edges of the cells
      const middle = (/** @type {number[]} */ ends, /** @type {number} */ index) => (ends[index] + ends[index + 1]) / 2;
      return Array.from({ length: y.length - 1 }, (_, row) => {
        const place = (/** @type {number} */ column) =>
          /** @type {[number, number]} */ ([middle(x, column), middle(y, row)]);
        return { count: x.length - 1, place, hoverOf: (/** @type {number} */ column) => toPoint(place(column)) };
      });
    }
    const points = calcdata[curveNumber].flatMap((/** @type {any} */ point, /** @type {number} */ index) =>
      Number.isFinite(point.y) ? [index] : [],
    );
    if (!points.length) return [];
    const pointOf = (/** @type {number} */ index) => calcdata[curveNumber][points[index]];
    return {
      count: points.length,
      place: (/** @type {number} */ index) => [pointOf(index).x, pointOf(index).y],
      hoverOf: (/** @type {number} */ index) => ({ curveNumber, pointNumber: points[index] }),
    };
  });
}

/** @param {[number, number]} place */
const toPoint = ([xval, yval]) => ({ xval, yval });

/** The point that a key moves to, along a line or to another line; null for other keys.
 * @param {string} key @param {[number, number]} from @param {Line[]} lines @returns {[number, number] | null}
 */
export function ledTo(key, [line, point], lines) {
  const last = lines[line].count - 1;
  if (key === "ArrowLeft" || key === "ArrowRight")
    return [line, Math.max(0, Math.min(last, point + (key === "ArrowLeft" ? -1 : 1)))];
  if (key === "Home" || key === "End") return [line, key === "Home" ? 0 : last];
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const next = Math.max(0, Math.min(lines.length - 1, line + (key === "ArrowUp" ? -1 : 1)));
  return [next, Math.min(point, lines[next].count - 1)];
}

/** Simulate a mouse click at a point. @param {any} plot @param {[number, number]} place in axis coordinates */
function press(plot, [x, y]) {
  const { xaxis, yaxis } = plot._fullLayout;
  const { left, top } = plot.getBoundingClientRect();
  const position = { clientX: left + xaxis._offset + xaxis.c2p(x), clientY: top + yaxis._offset + yaxis.c2p(y) };
  const [overlay] = plot.getElementsByClassName("nsewdrag");
  for (const kind of ["mousemove", "mousedown", "mouseup"])
    overlay.dispatchEvent(new MouseEvent(kind, { bubbles: true, view: window, button: 0, ...position }));
}

/** @param {KeyboardEvent} event */
function key(event) {
  const chart = /** @type {Element} */ (event.target);
  const plot = chart.matches?.(CHART) ? /** @type {any} */ (chart.querySelector(".js-plotly-plot")) : null;
  if (!plot?.calcdata || isShortcut(event)) return;
  const lines = linesOf(plot);
  if (!lines.length) return;
  const from = places.get(chart);
  const line = Math.min(from?.[0] ?? 0, lines.length - 1); // a redrawn chart may have fewer and shorter lines
  const start = /** @type {[number, number]} */ ([line, Math.min(from?.[1] ?? 0, lines[line].count - 1)]);
  if (event.key === "Enter" && from) press(plot, lines[line].place(start[1]));
  const led = ledTo(event.key, start, lines);
  const next = led && !from ? start : led; // the first key selects the first point
  if (!next && event.key !== "Enter") return;
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  const layer = plot.querySelector(".hoverlayer"); // Plotly fills it now or soon
  if (!from) new MutationObserver(() => say(chart)).observe(layer, { childList: true, subtree: true });
  places.set(chart, next);
  /** @type {any} */ (window).Plotly.Fx.hover(plot, [lines[next[0]].hoverOf(next[1])]);
}

/** Set the readout as the chart's `aria-valuetext`, as for a slider. @param {Element} chart */
function say(chart) {
  if (chart !== document.activeElement) return;
  const texts = [...chart.querySelectorAll(".hoverlayer .hovertext")].map(({ textContent }) => textContent.trim());
  if (!texts.length) return; // between two points
  const [line, point] = /** @type {[number, number]} */ (places.get(chart));
  chart.setAttribute("aria-valuenow", String(1e4 * line + point)); // differs for every point: an unchanged value is not announced
  chart.setAttribute("aria-valuetext", texts.join("; "));
}

/** Make all charts focusable. The role of a slider passes arrow keys through, which a screen reader would keep at an
 * image. */
function open() {
  for (const chart of document.querySelectorAll(`${CHART}:not([tabindex])`)) {
    const aria = { roledescription: "chart", description: KEYS, valuenow: "0", valuetext: "no point yet" };
    for (const [name, value] of Object.entries(aria)) chart.setAttribute(`aria-${name}`, value);
    chart.setAttribute("role", "slider");
    chart.setAttribute("tabindex", "0");
  }
}

/** Listen for new charts and for keys on them. */
export function listenToCharts() {
  new MutationObserver(open).observe(document.body, { childList: true, subtree: true });
  addEventListener("keydown", key, true);
  addEventListener("focusout", ({ target }) => {
    const plot = target instanceof Element && target.matches(CHART) && target.querySelector(".js-plotly-plot");
    if (plot) /** @type {any} */ (window).Plotly.Fx.unhover(plot);
  });
}
