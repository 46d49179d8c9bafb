// The view itself: state, what the visitor does, and one drawing a frame.

import { gradient, inks, themeOf } from "./colour.js";
import { fill, h, setAttribute, setText } from "./dom.js";
import { build, button, SCALES } from "./elements.js";
import { HeadsGrid } from "./heads.js";
import { parseAt, parseLook, writeAt, writeLook } from "./look.js";
import { BigMap } from "./map.js";
import { trimmed } from "./packets.js";
import { forbids } from "./painted.js";
import { fillTable } from "./table.js";
import { number, quoted, ranked, story, total } from "./words.js";

const NARROW = 640; // pixels; below, one column with the map first

export class View {
  constructor(root) {
    this.turn = 0;
    this.wishes = [];
    this.send = () => {};
    this.maps = this.focus = null;
    this.at = { layer: 0, head: 0, row: 0, key: null };
    this.chosen = false;
    this.look = parseLook("");
    this.off = new Set();
    this.heads = new HeadsGrid({
      focus: (layer, head) => this.go({ layer, head }),
      lamp: (layer, head) => this.toggleOff(layer, head),
      hide: (layer, head) => this.toggleHidden(layer, head),
      solo: (layer, head) => this.toggleSolo(layer, head),
      hover: (text) => this.read(text),
    });
    this.big = new BigMap({ pick: (row, key) => this.go({ row, key }), hover: (text) => this.read(text) });
    this.pinned = new BigMap({ pick: () => {}, hover: (text) => this.read(text && `pinned: ${text}`) });
    build(this, root);
    new ResizeObserver(() => this.resized()).observe(this.root);
    document.fonts?.ready.then(() => this.redraw());
  }

  // ---- what comes in

  takeMaps(maps) {
    this.maps = maps;
    this.redraw();
  }

  takeFocus(focus) {
    if (this.focus === focus) return;
    this.focus = focus;
    if (this.visit !== focus.visit) this.turn = 0; // a new session: what it says holds
    this.visit = focus.visit;
    // an answer to an earlier click must not undo a later one; its numbers are used where they fit
    if (focus.heard >= this.turn || this.turn === 0) {
      const { layer, head } = parseAt(focus.at);
      this.at = { layer, head, row: focus.row, key: focus.key };
      this.chosen = focus.at.split(".").length > 2;
      this.look = parseLook(focus.look);
      this.off = new Set(focus.off ? focus.off.split("-") : []);
      this.turn = focus.heard;
    }
    // what the link said and could not be used must not stay in it
    if (focus.unusable.length) this.tell(focus.unusable.includes("pin") ? { pin: "" } : {});
    this.redraw();
  }

  // ---- what the visitor does

  go(change) {
    if (change.row !== undefined) this.chosen = true;
    Object.assign(this.at, change);
    if (this.look.solo) this.look.solo = `${this.at.layer}.${this.at.head}`; // alone is always the head in focus
    this.redraw();
    this.tell({});
  }

  /** A layer, or behind the last one all of them. */
  goToLayer(index) {
    this.look.all = index === this.maps.layers;
    this.go(this.look.all ? {} : { layer: index });
  }

  change(change) {
    Object.assign(this.look, change);
    this.redraw();
    this.tell({});
  }

  toggleHidden(layer, head) {
    const hidden = new Set(this.look.hidden);
    const id = `${layer}.${head}`;
    if (!hidden.delete(id)) hidden.add(id);
    this.change({ hidden, solo: null });
  }

  toggleSolo(layer, head) {
    const id = `${layer}.${head}`;
    const solo = this.look.solo === id ? null : id;
    if (solo) Object.assign(this.at, { layer, head });
    this.change({ solo });
  }

  toggleOff(layer, head) {
    const id = `${layer}.${head}`;
    this.off = new Set(this.off);
    if (!this.off.delete(id)) this.off.add(id);
    this.redraw();
    this.tell({});
  }

