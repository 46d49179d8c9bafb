// The film: maps of models during training, side by side, from the first step to the last.

import { gradient } from "../base/colour.js";
import { fillChoice, group, mapOrTable, namedPart, numbers } from "../base/choice.js";
import { button, div, h, panel, render, setAttribute, setText, span } from "../base/dom.js";
import { MODEL } from "../base/facts.js";
import { FilmMap, digits, parseChoice, strongest, unpackFilms, writeChoice } from "./film_maps.js";
import { wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { mount } from "../base/mount.js";
import { ApiView } from "../wire/api_view.js";
import filmCss from "./film.css" with { type: "css" };

const LENGTH = 6000; // ms of the whole film
const SLOWEST = 600; // ms per step, at most
const LEGEND = "rows are queries, columns are keys; layers and heads are counted from 0";

/** @typedef {import("../base/messages.js").FilmState & Ack} State */

/** @extends {ApiView<any>} */
class FilmView extends ApiView {
  constructor(root) {
    super(root, [filmCss], "film");
    /** @type {import("./film_maps.js").Films} */
    this.films = { films: [], steps: [], probes: [], total: 0, notes: [] };
    this.script = /** @type {State} */ (/** @type {unknown} */ (null)); // state from the page's script
    this.choice = parseChoice("");
    this.position = Infinity; // index of the step; at the end it follows a running training
    this.clicks = 0; // counter of the steps selected in the curves
    this.goal = /** @type {number | null} */ (null); // selected step, until the film has loaded
    this.playing = 0;
    this.panels = /** @type {ReturnType<FilmView["makePanel"]>[]} */ ([]);
    this.pointed = { n: -1, at: /** @type {number[] | null} */ (null) };
    this.marked = /** @type {number[] | null} */ (null);
    const p = {
      probes: group("Text"),
      layers: group("Layer"),
      heads: group("Head"),
      first: button("first", () => this.seek(0)),
      play: button("play", () => this.play(!this.playing), { class: "play", "aria-pressed": "false" }),
      last: button("last", () => this.seek(Infinity)),
      slider: h("input", { type: "range", min: "0", step: "1", "aria-label": "Training step" }),
      count: span("count"),
      panels: div("films"),
      ramp: span("ramp"),
      law: h("span"),
    };
    p.probes.classList.add("texts");
    p.slider.oninput = () => this.seek(Number(p.slider.value));
    p.slider.onkeydown = (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      this.play(!this.playing);
    };
    this.modes = mapOrTable((table) => this.choose({ table }));
    this.scale = [h("span", {}, "0"), p.ramp, h("span", {}, "1")];
    this.groups = { probes: namedPart("text", p.probes), layers: namedPart("layer", p.layers) };
    const { probes, layers } = this.groups;
    const bar = div("bar", probes, layers, namedPart("head", p.heads), this.modes.element);
    const moves = div("segments", p.first, p.play, p.last);
    const player = h("div", { class: "player", role: "group", "aria-label": "Film" }, moves, p.slider, p.count);
    this.parts = p;
    this.show(bar, player, p.panels, h("p", { class: "legend" }, ...this.scale, p.law));
  }

  /** @param {State} script */
  onMessage(script) {
    this.script = script;
    if (script.clicks > this.clicks) this.goal = script.step;
    this.clicks = script.clicks;
    this.reach();
    super.onMessage(script);
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.choice = parseChoice(link.get("film") ?? "");
  }

  toParams() {
    return { film: writeChoice(this.choice) };
  }

  /** Go to the step selected in the curves, once its map is here. */
  reach() {
    if (this.goal === null || !this.steps.length) return;
    const place = this.steps.findLastIndex((step) => step <= /** @type {number} */ (this.goal));
    this.goal = null;
    this.seek(Math.max(0, place));
  }

  /** The query of the films; no link parameter changes them. */
  query() {
    return new URLSearchParams({ name: this.script.digest });
  }

  route() {
    return this.picture?.digest === this.script.digest ? "" : "film";
  }

  receive([packed], query) {
    const nothing = { notices: [], warnings: [], texts: {}, unusable: {}, model: MODEL };
    this.picture = { ...nothing, digest: query.get("name"), defaults: { film: writeChoice(parseChoice("")) } };
    this.takeFilms(unpackFilms(packed));
  }

  /** Take over new snapshots or films; the current step stays, and the end stays the end. */
  takeFilms(films) {
    const step = this.steps[this.position];
    this.films = films;
    if (step !== undefined) {
      const later = this.steps.findIndex((value) => value >= step);
      this.position = later < 0 ? Infinity : later;
    }
    this.reach();
    this.redraw();
  }

  get steps() {
    return this.films.steps[this.choice.probe] ?? [];
  }

  choose(change) {
    const step = this.steps[this.place];
    Object.assign(this.choice, change);
    if (change.probe !== undefined) this.marked = null; // the cell belongs to the other text
    if (this.position !== Infinity) this.position = Math.max(0, this.steps.indexOf(step));
    this.onChange();
  }

  get place() {
    return Math.max(0, Math.min(this.position, this.steps.length - 1));
  }

  seek(place) {
    this.play(false);
    this.jump(place);
  }

  jump(place) {
    this.position = place >= this.steps.length - 1 ? Infinity : place;
    this.redraw();
  }

  play(isOn) {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    setAttribute(this.parts.play, "aria-pressed", isOn);
    setText(this.parts.play, isOn ? "pause" : "play");
    if (!isOn) return this.redraw();
    const from = this.place === this.steps.length - 1 ? 0 : this.place;
    const beat = Math.min(SLOWEST, LENGTH / Math.max(1, this.steps.length - 1));
    const began = performance.now();
    const go = (now) => {
      const place = from + Math.max(0, Math.floor((now - began) / beat));
      if (!this.element.isConnected || place >= this.steps.length) return this.play(false);
      this.playing = requestAnimationFrame(go);
      if (place !== this.place) this.jump(place);
    };
    this.jump(from);
    this.playing = requestAnimationFrame(go);
  }

  /** Read out a cell in every map that has it; without one, the marked or the strongest cell. */
  point(pointed) {
    this.pointed = pointed;
    const cell = pointed.at ?? this.marked;
    this.panels.forEach(({ map, readout }, n) => {
      if (!map.picture) return setText(readout, "");
      const inside = cell && map.has(cell);
      if (n !== pointed.n) map.mark(pointed.at && inside ? pointed.at : null);
      setText(readout, inside ? map.say(cell) : strongest(map.picture));
    });
  }

  draw() {
    const { parts: p, films, choice, theme } = this;
    const step = this.steps[this.place] ?? 0;
    this.element.hidden = !films.films.length;
    this.drawBar();
    this.drawPlayer(step);
    this.panels = films.films.map((_, n) => this.panels[n] ?? this.makePanel(n));
    render(p.panels, ...this.panels.map(({ element }) => element));
    films.films.forEach((film, n) => this.drawPanel(this.panels[n], film, step));
    this.point(this.pointed);
    p.ramp.style.backgroundImage = gradient(theme);
    for (const part of this.scale) part.hidden = choice.table; // tables have no colours
    setText(
      p.law,
      [
        ...(choice.table ? [] : ["colour scale widened for small weights (√ of the weight)"]),
        ...films.notes,
        LEGEND,
      ].join(" · "),
    );
    const readouts = this.panels.map(({ title, readout }) => `${title.textContent}: ${readout.textContent}`);
    if (!this.playing) this.say([p.count.textContent, ...readouts].join(". "));
    Object.assign(this.element.dataset, { step, choice: writeChoice(choice), films: films.films.length });
  }

  drawBar() {
    const { parts: p, films, choice } = this;
    const maxOf = (name) => Math.max(1, ...films.films.map(({ header }) => header[name]));
    const heads = ["mean", ...numbers(maxOf("heads"))];
    const selected = choice.head === null ? 0 : choice.head + 1;
    fillChoice(p.probes, films.probes, choice.probe, (probe) => this.choose({ probe }));
    fillChoice(p.layers, numbers(maxOf("layers")), choice.layer, (layer) => this.choose({ layer }), "layer");
    fillChoice(p.heads, heads, selected, (index) => this.choose({ head: index ? index - 1 : null }), "head");
    this.groups.probes.hidden = films.probes.length < 2;
    this.groups.layers.hidden = maxOf("layers") < 2;
    this.modes.press(choice.table);
  }

  drawPlayer(step) {
    const { parts: p, steps, place } = this;
    const last = Math.max(0, steps.length - 1);
    setAttribute(p.slider, "max", last);
    if (p.slider.value !== String(place)) p.slider.value = String(place);
    const text = `step ${step.toLocaleString("en")} of ${this.films.total.toLocaleString("en")}`;
    setText(p.count, text);
    setAttribute(p.slider, "aria-valuetext", text);
    setAttribute(p.first, "disabled", place === 0);
    setAttribute(p.last, "disabled", place === last);
    for (const part of [p.play, p.slider]) setAttribute(part, "disabled", last === 0);
  }

  makePanel(n) {
    const pick = (row, key) => {
      const cell = [Math.max(0, row), key];
      this.marked = String(this.marked) === String(cell) ? null : cell; // a second click clears the mark
      this.redraw();
    };
    const map = new FilmMap({ pick, hover: (_, cell) => this.point({ n, at: cell }) });
    const handlers = {
      map,
      swatch: h("span", { class: "swatch", "aria-hidden": "true" }),
      title: h("h3"),
      label: span("label"),
      room: new MapPanel(map, ""),
      absent: h("p", { class: "absent" }),
      readout: h("p", { class: "readout" }),
    };
    const header = [handlers.swatch, handlers.title, handlers.label];
    return {
      ...handlers,
      element: panel("one-film", null, header, handlers.room.element, handlers.absent, handlers.readout),
    };
  }

  drawPanel({ map, swatch, title, label, room, absent, element }, film, step) {
    const { choice, marked, theme } = this;
    const { name, causal, colours: palette } = film.header;
    const shot = film.shot(choice, step);
    setText(title, name);
    setText(label, shot.caption);
    setText(absent, shot.absent ?? "");
    setAttribute(element, "aria-label", name);
    swatch.style.background = palette[theme ?? "dark"];
    absent.hidden = !shot.absent;
    room.element.hidden = Boolean(shot.absent);
    map.picture = null;
    if (shot.absent) return;
    const { tokens, keys, weights, bytes, caption } = shot;
    const [row, key] = marked && marked[0] < tokens.length && marked[1] < keys.length ? marked : [-1, null];
    const forbids = causal ? (i, j) => j > i : () => false;
    const cells = { size: tokens.length, bytes };
    const mapPicture = wholeMap(tokens, weights, {
      map: cells,
      keys,
      row,
      key,
      theme,
      forbids,
      name: `${name}, ${caption}`,
    });
    const height = Math.max(220, Math.min(440, window.innerHeight - 320));
    setAttribute(room.table, "aria-label", mapPicture.name);
    room.draw(mapPicture, choice.table, this.inks, { width: room.element.clientWidth, height }, { write: digits });
  }
}

export const view = mount(FilmView);
