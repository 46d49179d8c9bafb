// The weights as lines between two lists of tokens: queries on the left, keys on the right, line width by weight.

import { contextOf, div, h, LETTERS } from "../base/dom.js";
import { isolated } from "../base/token_text.js";

const ROW = 26; // pixels of a token
const MIN_WEIGHT = 0.03; // weight of the thinnest line
export const MAX_WORDS = 40; // tokens with distinguishable lines

export class Lines {
  /** @param {(row: number) => void} pick */
  constructor(pick) {
    this.pick = pick;
    this.canvas = h("canvas", { role: "img" });
    this.element = div("lines", this.canvas);
    this.rows = 0;
    this.first = 0;
    this.step = ROW;
    this.canvas.onclick = (event) => {
      const row = Math.floor(event.offsetY / this.step);
      if (row >= 0 && row < this.rows && event.offsetX < this.canvas.clientWidth / 2) this.pick(this.first + row);
    };
  }

  /** @param {MapPicture} mapPicture @param {Inks} inks @param {{width: number, height: number}} room */
  draw(mapPicture, inks, { width, height }) {
    const { tokens, keys, weights, row, key, first, last, name } = mapPicture;
    const words = tokens.slice(first, tokens.length - last);
    const others = keys.slice(first, keys.length - last);
    const count = Math.max(1, words.length, others.length);
    this.rows = words.length;
    this.first = first;
    this.step = Math.max(16, Math.min(ROW * 1.6, height / count));
    const wide = Math.min(width, 640);
    const context = contextOf(this.canvas, wide, this.step * count);
    const [left, right] = [wide * 0.3, wide * 0.7];
    const size = Math.min(17, Math.max(LETTERS, this.step * 0.62));
    context.textBaseline = "middle";
    words.forEach((word, index) => {
      const isQuery = index + first === row;
      context.font = `${isQuery ? "bold " : ""}${size}px ${inks.mono}`;
      context.fillStyle = isQuery ? inks.query : inks.muted;
      context.textAlign = "right";
      context.fillText(isolated(word), left - 8, (index + 0.5) * this.step);
    });
    others.forEach((word, index) => {
      const weight = weights ? Math.abs(weights[row * keys.length + index + first]) : 0;
      const isChosen = index + first === key || mapPicture.others?.includes(index + first);
      context.font = `${weight > 0.2 || isChosen ? "bold " : ""}${size}px ${inks.mono}`;
      context.fillStyle = inks.key;
      context.globalAlpha = isChosen ? 1 : 0.85 + 0.15 * Math.min(1, weight * 4); // a contrast of 4.5 : 1 and more
      context.textAlign = "left";
      context.fillText(isolated(word), right + 8, (index + 0.5) * this.step);
      context.globalAlpha = 1;
    });
    const isDifference = "sides" in mapPicture; // of two maps
    const middle = (left + right) / 2;
    const rows = [...words.keys()].map((index) => index + first).filter((i) => i !== row);
    for (const i of weights ? [...rows, row] : []) {
      const isQuery = i === row;
      for (let index = 0; index < others.length; index += 1) {
        const value = weights?.[i * keys.length + index + first] ?? 0;
        const weight = Math.abs(value);
        if (!(weight >= MIN_WEIGHT)) continue; // also skips NaN, which a curtain leaves
        const [y, end] = [(i - first + 0.5) * this.step, (index + 0.5) * this.step];
        context.beginPath();
        context.moveTo(left, y);
        context.bezierCurveTo(middle, y, middle, end, right, end);
        const sign = value < 0 ? inks.less : inks.more;
        context.strokeStyle = isDifference ? sign : isQuery ? inks.query : inks.muted;
        context.globalAlpha = isQuery ? 0.7 + 0.3 * weight : 0.35 * weight; // a contrast of 3 : 1 and more in the row in focus
        context.lineWidth = isQuery ? 1 + 7 * weight : 1 + 3 * weight;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    this.canvas.setAttribute("aria-label", `${name} as lines from each word to those that it attends to`);
  }
}
