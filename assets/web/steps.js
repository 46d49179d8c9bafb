// The step view: every tensor on the way through one layer, one step at a time, in one implementation or two.
// `steps` is mounted where it is seen; each `trace` has no picture of its own and hands its tensors to the view.

import { inks } from "./colour.js";
import { button, fill, h, setAttribute, setText, styles } from "./dom.js";
import { writeAt } from "./look.js";
import { Side, drawAxes } from "./step_panel.js";
import { madeFrom, titleOf } from "./steps_words.js";
import { findStep, unpackTrace } from "./tensor.js";
import { View, fillChoice, fillNotices, group, mountWithCarrier, named, notices, numbers } from "./view_base.js";

const BEAT = 1600; // ms a step while playing
const MOVES = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
const LETTERS = "b batch, i query, j key, h head, d channel in a head, c model channel";

const STYLES = await styles("./view.css", "./steps.css");

/** @extends {View<import("./messages.js").Steps>} */
class StepView extends View {
  constructor(root) {
    super(root, STYLES, "steps", ["step", "head", "row", "key", "feature", "chosen"]);
    this.playing = 0;
    this.traces = /** @type {import("./tensor.js").Trace[]} */ ([]);
    const choices = { pick: (row, column) => this.pick(row, column), chooseHead: (head) => this.change({ head }) };
    this.sides = [new Side(choices), new Side(choices)];
    const p = {
      notices: notices(),
      back: button("◀ back", () => this.go(-1)),
      count: h("span", { class: "count" }),
      next: button("next ▶", () => this.go(1)),
      play: button("play", () => this.play(!this.playing), { "aria-pressed": "false" }),
      heads: group("head"),
      copy: button("copy link", () => this.copyLink()),
      list: h("div", { class: "list", role: "listbox", "aria-label": "steps", tabindex: "0" }),
      label: h("p", { class: "label" }),
    };
    p.list.onkeydown = (event) => {
      if (!(event.key in MOVES)) return;
      event.preventDefault();
      this.go(MOVES[event.key]);
    };
    this.parts = p;
    const stepper = group("steps", p.back, p.count, p.next, p.play);
    const bar = h("div", { class: "bar" }, stepper, named("head", p.heads), h("span", { class: "push" }), p.copy);
    const list = h("div", { class: "listing" }, p.list, p.label);
    this.show(p.notices, bar, list, ...this.sides.map(({ element }) => element));
  }

  // ---- what the visitor does

  /** The steps in sight: of the steps of single heads only those of the head in focus. */
  get listed() {
    const own = ({ step }) => step.onlyHead === null || step.onlyHead === this.state.head;
    return this.traces[0].steps.map((step, at) => ({ step, at })).filter(own);
  }

  /** The place of the step in focus, or of what stands for it, in a trace. */
  placeIn(trace) {
    return findStep(trace.steps, this.state.step, this.state.head);
  }

  go(by) {
    const listed = this.listed;
    const now = listed.findIndex(({ at }) => at === this.placeIn(this.traces[0]));
    const to = Math.max(0, Math.min(listed.length - 1, now + by));
    if (to === now && this.playing) this.play(false);
    this.change({ step: listed[to].step.name });
  }

  play(on) {
    clearInterval(this.playing);
    this.playing = on ? setInterval(() => (this.element.isConnected ? this.go(1) : this.play(false)), BEAT) : 0;
    const { steps } = this.traces[0];
    if (on && this.placeIn(this.traces[0]) === steps.length - 1) this.change({ step: steps[0].name });
    setAttribute(this.parts.play, "aria-pressed", String(on));
    setText(this.parts.play, on ? "pause" : "play");
  }

  pick(row, column) {
    const step = this.traces[0].steps[this.placeIn(this.traces[0])];
    this.change({ row, [step.hasKeys ? "key" : "feature"]: column, chosen: true });
  }

  change(change) {
    const { layer, head, row, key, chosen, step, feature } = Object.assign(this.state, change);
    this.redraw();
    this.tell({ step, at: writeAt({ layer, head, row, key }, chosen), feature });
  }

  // ---- drawing

  get ready() {
    return Boolean(this.state && this.traces[0] && this.traces[this.state.count - 1]);
  }

  draw() {
    const { parts: p, state } = this;
    this.kinds({ pair: state.count > 1 });
    this.sides[1].element.hidden = state.count < 2;
    const shown = this.traces.slice(0, state.count).map((trace) => ({ trace, at: this.placeIn(trace) }));
    const [{ trace, at }] = shown;
    const step = trace.steps[at];
    const colours = inks(this.element);
    fillNotices(p.notices, state.notices);
    this.drawList(at);
    fillChoice(p.heads, numbers(trace.heads), state.head, (head) => this.change({ head }), "head");
    shown.forEach((own, n) => this.sides[n].draw(own.trace, own.at, state, this.theme, colours));
    const title = `${p.count.textContent}: ${titleOf(step, trace)}, shape ${step.sizes.join(", ")}`;
    this.say(`${title}. ${madeFrom(step, trace)}`);
    const names = shown.map((own) => own.trace.implementation).join(" ");
    Object.assign(this.element.dataset, { digest: trace.digest, step: step.name, shown: names });
  }

  drawList(now) {
    const { parts: p, listed } = this;
    const place = listed.findIndex(({ at }) => at === now);
    setText(p.count, `step ${place + 1} of ${listed.length}`);
    setAttribute(p.back, "disabled", place === 0);
    setAttribute(p.next, "disabled", place === listed.length - 1);
    setText(p.label, `${this.state.label}. Layers, heads and tokens are counted from 0; ${LETTERS}.`);
    const span = (name) => h("span", { class: name });
    fill(
      p.list,
      listed,
      () => h("div", { role: "option" }, span("number"), h("b"), span("expression"), span("axes")),
      (element, { step, at }, n) => {
        const [number, name, expression, axes] = element.children;
        setText(number, String(n + 1));
        // a name breaks at its dots first
        if (name.textContent !== step.name)
          name.replaceChildren(...step.name.split(/(?<=\.)/).flatMap((part) => [part, h("wbr")]));
        setText(expression, step.expression);
        drawAxes(axes, step, { letters: false });
        setAttribute(element, "id", `step-${n}`);
        setAttribute(element, "aria-selected", String(at === now));
        element.onclick = () => this.change({ step: step.name });
      },
    );
    setAttribute(p.list, "aria-activedescendant", `step-${place}`);
    const { offsetTop, offsetHeight } = /** @type {HTMLElement} */ (p.list.children[place]);
    const below = offsetTop + offsetHeight - p.list.clientHeight;
    p.list.scrollTop = Math.min(offsetTop, Math.max(below, p.list.scrollTop));
  }
}

function takeTrace(view, packed) {
  const trace = unpackTrace(packed);
  view.traces[trace.side] = trace;
  view.redraw();
}

const take = (view, state) => view.take(state);

export const { view: steps, carrier: trace } = mountWithCarrier(StepView, take, takeTrace);
