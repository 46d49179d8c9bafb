// Vectors of two numbers as points: the values with their hull, and each output among them, pulled by its weights.

import { div, fill, h, setAttribute, setText, svg } from "../base/dom.js";

const [WIDTH, HEIGHT, MARGIN, NAMES] = [460, 320, 40, 84]; // NAMES: of the outputs, in a column of their own
const APART = 17; // of two names in that column

/** @typedef {[number, number, string]} Point */

/** From numbers to pixels, by one unit in both directions, with what is drawn in the middle. @param {Point[]} points */
function placing(points) {
  const [low, high] = [Math.min, Math.max].map((end) =>
    [0, 1].map((axis) => end(...points.map((one) => Number(one[axis])))),
  );
  const room = [WIDTH - NAMES - 2 * MARGIN, HEIGHT - 2 * MARGIN];
  const unit = Math.min(...room.map((pixels, axis) => pixels / (high[axis] - low[axis] || 1)));
  const free = room.map((pixels, axis) => MARGIN + (pixels - (high[axis] - low[axis]) * unit) / 2);
  return (/** @type {Point} */ [x, y]) => [free[0] + (x - low[0]) * unit, HEIGHT - free[1] - (y - low[1]) * unit];
}

/** Where the names of points stand, one below the other without touching. @param {number[]} heights */
function spread(heights) {
  const order = heights.map((y, at) => ({ y, at })).sort((one, other) => one.y - other.y);
  const places = /** @type {number[]} */ ([]);
  let last = -Infinity;
  for (const { y, at } of order) {
    last = Math.max(y, last + APART);
    places[at] = last;
  }
  const over = Math.max(0, last - (HEIGHT - 8));
  return places.map((y) => y - over);
}

const diamond = (/** @type {number[]} */ [x, y]) => `${x},${y - 6} ${x + 6},${y} ${x},${y + 6} ${x - 6},${y}`;
const short = (/** @type {string} */ text) => (text.length > 11 ? `${text.slice(0, 10)}…` : text);

function picture({ values, outputs, edge, shares }) {
  const place = placing([...values, ...outputs]);
  const [from, to] = [values.map(place), outputs.map(place)];
  const middle = from.reduce((sum, [x]) => sum + x, 0) / from.length;
  const names = spread(to.map(([, y]) => y));
  const pulls = to.flatMap(([x1, y1], i) =>
    from.map(([x2, y2], j) => {
      const ink = { "stroke-opacity": shares[i][j], "stroke-width": 1 + 3 * shares[i][j] };
      return svg("line", { x1, y1, x2, y2, class: "pull", ...ink });
    }),
  );
  return [
    svg("polygon", { points: edge.map((at) => from[at].join(",")).join(" "), class: "area" }),
    ...pulls,
    ...from.map(([cx, cy]) => svg("circle", { cx, cy, r: 6, class: "j" })),
    ...from.map(([x, y], at) => {
      const [side, anchor] = x > middle + 1 ? [10, "start"] : [-10, "end"]; // a name stands outside of the hull
      return svg("text", { x: x + side, y: y - 8, "text-anchor": anchor, class: "j" }, short(values[at][2]));
    }),
    ...to.map(([x, y], at) =>
      svg("line", { x1: x + 6, y1: y, x2: WIDTH - NAMES - 4, y2: names[at] - 4, class: "leader" }),
    ),
    ...to.map((at) => svg("polygon", { points: diamond(at), class: "i" })),
    ...to.map((_, at) => svg("text", { x: WIDTH - NAMES, y: names[at], class: "i" }, short(outputs[at][2]))),
  ];
}

const KEYS = [
  { tag: "circle", shape: { cx: 8, cy: 7, r: 6, class: "j" }, text: "value of a word" },
  { tag: "polygon", shape: { points: diamond([8, 7]), class: "i" }, text: "output of a word, pulled by its weights" },
];

function makeKey(/** @type {number} */ at) {
  const { tag, shape, text } = KEYS[at];
  const drawn = svg("svg", { width: 16, height: 14, "aria-hidden": "true" }, svg(tag, shape));
  return h("span", {}, drawn, h("span", {}, text));
}

export const hull = {
  make: () => {
    const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
    const room = h("div", { class: "scroll", tabindex: "0", role: "img" }, drawing);
    return h("figure", { class: "hull" }, div("legend"), room, h("figcaption", { class: "label" }));
  },
  /** @param {HTMLElement} element @param {import("../base/messages.js").Block} block */
  update(element, block) {
    const [legend, room, caption] = element.children;
    fill(legend, KEYS, makeKey, () => {});
    setAttribute(room, "aria-label", block.said);
    room.children[0].replaceChildren(...picture(/** @type {any} */ (block)));
    setText(caption, block.note);
  },
};
