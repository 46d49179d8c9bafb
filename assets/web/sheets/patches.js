// An image in patches with the attention of the selected token over them; a click selects another token.

import { isolated } from "../base/token_text.js";
import { setRovingTabindex } from "../base/choice.js";
import { div, h, render, setText } from "../base/dom.js";
import { argmax, number } from "../base/words.js";

const HOW =
  "Press a patch, or a token outside the picture, to see its row. A stronger colour means a larger weight (√ of the weight). The dashed line is the shape.";

/** @typedef {{name: string, across: number, pixels: number[], tokens: string[], weights: number[][], inside: number[]}} Patches */
/** The data of a row: `weights` of the selected row, `rest` the number of non-patch tokens, `max` the weight of the
 * full colour.
 * @typedef {{name: string, rest: number, across: number, tokens: string[], row: number, weights: ArrayLike<number>, max: number, inside: number[]}} Row
 */

const placeOf = (/** @type {string} */ token) => isolated(token).replace(/^(\d+),(\d+)$/, "row $1, column $2");

/** Describe a row: its strongest patch, and the share of its weight on the patches of the shape.
 * @param {Patches} block @param {number} row
 */
export function describe({ tokens, weights, inside, across }, row) {
  const rest = tokens.length - across ** 2;
  const seen = weights[row];
  const best = argmax(seen);
  const sum = (/** @type {number[]} */ all) => all.reduce((total, weight) => total + weight, 0);
  const shape = inside.length
    ? ` ${number(sum(inside.map((patch) => seen[rest + patch])))} of its weight is on the ${inside.length} of ${across ** 2} patches that the shape touches.`
    : "";
  return `${placeOf(tokens[row])} attends most to ${placeOf(tokens[best])}: ${number(seen[best])}.${shape}`;
}

/** An image with its patches as buttons, and the non-patch tokens beside it. @param {Element} image */
export function makeChoice(image) {
  const [grid, others] = ["grid", "special-tokens"].map((kind) => h("div", { class: kind, role: "group" }));
  return div("choice", div("picture", image, grid), others);
}

/** @param {Element} choice element from `makeChoice` @param {Row} row @param {(token: number) => void} choose */
export function drawChoice({ children: [picture, own] }, row, choose) {
  const { name, across, tokens, weights, max, inside, rest } = row;
  const grid = /** @type {HTMLElement} */ (picture.lastElementChild);
  const drawToken = (/** @type {string} */ token, /** @type {number} */ index) => {
    const label = `${placeOf(token)}: ${number(weights[index])}`;
    const state = { "aria-pressed": index === row.row, "aria-label": label, title: label };
    const share = `${100 * Math.sqrt(Math.min(1, weights[index] / max))}%`;
    const props = { ...state, class: inside.includes(index - rest) ? "inside" : null, "--share": share };
    const text = index < rest ? `${isolated(token)} ${number(weights[index])}` : "";
    return ["button", { ...props, onclick: () => choose(index) }, text];
  };
  const all = tokens.map(drawToken);
  render(own, { "aria-label": `${name}: tokens outside the picture` }, ...all.slice(0, rest));
  render(grid, { "aria-label": `${name}: patches` }, ...all.slice(rest));
  const sides = { "--across": String(across), "--down": String((tokens.length - rest) / across) };
  render(picture, sides, ...picture.children);
  setRovingTabindex(/** @type {HTMLElement} */ (own));
  setRovingTabindex(grid, across);
}

function makePatches() {
  const choice = makeChoice(h("canvas", { "aria-hidden": "true" }));
  const readout = h("p", { class: "words", role: "status" });
  return h("section", { class: "patches" }, h("h3"), choice, readout, h("p", { class: "label" }, HOW));
}

/** @param {HTMLCanvasElement} canvas @param {number[]} pixels 0 to 255, in row-major order */
function paint(canvas, pixels) {
  const side = Math.sqrt(pixels.length);
  canvas.width = canvas.height = side;
  const image = new ImageData(side, side);
  pixels.forEach((grey, index) => image.data.set([grey, grey, grey, 255], 4 * index));
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
}

/** @param {Patches} block */
function updatePatches(element, block) {
  const { tokens, across } = block;
  const [title, choice, readout] = element.children;
  const row = Math.min(Number(element.dataset.row ?? 0), tokens.length - 1);
  setText(title, block.name);
  paint(choice.querySelector("canvas"), block.pixels);
  const weights = block.weights[row];
  const rest = tokens.length - across ** 2;
  drawChoice(choice, { ...block, rest, row, weights, max: Math.max(...weights) }, (index) => {
    element.dataset.row = String(index);
    updatePatches(element, block);
  });
  setText(readout, describe(block, row));
}

export const patches = { make: makePatches, update: updatePatches };
