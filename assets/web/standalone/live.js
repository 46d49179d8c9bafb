// The picture of a run in a file that carries its model (mha_core/show): one's own sentence, masks, positions, the
// temperature and ablated heads, whose maps this browser computes itself.

import { choice, numbers } from "../base/choice.js";
import { button, div, fillNotices, h, notices, setAttribute, setText } from "../base/dom.js";
import { MASKS, RULE } from "../base/facts.js";
import { counted, toggle } from "../base/words.js";
import { mapsMessage, runUnder, sentenceOf } from "../compute/local_run.js";
import { worstRowSum } from "../compute/map_measures.js";
import { openModel } from "../compute/model_file.js";
import { changed, maskOf, ruleOf } from "../link/changes.js";
import { headNames, headsOf } from "../link/look.js";
import { allowedCells, forbiddenCells, paintedTokens } from "../link/mask_rules.js";
import { mapsOf } from "../wire/packets.js";
import { ControlChips } from "../picture/control_chips.js";
import { BigMap } from "../picture/map.js";
import { MaskPaint } from "../picture/mask_paint.js";
import { PaintGrid } from "../picture/paint_grid.js";
import { SentenceBox } from "../picture/sentence.js";
import { Standalone } from "./standalone.js";
/** @typedef {import("../base/messages.js").LiveModel} LiveModel */
/** @typedef {import("../compute/model_file.js").BrowserModel} BrowserModel */

import choicesCss from "../picture/choices.css" with { type: "css" };

const SAVED =
  "This is the saved picture. The file carries the model: type your own words, choose or paint a mask, change positions or ablate heads, and this browser computes all maps, without a network.";
const LEFT_OUT = "What Headlight’s server says beside the maps, such as kinds of heads and the next word, is left out.";
const EMPTY = "Type a sentence; until then the last maps stay.";
const RECORDED = "Below is the recorded picture.";
const PAINT = "press or drag over cells of the map to block or allow them; a token’s label flips its row or column";
const USUAL = MASKS.flatMap(({ numbers }) => numbers.map(([key, , usual]) => [key, String(usual)]));
/** @type {Record<string, string>} */
const DEFAULTS = { ...Object.fromEntries(USUAL), mask: "none", rule: RULE, on: "none", pos: "as trained", t: "1" };
/** @type {[Scope, string][]} */
const SCOPES = [
  ["all", "all heads"],
  ["one", "this head"],
];

/** The enlarged map, on which strokes paint the mask; its colours are those of the weights. */
class PaintedMap extends PaintGrid {
  /** @param {Bytes} cut @param {number} room */
  image(cut, room) {
    return BigMap.prototype.image.call(this, cut, room);
  }

  /** Begin a stroke, which blocks cells if the first one is allowed. @param {Cell} cell */
  begin(cell) {
    const choose = (/** @type {MaskPaint} */ mask) => {
      mask.tool = mask.allow()[cell[0] * mask.n + cell[1]] ? "block" : "allow";
    };
    this.view.stroke(choose);
    super.begin(cell);
  }
}

class LiveRun extends Standalone {
  /** @param {HTMLElement} root @param {Uint8Array} bytes @param {BrowserModel} model */
  constructor(root, bytes, model) {
    super(root, bytes, () => {}, [choicesCss]);
    this.model = model;
    this.given = /** @type {LiveModel} */ (this.state.live);
    this.saved = { state: this.state, maps: this.maps, floats: this.floats };
    this.text = this.given.text;
    this.controls = /** @type {Controls} */ ({ ...this.given.controls });
    this.count = 0; // computed runs
    this.isStale = false; // whether the maps are to be computed
    this.problem = ""; // why they cannot be
    this.mask = new MaskPaint();
    this.loaded = ""; // what `mask` is loaded with
    this.isPainting = false;
    this.plain = this.map.map;
    this.grid = new PaintedMap(this);
    this.grid.element.style.touchAction = "none";
    this.box = new SentenceBox({ writeAddress: () => {} }, (text) => this.edit({ text }));
    this.changer = new ControlChips(this, "Change the model");
    this.noticeList = notices();
    this.computed = h("p", { class: "computed", role: "status" });
    this.back = button("back to the saved picture", () => this.restore());
    this.brush = button("paint the mask", () => this.set(this, { isPainting: !this.isPainting }), { title: PAINT });
    this.scopes = choice("Heads to paint", SCOPES, (scope) => this.set(this.mask, { scope }));
    this.clear = button("clear", () => this.stroke((mask) => mask.clear()), { title: "clear the painting" });
    this.scopes.element.append(this.clear);
    const controls = div("change-controls", this.changer.chips, this.changer.panel);
    this.top.append(this.box.element, controls, this.noticeList, div("computing", this.computed, this.back));
    this.actions.prepend(this.scopes.element, this.brush);
  }

  /** The model that the controls change. */
  get picture() {
    const { positions, ownMask, fixed } = this.given;
    const { layers, heads } = this.maps;
    return { layers, heads, positions, ownMask, fixed, defaults: DEFAULTS };
  }

  /** The rule below the painting, and the painting. */
  get painting() {
    const { controls } = this;
    return { rule: ruleOf(controls), painted: (controls.mask === "painted" && controls.p) || "" };
  }

  toParams() {
    return { ...this.controls, off: headNames(this.off) };
  }

  /** @param {Values} values null for defaults */
  change({ off, ...values }) {
    if (off !== undefined) this.off = headsOf([off ?? []].flat());
    this.edit({ controls: { ...this.controls, .../** @type {Controls} */ (values) } });
  }

