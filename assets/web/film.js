// The film: the maps of models while they learn, side by side, from the first step to the last.
// `film` is mounted where it is seen; `frames` has no picture of its own and hands its maps to the view.

import { gradient, inks, themeOf } from "./colour.js";
import { fill, h, setAttribute, setText, styles } from "./dom.js";
import { button } from "./elements.js";
import { FilmMap, digits, parseChoice, strongest, unpackFilms, writeChoice } from "./film_maps.js";
import { fillTable } from "./table.js";

const NARROW = 640; // pixels; below, one map under the other
const LENGTH = 6000; // ms that the whole film plays
const SLOWEST = 600; // ms a step

const STYLES = await styles("./view.css", "./film.css");

class FilmView {
  constructor(root) {
    this.root = root;
    this.turn = 0;
    this.state = null;
    this.at = Infinity; // the place among the steps; at the end it follows a training that goes on
    this.panels = [];
    this.pointed = [-1, null];
    this.marked = null;
    this.build();
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    document.fonts?.ready.then(() => this.redraw());
  }

  build() {
    const group = (label) => h("div", { class: "segments", role: "group", "aria-label": label });
    const labelled = (text, parent) =>
      h("div", { class: "choice" }, h("span", { class: "label", "aria-hidden": "true" }, text), parent);
    const p = {
      probes: h("div", { class: "segments texts", role: "group", "aria-label": "Text" }),
      layers: group("Layer"),
      heads: group("Head"),
      modes: group("Maps or tables"),
      first: button("first", () => this.seek(0)),
      play: button("play", () => this.play(!this.playing), { class: "play", "aria-pressed": "false" }),
      last: button("last", () => this.seek(Infinity)),
      slider: h("input", { type: "range", min: "0", step: "1", "aria-label": "Step of the training" }),
      count: h("span", { class: "count" }),
      panels: h("div", { class: "films" }),
      legend: h(
        "p",
        { class: "legend" },
        h("span", {}, "0"),
        h("span", { class: "ramp" }),
        h("span", {}, "1"),
        h("span"),
      ),
      aloud: h("p", { class: "aloud", "aria-live": "polite" }),
    };
    p.slider.oninput = () => this.seek(Number(p.slider.value));
    p.slider.onkeydown = (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      this.play(!this.playing);
    };
    this.modeButtons = [
      button("maps", () => this.choose({ table: false })),
      button("tables", () => this.choose({ table: true })),
    ];
    p.modes.append(...this.modeButtons);
    p.layerChoice = labelled("layer", p.layers);
    const bar = h(
      "div",
      { class: "bar" },
      labelled("text", p.probes),
      p.layerChoice,
      labelled("head", p.heads),
      p.modes,
    );
    const player = h(
      "div",
      { class: "player", role: "group", "aria-label": "Film" },
      h("div", { class: "segments" }, p.first, p.play, p.last),
      p.slider,
      p.count,
    );
    this.element = h("div", { class: "view film", hidden: "" }, bar, player, p.panels, p.legend, p.aloud);
    this.parts = p;
  }

  // ---- what comes in

  take(state) {
    if (this.visit !== state.visit) this.turn = 0; // a new session: what it says holds
    this.visit = state.visit;
    this.heard = state.heard;
    // an answer to an earlier click must not undo a later one
    if (!this.state || state.heard >= this.turn) {
      this.turn = state.heard;
      this.state = parseChoice(state.choice);
    }
    this.redraw();
  }

  /** More snapshots, or other films: the step in sight stays, and the end stays the end. */
  framesChanged(before) {
    const step = this.stepsOf(before)[this.at];
    if (step !== undefined) {
      const later = this.steps.findIndex((own) => own >= step);
      this.at = later < 0 ? Infinity : later;
    }
    this.redraw();
  }

  stepsOf(films) {
    return films?.steps[this.state?.probe ?? 0] ?? [];
  }

  get steps() {
    return this.stepsOf(films);
  }

  // ---- what the visitor does

