// The mask of one head as a grid that is painted: pointer strokes, labels for whole rows and columns, and keys.

import { setAttribute } from "./dom.js";
import { BigMap } from "./map.js";

const GLOW = { dark: 190, light: 105 }; // how strongly an allowed cell glows, on the ramp of the weights

export class PaintGrid extends BigMap {
  /** `act` has begin(), paint(i, j), line("row" | "column", at), toggle(i, j), end(), undo(), hover(text | null). */
  constructor(act) {
    super({ ...act, pick: () => {} });
    this.stroke = null; // the last cell of the stroke that goes on
    this.tap = null; // where a finger went down while it may still scroll
    this.element.onclick = null;
    this.element.onpointerdown = (event) => this.down(event);
    this.element.onpointermove = (event) => this.move(event);
    this.element.onpointerup = () => this.up(true);
    this.element.onpointercancel = () => this.up(false);
  }

  /** shown: as for a map, with `allow`, cells of 0 and 1, instead of a map and weights; `scrolls`: a finger scrolls. */
  draw(shown, inks, room) {
    const bytes = shown.allow.map((cell) => cell * GLOW[shown.theme]);
    const forbids = (i, j) => !shown.allow[i * shown.tokens.length + j];
    super.draw(
      {
        ...shown,
        map: { size: shown.tokens.length, bytes },
        whole: true,
        weights: null,
        scale: "linear",
        first: 0,
        last: 0,
        forbids,
      },
      inks,
      room,
    );
    this.element.style.touchAction = shown.scrolls ? "auto" : "none";
  }

  /** [i, j] of a pointer; −1 on the labels, null elsewhere. */
  at(event) {
    if (!this.shown) return null;
    const box = this.element.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.left) / this.step);
    const i = Math.floor((event.clientY - box.top - this.top) / this.step);
    const n = this.shown.tokens.length;
    return i >= n || j >= n || (i < 0 && j < 0) ? null : [Math.max(-1, i), Math.max(-1, j)];
  }

  down(event) {
    const at = this.at(event);
    if (event.button || !at) return;
    if (at.includes(-1)) {
      this.act.line(at[1] < 0 ? "row" : "column", Math.max(...at));
    } else if (event.pointerType === "touch" && this.shown.scrolls) {
      this.tap = at;
    } else {
      event.preventDefault(); // no text is selected on the way
      this.element.setPointerCapture(event.pointerId);
      this.begin(at);
    }
  }

  begin(at) {
    this.act.begin(...at);
    this.act.paint(...at);
    this.stroke = this.active = at;
    this.cell.focus({ preventScroll: true });
  }

  move(event) {
    const at = this.at(event);
    const inside = at && !at.includes(-1);
    this.point(inside ? at : null);
    if (!this.stroke || !inside) return;
    // a fast pointer leaves cells out: all on the straight way are meant
    const [from, to] = [this.stroke, at];
    const steps = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
    for (let step = 1; step <= steps; step++)
      this.act.paint(...from.map((start, axis) => Math.round(start + ((to[axis] - start) * step) / steps)));
    this.stroke = this.active = at;
  }

  up(meant) {
    if (this.tap && meant) this.begin(this.tap);
    if (this.stroke) this.act.end();
    this.stroke = this.tap = null;
  }

  say([i, j]) {
    const { tokens, forbids } = this.shown;
    return `row ${tokens[i]}, key ${tokens[j]}: ${forbids(i, j) ? "blocked" : "allowed"}`;
  }

  describe() {
    super.describe();
    const { tokens, name } = this.shown;
    setAttribute(
      this.element,
      "aria-label",
      `${name}: rows are queries, columns are keys; Space turns a cell round, Shift and arrows paint`,
    );
    for (const count of ["aria-rowcount", "aria-colcount"]) setAttribute(this.element, count, tokens.length);
  }

  key(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "z" && (event.ctrlKey || event.metaKey)) {
      this.act.undo();
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (step) {
      const inside = (at) => Math.min(this.shown.tokens.length - 1, Math.max(0, at));
      const from = this.active;
      this.active = [inside(from[0] + step[0]), inside(from[1] + step[1])];
      if (event.shiftKey) {
        this.act.begin(...from);
        for (const at of [from, this.active]) this.act.paint(...at);
        this.act.end();
      }
    } else if (event.key === "Home") this.active = [this.active[0], 0];
    else if (event.key === "End") this.active = [this.active[0], this.shown.tokens.length - 1];
    else if (event.key === "Enter" || event.key === " ") this.act.toggle(...this.active);
    else return;
    event.preventDefault();
    this.describe();
    this.point(this.active);
  }
}
