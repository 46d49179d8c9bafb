// The head in focus, enlarged: its map, lines or table, the strongest keys of the row in focus, and an explanation; and
// the pinned map beside it.

import { isolated } from "../base/token_text.js";
import { sortKey } from "../picture/heads.js";
import { changed } from "../link/changes.js";
import { gradient, mostOf } from "../base/colour.js";
import { heightLeft, isDrawn } from "../base/curtain.js";
import { NOBODY } from "../base/facts.js";
import { DifferenceOverlay } from "./difference_overlay.js";
import { IN_TABLE } from "../picture/differences.js";
import { choice } from "../base/choice.js";
import { button, contentWidth, div, h, LETTERS, panel, rem, render, setAttribute } from "../base/dom.js";
import { setText, span, windowHeight } from "../base/dom.js";
import { LongMap } from "./long_map.js";
import { Lines, MAX_WORDS } from "../picture/lines.js";
import { BigMap, blockedMark, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { ColumnSwitches } from "./word_switches.js";
import { reads, writeAt, parseAt } from "../link/look.js";
import { linkTo } from "../link/navigation.js";
import { isWord, rowOf, trimmed, specials } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { number, OFF, quoted, sortByWeight, story } from "../base/words.js";

/** Origins whose name is no adjective. @type {Record<string, string>} */
const WEIGHTS = { "trained here": "weights trained here", recorded: "without the model’s weights" };
const PARTS = ["query", "key", "value"];
const LAWS = {
  root: "colour scale widened for small weights (√ of the weight)",
  linear: "colour proportional to the weight",
  own: "colour proportional to the weight, scaled to each map’s largest",
};
const OFF_VALUE = "nothing, because this head is ablated: its output counts as 0.";
const LAYER_VALUE = "nothing, because this layer is ablated: it hands on its input.";
const LAYER_OFF = "layer ablated: it hands on its input unchanged";
const ABLATES = "ablated: switched off, so that its output counts as 0";
const MAX_LOOKS = 4; // keys that a row is listed with

const MODES = /** @type {[string, string][]} */ (["lines", "map", "table"].map((mode) => [mode, mode]));

const FREE = 0.53; // of the height of a phone, above the sheet of a change
const UNDER = { wide: 2.6, narrow: 0.6 }; // rem under a map that a lesson shows alone: its readout

/** An enlarged map, whose cells are wider than high. @template {BigMap} Kind @param {Kind} map */
export const large = (map) => Object.assign(map, { usual: { stretch: 1.7, maxCell: 68, minCell: 0 } });

/** The space for a map in pixels; the parts above it stay visible. @param {Explore} view @param {Element} element */
export function roomFor({ all, alone, changes, foot, narrow, compact, picture, tiles }, element) {
  const width = contentWidth(element);
  if (alone) return { width, height: heightLeft(element) - UNDER[narrow ? "narrow" : "wide"] * rem() };
  if (foot.isOn) return { width, height: foot.heightOver(element) };
  if (narrow && tiles.open) {
    const above = element.getBoundingClientRect().top - changes.element.getBoundingClientRect().top;
    return { width, height: Math.max(160, FREE * windowHeight() - 60 - above) }; // below the bar
  }
  if (all.isOpen && !narrow) return { width, height: Math.max(260, windowHeight() - 310) };
  const around = 455 + (picture.next.length ? 37 : 0) + (compact ? 60 : 0) + (picture.pin && !narrow ? 90 : 0);
  return { width, height: Math.max(narrow ? 400 : 300, windowHeight() - around) };
}

export class FocusPanel {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    /** @type {GridActions} */
    const actions = { pick: (row, key, adds) => this.pick(row, key, adds), hover: (text) => this.read(text) };
    this.plain = large(new BigMap(actions));
    this.long = large(new LongMap(view, actions));
    this.map = new MapPanel(this.plain, "Weights as a table");
    this.difference = new DifferenceOverlay(view, actions);
    large(this.difference.map);
    this.asLines = new Lines((row) => this.pick(row, null));
    this.map.element.append(this.asLines.element, this.long.bar);
    this.title = h("h2");
    this.label = span("label");
    // a lesson with a single map hides the sentence field, the projector the changes
    this.sentence = h("span", { class: "title-sentence", dir: "auto" });
    this.changed = span("in-title");
    this.reason = span("label reason");
    this.telling = button("next telling head ›", () => this.goToNext(), { class: "telling" });
    const draw = (/** @type {string} */ mode) => view.setDisplay({ table: mode === "table", lines: mode === "lines" });
    this.modes = choice("Lines, map or table", MODES, draw);
    this.lamp = button("", () => view.toggleOff(view.at.layer, view.at.head), { class: "ablate" });
    this.columns = new ColumnSwitches(view);
    this.readout = div("readout");
    this.legend = ["low", "ramp", "high", "law"].map((kind) => h("span", { class: kind }));
    this.blocked = blockedMark();
    this.list = h("div", { class: "bars", role: "list", "aria-label": "What it attends to" });
    this.queryLabel = span("query-label");
    this.summary = div("top-keys", this.queryLabel, this.list);
    this.sum = h("p", { class: "sum" });
    this.lines = PARTS.map(() => h("dd"));
    const lines = PARTS.flatMap((part, index) => [h("dt", { class: part }, part), this.lines[index]]);
    this.from = h("a", { class: "page-link by-hand" });
    this.words = div("large-words", this.summary, this.sum, view.values.element, this.columns.element);
    this.words.append(h("dl", { class: "story" }, ...lines), this.from);
    this.subtitle = div("subtitle", this.label, this.changed);
    const titles = div("titles", this.title, this.sentence, this.subtitle);
    const ways = h("div", { class: "actions", role: "group", "aria-label": "Display" });
    ways.append(this.modes.element, view.bar.menu.element, view.all.keys);
    this.ways = ways;
    const map = div(
      "large-map",
      this.map.element,
      div("map-foot", div("legend", ...this.legend, this.blocked), this.readout),
    );
    this.element = panel("large", "Head in focus", [titles, ways], div("large-body", map, this.words));
    this.element.addEventListener("keydown", (event) => view.all.key(event));
  }

  /** Select a cell of the large map, or add its key to the selection.
   * @param {number} row @param {number | null} key @param {boolean} [adds] */
  pick(row, key, adds = false) {
    const { view } = this;
    const { reading } = view;
    const token = reading.tokenAt("rowOf", row);
    if (key === null) return this.pickRow(token);
    const column = reading.tokenAt("columnOf", key);
    if (adds || reading.adds) return reading.add(column);
    return view.setCursor({ row: token, key: column }, { keys: [] });
  }

  /** Select a row: with its strongest key, or with the keys if several are selected.
   * @param {number} row token index @param {number} [layer] */
  pickRow(row, layer = this.view.at.layer) {
    const { at, look } = this.view;
    this.view.setCursor({ layer, row, key: look.keys.length ? at.key : null });
  }

  /** Show the readout of the pointed cell of any map. @param {string | null} text */
  read(text) {
    setText(this.readout, text ?? "");
  }

  /** Return whether the head is ablated in the model. */
  get isOff() {
    const { at, off, reading } = this.view;
    return !reading.isMean && off.has(`${at.layer}.${at.head}`);
  }

  /** Why nothing of the head in focus is passed on, "" if it is. */
  get offNote() {
    const { at, off, reading } = this.view;
    return this.isOff ? OFF : !reading.isMean && off.has(String(at.layer)) ? LAYER_OFF : "";
  }

  /** The index of the telling head in focus, -1 for another head or row. */
  get tellingIndex() {
    const { layer, head, row } = this.view.at;
    const here = `${layer}.${head}.${row}.`;
    return this.view.reading.isMean
      ? -1
      : this.view.picture.telling.findIndex(({ cursor }) => `${cursor}.`.startsWith(here));
  }

  goToNext() {
    const { telling } = this.view.picture;
    this.view.setCursor(parseAt(telling[(this.tellingIndex + 1) % telling.length].cursor), { keys: [] });
  }

  /** The link to the arithmetic of the cell in focus. */
  get byHand() {
    const { at, address } = this.view;
    const url = new URL(linkTo("by-hand"), location.href);
    url.search = new URL(address).search;
    url.searchParams.set("ex", "a real cell");
    url.searchParams.set("at", writeAt({ ...at, key: at.key ?? sortKey(this.view) }, true));
    return url.href;
  }

  /** The weights of the row in focus, once they are here. */
  get row() {
    const { weights, ofRow, row, keys } = this.view.visibleMap;
    return weights ? rowOf(weights, row, keys.length) : ofRow;
  }

  /** The column with the largest weight of the row in focus, while the map shows it. @returns {number | null} */
  get best() {
    const { visibleMap, reading } = this.view;
    const { row } = this;
    if (isDrawn() || !row || this.difference.isOn || visibleMap.row >= visibleMap.tokens.length) return null;
    const [[key, weight]] = sortByWeight(row);
    return weight > 0 ? reading.tokenAt("columnOf", key) : null;
  }

  draw() {
    const { view } = this;
    const { maps, picture, at, look, theme, matching, visibleMap } = view;
    const { tokens, keys } = visibleMap;
    const weights = WEIGHTS[picture.origin] ?? `${picture.origin} weights`;
    setText(this.label, `${view.reading.place} · ${picture.label}, ${weights}`);
    setText(this.sentence, picture.sentence);
    // a phone shows the map first
    const [line, actions] = view.narrow ? [this.words, this.words] : [this.subtitle, this.ways];
    if (this.lamp.parentElement !== actions) {
      line.append(this.reason);
      actions.append(this.lamp, this.telling);
    }
    const [{ telling }, index] = [picture, this.tellingIndex];
    const isCovered = isDrawn() || view.alone !== "" || !matching;
    setText(this.reason, (!isCovered && !picture.baseline && telling[index]?.text) || "");
    this.telling.hidden = isCovered || telling.length < (index < 0 ? 1 : 2);
    render(this.changed, ...changed(view.controls, view.off, maps.tokens).map(({ text }) => ["span", text]));
    const { isOff } = this;
    this.element.classList.toggle("is-off", this.offNote !== "");
    this.element.classList.toggle("is-mean", view.reading.isMean); // of a mean no single value vector is passed on
    this.lamp.hidden = view.reading.isMean;
    setText(this.lamp, isOff ? "restore this head" : "ablate this head");
    setAttribute(this.lamp, "aria-pressed", isOff);
    this.lamp.disabled = Boolean(picture.fixed.off);
    setAttribute(this.lamp, "title", picture.fixed.off || ABLATES);
    const count = Math.max(tokens.length, keys.length);
    const mode = look.table ? "table" : look.lines && count <= MAX_WORDS ? "lines" : "map";
    this.modes.press(mode);
    this.modes.buttons[0].disabled = count > MAX_WORDS;
    setAttribute(
      this.modes.buttons[0],
      "title",
      count > MAX_WORDS ? `lines are drawn for at most ${MAX_WORDS} words` : null,
    );
    const isOfMap = matching && picture.reads === reads(look);
    const mapPicture = {
      ...visibleMap,
      name: view.reading.name,
      others: visibleMap.others.length ? visibleMap.others : undefined,
      best: view.reading.columnOf(this.best),
      scale: look.scale,
      theme,
      forbids: forbids(isOfMap ? picture.forbidden : [""], at.head, tokens.length, keys.length),
    };
    if (!this.difference.isComing(this.map.map)) this.drawMap(this.difference.overlay(mapPicture), mode);
    this.drawLegend(mapPicture, mode);
    this.columns.draw();
    view.reading.draw();
    const { row } = this;
    if (row) this.drawWords(row);
    else if (!maps.isHere(at.layer)) setText(this.title, `Layer ${at.layer} is not computed yet`);
  }

  /** @param {MapPicture} mapPicture @param {string} mode */
  drawMap(mapPicture, mode) {
    const { difference, plain, map, asLines, view } = this;
    const smallest = view.projector ? 12.2 : LETTERS; // 16 px at the projector's type size
    const isLong = view.picture.tile > 0;
    this.long.bar.hidden = !isLong || mode !== "map";
    const differenceMap = Object.assign(difference.map, { roomy: 2 * smallest });
    map.use(Object.assign(difference.isOn ? differenceMap : isLong ? this.long : plain, { smallest }));
    map.map.project(view.foot.isOn);
    this.element.classList.toggle("is-difference", difference.isOn);
    this.element.classList.toggle("as-table", mode === "table");
    const room = roomFor(view, map.element);
    asLines.element.hidden = mode !== "lines";
    if (mode === "lines") {
      map.map.element.hidden = map.table.hidden = true;
      asLines.draw(mapPicture, view.inks, room);
    } else map.draw(mapPicture, mode === "table", view.inks, room, difference.isOn ? IN_TABLE : {});
  }

  /** @param {MapPicture} picture @param {string} mode */
  drawLegend({ map, whole, scale, theme, first, last }, mode) {
    const [low, ramp, high, law] = this.legend;
    const isOn = this.difference.isOn;
    this.blocked.hidden = mode !== "map" || !this.view.picture.forbidden.some(Boolean);
    for (const part of this.legend) part.hidden = mode === "table" || (mode === "lines" && !isOn && part !== law); // numbers, or line widths, need no colour scale
    if (isOn) return this.difference.drawLegend(this.legend);
    if (mode === "lines") return setText(law, "a thicker line means a larger weight");
    const max = mostOf((whole ? trimmed(map, first, last) : map).bytes, scale) / 255;
    setText(low, "0");
    ramp.style.backgroundImage = gradient(theme);
    setText(high, max >= 0.995 ? "1" : max.toFixed(2));
    const numbers = mode === "map" ? this.map.map.omits : "";
    const preview = this.view.picture.tile ? "" : "; preview while this layer loads"; // a tile's map has its own sentence
    setText(law, numbers || LAWS[scale] + (whole ? "" : preview)); // a projected legend has little room
  }

  /** What a key is if it is no word, as weight that no word needs collects there. @param {number} key a column */
  kindOf(key) {
    const { visibleMap, picture, maps, reading } = this.view;
    if (maps.columns || picture.patches || picture.sound || visibleMap.keys[key] === NOBODY) return "";
    if (!isWord(maps, reading.tokenAt("columnOf", key))) return ", a special token";
    if (!/[\p{L}\p{N}]/u.test(visibleMap.keys[key])) return ", a punctuation mark";
    return key === 0 && visibleMap.row > 0 && maps.ends[0] === 0 ? ", the first token" : "";
  }

  /** Draw the title: the row in focus in one sentence.
   * @param {string} token @param {[number, number] | undefined} best @param {Float32Array} row */
  drawTitle(token, best, row) {
    const { view } = this;
    const [key, weight] = best ?? [0, 0];
    const { visibleMap } = view;
    const keyIndex = visibleMap.key ?? visibleMap.others[0] ?? null;
    const isSeveral = keyIndex !== null && visibleMap.others.some((other) => other !== keyIndex);
    const all = keyIndex === null ? [key] : [...new Set([keyIndex, ...visibleMap.others])].sort((a, b) => a - b);
    const share = keyIndex === null ? weight : all.reduce((sum, key) => sum + row[key], 0);
    const query = ["span.query", quoted(token)];
    const keyName = ["span.key", listed(all.map((key) => quoted(visibleMap.keys[key])))];
    const verb = keyIndex === null ? " attends most to " : " attends to ";
    const kind = all.length === 1 && this.kindOf(all[0]);
    const mean = view.reading.isMean ? " on average" : "";
    const none = [query, " attends to no token: all its weights are 0"];
    const parts = best ? [query, verb, keyName, kind, `: ${number(share)}`, mean] : none;
    const off = this.offNote ? [" ", ["span.off-note", this.offNote]] : [];
    render(this.title, ...(this.difference.describeRow() ?? parts), ...off);
    const isOther = isSeveral || view.reading.isMean || view.reading.isOn || view.picture.tile > 0;
    this.from.hidden = !best || isOther || "steps" in view.picture.fixed;
    setText(this.from, `How is ${number(share)} calculated? →`);
    this.from.href = this.byHand;
  }

  /** @param {Float32Array} row */
  drawWords(row) {
    const { visibleMap, picture, reading } = this.view;
    const { tokens, keys } = visibleMap;
    const token = tokens[visibleMap.row];
    const best = looksOf(row);
    const parts = best.map(([key, weight]) => `${isolated(keys[key])} ${number(weight)}`);
    this.drawTitle(token, best[0], row);
    setText(this.queryLabel, isolated(token));
    setAttribute(this.summary, "data-empty", best.length ? null : "");
    drawLooks(this.list, keys, best);
    this.view.values.draw(row);
    setText(this.sum, [picture.mean, reading.sentence].filter(Boolean).join(" "));
    const lines = story(tokens, visibleMap.row, row, keys, this.view.media.rows === "words" ? "word" : "token");
    lines.forEach((line, index) => setText(this.lines[index], line));
    if (this.offNote) setText(this.lines[PARTS.indexOf("value")], this.isOff ? OFF_VALUE : LAYER_VALUE);
    const change = this.difference.isOn ? `${this.title.textContent}. ` : "";
    const off = this.offNote && `, ${this.offNote}`;
    const place = `L${this.view.reading.place.slice(1)}`;
    this.view.say(`${place}${off}. ${change}${isolated(token)} attends to ${parts.join(", ") || "nothing"}.`);
  }
}

