// A printed lesson: each step with its picture, covered parts blank, its question and space to write; answers at the
// end.

import { inks } from "../base/colour.js";
import { hidesRow } from "../base/curtain.js";
import { button, div, drawing, fetchRoute, h, setAttribute, setAttributes, span } from "../base/dom.js";
import { BigMap, wholeMap } from "../picture/map.js";
import { unpackFloats } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { isolated } from "../base/token_text.js";

/** @typedef {import("../base/messages.js").HandoutStep & CourseStep} Step */

const LINES = 2; // blank lines to write on
const ROOM = { one: 322, two: 258 }; // pixels of a map on paper
const POINT = 4 / 3; // pixels per point
const MIN_DIGIT = 6 * POINT; // pixels of a printed digit, at least
const SHARP = 4; // canvas pixels per page pixel: 384 dpi
const NOTHING = { pick: () => {}, hover: () => {} };

/** The rows of a map that its own step covers, and those that any other step asks about on the same map.
 * @param {HandoutMap} map @param {Step} step @param {boolean} second @param {Step[]} steps */
function coveredRows(map, step, second, steps) {
  const nameOf = ({ tokens, layer, head, label }) => JSON.stringify([tokens, layer, head, label]);
  const same = steps.filter(({ maps }) => maps.some((other) => nameOf(other) === nameOf(map)));
  const all = [...step.hidden, ...same.flatMap(({ hidden }) => hidden.filter(({ part }) => part === "row"))];
  return [...map.tokens.keys()].filter((row) => hidesRow(map.tokens, row, second, all));
}

/** Draw a map with its covered rows blank.
 * @param {HandoutMap} header @param {Float32Array} weights @param {number} size pixels @param {number[]} covered rows
 * @param {Inks} colours
 */
function drawMap(header, weights, size, covered, colours) {
  const { tokens, layer, head, row, forbidden } = header;
  const n = tokens.length;
  const seen = weights.map((weight, index) => (covered.includes(Math.floor(index / n)) ? 0 : weight));
  const name = `Layer ${layer} head ${head}`;
  const picture = wholeMap(tokens, seen, { name, row, theme: "light", forbids: forbids(forbidden, head, n) });
  const map = Object.assign(new BigMap(NOTHING), { roomy: 2 * MIN_DIGIT, smallest: MIN_DIGIT });
  map.draw(picture, colours, { width: size, height: size });
  const { base, left, top, side, step } = map;
  const pen = /** @type {CanvasRenderingContext2D} */ (base.getContext("2d"));
  Object.assign(pen, { fillStyle: "#FFF", strokeStyle: colours.line, lineWidth: 1 });
  pen.setLineDash([3, 3]);
  for (const token of covered) {
    pen.fillRect(left, top + token * step, side, step);
    pen.strokeRect(left, top + token * step, side, step);
  }
  base.style.height = "auto"; // scales with the available width
  setAttributes(base, { "aria-hidden": null, role: "img" });
  setAttribute(
    base,
    "aria-label",
    covered.length ? `${name}; covered: ${covered.map((row) => isolated(tokens[row]))}` : name,
  );
  return map;
}

/** @param {Step} step @param {Float32Array[]} maps @param {Inks} colours @param {Step[]} steps of the sheet */
function figures(step, maps, colours, steps) {
  const size = maps.length > 1 ? ROOM.two : ROOM.one;
  const drawnMaps = step.maps.map((map, index) => {
    const covered = coveredRows(map, step, index > 0, steps);
    const { base, element } = drawMap(map, maps[index], size, covered, colours);
    const rows = covered.length ? " · white rows: your guess" : "";
    const caption = `Layer ${map.layer}, head ${map.head} · ${map.label}${rows}`;
    const figure = h("figure", {}, base, h("figcaption", {}, caption));
    figure.style.width = element.style.width;
    return figure;
  });
  return drawnMaps.length ? div(`maps maps-${drawnMaps.length}`, ...drawnMaps) : null;
}

/** @param {Step} step @param {number} number @param {Step[]} steps of the sheet */
function questionOf(step, number, maps, colours, steps) {
  const { address } = step;
  const code = step.code ? h("img", { src: step.code, alt: `QR code of ${address}` }) : null;
  const choices = step.choices.map(({ letter, text }) =>
    h("li", {}, span("box"), h("b", {}, letter), h("span", {}, text)),
  );
  const way = address ? div("code", code, h("a", { href: address }, code ? "this step in Headlight" : address)) : null;
  const sentences = step.sentences.map((text) => h("p", { class: "sentence", dir: "auto" }, `“${text}”`));
  const card = div(
    "asks",
    h("h2", {}, `${number} · ${step.instruction}`),
    ...sentences,
    step.layer ? h("pre", {}, step.layer) : "",
    h("p", { class: "ask" }, step.question),
  );
  const lines = Array.from({ length: LINES }, () => div("line"));
  const answers = div("answers-to-it", h("ul", { class: "options" }, ...choices), ...lines);
  return h("section", { class: "step" }, figures(step, maps, colours, steps), div("question", way, card, answers));
}