  /** @param {number} layer @param {number} head */
  toggleOff(layer, head) {
    this.off = toggle(this.off, `${layer}.${head}`);
    this.edit({});
  }

  /** @param {{text?: string, controls?: Controls}} change */
  edit(change) {
    this.set(this, { ...change, isStale: true });
  }

  /** Set values of the view or of its mask. @param {object} target @param {object} values */
  set(target, values) {
    Object.assign(target, values);
    this.redraw();
  }

  /** @param {string | null} text */
  readOut(text) {
    setText(this.readout, text ?? "");
  }

  /** Change the painted cells. @param {(mask: MaskPaint) => void} act */
  stroke(act) {
    const { mask, controls, given } = this;
    const { n, heads } = this.maps;
    const { rule, painted } = this.painting;
    const cellsOf = (/** @type {string} */ text) => forbiddenCells([allowedCells(text, n)])[0];
    const load = { n, heads, painted: paintedTokens(painted) === n ? painted : "", rule };
    const loaded = JSON.stringify(load);
    if (this.loaded !== loaded) mask.load({ ...load, base: cellsOf(rule), modelMask: cellsOf(given.ownMask) });
    mask.head = this.at.head;
    act(mask);
    const p = mask.text;
    this.loaded = JSON.stringify({ ...load, painted: p });
    this.edit({ controls: { ...controls, ...(p ? { mask: "painted", on: rule, p } : { p: null, ...maskOf(rule) }) } });
  }

  undo() {
    this.stroke((mask) => mask.clear());
  }

  /** Return to the picture that the file was saved with. */
  restore() {
    const { text, controls } = this.given;
    const off = new Set(this.saved.state.off);
    this.set(this, { ...this.saved, text, controls: { ...controls }, off, isStale: false, problem: "" });
  }

  /** Compute all maps; while that is not possible, the last ones stay. */
  compute() {
    this.isStale = false;
    this.problem = this.text.trim() ? "" : EMPTY;
    if (this.problem) return;
    try {
      const { model, text, controls, off, given } = this;
      this.take(runUnder(model, { text, controls, off, group: given.group }));
    } catch (error) {
      this.problem = sentenceOf(error);
    }
  }

  /** @param {import("../compute/local_run.js").LocalRun} run */
  take(run) {
    const { given, text, controls, off } = this;
    const { layers, heads, tokens, forbidden, weights } = run;
    const maps = mapsMessage(run, String((this.count += 1)));
    const changes = changed(controls, off, tokens).map((change) => change.text);
    const builtIn = given.ownMask === "none" ? [] : [`${given.ownMask} mask: built in`];
    this.maps = mapsOf(maps);
    this.floats = weights;
    this.state = {
      ...this.state,
      title: `${text} · ${given.title}`,
      changed: [...(changes.length ? changes : ["nothing changed"]), ...builtIn].join(", "),
      origin: `${layers} layers of ${heads} heads, ${counted(tokens.length, "token")}, computed in this browser`,
      forbidden,
      exact: maps.header.fullLayers.flatMap((layer) => numbers(heads).map((head) => [layer, Number(head)])),
    };
  }

  /** What the reader should know about the words and the painting. @returns {string[]} */
  get sentences() {
    const { problem, maps, painting } = this;
    const unknown = maps.tokens.filter((token) => token === "[UNK]").length;
    const painted = paintedTokens(painting.painted);
    return [
      problem,
      unknown && `This model does not know ${unknown} of these ${maps.n} tokens; it reads each of them as [UNK].`,
      painted && painted !== maps.n && `The mask was painted for ${painted} tokens; now only its rule applies.`,
    ].filter((sentence) => typeof sentence === "string" && sentence !== "");
  }

  draw() {
    if (this.isStale) this.compute();
    const { maps, at, floats, isPainting, asTable } = this;
    if (at.row >= maps.n || (at.key ?? 0) >= maps.n) Object.assign(at, { row: Math.min(at.row, maps.n - 1), key: null });
    this.map.use(isPainting ? this.grid : this.plain);
    super.draw();
    this.box.text = this.text;
    this.changer.draw();
    fillNotices(this.noticeList, this.sentences);
    const isSaved = maps === this.saved.maps;
    const count = `${counted(maps.layers * maps.heads, "map")} of ${maps.n} × ${maps.keys.length} weights, computed in this browser`;
    const sums = `the row sum farthest from 1 is ${worstRowSum(floats, maps.keys.length).toFixed(6)}`;
    setText(this.computed, isSaved ? SAVED : `${count}; ${sums}. ${LEFT_OUT}`);
    this.back.hidden = isSaved && !this.problem;
    this.brush.hidden = asTable;
    setAttribute(this.brush, "aria-pressed", String(isPainting));
    this.scopes.element.hidden = asTable || !isPainting;
    this.scopes.press(this.mask.scope);
    setAttribute(this.clear, "disabled", !this.painting.painted);
  }
}

/** Draw a run, and let its model compute others. Without a usable model the recorded picture is shown.
 * @param {HTMLElement} place @param {Uint8Array} bytes packed by mha_core/show/html.py @param {Uint8Array} model its file
 */
export async function open(place, bytes, model) {
  const opened = await openModel(model).catch((/** @type {Error} */ error) => error);
  const view = opened instanceof Error ? new Standalone(place, bytes) : new LiveRun(place, bytes, opened);
  if (opened instanceof Error) view.top.append(h("p", { role: "alert" }, `${opened.message} ${RECORDED}`));
  view.drawNow();
  return view;
}
