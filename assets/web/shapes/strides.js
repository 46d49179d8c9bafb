// Strides: the jump in memory of one step along an axis, highlighted for the pointed or focused axis.

import { div, h, render, setText, span } from "../base/dom.js";
import { counted } from "../base/words.js";

const ONE = { b: "text", i: "query", j: "key", h: "head", d: "feature", c: "channel" };
const AT_REST = "Point at an axis to see its stride in the memory above.";

/** @param {Tensor} tensor @param {number[]} index @param {number} axis */
function sentence(tensor, index, axis) {
  const stride = tensor.strides[axis];
  const jump = tensor.jump(index, axis);
  const noun = ONE[/** @type {"b"} */ (tensor.letters[axis])] ?? "part";
  if (!jump) return `There is only one ${noun} here; the next would be ${counted(stride, "place")} away.`;
  const { first, from, to } = jump;
  const places = `from place ${from.toLocaleString("en")} to ${to.toLocaleString("en")}`;
  return `From ${noun} ${first} to ${noun} ${first + 1} is a step of ${counted(stride, "place")} in memory, ${places}.`;
}

export class Strides {
  /** @param {(axis: number | null) => void} light */
  constructor(light) {
    this.tell = light;
    this.lit = /** @type {number | null} */ (null);
    this.tensor = /** @type {Tensor} */ (/** @type {unknown} */ (null));
    this.index = /** @type {number[]} */ ([]);
    this.axes = h("span", { class: "axes", role: "group", "aria-label": "strides" });
    this.status = h("p", { class: "label jump-note", "aria-live": "polite" });
    const lead = span("label", "Places in memory from one step to the next along an axis:");
    this.element = div("strides", lead, this.axes, this.status);
  }

  get jump() {
    const { lit, tensor, index } = this;
    return lit === null || lit >= tensor.sizes.length ? null : tensor.jump(index, lit);
  }

  /** @param {Tensor} tensor @param {number[]} index of the number in focus */
  draw(tensor, index) {
    Object.assign(this, { tensor, index });
    if (this.lit !== null && this.lit >= tensor.sizes.length) this.lit = null;
    const drawAxis = (/** @type {{name: string, letter: string}} */ { name, letter }, /** @type {number} */ axis) => {
      const [light, away] = [() => this.light(axis), () => this.light(null)];
      const acts = { onclick: light, onpointerenter: light, onpointerleave: away, onfocus: light, onblur: away };
      const text = `${name} ${tensor.strides[axis].toLocaleString("en")}`;
      return ["button", { class: `axis ${letter || "v"}`, ...acts }, text];
    };
    render(this.axes, ...tensor.axes.map(drawAxis));
    this.say();
  }

  /** @param {number | null} axis */
  light(axis) {
    this.lit = axis;
    this.say();
    this.tell(axis);
  }

  say() {
    setText(this.status, this.lit === null ? AT_REST : sentence(this.tensor, this.index, this.lit));
  }
}
