// The three maps of the Compare page, left, right and right − left, with a common pointer. Wide views show two maps or
// the difference; a phone shows one.

import { gradient } from "../base/colour.js";
import { heightLeft } from "../base/curtain.js";
import { DifferenceMap, IN_TABLE, signedGradient } from "../picture/differences.js";
import { div, frame, h, LETTERS, panel, rem, setAttribute, setText, span } from "../base/dom.js";
import { BigMap, blockedMark, TALL, wholeMap } from "../picture/map.js";
import { MapPanel } from "../picture/map_panel.js";
import { meanOf, parseLook } from "../link/look.js";
import { specials } from "../wire/packets.js";
import { forbids } from "../link/painted.js";
import { argmax, gave, number, quoted } from "../base/words.js";

const SIDES = ["Left", "Right", "Right − left"];
const CLASSES = ["left", "right", "difference"];
const DIFFERENCE = 2; // index of its panel
const ROUND = 578; // pixels above and below the maps: page layout and the figures
const LOWEST = 326; // pixels of a map, at least
const UNDER = 2; // rem below a projected map: readout and margin
const BENEATH = 3; // rem below the only map beside a lesson: its readout
const PROJECTED = 16; // pixels of a number in the projector, at least

/** The key tokens of a side. @param {{tokens: string[], columns: string[] | null}} of */
export const keysOf = ({ tokens, columns }) => columns ?? tokens;

/** The map of one side; the rows of a repeated word are marked at both ends. */
class SideMap extends BigMap {
  repeated = /** @type {number[]} */ ([]);

  /** @param {MapPicture} picture @param {Inks} inks @param {Room} room */
  draw(picture, inks, room) {
    super.draw(picture, inks, room);
    const context = /** @type {CanvasRenderingContext2D} */ (this.base.getContext("2d"));
    const { left, top, across, step } = this;
    context.setLineDash([3, 3]);
    for (const row of this.repeated)
      if (row >= picture.first && row < picture.tokens.length - picture.last && row !== picture.row)
        frame(context, left, top + (row - picture.first) * step, across, step, inks.head);
    context.setLineDash([]);
  }
}

export class PairPanels {
  /** @param {PairView} view */
  constructor(view) {
    this.view = view;
    this.pointed = { panel: -1, at: /** @type {Cell | null} */ (null) };
    this.panels = SIDES.map((name, n) => this.make(name, n));
  }

  /** @param {string} name @param {number} n */
  make(name, n) {
    const actions = {
      pick: (/** @type {number} */ row, /** @type {number | null} */ key) =>
        this.view.setCursor({ row: Math.max(0, row), key }),
      hover: (/** @type {string | null} */ _, /** @type {Cell | null} */ place) => this.point(n, place),
    };
    const map = n === DIFFERENCE ? new DifferenceMap(actions) : new SideMap(actions);
    map.usual = { ...map.usual, stretch: 1.35 }; // room for two digits
    const handlers = {
      map: new MapPanel(map, `${name} as a table`),
      title: h("h2", {}, name),
      head: span("label"),
      controls: div("switch-room"),
      story: h("p", { class: "words" }),
      label: h("p", { class: "label" }),
      readout: h("p", { class: "readout" }),
      legend: h("p", { class: "legend" }, h("span"), span("ramp"), h("span"), h("span"), blockedMark()),
    };
    const { title, head, controls, story, label, readout, legend } = handlers;
    const inside = [controls, story, handlers.map.element, readout, legend, label];
    return { ...handlers, element: panel(CLASSES[n], name, [title, head], ...inside) };
  }

  /** Read out a cell in every map that has it; without one, the cell in focus.
   * @param {number} side @param {Cell | null} place */
  point(side, place) {
    this.pointed = { panel: side, at: place }; // survives a redraw
    const { picture, marked } = this.view;
    this.panels.forEach(({ map: { map }, readout }, n) => {
      const cell = place ?? marked;
      const has = n === side || (picture.fits && map.picture) || !place;
      const [row, key] = cell.map((index, isKey) => (place ? index : this.placeOn(n, index, isKey > 0))); // the pointed cell is the same in all maps
      const inside = has && row !== null && key !== null && map.has([row, key]);
      if (n !== side) map.mark(place && inside ? place : null);
      setText(readout, inside ? map.say([row, key]) : "");
    });
  }