/** The keys with the largest weights of a row. @param {Float32Array} row */
const looksOf = (row) =>
  sortByWeight(row)
    .slice(0, MAX_LOOKS)
    .filter(([, weight]) => weight > 0);

/** Draw keys with their weights as bars.
 * @param {HTMLElement} list @param {string[]} tokens @param {[number, number][]} best */
function drawLooks(list, tokens, best) {
  const bars = best.map(([key, weight]) => {
    const track = ["span.track", ["span", { style: `width: ${100 * weight}%;` }]];
    const name = ["span.badge.key", isolated(tokens[key])];
    return ["div.key-bar", { role: "listitem" }, name, track, ["span.value", number(weight)]];
  });
  render(list, ...bars);
}

/** Join names: "a", "a and b", "a, b and c together". @param {string[]} names */
const listed = (names) =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)} together`;

export class PinnedPanel {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
    const hover = (/** @type {string | null} */ text) => setText(this.readout, text ?? "");
    const actions = { pick: () => {}, hover };
    this.map = new MapPanel(large(new BigMap(actions)), "Pinned weights as a table");
    this.title = h("h2");
    this.label = span("label");
    this.readout = div("readout");
    this.queryLabel = span("query-label");
    this.list = h("div", { class: "bars", role: "list", "aria-label": "What the pinned row attends to" });
    this.summary = div("top-keys", this.queryLabel, this.list);
    const unpin = button("unpin", () => view.togglePin());
    const header = [div("titles", this.title, this.label), div("actions", unpin)];
    this.element = panel("pinned", "Pinned map", header, this.map.element, div("map-foot", this.readout), this.summary);
  }

  draw() {
    const { picture, look, theme } = this.view;
    const { pin, pinWeights } = picture;
    if (!pin) return;
    const { layer, head, row, key } = parseAt(pin.cursor);
    setText(this.title, `Layer ${layer} · Head ${head}, pinned`);
    const maximum = number(pinWeights.reduce((a, b) => Math.max(a, b), 0));
    setText(this.label, pin.label + (look.scale === "own" ? `; colour up to ${maximum}` : ""));
    const [first, last] = specials(pin, look);
    const keys = pin.columns ?? pin.tokens;
    const mapPicture = wholeMap(pin.tokens, pinWeights, {
      keys,
      name: `Pinned: layer ${layer} head ${head}`,
      row: row ?? -1,
      key,
      scale: look.scale,
      theme,
      first,
      last,
      forbids: forbids(pin.forbidden, head, pin.tokens.length, keys.length),
    });
    this.summary.hidden = row === null;
    setText(this.queryLabel, isolated(pin.tokens[row ?? 0]));
    drawLooks(this.list, keys, looksOf(rowOf(pinWeights, row ?? 0, keys.length)));
    this.map.map.project(this.view.foot.isOn);
    this.map.draw(mapPicture, look.table, this.view.inks, roomFor(this.view, this.map.element));
  }
}