  choose(change) {
    const step = this.steps[this.place];
    Object.assign(this.state, change);
    if (change.probe !== undefined) this.marked = null; // a cell of the other text
    if (this.at !== Infinity) this.at = Math.max(0, this.steps.indexOf(step));
    this.turn += 1;
    this.redraw();
    this.send({ turn: this.turn, choice: writeChoice(this.state) });
  }

  /** Where the film is. */
  get place() {
    return Math.max(0, Math.min(this.at, this.steps.length - 1));
  }

  seek(place) {
    this.play(false);
    this.show(place);
  }

  show(place) {
    this.at = place >= this.steps.length - 1 ? Infinity : place;
    this.redraw();
  }

  play(on) {
    cancelAnimationFrame(this.playing);
    this.playing = null;
    setAttribute(this.parts.play, "aria-pressed", String(on));
    setText(this.parts.play, on ? "pause" : "play");
    if (!on) return this.redraw();
    const from = this.place === this.steps.length - 1 ? 0 : this.place;
    const beat = Math.min(SLOWEST, LENGTH / Math.max(1, this.steps.length - 1));
    const began = performance.now();
    const go = (now) => {
      const place = from + Math.max(0, Math.floor((now - began) / beat));
      if (!this.element.isConnected || place >= this.steps.length) return this.play(false);
      this.playing = requestAnimationFrame(go);
      if (place !== this.place) this.show(place);
      return null;
    };
    this.show(from);
    this.playing = requestAnimationFrame(go);
    return null;
  }

  /** Reads a cell in every map that has it; without one the marked cell, or the strongest. */
  point(own, at) {
    this.pointed = [own, at];
    this.panels.forEach(({ map, readout }, n) => {
      const here = at ?? this.marked;
      if (!map.shown) return setText(readout, "");
      const inside = here && Math.max(...here) < map.shown.tokens.length;
      if (n !== own) map.mark(at && inside ? at : null);
      return setText(readout, inside ? map.say(here) : strongest(map.shown));
    });
  }

  // ---- drawing

  redraw() {
    if (this.frame || !this.state || !films) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    this.element.hidden = !films.films.length;
    const width = this.element.clientWidth;
    if (!width) return;
    const { parts: p, steps, place } = this;
    const theme = themeOf(this.root.host ?? this.root);
    setAttribute(this.element, "data-theme", theme);
    setAttribute(this.element, "class", width < NARROW ? "view film narrow" : "view film");
    const step = steps[place] ?? 0;
    this.drawBar();
    this.drawPlayer(step);
    fill(
      p.panels,
      films.films,
      (n) => this.makePanel(n),
      () => {},
    );
    this.panels.length = films.films.length;
    const colours = inks(this.element);
    films.films.forEach((own, n) => this.drawPanel(this.panels[n], own, step, theme, colours));
    this.point(...this.pointed);
    p.legend.children[1].style.backgroundImage = gradient(theme);
    for (const part of [...p.legend.children].slice(0, 3)) part.hidden = this.state.table; // nothing in a table is told by colour
    const law = this.state.table ? [] : ["colour: √ of the weight"];
    setText(
      p.legend.lastChild,
      [...law, ...films.notes, "rows are queries, columns keys; layers and heads are counted from 0"].join(" · "),
    );
    if (!this.playing)
      this.say(
        [
          p.slider.getAttribute("aria-valuetext"),
          ...this.panels.map(({ title, readout }) => `${title.textContent}: ${readout.textContent}`),
        ].join(". "),
      );
    Object.assign(this.element.dataset, {
      step,
      choice: writeChoice(this.state),
      films: films.films.length,
      turn: this.turn,
      heard: this.heard,
    });
  }

  drawBar() {
    const { parts: p, state } = this;
    const most = (name) => Math.max(1, ...films.films.map((own) => own[name]));
    const segments = (parent, names, word, own, choice) =>
      fill(
        parent,
        names,
        (at) => button("", () => this.choose(choice(at))),
        (element, name, at) => {
          setText(element, name);
          setAttribute(element, "aria-label", word && name === String(Number(name)) ? `${word} ${name}` : null);
          setAttribute(element, "aria-pressed", String(at === own));
        },
      );
    const numbers = (count) => [...Array(count).keys()].map(String);
    segments(p.probes, films.probes, "", state.probe, (probe) => ({ probe }));
    segments(p.layers, numbers(most("layers")), "layer", state.layer, (layer) => ({ layer }));
    segments(p.heads, ["mean", ...numbers(most("heads"))], "head", state.head === null ? 0 : state.head + 1, (at) => ({
      head: at ? at - 1 : null,
    }));
    p.probes.parentElement.hidden = films.probes.length < 2;
    p.layerChoice.hidden = most("layers") < 2;
    this.modeButtons.forEach((element, n) => setAttribute(element, "aria-pressed", String(state.table === (n === 1))));
  }