/** The votes of a class on a step: a row per answer, a bar per round. @param {Step} step @param {number[][]} votes */
function votesOf({ choices }, votes) {
  const rows = choices.map(({ letter }, index) => {
    const bars = votes.map((counts) => {
      const all = counts.reduce((sum, count) => sum + count, 0);
      const bar = span("bar");
      bar.style.width = `${(100 * counts[index]) / Math.max(1, all)}%`;
      return h("td", {}, bar, String(counts[index]));
    });
    return h("tr", {}, h("th", {}, letter), ...bars);
  });
  const heads = ["first vote", "second vote"].slice(0, votes.length).map((name) => h("th", {}, name));
  return votes.length ? h("table", { class: "votes" }, h("tr", {}, h("th"), ...heads), ...rows) : null;
}

/** The votes of a room by step, from the URL fragment set by the host's page. @returns {Record<string, number[][]>} */
function handedOn() {
  try {
    return JSON.parse(decodeURIComponent(location.hash.slice(1))) ?? {};
  } catch {
    return {};
  }
}

/** @param {Step} step @param {number} number @param {number[][]} votes */
function answerOf(step, number, votes) {
  const { answer, question } = step;
  const numbers = answer.numbers.map(([label, , text]) => h("li", {}, `${label} `, h("b", {}, text)));
  return h(
    "section",
    { class: "answer" },
    h("h2", {}, `${number} · ${answer.sentence}`),
    h("p", { class: "question-text" }, question),
    votesOf(step, votes),
    answer.explanation ? h("p", {}, answer.explanation) : null,
    h("ul", { class: "numbers" }, ...numbers),
  );
}

/** @param {Handout} header @param {Float32Array} floats @param {HTMLElement} place */
function draw(header, floats, place) {
  const { lesson } = header;
  /** @type {Step[]} */
  const steps = lesson.steps.map((step, index) => ({ ...step, ...header.steps[index] }));
  document.title = `${lesson.title} · Handout · Headlight`;
  const page = h("div", { class: "view handout", "data-theme": "light" });
  const print = button("Print", () => window.print());
  const home = h("a", { href: new URL("./", location.href).href }, "Headlight");
  place.replaceChildren(div("to-print", print, home), page);
  const colours = inks(page);
  drawing.ratio = SHARP;
  let offset = 0;
  const maps = steps.map((step) =>
    step.maps.map(({ tokens }) => {
      offset += tokens.length ** 2;
      return floats.subarray(offset - tokens.length ** 2, offset);
    }),
  );
  const line = () => div("line");
  const votes = handedOn();
  page.append(
    h("h1", {}, lesson.title),
    h("p", { class: "aim" }, `${lesson.objective} ${lesson.minutes} minutes.`),
    div("name-line", h("span", {}, "Name"), h("span", {}, "Date")),
    ...steps.map((step, place) => questionOf(step, place + 1, maps[place], colours, steps)),
    h("section", { class: "exercise" }, h("h2", {}, "Now you"), h("p", {}, lesson.exercise), line(), line()),
    h(
      "section",
      { class: "answers" },
      h("h1", {}, "Answers"),
      ...steps.map((step, place) => answerOf(step, place + 1, votes[place + 1] ?? [])),
      h("p", { class: "breaks" }, h("b", {}, "Misconception: "), lesson.misconception),
      lesson.references.length ? h("p", { class: "papers" }, `Further reading: ${lesson.references.join("; ")}`) : null,
    ),
  );
}

async function begin() {
  const place = /** @type {HTMLElement} */ (document.getElementById("handout"));
  const lesson = new URLSearchParams(location.search).get("lesson") ?? "";
  const query = new URLSearchParams({ lesson, from: location.origin });
  try {
    const answer = await fetchRoute(`api/lesson.handout?${query}`);
    const { header, floats } = unpackFloats(new Uint8Array(await answer.arrayBuffer()));
    draw(header, floats, place);
  } catch (error) {
    const why = error instanceof Error ? error.message : "The lesson cannot be displayed.";
    place.replaceChildren(h("p", { role: "alert" }, why));
  }
  place.removeAttribute("aria-busy");
}

begin();
