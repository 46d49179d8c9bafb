// @ts-check
// The numbers that the page holds: the matrices of its sheets, and the curves and bars of its charts.

import { picturesOfPage } from "./picture_file.js";
import { views } from "../base/view_base.js";

/** @typedef {import("./numbers_file.js").Numbers} Numbers */

/** @param {any} blocks @param {string} heading @returns {Numbers[]} */
function ofBlocks(blocks, heading = "") {
  return (blocks ?? []).flatMap((/** @type {any} */ block) => {
    const inside = block.heading || heading;
    if (block.blocks) return ofBlocks(block.blocks, inside);
    if (block.exact === undefined) return [];
    const bytes = Uint8Array.from(atob(block.exact), (one) => one.charCodeAt(0));
    const name = [heading, block.name].filter(Boolean).join(", ");
    return [{ name, rows: block.rows, cols: block.cols, values: new Float32Array(bytes.buffer) }];
  });
}

/** A series of a chart, however Plotly keeps it: a list, or bytes with their type. @param {any} values @returns {any[]} */
function listOf(values) {
  if (values?.bdata === undefined) return Array.from(values ?? []);
  return Array.from(values._inputArray ?? []);
}

/** @param {any} chart Plotly's element @param {string} name @returns {Numbers[]} */
function ofChart(chart, name) {
  return (chart.data ?? []).flatMap((/** @type {any} */ trace, /** @type {number} */ at) => {
    const [x, y] = [listOf(trace.x), listOf(trace.y)];
    const own = [name, trace.name ?? `series ${at}`].join(", ");
    if (trace.z) {
      const z = listOf(trace.z).map(listOf);
      const cols = (x.length ? x : (z[0] ?? []).map((_, j) => j)).map(String);
      const rows = (y.length ? y : z.map((_, i) => i)).map(String);
      return [{ name: own, rows, cols, values: Float32Array.from(z.flat(), Number) }];
    }
    const across = trace.orientation === "h";
    const values = Float32Array.from(across ? x : y, (value) => (value === null ? Number.NaN : Number(value)));
    const labels = (across ? y : x).map(String);
    if (values.length && labels.length === values.length)
      return [{ name: own, rows: labels, cols: [across ? "x" : "y"], values }];
    return [];
  });
}

/** @param {import("../base/view_base.js").View} view */
const placeOf = ({ root }) => (root instanceof ShadowRoot ? root.host : root);

/** @param {import("../base/view_base.js").View} one @param {import("../base/view_base.js").View} other */
const isBefore = (one, other) =>
  (placeOf(one).compareDocumentPosition(placeOf(other)) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;

/** Everything that the page holds as numbers, in the order of the page. @returns {Numbers[]} */
export function numbersOfPage() {
  const sheets = [...views].filter((view) => view.element.isConnected && view.state?.blocks);
  const inOrder = sheets.sort((a, b) => (isBefore(a, b) ? -1 : 1));
  const charts = picturesOfPage().flatMap(({ element, name }) =>
    [...element.querySelectorAll(".js-plotly-plot")].flatMap((chart) => ofChart(chart, name)),
  );
  return [...inOrder.flatMap((view) => ofBlocks(view.state.blocks)), ...charts];
}
