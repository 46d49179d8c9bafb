// The step view: every tensor on the way through one layer, one step at a time, in one implementation or two.
// `steps` is mounted where it is seen; each `trace` has no picture of its own and hands its tensors to the view.

import { inks, themeOf } from "./colour.js";
import { fill, h, setAttribute, setText, styles } from "./dom.js";
import { button } from "./elements.js";
import { Side, drawAxes } from "./side.js";
import { madeFrom, titleOf } from "./steps_words.js";
import { unpackTrace } from "./tensor.js";

const NARROW = 640; // pixels; below, one column with the step first
const BEAT = 1600; // ms a step while playing

const STYLES = await styles("./view.css", "./steps.css");

class StepView {
  constructor(root) {
    this.root = root;
    this.turn = 0;
    this.state = null;
    const choices = { pick: (row, column) => this.pick(row, column), chooseHead: (head) => this.change({ head }) };
    this.sides = [new Side(choices), new Side(choices)];
    this.build();
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    document.fonts?.ready.then(() => this.redraw());
  }

  build() {
    const p = {
      notices: h("div", { class: "notices", role: "status" }),
      back: button("◀ back", () => this.go(-1)),
      count: h("span", { class: "count" }),
      next: button("next ▶", () => this.go(1)),
      play: button("play", () => this.play(!this.playing), { "aria-pressed": "false" }),
      heads: h("div", { class: "segments", role: "group", "aria-label": "head" }),
      copy: button("copy link", () => this.copyLink()),
      list: h("div", { class: "list", role: "listbox", "aria-label": "steps", tabindex: "0" }),
      label: h("p", { class: "label" }),
      aloud: h("p", { class: "aloud", "aria-live": "polite" }),
    };
    p.list.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[
        event.key
      ];
      if (step === undefined) return;
      event.preventDefault();
      this.go(step);
    };
    const bar = h(
      "div",
      { class: "bar" },
      h("div", { class: "segments stepper", role: "group", "aria-label": "steps" }, p.back, p.count, p.next, p.play),
      h("span", { class: "label heads-label" }, "head"),
      p.heads,
      h("span", { class: "push" }),
      p.copy,
    );
    const list = h("div", { class: "listing" }, p.list, p.label);
    this.element = h(
      "div",
      { class: "view steps", hidden: "" },
      p.notices,
      bar,
      list,
      ...this.sides.map(({ element }) => element),
      p.aloud,
    );
    this.parts = p;
  }

  // ---- what comes in

  take(state) {
    if (this.visit !== state.visit) this.turn = 0; // a new session: what it says holds
    this.visit = state.visit;
    const own = this.state;
    this.state = { ...state };
    // an answer to an earlier click must not undo a later one
    if (own && state.heard < this.turn)
      for (const name of ["step", "head", "row", "key", "feature", "chosen"]) this.state[name] = own[name];
    else this.turn = state.heard;
    this.heard = state.heard;
    this.redraw();
  }

  // ---- what the visitor does

  /** The steps in sight: of the steps of single heads only those of the head in focus. */
  get listed() {
    const { steps } = traces[0];
    return steps
      .map((step, at) => [step, at])
      .filter(([step]) => step.onlyHead === null || step.onlyHead === this.state.head);
  }

  /** The step of a trace that has this name; where there is none, the one it leads to, or the first. */
  find(trace, name) {
    const own = name.replace(/\.head\d+$/, `.head${this.state.head}`);
    const base = name.split(".")[0];
    const names = trace.steps.map((step) => step.name);
    const known = [own, base, base[0]].find((wanted) => names.includes(wanted));
    return known === undefined ? 0 : names.indexOf(known);
  }

  go(by) {
    const listed = this.listed;
    const now = listed.findIndex(([, at]) => at === this.find(traces[0], this.state.step));
    const to = Math.max(0, Math.min(listed.length - 1, now + by));
    if (to === now && this.playing) this.play(false);
    this.change({ step: listed[to][0].name });
  }

  play(on) {
    clearInterval(this.playing);
    this.playing = on ? setInterval(() => (this.element.isConnected ? this.go(1) : this.play(false)), BEAT) : null;
    if (on && this.find(traces[0], this.state.step) === traces[0].steps.length - 1)
      this.change({ step: traces[0].steps[0].name });
    setAttribute(this.parts.play, "aria-pressed", String(Boolean(on)));
    setText(this.parts.play, on ? "pause" : "play");
  }

  pick(row, column) {
    const step = traces[0].steps[this.find(traces[0], this.state.step)];
    const keys = step.axis("i") >= 0 && step.axis("j") >= 0;
    this.change(keys ? { row, key: column, chosen: true } : { row, feature: column, chosen: true });
  }

  change(change) {
    Object.assign(this.state, change);
    this.turn += 1;
    const { layer, head, row, key, chosen, step, feature } = this.state;
    const at = [layer, head, ...(chosen ? [row, ...(key === null ? [] : [key])] : [])].join(".");
    this.redraw();
    this.send({ turn: this.turn, step, at, feature });
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("link copied");
    } catch {
      window.prompt("Copy this link", location.href); // without a secure context the clipboard is closed
    }
  }

  // ---- drawing

  redraw() {
    if (this.frame || !this.state || !traces[0] || (this.state.count > 1 && !traces[1])) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { parts: p, state } = this;
    this.element.hidden = false;
    const width = this.element.clientWidth;
    if (!width) return;
    const theme = themeOf(this.root.host ?? this.root);
    setAttribute(this.element, "data-theme", theme);
    const pair = state.count > 1;
    setAttribute(
      this.element,
      "class",
      ["view", "steps", pair && "pair", width < NARROW && "narrow"].filter(Boolean).join(" "),
    );
    this.sides[1].element.hidden = !pair;
    const colours = inks(this.element);
    const shown = traces.slice(0, state.count).map((trace) => [trace, this.find(trace, state.step)]);
    fill(p.notices, state.notices, () => h("p"), setText);
    this.drawList(shown[0][1]);
    fill(
      p.heads,
      [...Array(traces[0].heads).keys()],
      (head) => button("", () => this.change({ head })),
      (element, head) => {
        setText(element, String(head));
        setAttribute(element, "aria-label", `head ${head}`);
        setAttribute(element, "aria-pressed", String(head === state.head));
      },
    );
    shown.forEach(([trace, at], n) => this.sides[n].draw(trace, at, state, theme, colours));
    const [trace, at] = shown[0];
    this.say(
      `${p.count.textContent}: ${titleOf(trace.steps[at], trace)}, shape ${trace.steps[at].sizes.join(", ")}. ${madeFrom(trace.steps[at], trace)}`,
    );
    Object.assign(this.element.dataset, {
      digest: trace.digest,
      step: trace.steps[at].name,
      shown: shown.map(([own]) => own.implementation).join(" "),
      turn: this.turn,
      heard: this.heard,
    });
  }

  drawList(now) {
    const { parts: p } = this;
    const listed = this.listed;
    const place = listed.findIndex(([, at]) => at === now);
    setText(p.count, `step ${place + 1} of ${listed.length}`);
    setAttribute(p.back, "disabled", place === 0);
    setAttribute(p.next, "disabled", place === listed.length - 1);
    setText(
      p.label,
      `${this.state.label}. Layers, heads and tokens are counted from 0; b batch, i query, j key, h head, d channel in a head, c model channel.`,
    );
    fill(
      p.list,
      listed,
      () =>
        h(
          "div",
          { role: "option" },
          h("span", { class: "number" }),
          h("b"),
          h("span", { class: "expression" }),
          h("span", { class: "axes" }),
        ),
      (element, [step, at], n) => {
        const [number, name, expression, axes] = element.children;
        setText(number, String(n + 1));
        if (name.textContent !== step.name)
          name.replaceChildren(...step.name.split(/(?<=\.)/).flatMap((part) => [part, h("wbr")])); // breaks at its dots first
        setText(expression, step.expression);
        drawAxes(axes, step, { letters: false });
        setAttribute(element, "id", `step-${n}`);
        setAttribute(element, "aria-selected", String(at === now));
        element.onclick = () => this.change({ step: step.name });
      },
    );
    setAttribute(p.list, "aria-activedescendant", `step-${place}`);
    const chosen = p.list.children[place];
    const [above, below] = [
      chosen.offsetTop - p.list.scrollTop,
      chosen.offsetTop + chosen.offsetHeight - p.list.scrollTop - p.list.clientHeight,
    ];
    if (above < 0) p.list.scrollTop += above;
    else if (below > 0) p.list.scrollTop += below;
  }

  /** Speaks once per pause. */
  say(text) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.parts.aloud, text), 400);
  }
}

const views = new WeakMap();
const traces = [];
let view = null; // the one that is on the page

export function steps({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new StepView(parentElement));
  view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  view.take(data);
}

export function trace({ data }) {
  const unpacked = unpackTrace(data);
  traces[unpacked.side] = unpacked;
  if (view) view.redraw();
}