  get sentence() {
    return this.panels[DIFFERENCE].readout.textContent;
  }

  /** @param {Inks} colours */
  draw(colours) {
    this.panels.forEach((_, n) => this.drawPanel(n, colours));
    this.point(this.pointed.panel, this.pointed.at);
  }

  /** Return whether a map is hidden: on a phone all but the front one; in large views the two maps or their
   * difference.
   * @param {number} n
   */
  isBehind(n) {
    const { narrow, projector, front, alone } = this.view;
    if (narrow) return n !== front;
    return Boolean(alone || projector) && (n === DIFFERENCE) !== (front === DIFFERENCE);
  }

  /** @param {number} n @param {Inks} colours */
  drawPanel(n, colours) {
    const { picture, look } = this.view;
    const { map, legend, readout, element } = this.panels[n];
    const difference = n === DIFFERENCE;
    this.drawWords(n);
    element.hidden = this.isBehind(n);
    const mapPicture = this.pictureOf(n);
    legend.hidden = readout.hidden = map.element.hidden = !mapPicture;
    map.map.picture = mapPicture;
    if (!mapPicture || element.hidden) return;
    map.map.smallest = this.view.projector ? PROJECTED / (rem() / 16) : LETTERS;
    map.map.project(this.view.foot.isOn);
    const writing = difference ? IN_TABLE : {};
    if (!difference) /** @type {SideMap} */ (map.map).repeated = picture.sides[n].repeated;
    map.draw(/** @type {any} */ (mapPicture), look.table, colours, this.roomFor(n), writing);
    this.drawLegend(n, map.map, colours);
  }

  /** @param {number} n */
  drawWords(n) {
    const { picture } = this.view;
    const { title, head, story, label } = this.panels[n];
    const side = picture.sides[n];
    const name = side?.title ?? this.changed();
    setText(title, name);
    setAttribute(title, "title", name);
    setText(head, `${side ? "" : `${SIDES[n].toLowerCase()} · `}${this.placeOf(n)}`);
    setText(story, side?.story ?? [picture.mean, picture.caption || this.change].filter(Boolean).join(" "));
    setText(label, side?.fitness ?? "");
    setAttribute(head, "title", side?.label ?? null);
  }

  /** The head of a map, or the heads that it is the mean of. @param {number} n */
  placeOf(n) {
    const { picture } = this.view;
    const { layer, head } = picture.sides[n] ?? picture;
    const mean = meanOf(parseLook(picture.look));
    if (mean === "meanall") return "mean over all heads";
    if (mean === "meanseen") return "mean over the visible heads";
    if (n === DIFFERENCE && picture.isOfTwo && !mean)
      return picture.sides.map((side) => `L${side.layer} H${side.head}`).join(", ");
    return `layer ${layer} · ${mean ? "mean over its heads" : `head ${head}`}`;
  }

  /** The weight of the cell in focus on both sides, and the changed share of its row, as in the bars beside the map. */
  get change() {
    const { picture, at, marked, maps } = this.view;
    const distance = number(picture.distances[at.row] ?? 0);
    const [row, key] = marked;
    const [left, right] = maps.map((map) => map?.[row * keysOf(picture).length + key] ?? 0);
    const pair = gave(picture.tokens[row], keysOf(picture)[key], left, right, true);
    return `${pair} Bars show each row’s moved weight. ${quoted(picture.tokens[at.row])}: ${distance}.`;
  }

  /** The title of the difference: the chosen cell on both sides, otherwise the largest change. */
  changed() {
    const { picture, maps, at, marked } = this.view;
    const change = maps[DIFFERENCE];
    if (!change) return "The maps cannot be compared";
    if (at.key !== null) {
      const [row, key] = marked;
      const [left, right] = maps.map((map) => number(map?.[row * keysOf(picture).length + key] ?? 0));
      return `${quoted(picture.tokens[row])} → ${quoted(keysOf(picture)[key])}: ${left} → ${right}`;
    }
    const strongest = argmax(change.map(Math.abs));
    if (!change[strongest]) return "No weight differs";
    const keys = keysOf(picture);
    const query = picture.tokens[Math.floor(strongest / keys.length)];
    return `Largest change: ${quoted(query)} → ${quoted(keys[strongest % keys.length])}`;
  }

