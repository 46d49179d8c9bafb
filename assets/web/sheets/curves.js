// Curves over equally spaced places, as an SVG picture with the numbers as a table under it.

import { div, fill, h, setAttribute, setText, svg } from "../base/dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 220, 44, 26];
const DASHES = [null, "7 5", "2 4"]; // told apart without colour
const INKS = ["var(--accent)", "var(--query)", "var(--key)"];

const inkOf = (/** @type {number} */ at) => ({
  stroke: INKS[at % INKS.length],
  "stroke-width": 2.5,
  "stroke-dasharray": DASHES[at % DASHES.length],
});

function picture({ labels, series, most, top }) {
  const x = (at) => LEFT + 16 + (at * (WIDTH - LEFT - 48)) / Math.max(1, labels.length - 1);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(value, most) / most) * (HEIGHT - BOTTOM - 14);
  const axis = [0, most].flatMap((value) => [
    svg("line", { x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value), class: "gridline" }),
    svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value ? top : "0"),
  ]);
  const ticks = labels.map((label, at) => svg("text", { x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, label));
  const lines = series.flatMap(({ values }, index) => {
    const points = values.map((value, at) => [x(at), y(value)]);
    const ink = inkOf(index);
    return [
      svg("polyline", { points: points.map((point) => point.join(",")).join(" "), fill: "none", ...ink }),
      ...points.map(([cx, cy]) => svg("circle", { cx, cy, r: 3.5, fill: ink.stroke })),
    ];
  });
  return [...axis, ...ticks, ...lines];
}

export const curves = (table) => ({
  make: () => {
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
    const room = h("div", { class: "scroll", tabindex: "0", role: "group" }, drawing);
    return div("curves", h("h3"), div("legend"), room, table.make());
  },
  update: (element, block, sheet) => {
    const [name, legend, room, numbers] = /** @type {HTMLElement[]} */ ([...element.children]);
    setText(name, block.name);
    setAttribute(room, "aria-label", block.name);
    const make = () => h("span", {}, svg("svg", { width: 34, height: 10, "aria-hidden": "true" }), h("span"));
    fill(legend, block.series, make, (item, line, at) => {
      const [stroke, name] = item.children;
      stroke.replaceChildren(svg("line", { x1: 0, x2: 34, y1: 5, y2: 5, ...inkOf(at) }));
      setText(name, line.name);
    });
    room.children[0].replaceChildren(...picture(block));
    table.update(numbers, block.table, sheet);
  },
});
