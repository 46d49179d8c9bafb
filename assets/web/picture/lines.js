// The same weights as lines: the words that look at the left, what they look at at the right, the stronger the thicker.

import { contextOf, div, h, LETTERS } from "../base/dom.js";

const ROW = 26; // pixels of a word
const MIN_WEIGHT = 0.03; // weight of the faintest line
export const MAX_WORDS = 40; // tokens that lines can be told apart of

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

  /** @param {import("./map.js").MapPicture} shown @param {import("../base/colour.js").Inks} inks @param {{width: number, height: number}} room */
  draw(shown, inks, { width, height }) {
    const { tokens, keys, weights, row, key, first, last, name } = shown;
    const words = tokens.slice(first, tokens.length - last);
    const others = keys.slice(first, keys.length - last);
    const most = Math.max(1, words.length, others.length);
    this.rows = words.length;
    this.first = first;
    this.step = Math.max(16, Math.min(ROW * 1.6, height / most));
    const wide = Math.min(width, 640);
    const context = contextOf(this.canvas, wide, this.step * most);
    const [left, right] = [wide * 0.3, wide * 0.7];
    const size = Math.min(17, Math.max(LETTERS, this.step * 0.62));
    context.textBaseline = "middle";
    words.forEach((word, at) => {
      const own = at + first === row;
      context.font = `${own ? "bold " : ""}${size}px ${inks.mono}`;
      context.fillStyle = own ? inks.query : inks.muted;
      context.textAlign = "right";
      context.fillText(word, left - 8, (at + 0.5) * this.step);
    });
    others.forEach((word, at) => {
      const weight = weights ? Math.abs(weights[row * keys.length + at + first]) : 0;
      const isChosen = at + first === key || shown.others?.includes(at + first);
      context.font = `${weight > 0.2 || isChosen ? "bold " : ""}${size}px ${inks.mono}`;
      context.fillStyle = inks.key;
      context.globalAlpha = isChosen ? 1 : 0.85 + 0.15 * Math.min(1, weight * 4); // 4.5 : 1 and more
      context.textAlign = "left";
      context.fillText(word, right + 8, (at + 0.5) * this.step);
      context.globalAlpha = 1;
    });
    const isDifference = "sides" in shown; // of weights
    const middle = (left + right) / 2;
    const rows = [...words.keys()].map((at) => at + first).filter((i) => i !== row);
    for (const i of weights ? [...rows, row] : []) {
      const own = i === row;
      for (let at = 0; at < others.length; at += 1) {
        const value = weights?.[i * keys.length + at + first] ?? 0;
        const weight = Math.abs(value);
        if (!(weight >= MIN_WEIGHT)) continue; // nor what a curtain hides
        const [y, to] = [(i - first + 0.5) * this.step, (at + 0.5) * this.step];
        context.beginPath();
        context.moveTo(left, y);
        context.bezierCurveTo(middle, y, middle, to, right, to);
        const sign = value < 0 ? inks.less : inks.more;
        context.strokeStyle = isDifference ? sign : own ? inks.query : inks.muted;
        context.globalAlpha = own ? 0.7 + 0.3 * weight : 0.35 * weight; // 3 : 1 and more of the row in focus
        context.lineWidth = own ? 1 + 7 * weight : 1 + 3 * weight;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    this.canvas.setAttribute("aria-label", `${name} as lines from each word to those that it attends to`);
  }
}