  /** The index in a panel of a token of the left sentence: of the same word, else the same position; null if there is
   * none.
   * @param {number} n @param {number | null} index @param {boolean} [isKey] it is a key
   */
  placeOn(n, index, isKey = false) {
    const { picture } = this.view;
    const [own, other] = [picture.sides[0], picture.sides[n] ?? picture].map(isKey ? keysOf : ({ tokens }) => tokens);
    if (index === null) return null;
    const matches =
      n !== 1 || other[index] === own[index] ? [] : [...other.keys()].filter((place) => other[place] === own[index]);
    const nth = own.slice(0, index).filter((word) => word === own[index]).length;
    const target = matches[nth] ?? matches[0] ?? index;
    return target < other.length ? target : null;
  }

  /** The map picture of a panel; null if there is none. @param {number} n */
  pictureOf(n) {
    const { picture, look, maps, bytes, theme, at } = this.view;
    const [weights, cells] = [maps[n], bytes[n]];
    if (!weights || !cells) return null;
    const side = picture.sides[n] ?? picture;
    const { tokens } = side;
    const [first, last] = specials(picture.sides[n] ?? picture.sides[0], look);
    const [row, key] = [this.placeOn(n, at.row), this.placeOn(n, at.key, true)];
    const mapPicture = wholeMap(tokens, weights, {
      keys: keysOf(side),
      map: { size: tokens.length, bytes: cells },
      name: `${SIDES[n]}, ${this.placeOf(n).replace(" · ", " ")}`,
      row: row ?? -1,
      key,
      scale: look.scale === "linear" ? "linear" : "root",
      theme,
      first,
      last,
      forbids: this.forbids(n),
    });
    return Object.assign(mapPicture, { sides: maps, distances: picture.distances });
  }

  /** Return the predicate of the hatched cells: in the difference, those masked on both sides. @param {number} n */
  forbids(n) {
    const { sides, head } = this.view.picture;
    const tests = sides.map((side) => forbids(side.forbidden, head, side.tokens.length, keysOf(side).length));
    if (n !== DIFFERENCE) return tests[n];
    return (/** @type {number} */ i, /** @type {number} */ j) => tests.every((forbidden) => forbidden(i, j));
  }

  /** The space for a map: maps side by side have the same cell size, that of the narrowest. @param {number} n */
  roomFor(n) {
    const { view } = this;
    const seen = this.panels.map(({ map }) => map).filter(({ element }) => element.clientWidth);
    const narrowest = Math.min(...seen.map(({ element, map }) => element.clientWidth - map.reservedWidth));
    const { element, map } = this.panels[n].map;
    const width = Math.min(narrowest + map.reservedWidth, element.clientWidth);
    const labels = view.narrow ? undefined : view.picture.tokens; // of the difference, whose rows have the words of both
    if (view.alone)
      return {
        width: narrowest + map.reservedWidth,
        height: heightLeft(element) - BENEATH * rem(),
        labels,
        tall: TALL,
        rows: Math.min(...view.picture.sides.map(({ tokens }) => tokens.length)),
      };
    if (view.foot.isOn) return { width, height: view.foot.heightOver(element) - UNDER * rem(), labels };
    const [lowest, around] = view.narrow ? [260, 330] : [LOWEST, ROUND];
    return { width, height: Math.max(lowest, Math.min(560, window.innerHeight - around)), labels };
  }

  /** @param {number} n @param {BigMap} map @param {Inks} colours */
  drawLegend(n, map, colours) {
    const difference = map instanceof DifferenceMap;
    const { theme, look } = this.view;
    const { table } = look;
    const { legend } = this.panels[n];
    const [low, ramp, high, law, blocked] = /** @type {HTMLElement[]} */ ([...legend.children]);
    blocked.hidden = !this.view.picture.sides[n]?.forbidden.some(Boolean);
    legend.hidden ||= table; // tables have no colours
    setText(low, difference ? "−1, less on the right" : "0");
    setText(high, difference ? "+1, more" : "1");
    ramp.style.backgroundImage = difference ? signedGradient(colours) : gradient(theme);
    setText(law, map.omits || (difference ? "" : "√ colour scale")); // a projected legend has little room
  }
}