  tell(extra) {
    this.turn += 1;
    this.element.dataset.turn = this.turn;
    // an event that the server has not heard yet is replaced by the next one, which brings its wish along
    this.wishes = this.wishes.filter(({ turn }) => turn > (this.focus?.heard ?? 0));
    this.wishes.push({ turn: this.turn, extra });
    const wish = Object.assign({}, ...this.wishes.map((told) => told.extra));
    const at = "preset" in wish ? writeAt(this.at, false) : writeAt(this.at, this.chosen);
    this.send({ turn: this.turn, at, look: writeLook(this.look), off: [...this.off].join("-"), ...wish });
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

  resized() {
    this.heads.rects = null;
    this.redraw();
  }

  themeChanged() {
    this.theme = themeOf(this.root);
    setAttribute(this.element, "data-theme", this.theme);
    this.redraw();
  }

  redraw() {
    if (this.frame || !this.maps || !this.focus) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { maps, focus, look, at } = this;
    if (!this.theme) this.themeChanged();
    this.element.hidden = false;
    at.row = Math.min(at.row, maps.n - 1);
    if (at.key !== null && at.key >= maps.n) at.key = null;
    const width = this.element.clientWidth;
    if (!width) return;
    const special = (token) => token === "[CLS]" || token === "[SEP]";
    const [first, last] = look.nospecials
      ? [Number(special(maps.tokens[0])), Number(maps.n > 1 && special(maps.tokens[maps.n - 1]))]
      : [0, 0];
    const matching = focus.digest === maps.digest;
    const fits = matching && focus.layer === at.layer && focus.head === at.head;
    this.weights = fits ? focus.weights : null;
    const shownAll = look.all && width >= NARROW;
    const kinds = { "with-pin": focus.pin, "with-all": shownAll, narrow: width < NARROW };
    setAttribute(this.element, "class", ["view", ...Object.keys(kinds).filter((kind) => kinds[kind])].join(" "));
    this.drawControls(shownAll);
    const state = { ...at, ...look, all: shownAll, off: this.off, first, last, sortKey: this.sortKey() };
    const colours = inks(this.element);
    this.heads.update(state, maps, this.order(shownAll), this.columns(width, shownAll));
    this.heads.draw(this.theme, colours);
    this.drawBig(state, colours, first, last, matching);
    this.drawWords(first, last);
    this.drawFoot();
    Object.assign(this.element.dataset, {
      digest: maps.digest,
      numbers: this.weights ? `${at.layer}.${at.head}` : "",
      turn: this.turn,
      heard: focus.heard,
    });
  }

  /** The key that heads are sorted by: the chosen one, otherwise what the row in focus looks at most. */
  sortKey() {
    const { at, maps } = this;
    if (at.key !== null) return at.key;
    if (!maps.isWhole(at.layer)) return null;
    const { bytes } = maps.map(at.layer, at.head);
    return ranked(bytes.subarray(at.row * maps.n, (at.row + 1) * maps.n))[0][0];
  }

  order(all) {
    const { maps, at, look } = this;
    const layers = all ? [...Array(maps.layers).keys()] : [at.layer];
    const key = this.sortKey();
    return layers.flatMap((layer) => {
      const pairs = Array.from({ length: maps.heads }, (_, head) => [layer, head]);
      if (!look.sort || key === null || !maps.isWhole(layer)) return pairs;
      const given = ([l, head]) => maps.map(l, head).bytes[at.row * maps.n + key];
      return pairs.sort((a, b) => given(b) - given(a) || a[1] - b[1]);
    });
  }

  /** Tiles side by side; of few heads two, so that they fill the place. */
  columns(width, shownAll) {
    const { heads } = this.maps;
    if (shownAll || heads <= 2) return heads;
    if (heads <= 4) return 2;
    return width < 420 || (this.focus.pin && width >= NARROW) ? 3 : 4;
  }

  drawControls(shownAll) {
    const { parts: p, maps, focus, look, at } = this;
    const { layer, head, row } = at;
    fill(p.notices, focus.notices, () => h("p"), setText);
    fill(
      p.presets,
      focus.presets,
      (index) => button("", () => this.tell({ preset: index })),
      (element, text) => {
        setText(element, text);
        setAttribute(element, "aria-pressed", String(text === focus.typed));
      },
    );
    fill(
      p.chips,
      maps.tokens,
      (index) => button("", () => this.go({ row: index, key: null }), { class: "chip" }),
      (chip, token, index) => {
        setText(chip, token);
        setAttribute(chip, "aria-pressed", String(index === row));
        setAttribute(chip, "tabindex", index === row ? "0" : "-1"); // one stop for all; arrows walk
      },
    );
    const choices = [...Array(maps.layers).keys()];
    fill(
      p.layers,
      [...choices, "all"],
      (index) => button("", () => this.goToLayer(index)),
      (element, choice) => {
        const every = choice === "all";
        setText(element, every ? `all ${maps.layers * maps.heads}` : `L${choice}`);
        setAttribute(element, "aria-label", every ? "all layers and heads at once" : `layer ${choice}`);
        setAttribute(element, "class", every ? "every" : null);
        setAttribute(element, "aria-pressed", String(every ? shownAll : !shownAll && choice === layer));
      },
    );
    this.modeButtons.forEach((element, index) =>
      setAttribute(element, "aria-pressed", String(Boolean(look.table) === (index === 1))),
    );
    this.scaleButtons.forEach((element, index) =>
      setAttribute(element, "aria-pressed", String(SCALES[index][0] === look.scale)),
    );
    setAttribute(p.specials, "aria-pressed", String(!look.nospecials));
    const key = this.sortKey();
    setText(p.sort, key === null ? "sort heads" : `sort by ${maps.tokens[row]} → ${maps.tokens[key]}`);
    setAttribute(p.sort, "aria-pressed", String(look.sort));
    setAttribute(p.sort, "disabled", key === null);
    p.everyHead.hidden = !look.solo && !look.hidden.size;
    setText(p.pin, focus.pin ? "unpin" : "pin");
    setAttribute(p.pin, "title", "keep this picture beside the next one");
    const id = `${layer}.${head}`;
    setAttribute(p.solo, "aria-pressed", String(look.solo === id));
    setAttribute(p.hide, "aria-pressed", String(look.hidden.has(id)));
    setText(p.lamp, this.off.has(id) ? "off in the model" : "on in the model");
    setAttribute(p.lamp, "aria-pressed", String(!this.off.has(id)));
  }

  drawBig(state, colours, first, last, matching) {
    const { parts: p, maps, focus, at, look } = this;
    setText(p.title, `Layer ${at.layer} · Head ${at.head}`);
    setText(p.label, `${focus.label}, ${focus.origin} weights`);
    setText(p.sizes.children[0], `${maps.n} queries`);
    setText(p.sizes.children[1], `${maps.n} keys`);
    this.big.element.hidden = look.table;
    p.table.hidden = !look.table;
    const forbidden = forbids(matching ? focus.forbidden : [""], at.head, maps.n);
    if (look.table) {
      fillTable(p.table, maps.tokens, this.weights, at.row, first, last, forbidden);
    } else {
      const shown = {
        tokens: maps.tokens,
        map: maps.map(at.layer, at.head),
        whole: maps.isWhole(at.layer),
        weights: this.weights,
        row: at.row,
        key: at.key,
        scale: look.scale,
        theme: this.theme,
        first,
        last,
        forbids: forbidden,
        name: `Layer ${at.layer} head ${at.head}`,
      };
      this.big.draw(shown, colours, this.roomFor(this.room));
    }
    if (focus.pin) this.drawPinned(colours);
    p.legend.querySelector(".ramp").style.backgroundImage = gradient(this.theme);
    const whole = maps.map(at.layer, at.head);
    const seen = maps.isWhole(at.layer) ? trimmed(whole, first, last) : whole;
    const most = look.scale === "own" ? seen.bytes.reduce((a, b) => Math.max(a, b), 0) / 255 : 1;
    setText(p.legend.querySelector(".low"), "0");
    setText(p.legend.querySelector(".high"), most === 1 ? "1" : most.toFixed(2));
    const law = {
      root: "colour: √ of the weight",
      linear: "colour: the weight",
      own: "colour: the weight, each map up to its own largest",
    };
    setText(
      p.legend.querySelector(".law"),
      law[look.scale] + (maps.isWhole(at.layer) ? "" : "; a thumbnail until this layer has come"),
    );
  }

  drawPinned(colours) {
    const { parts: p, look } = this;
    const { pin, pinWeights, pinBytes } = this.focus;
    const where = parseAt(pin.at);
    const most = pinWeights.reduce((a, b) => Math.max(a, b), 0);
    setText(p.pinTitle, `Layer ${where.layer} · Head ${where.head}, pinned`);
    setText(p.pinLabel, pin.label + (look.scale === "own" ? `; colour up to ${number(most)}` : ""));
    this.pinned.element.hidden = look.table;
    p.pinTable.hidden = !look.table;
    const cut = look.nospecials ? 1 : 0;
    const forbidden = forbids(pin.forbidden, where.head, pin.tokens.length);
    if (look.table) {
      fillTable(p.pinTable, pin.tokens, pinWeights, where.row, cut, cut, forbidden);
      return;
    }
    const shown = {
      tokens: pin.tokens,
      map: { size: pin.tokens.length, bytes: pinBytes },
      whole: true,
      weights: pinWeights,
      row: where.row,
      key: where.key,
      scale: look.scale,
      theme: this.theme,
      first: cut,
      last: cut,
      forbids: forbidden,
      name: `Pinned: layer ${where.layer} head ${where.head}`,
    };
    this.pinned.draw(shown, colours, this.roomFor(this.pinRoom));
  }

  roomFor(element) {
    const style = getComputedStyle(element);
    const width = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return { width, height: Math.max(260, Math.min(640, window.innerHeight - 250)) };
  }

  drawWords(first, last) {
    const { parts: p, maps, at, weights } = this;
    const own = maps.tokens[at.row];
    // until the numbers of this head have come, those of another one must not stand here
    setAttribute(this.element, "data-waiting", weights ? null : "");
    if (!weights) return;
    const row = weights.subarray(at.row * maps.n, (at.row + 1) * maps.n);
    const best = ranked(row)
      .slice(0, 5)
      .filter(([, weight]) => weight > 0);
    setText(p.looks.querySelector(".who"), own);
    setAttribute(p.looks, "data-empty", best.length ? null : "");
    fill(
      p.looks.querySelector(".list"),
      best,
      () => h("span", { class: "badge key" }),
      (element, [key, weight]) => setText(element, `${maps.tokens[key]} ${number(weight)}`),
    );
    const hiddenRow = at.row < first || at.row >= maps.n - last;
    const part = hiddenRow
      ? `row ${quoted(own)} itself is not shown.`
      : `what is shown of row ${quoted(own)} sums to ${total(row.subarray(first, maps.n - last))} of ${total(row)}.`;
    setText(p.sum, first || last ? `[CLS] and [SEP] are not shown; rows are not renormalised: ${part}` : "");
    const lines = story(maps.tokens, at.row, row);
    p.story.querySelectorAll("dd").forEach((element, index) => setText(element, lines[index][1]));
    this.say(
      `Layer ${at.layer}, head ${at.head}. ${own} looks at ${best.map(([key, weight]) => `${maps.tokens[key]} ${number(weight)}`).join(", ") || "nothing"}.`,
    );
  }

  drawFoot() {
    const { parts: p, focus } = this;
    fill(
      p.figures,
      focus.figures,
      () =>
        h(
          "div",
          { class: "panel figure" },
          h("strong"),
          button("", (event) => this.askComparison(event.target), { class: "toggle" }),
          h("span"),
        ),
      (card, figure) => {
        const [value, ask, label] = card.children;
        setText(value, figure.value);
        value.hidden = !figure.value;
        ask.hidden = Boolean(figure.value) || !figure.ask;
        if (!ask.disabled || figure.value) setText(ask, figure.ask ?? "");
        if (figure.value || focus.heard >= (this.asked ?? 0)) {
          ask.disabled = false;
          setText(ask, figure.ask ?? "");
        }
        setText(label, figure.label);
      },
    );
    setText(p.status, focus.status);
  }

  askComparison(element) {
    element.disabled = true;
    element.textContent = "comparing …";
    this.tell({ compare: true });
    this.asked = this.turn;
  }

  read(text) {
    setText(this.parts.readout, text ?? "");
  }

  /** Speaks once per pause. */
  say(text) {
    if (text === this.lastSaid) return;
    this.lastSaid = text;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => setText(this.parts.live, text), 700);
  }
}
