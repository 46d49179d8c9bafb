// The Masks view: the gallery, the painted mask, and the weights before and after.

import { gradient, inks, themeOf } from "./colour.js";
import { fill, h, setAttribute, setText, styles } from "./dom.js";
import { button } from "./elements.js";
import { JOINS, drawGallery } from "./gallery.js";
import { BigMap } from "./map.js";
import { unpack } from "./packets.js";
import { PaintGrid } from "./paint_grid.js";
import { forbids, readCells, readFlips, writeFlips } from "./painted.js";
import { fillTable } from "./table.js";

const NARROW = 640; // pixels; below, one column with the painter first
const ROOMY = 130; // pixels of a panel that are no cells
const READABLE = 1.5; // rem of a cell that holds a number
const MOST_UNDONE = 200;
const PAUSE = 250; // ms after a stroke, until the server computes
const TOOLS = [
  ["block", "paint: what is touched is blocked"],
  ["allow", "erase: what is touched is allowed"],
  ["row", "turns whole rows"],
  ["column", "turns whole columns"],
];

const STYLES = await styles("./view.css", "./painter.css");

const segments = (name, parts) => h("div", { class: "segments", role: "group", "aria-label": name }, ...parts);
const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

class Painter {
  constructor(root) {
    Object.assign(this, { root, turn: 0, heard: 0, pending: {}, undone: [], state: null });
    Object.assign(this, {
      tool: "block",
      scope: "all",
      join: "use",
      table: false,
      scrolls: matchMedia("(pointer: coarse)").matches,
    });
    const hover = (text) => setText(this.parts.readout, text ?? "");
    this.grid = new PaintGrid({
      begin: (i, j) => this.begin(i, j),
      paint: (i, j) => this.paint(i, j),
      line: (tool, at) => this.line(tool, at),
      toggle: (i, j) => this.toggle(i, j),
      end: () => this.end(),
      undo: () => this.undo(),
      hover,
    });
    const pick = (row, key) => this.look({ row, key, chosen: true });
    this.maps = ["before", "after"].map(
      (when) => new BigMap({ pick, hover: (text) => hover(text && `${when}: ${text}`) }),
    );
    this.build();
    root.adoptedStyleSheets = STYLES;
    root.append(this.element);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    document.fonts?.ready.then(() => this.redraw());
  }

  build() {
    const panel = (name, title, note, ...inside) =>
      h("section", { class: `panel ${name}` }, h("header", {}, h("div", { class: "titles" }, title), note), ...inside);
    const p = {
      notices: h("div", { class: "notices", role: "status" }),
      gallery: h("div", { class: "gallery", role: "group", "aria-label": "Masks" }),
      rule: h("code", { class: "rule" }),
      undo: button("undo", () => this.undo()),
      clear: button("clear", () => this.clear()),
      layers: h("div", { class: "segments", role: "group", "aria-label": "Layer" }),
      heads: h("div", { class: "segments", role: "group", "aria-label": "Head" }),
      copy: button("copy link", () => this.copyLink()),
      counted: h("span", { class: "label" }),
      readout: h("p", { class: "readout" }),
      beforeTitle: h("h2"),
      sums: h("span", { class: "label" }),
      rows: h("ol", { class: "rows", start: "0" }),
      label: h("p", { class: "label" }),
      legend: h(
        "p",
        { class: "legend" },
        "0",
        h("span", { class: "ramp" }),
        "1",
        h("span", {}, "colour: √ of the weight; hatched: blocked"),
      ),
      aloud: h("p", { class: "aloud", "aria-live": "polite" }),
    };
    this.tools = TOOLS.map(([tool, title]) => button(tool, () => this.choose({ tool }), { title }));
    this.scopes = [
      ["all", "all heads"],
      ["one", "this head"],
    ].map(([scope, text]) => button(text, () => this.choose({ scope })));
    this.joins = JOINS.map((join) => button(join, () => this.choose({ join })));
    this.modes = [
      ["map", false],
      ["table", true],
    ].map(([text, table]) => button(text, () => this.choose({ table })));
    this.touches = [
      ["paint", false],
      ["scroll", true],
    ].map(([text, scrolls]) => button(text, () => this.choose({ scrolls })));
    const named = (name, part) => h("span", { class: "named" }, h("span", { class: "label" }, name), part);
    p.touch = named("a finger", segments("What a finger does", this.touches));
    const brushes = h(
      "div",
      { class: "bar brushes" },
      segments("Tool", this.tools),
      segments("Painting", [p.undo, p.clear]),
      segments("Heads that are painted", this.scopes),
      p.touch,
    );
    const places = h("div", { class: "bar places" }, named("layer", p.layers), named("head", p.heads));
    p.tools = h("div", { class: "tools" }, brushes, places);
    const joins = h(
      "div",
      { class: "bar joins" },
      named("a click on a mask", segments("What a click on a mask does", this.joins)),
      named("rule in use", p.rule),
      h("span", { class: "push" }),
      segments("Weights as map or table", this.modes),
      p.copy,
    );
    this.tables = ["before", "after"].map((when) =>
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": `weights ${when} as a table` }),
    );
    this.rooms = this.maps.map(({ element }, at) => h("div", { class: "room" }, element, this.tables[at]));
    p.paintRoom = h("div", { class: "room" }, this.grid.element);
    this.element = h(
      "div",
      { class: "view painter", hidden: "" },
      p.notices,
      p.gallery,
      joins,
      p.tools,
      panel("who", h("h2", {}, "who may look at whom"), p.counted, p.paintRoom, p.readout),
      panel("before", p.beforeTitle, null, this.rooms[0]),
      panel("after", h("h2", {}, "weights after"), p.sums, this.rooms[1]),
      panel(
        "by-row",
        h("h2", {}, "row by row"),
        null,
        h("div", { class: "all-rows", tabindex: "0", role: "region", "aria-label": "Row by row" }, p.rows),
        p.legend,
        p.label,
      ),
      p.aloud,
    );
    this.parts = p;
  }