  drawPlayer(step) {
    const { parts: p, steps, place } = this;
    const last = Math.max(0, steps.length - 1);
    setAttribute(p.slider, "max", last);
    if (p.slider.value !== String(place)) p.slider.value = String(place);
    const text = `step ${step.toLocaleString("en")} of ${films.total.toLocaleString("en")}`;
    setText(p.count, text);
    setAttribute(p.slider, "aria-valuetext", text);
    setAttribute(p.first, "disabled", place === 0);
    setAttribute(p.last, "disabled", place === last);
    for (const part of [p.play, p.slider]) setAttribute(part, "disabled", last === 0);
  }

  makePanel(n) {
    const map = new FilmMap({
      pick: (row, key) => {
        const at = [Math.max(0, row), key];
        this.marked = String(this.marked) === String(at) ? null : at; // a second click takes the mark away
        this.redraw();
      },
      hover: (text, at) => this.point(n, at),
    });
    const panel = {
      map,
      title: h("h3"),
      label: h("span", { class: "label" }),
      room: h("div", { class: "room" }, map.element),
      table: h("div", { class: "table", tabindex: "0", role: "region" }),
      absent: h("p", { class: "absent" }),
      readout: h("p", { class: "readout" }),
    };
    const { title, label, room, table, absent, readout } = panel;
    panel.element = h(
      "section",
      { class: "panel" },
      h("header", {}, h("span", { class: "swatch", "aria-hidden": "true" }), title, label),
      room,
      table,
      absent,
      readout,
    );
    this.panels[n] = panel;
    return panel.element;
  }

  drawPanel(panel, own, step, theme, colours) {
    const { state, marked } = this;
    const { map, title, label, room, table, absent, element } = panel;
    setText(title, own.name);
    setAttribute(element, "aria-label", own.name);
    element.querySelector(".swatch").style.background = own.colours[theme];
    const shot = own.shot(state, step);
    setText(absent, shot.absent ?? "");
    absent.hidden = !shot.absent;
    room.hidden = state.table || Boolean(shot.absent);
    table.hidden = !state.table || Boolean(shot.absent);
    setText(label, shot.said);
    if (shot.absent) {
      map.shown = null;
      return;
    }
    const { tokens, weights, bytes } = shot;
    const inside = marked && Math.max(...marked) < tokens.length;
    const [row, key] = inside ? marked : [-1, null];
    const forbids = own.causal ? (i, j) => j > i : () => false;
    const name = `${own.name}, ${shot.said}`;
    const shown = {
      tokens,
      map: { size: tokens.length, bytes },
      whole: true,
      weights,
      row,
      key,
      scale: "root",
      theme,
      first: 0,
      last: 0,
      forbids,
      name,
    };
    setAttribute(table, "aria-label", name);
    if (state.table) {
      map.shown = shown;
      fillTable(table, tokens, weights, row, 0, 0, forbids, { write: digits });
    } else
      map.draw(shown, colours, {
        width: room.clientWidth,
        height: Math.max(220, Math.min(440, window.innerHeight - 320)),
      });
  }

  /** Speaks once per pause. */
  say(text) {
    if (text === this.lastSaid) return;
    this.lastSaid = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.parts.aloud, text), 600);
  }
}

const views = new WeakMap();
let films = null;
let view = null; // the one that is on the page

export function film({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new FilmView(parentElement));
  view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  view.take(data);
}

let packed = null;

export function frames({ data }) {
  if (data === packed) return;
  packed = data;
  const before = films;
  films = unpackFilms(data);
  if (view) view.framesChanged(before);
}
