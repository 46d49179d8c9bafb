// A figure of boxes and arrows, drawn from below to above. Each box is a link to another page at the step that it names.

import { h, setAttribute, setText, svg } from "../base/dom.js";
import { addressOf } from "../base/page_list.js";

/** @typedef {{text: string, link: [string, string][], columns: [number, number], row: number, from: number[],
 *   letter: string, input: boolean}} Box */

const [COLUMN, ROW, HIGH, GAP, MARGIN] = [98, 66, 44, 8, 4]; // pixels; a row is a box and the way to the next one
const HEAD = 5; // of an arrow

/** Left, top, width of a box. @param {Box} box @param {number} rows */
function place({ columns: [first, last], row }, rows) {
  const left = MARGIN + first * COLUMN + GAP / 2;
  return [left, MARGIN + (rows - 1 - row) * ROW, (last - first + 1) * COLUMN - GAP];
}

/** An arrow upwards from the middle of what is narrower, with a bend where a box lies between.
 * @param {Box} from @param {Box} to @param {number} rows
 */
function arrow(from, to, rows) {
  const [[x1, y1, w1], [x2, y2, w2]] = [place(from, rows), place(to, rows)];
  const x = w1 <= w2 ? x1 + w1 / 2 : x2 + w2 / 2;
  const end = y2 + HIGH + HEAD + 1;
  const points = `${x - HEAD},${end + 2} ${x + HEAD},${end + 2} ${x},${end - HEAD}`;
  return [svg("line", { x1: x, x2: x, y1, y2: end, class: "way" }), svg("polygon", { points, class: "tip" })];
}

/** The link carries all that is said here. @param {Element} link */
function complete(link, path, added) {
  const url = new URL(addressOf(path) + location.search, location.href);
  for (const [key, value] of added) url.searchParams.set(key, value);
  setAttribute(link, "href", url.href);
}

/** @param {Box} box @param {number} rows @param {import("../base/messages.js").Block} block */
function draw(box, rows, block) {
  const [x, y, width] = place(box, rows);
  const step = box.link[0][1];
  const name = `${box.text}: opens the step ${step} on ${block.title}`;
  const link = svg(
    "a",
    { class: `box ${box.input ? "input" : ""} ${box.letter}`, "aria-label": name },
    svg("title", {}, name),
    svg("rect", { x, y, width, height: HIGH, rx: 6 }),
    svg("text", { x: x + width / 2, y: y + HIGH / 2 + 5, "text-anchor": "middle" }, box.text),
  );
  const fresh = () => complete(link, block.path, box.link);
  fresh();
  for (const kind of ["pointerover", "pointerdown", "focusin"]) link.addEventListener(kind, fresh);
  return link;
}

export const diagram = {
  make: () => h("figure", { class: "diagram" }, h("h3"), h("div", { class: "scroll", tabindex: "0", role: "group" })),
  /** @param {HTMLElement} element @param {import("../base/messages.js").Block} block */
  update(element, block) {
    const [title, room] = /** @type {HTMLElement[]} */ ([...element.children]);
    setText(title, block.name);
    setAttribute(room, "aria-label", block.name);
    const written = JSON.stringify(block);
    if (room.dataset.written === written) return; // what has the focus keeps it
    room.dataset.written = written;
    const boxes = /** @type {Box[]} */ (block.boxes);
    const rows = 1 + Math.max(...boxes.map(({ row }) => row));
    const wide = 1 + Math.max(...boxes.map(({ columns }) => columns[1]));
    const [width, height] = [2 * MARGIN + wide * COLUMN, 2 * MARGIN + (rows - 1) * ROW + HIGH];
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width, height, role: "group" },
      ...boxes.flatMap((box) => box.from.flatMap((at) => arrow(boxes[at], box, rows))),
      ...boxes.map((box) => draw(box, rows, block)),
    );
    room.replaceChildren(picture);
  },
};