  // ---- what comes in

  take(state, weights) {
    if (this.visit !== state.visit) Object.assign(this, { turn: 0, undone: [] }); // a new session: what it says holds
    this.visit = state.visit;
    const own = this.state;
    const n = state.tokens.length;
    if (own?.tokens.length !== n) this.undone = [];
    this.state = { ...state, weights };
    // an answer to an earlier click must not undo a later one
    if (own && state.heard < this.turn) {
      for (const name of ["layer", "head", "row", "key", "chosen"]) this.state[name] = own[name];
    } else {
      Object.assign(this, { turn: state.heard, pending: {} });
    }
    if (own?.tokens.length !== n || !("p" in this.pending)) {
      Object.assign(this, {
        flips: readFlips(state.painted, n, state.heads),
        base: readCells(state.base, n * n),
        tooLong: 0,
      });
    }
    this.heard = state.heard;
    this.redraw();
  }

  // ---- painting

  get n() {
    return this.state.tokens.length;
  }

  /** The mask of a head, cells of 0 and 1. */
  allow(head) {
    return this.base.map((forbidden, at) => 1 - (forbidden ^ this.flips[head][at]));
  }

  /** The rule that is painted on. */
  get on() {
    return this.pending.on ?? this.state.rule;
  }

  /** Pixels of a cell that holds a number. */
  get readable() {
    return READABLE * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  get paintable() {
    return this.n <= this.state.most;
  }

  /** Keeps what is painted now, for undo. */
  keep() {
    this.undone.push({ on: this.on, p: writeFlips(this.flips, this.n), base: this.base });
    if (this.undone.length > MOST_UNDONE) this.undone.shift();
  }

  /** Decides what the stroke that begins here does. */
  begin(i, j) {
    if (!this.paintable) return;
    this.keep();
    const own = this.allow(this.state.head);
    const cells =
      this.tool === "row" ? own.subarray(i * this.n, (i + 1) * this.n) : own.filter((_, at) => at % this.n === j);
    this.value =
      this.tool === "allow" || ((this.tool === "row" || this.tool === "column") && !cells.includes(1)) ? 1 : 0;
  }

  paint(i, j) {
    if (!this.paintable) return;
    for (let at = 0; at < this.n; at++) {
      if (this.tool === "row") this.set(i, at);
      else if (this.tool === "column") this.set(at, j);
    }
    if (this.tool === "block" || this.tool === "allow") this.set(i, j);
    this.redraw();
  }

  set(i, j) {
    const at = i * this.n + j;
    const turned = this.value === (this.base[at] ? 1 : 0) ? 1 : 0;
    const heads = this.scope === "all" ? this.flips : [this.flips[this.state.head]];
    for (const own of heads) own[at] = turned;
  }

  /** One press: a cell, or with those tools its whole row or column, is turned round. */
  toggle(i, j) {
    if (!this.paintable) return;
    this.begin(i, j);
    if (this.tool === "block" || this.tool === "allow") {
      this.value = this.allow(this.state.head)[i * this.n + j] ? 0 : 1;
      this.set(i, j);
      this.redraw();
    } else this.paint(i, j);
    this.end();
  }

  line(tool, at) {
    const chosen = this.tool;
    this.tool = tool;
    this.toggle(at, at);
    this.tool = chosen;
  }

  end() {
    if (this.paintable) this.painted();
  }

  undo() {
    const before = this.undone.pop();
    if (!before) return;
    this.flips = readFlips(before.p, this.n, this.state.heads);
    this.base = before.base;
    this.pending.on = before.on;
    this.painted();
  }

  clear() {
    this.keep();
    for (const own of this.flips) own.fill(0);
    this.painted();
  }

  /** Draws at once; the weights follow when the painting pauses. */
  painted() {
    const p = writeFlips(this.flips, this.n);
    this.tooLong = p.length > this.state.longest ? p.length : 0;
    this.redraw();
    if (this.tooLong) return;
    for (const name of ["rule", "kind", "join"]) delete this.pending[name];
    Object.assign(this.pending, { p, on: this.on });
    this.turn += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), PAUSE);
  }

  // ---- what else the visitor does

  choose(change) {
    Object.assign(this, change);
    this.redraw();
  }

  look(change) {
    Object.assign(this.state, change);
    this.turn += 1;
    this.redraw();
    this.tell();
  }

  /** Uses a card, or joins its rule to the one in use. */
  use(event) {
    this.tooLong = 0;
    clearTimeout(this.timer);
    this.timer = null;
    this.keep();
    this.pending = this.join === "use" ? { ...event } : { rule: event.rule, join: this.join };
    if ("painted" in event) this.pending = { on: event.rule, p: event.painted };
    this.join = "use";
    this.turn += 1;
    this.tell();
  }

  tell() {
    clearTimeout(this.timer);
    this.timer = null;
    const { layer, head, row, key, chosen } = this.state;
    const at = [layer, head, ...(chosen ? [row, ...(key === null ? [] : [key])] : [])].join(".");
    this.element.dataset.turn = this.turn;
    this.send({ turn: this.turn, at, ...this.pending });
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
    if (this.frame || !this.state) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { state, n } = this;
    this.element.hidden = false;
    const width = this.element.clientWidth;
    if (!width) return;
    const theme = themeOf(this.root.host ?? this.root);
    setAttribute(this.element, "data-theme", theme);
    const narrow = width < NARROW;
    const wide = !narrow && n * this.readable + ROOMY <= width / 3;
    setAttribute(
      this.element,
      "class",
      ["view", "painter", narrow ? "narrow" : wide && "wide"].filter(Boolean).join(" "),
    );
    const colours = { ...inks(this.element), line: getComputedStyle(this.element).getPropertyValue("--hatch").trim() };
    this.drawGallery(colours);
    this.drawControls(narrow);
    this.drawMask(theme, colours);
    this.drawWeights(theme, colours);
    this.drawRows();
    Object.assign(this.element.dataset, { digest: state.digest, turn: this.turn, heard: this.heard });
  }

  drawGallery(colours) {
    const { parts: p, state } = this;
    const accent = getComputedStyle(this.element).getPropertyValue("--glow").trim();
    const used = ({ event, painted }) =>
      state.painted
        ? Boolean(event.kind) || painted === state.painted
        : !event.kind && !painted && event.rule === state.rule;
    drawGallery(p.gallery, state.cards, {
      n: this.n,
      inks: colours,
      accent,
      join: this.join,
      used,
      choose: ({ event }) => this.use(event),
    });
    setText(p.rule, state.rule + (state.painted ? ", painted" : ""));
    const notices = this.tooLong
      ? [
          `This painting needs ${many(this.tooLong, "character")} in the link, which has room for ${state.longest.toLocaleString("en")}. The weights are those before it: undo, or paint fewer single cells.`,
        ]
      : [];
    if (!this.paintable)
      notices.push(
        `A mask can be painted for at most ${state.most} tokens, this sentence has ${this.n}. The rules work at any length.`,
      );
    fill(p.notices, [...notices, ...state.notices], () => h("p"), setText);
  }

  drawControls(narrow) {
    const { parts: p, state } = this;
    const press = (buttons, values, now) =>
      buttons.forEach((element, at) => setAttribute(element, "aria-pressed", String(values[at] === now)));
    press(
      this.tools,
      TOOLS.map(([tool]) => tool),
      this.tool,
    );
    press(this.scopes, ["all", "one"], this.scope);
    press(this.joins, JOINS, this.join);
    press(this.modes, [false, true], this.table);
    press(this.touches, [false, true], this.scrolls);
    p.touch.hidden = !narrow && !matchMedia("(pointer: coarse)").matches;
    for (const element of this.tools) setAttribute(element, "disabled", !this.paintable);
    setAttribute(p.undo, "disabled", !this.undone.length);
    setAttribute(p.clear, "disabled", !this.flips.some((own) => own.includes(1)));
    const numbers = (parent, count, name) =>
      fill(
        parent,
        [...Array(count).keys()],
        (at) => button(String(at), () => this.look({ [name]: at })),
        (element, at) => {
          setAttribute(element, "aria-label", `${name} ${at}`);
          setAttribute(element, "aria-pressed", String(at === state[name]));
        },
      );
    numbers(p.layers, state.layers, "layer");
    numbers(p.heads, state.heads, "head");
  }

  drawMask(theme, colours) {
    const { parts: p, state, n } = this;
    const allow = this.allow(state.head);
    const same = this.flips.every((own) => own.every((cell, at) => cell === this.flips[0][at]));
    const shown = {
      tokens: state.tokens,
      allow,
      row: state.row,
      key: state.key,
      theme,
      scrolls: this.scrolls,
      name: same ? "Mask of all heads" : `Mask of head ${state.head}`,
    };
    this.grid.draw(shown, colours, this.roomFor(p.paintRoom));
    const blocked = allow.reduce((sum, cell) => sum + 1 - cell, 0);
    const text = `${blocked.toLocaleString("en")} of ${(n * n).toLocaleString("en")} blocked${same ? "" : ` in head ${state.head}`}`;
    if (p.counted.textContent !== text) this.say(text);
    setText(p.counted, text);
  }

  drawWeights(theme, colours) {
    const { parts: p, state, n } = this;
    setText(p.beforeTitle, `weights before: ${state.without}`);
    setText(p.sums, state.sums);
    const kept = {
      tokens: state.tokens,
      whole: true,
      row: state.row,
      key: state.key,
      scale: "root",
      theme,
      first: 0,
      last: 0,
    };
    state.weights.forEach((weights, at) => {
      const bytes = Uint8Array.from(weights, (weight) => Math.round(255 * weight));
      const name = `Layer ${state.drawn[0]} head ${state.drawn[1]}, weights ${at ? "after" : "before"}`;
      const forbidden = forbids(at ? state.forbidden : state.forbiddenBefore, state.drawn[1], n);
      this.maps[at].element.hidden = this.table;
      this.tables[at].hidden = !this.table;
      if (this.table) {
        fillTable(this.tables[at], state.tokens, weights, state.row, 0, 0, forbidden);
        return;
      }
      this.maps[at].draw(
        { ...kept, map: { size: n, bytes }, weights, forbids: forbidden, name },
        colours,
        this.roomFor(this.rooms[at]),
      );
    });
    // until the numbers of this mask have come, those shown are of the one before
    setAttribute(this.element, "data-waiting", this.heard < this.turn ? "" : null);
    p.legend.querySelector(".ramp").style.backgroundImage = gradient(theme);
  }

  /** Each row: how many keys it may look at, and what its weights sum to. */
  drawRows() {
    const { parts: p, state, n } = this;
    const allow = this.allow(state.head);
    const sum = (weights, row) => weights.subarray(row * n, (row + 1) * n).reduce((total, weight) => total + weight, 0);
    fill(
      p.rows,
      state.tokens,
      () => h("li", {}, h("span", { class: "badge query" }), h("span", {}), h("span", { class: "sum" })),
      (line, token, row) => {
        const [name, keys, total] = line.children;
        const allowed = allow.subarray(row * n, (row + 1) * n).reduce((count, cell) => count + cell, 0);
        setText(name, token);
        setText(keys, allowed ? many(allowed, "key") : "empty");
        setText(total, `Σ ${state.weights.map((weights) => sum(weights, row).toFixed(2)).join(" → ")}`);
        setAttribute(line, "class", allowed ? null : "empty");
      },
    );
    setText(
      p.label,
      `${state.label}. Σ: what the row of weights sums to, before → after. Layers, heads and tokens are counted from 0.`,
    );
  }

  roomFor(element) {
    const style = getComputedStyle(element);
    const width = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    // on the first screen with the gallery above, unless the numbers need more
    return { width, height: Math.max(260, window.innerHeight - 400, Math.min(640, this.n * this.readable + 100)) };
  }

  /** Speaks once per pause. */
  say(text) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => setText(this.parts.aloud, text), 600);
  }
}

const views = new WeakMap();

export default function painter({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new Painter(parentElement));
  const view = views.get(parentElement);
  view.send = (event) => setTriggerValue("act", event);
  const { header, body } = unpack(data);
  const floats = new Float32Array(body.buffer, body.byteOffset, body.byteLength / 4);
  view.take(header, [floats.subarray(0, floats.length / 2), floats.subarray(floats.length / 2)]);
}
