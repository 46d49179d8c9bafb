// The pair view: the same head under two settings, and right − left. Pointing at a cell reads it in all three.

import { gradient, inks, themeOf } from "./colour.js";
import { DifferenceMap, asBytes, signed, signedGradient } from "./differences.js";
import { fill, h, setAttribute, setText, styles } from "./dom.js";
import { button } from "./elements.js";
import { parseLook, writeLook } from "./look.js";
import { BigMap } from "./map.js";
import { unpack } from "./packets.js";
import { forbids } from "./painted.js";
import { fillTable } from "./table.js";
import { number } from "./words.js";

const NARROW = 640; // pixels; below, one column with the maps first
const SIDES = ["Left", "Right", "Right − left"];
const toBytes = (weights) => Uint8Array.from(weights, (weight) => Math.round(255 * weight));

const STYLES = await styles("./view.css", "./pair.css");

/** The state and its float32 maps: left, right, and their difference where they have one size. */
function unpackPair(packed) {
  const { header, body } = unpack(packed);
  const floats = new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4);
  const first = header.sides[0].tokens.length ** 2;
  const [left, right] = [floats.subarray(0, first), floats.subarray(first)];
  const difference = header.fits ? left.map((weight, at) => right[at] - weight) : null;
  const bytes = [toBytes(left), toBytes(right), difference && asBytes(difference)];
  return { ...header, maps: [left, right, difference], bytes, shown: { layer: header.layer, head: header.head } };
}

class PairView {
  constructor(root) {
    this.root = root;
    this.turn = 0;
    this.state = null;
    this.pointed = [-1, null];
    const act = (own) => ({
      pick: (row, key) => this.change({ row: Math.max(0, row), key, chosen: true }),
      hover: (text, at) => this.point(own, at),
    });
    this.maps = [new BigMap(act(0)), new BigMap(act(1)), new DifferenceMap(act(2))];
    this.build();
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    document.fonts?.ready.then(() => this.redraw());
  }

  build() {
    const group = (name, label) => h("div", { class: `segments ${name}`, role: "group", "aria-label": label });
    const p = {
      notices: h("div", { class: "notices", role: "status" }),
      tries: h("div", { class: "presets", role: "group", "aria-label": "Comparisons to try" }),
      layers: group("layers", "Layer"),
      heads: group("head-choice", "Head"),
      modes: group("modes", "Maps or tables"),
      specials: button("show [CLS] [SEP]", () => this.look({ nospecials: !this.seen.nospecials }), { class: "toggle" }),
      link: button("copy link", () => this.copyLink(), { class: "toggle" }),
      figures: h("div", { class: "figures" }),
      sentences: h("div", { class: "sentences" }),
      aloud: h("p", { class: "aloud", "aria-live": "polite" }),
    };
    this.parts = p;
    this.modeButtons = [
      button("maps", () => this.look({ table: false })),
      button("tables", () => this.look({ table: true })),
    ];
    p.modes.append(...this.modeButtons);
    this.panels = SIDES.map((name, at) => this.panel(name, at));
    const bar = h(
      "div",
      { class: "bar" },
      h("div", { class: "choice" }, h("span", { class: "label", "aria-hidden": "true" }, "layer"), p.layers),
      h("div", { class: "choice" }, h("span", { class: "label", "aria-hidden": "true" }, "head"), p.heads),
      p.modes,
      p.specials,
      h("span", { class: "push" }),
      p.link,
    );
    const help = h(
      "footer",
      {},
      "Layers, heads and tokens are counted from 0. Pointing at a cell reads it in all three maps; arrow keys walk, Enter marks. Attention shows where a head looks, not why the model answers.",
    );
    this.element = h(
      "div",
      { class: "view pair", hidden: "" },
      p.notices,
      p.tries,
      bar,
      ...this.panels.map(({ element }) => element),
      p.figures,
      p.sentences,
      help,
      p.aloud,
    );
  }

  panel(name, at) {
    const parts = {
      title: h("h2", {}, name),
      head: h("span", { class: "label" }),
      label: h("p", { class: "label" }),
      room: h("div", { class: "room" }, this.maps[at].element),
      table: h("div", { class: "table", tabindex: "0", role: "region", "aria-label": `${name} as a table` }),
      readout: h("p", { class: "readout" }),
      legend: h("p", { class: "legend" }, h("span"), h("span", { class: "ramp" }), h("span"), h("span")),
    };
    const { title, head, label, room, table, readout, legend } = parts;
    parts.element = h(
      "section",
      { class: `panel ${["left", "right", "difference"][at]}`, "aria-label": name },
      h("header", {}, title, head),
      label,
      room,
      table,
      readout,
      legend,
    );
    return parts;
  }

