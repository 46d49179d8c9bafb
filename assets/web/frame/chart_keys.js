// Charts that Plotly draws, by the keyboard: arrows read out what the pointer would, and Enter is a press on that point.

import { isShortcut } from "../base/grid_keys.js";

/** @typedef {{count: number, hoverOf: (point: number) => object, place: (point: number) => [number, number]}} Line */

const CHART = ".stPlotlyChart";
const KEYS = "Left and right move along a curve, up and down change the curve, Enter selects.";

/** Chart -> its line and point with the keyboard focus. @type {WeakMap<Element, [number, number]>} */
const places = new WeakMap();

/** The parts of a chart that have a readout: curves, and the rows of a plane. @param {any} plot @returns {Line[]} */
function linesOf({ _fullData: traces, calcdata }) {
  return traces.flatMap((/** @type {any} */ trace, /** @type {number} */ curveNumber) => {
    if (trace.visible !== true || trace.hoverinfo === "skip") return [];
    if (trace.z) {
      const [{ x, y }] = calcdata[curveNumber]; // borders of the cells
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

/** The point that a key leads to: along a line, or to the same point of another one; null for other keys.
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

/** A press of the mouse at a point. @param {any} plot @param {[number, number]} place on its axes */
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
  const line = Math.min(from?.[0] ?? 0, lines.length - 1); // what was drawn anew may have fewer, and shorter ones
  const start = /** @type {[number, number]} */ ([line, Math.min(from?.[1] ?? 0, lines[line].count - 1)]);
  if (event.key === "Enter" && from) press(plot, lines[line].place(start[1]));
  const led = ledTo(event.key, start, lines);
  const next = led && !from ? start : led; // the first key comes to the first point
  if (!next && event.key !== "Enter") return;
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  const layer = plot.querySelector(".hoverlayer"); // where Plotly writes it, now or in a moment
  if (!from) new MutationObserver(() => say(chart)).observe(layer, { childList: true, subtree: true });
  places.set(chart, next);
  /** @type {any} */ (window).Plotly.Fx.hover(plot, [lines[next[0]].hoverOf(next[1])]);
}

/** Set the readout as the value of the chart, as a screen reader knows it of a slider. @param {Element} chart */
function say(chart) {
  if (chart !== document.activeElement) return;
  const texts = [...chart.querySelectorAll(".hoverlayer .hovertext")].map(({ textContent }) => textContent.trim());
  if (!texts.length) return; // between one point and the next
  const [line, point] = /** @type {[number, number]} */ (places.get(chart));
  chart.setAttribute("aria-valuenow", String(1e4 * line + point)); // another number for every point: what is equal is not told
  chart.setAttribute("aria-valuetext", texts.join("; "));
}

/** Make all charts focusable. As a slider it gets the arrows, which a screen reader would keep at a figure. */
function open() {
  for (const chart of document.querySelectorAll(`${CHART}:not([tabindex])`)) {
    const aria = { roledescription: "chart", description: KEYS, valuenow: "0", valuetext: "no point yet" };
    for (const [name, value] of Object.entries(aria)) chart.setAttribute(`aria-${name}`, value);
    chart.setAttribute("role", "slider");
    chart.setAttribute("tabindex", "0");
  }
}

/** Listen for charts and to keys at them. */
export function listenToCharts() {
  new MutationObserver(open).observe(document.body, { childList: true, subtree: true });
  addEventListener("keydown", key, true);
  addEventListener("focusout", ({ target }) => {
    const plot = target instanceof Element && target.matches(CHART) && target.querySelector(".js-plotly-plot");
    if (plot) /** @type {any} */ (window).Plotly.Fx.unhover(plot);
  });
}