  // ---- what comes in

  take(state) {
    if (this.visit !== state.visit) this.turn = 0; // a new session: what it says holds
    this.visit = state.visit;
    const own = this.state;
    this.state = { ...state };
    // an answer to an earlier click must not undo a later one
    if (own && state.heard < this.turn)
      for (const name of ["layer", "head", "row", "key", "chosen", "look"]) this.state[name] = own[name];
    else this.turn = state.heard;
    this.seen = parseLook(this.state.look);
    this.redraw();
  }

  // ---- what the visitor does

  look(change) {
    Object.assign(this.seen, change);
    this.change({ look: writeLook(this.seen) });
  }

  change(change, extra = {}) {
    const own = this.state;
    Object.assign(own, change);
    if (change.key !== undefined) own.marked = [own.row, own.key];
    this.turn += 1;
    this.element.dataset.turn = this.turn;
    const at = [own.layer, own.head, ...(own.chosen ? [own.row, ...(own.key === null ? [] : [own.key])] : [])].join(
      ".",
    );
    this.redraw();
    this.send({ turn: this.turn, at, look: own.look, ...extra });
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("link copied");
    } catch {
      window.prompt("Copy this link", location.href); // without a secure context the clipboard is closed
    }
  }

  /** Reads a cell in every map that has it; without one, the marked cell. */
  point(own, at) {
    this.pointed = [own, at]; // stays read when the maps are drawn again
    this.maps.forEach((map, n) => {
      const size = map.shown?.tokens.length ?? 0;
      const here = at ?? this.state.marked;
      const has = n === own || (this.state.fits && map.shown) || !at;
      const inside = has && Math.max(...here) < size;
      if (n !== own) map.mark(at && inside ? at : null);
      setText(this.panels[n].readout, inside ? map.say(here) : "");
    });
  }

  // ---- drawing

  redraw() {
    if (this.frame || !this.state) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { state, seen, parts: p } = this;
    this.element.hidden = false;
    const width = this.element.clientWidth;
    if (!width) return;
    const theme = themeOf(this.root.host ?? this.root);
    setAttribute(this.element, "data-theme", theme);
    const fits = state.shown.layer === state.layer && state.shown.head === state.head; // else the numbers are on their way
    setAttribute(
      this.element,
      "class",
      ["view", "pair", width < NARROW && "narrow", !state.fits && "apart"].filter(Boolean).join(" "),
    );
    setAttribute(this.element, "data-waiting", fits ? null : "");
    fill(p.notices, state.notices, () => h("p"), setText);
    this.drawBar();
    const colours = inks(this.element);
    const special = (token) => token === "[CLS]" || token === "[SEP]";
    this.panels.forEach((panel, n) => {
      const tokens = n === 2 ? state.tokens : state.sides[n].tokens;
      const cut = seen.nospecials
        ? [Number(special(tokens[0])), Number(tokens.length > 1 && special(tokens.at(-1)))]
        : [0, 0];
      this.drawPanel(panel, n, tokens, cut, theme, colours);
    });
    this.point(...this.pointed);
    fill(
      p.figures,
      state.figures,
      () => h("div", { class: "panel figure" }, h("strong"), h("span")),
      (card, { value, label }) => {
        setText(card.firstChild, value);
        setText(card.lastChild, label);
      },
    );
    fill(p.sentences, state.sentences, () => h("p"), setText);
    this.say(`Layer ${state.layer}, head ${state.head}. ${this.panels[2].readout.textContent}`);
    Object.assign(this.element.dataset, {
      digest: state.digest,
      numbers: fits ? `${state.layer}.${state.head}` : "",
      turn: this.turn,
      heard: state.heard,
    });
  }

  drawBar() {
    const { state, seen, parts: p } = this;
    fill(
      p.tries,
      state.try,
      (at) => button("", () => this.change({}, { try: this.state.try[at] })),
      (element, name) => {
        setText(element, name);
        setAttribute(element, "aria-pressed", String(name === state.tried));
      },
    );
    for (const [parent, count, word, own] of [
      [p.layers, state.layers, "layer", state.layer],
      [p.heads, state.heads, "head", state.head],
    ]) {
      fill(
        parent,
        [...Array(count).keys()],
        (number) => button("", () => this.change({ [word]: number, ...(this.state.chosen ? {} : { key: null }) })),
        (element, number) => {
          setText(element, String(number));
          setAttribute(element, "aria-label", `${word} ${number}`);
          setAttribute(element, "aria-pressed", String(number === own));
        },
      );
    }
    this.modeButtons.forEach((element, n) =>
      setAttribute(element, "aria-pressed", String(Boolean(seen.table) === (n === 1))),
    );
    setAttribute(p.specials, "aria-pressed", String(!seen.nospecials));
  }

  drawPanel(panel, n, tokens, [first, last], theme, colours) {
    const { state, seen } = this;
    const map = this.maps[n];
    const weights = state.maps[n];
    const { label, head, room, table, legend, readout } = panel;
    setText(head, `layer ${state.shown.layer} · head ${state.shown.head}`);
    setText(label, n === 2 ? state.said : [state.sides[n].label, state.sides[n].fitness].filter(Boolean).join(". "));
    room.hidden = Boolean(seen.table) || !weights;
    table.hidden = !seen.table || !weights;
    legend.hidden = readout.hidden = !weights;
    if (!weights) {
      map.shown = null;
      return;
    }
    const row = state.row < tokens.length ? state.row : -1; // the other sentence may be longer
    const forbidden = state.sides.map((side) => forbids(side.forbidden, state.shown.head, side.tokens.length));
    const hatched = n === 2 ? (i, j) => forbidden[0](i, j) && forbidden[1](i, j) : forbidden[n];
    const bytes = state.bytes[n];
    const shown = {
      tokens,
      map: { size: tokens.length, bytes },
      whole: true,
      weights,
      sides: state.maps,
      distances: state.distances,
      row,
      key: state.chosen && state.key !== null && state.key < tokens.length ? state.key : null,
      scale: seen.scale === "linear" ? "linear" : "root",
      theme,
      first,
      last,
      forbids: hatched,
      name: `${SIDES[n]}, layer ${state.shown.layer} head ${state.shown.head}`,
    };
    if (seen.table) {
      map.shown = shown;
      fillTable(
        table,
        tokens,
        weights,
        row,
        first,
        last,
        hatched,
        n === 2 ? { what: "change", write: signedDigits } : {},
      );
    } else map.draw(shown, colours, this.roomFor(room, n));
    this.drawLegend(legend, n, theme, row);
  }

  /** All three maps have cells of one size: each gets the room of the narrowest. */
  roomFor(room, n) {
    const widths = this.panels
      .filter(({ room: own }) => !own.hidden)
      .map(({ room: own }, at) => own.clientWidth - (at === 2 ? this.maps[2].beside : 0));
    const width = Math.min(...widths) + (n === 2 ? this.maps[2].beside : 0);
    return { width: Math.min(width, room.clientWidth), height: Math.max(260, Math.min(560, window.innerHeight - 330)) };
  }

  drawLegend(legend, n, theme, row) {
    const { state } = this;
    const [low, ramp, high, law] = legend.children;
    legend.hidden = Boolean(this.seen.table) && n < 2; // nothing in a table is told by colour
    for (const part of [low, ramp, high]) part.hidden = Boolean(this.seen.table);
    setText(low, n === 2 ? "−1, less on the right" : "0");
    setText(high, n === 2 ? "+1, more" : "1");
    ramp.style.backgroundImage = n === 2 ? signedGradient(theme) : gradient(theme);
    const distance = n === 2 ? state.distances[row] : 0;
    setText(
      law,
      n === 2
        ? `${this.seen.table ? "" : "bars: "}total variation of each row, 0 to 1; “${state.tokens[row]}” ${number(distance)}`
        : "colour: √ of the weight",
    );
  }

  /** Speaks once per pause. */
  say(text) {
    if (text === this.lastSaid) return;
    this.lastSaid = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.parts.aloud, text), 600);
  }
}

const signedDigits = (value) => signed(value, (size) => size.toFixed(4));

const views = new WeakMap();

export default function pair({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new PairView(parentElement));
  const view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  if (view.packed !== data) {
    view.packed = data;
    view.take(unpackPair(data));
  } else view.redraw();
}
