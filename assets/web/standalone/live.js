// The picture of a run in a file that carries its model (mha_core/show): one's own sentence, masks, positions, the
// temperature and ablated heads, whose maps this browser computes itself.

import { choice } from "../base/choice.js";
import { button, div, fillNotices, h, notices, setAttribute, setText } from "../base/dom.js";
import { MASKS, RULE } from "../base/facts.js";
import { counted, toggle } from "../base/words.js";
import { headsOfRun, mapsMessage, runUnder, sentenceOf } from "../wire/local_run.js";
import { worstRowSum } from "../wire/map_measures.js";
import { openModel } from "../compute/model_file.js";
import { changed, maskOf, ruleOf } from "../link/changes.js";
import { headNames, headsOf } from "../link/look.js";
import { allowedCells, forbiddenCells, paintedTokens } from "../link/mask_rules.js";
import { mapsOf } from "../wire/packets.js";
import { ControlChips } from "../picture/control_chips.js";
import { MaskPaint } from "../picture/mask_paint.js";
import { PaintGrid } from "../picture/paint_grid.js";
import { SentenceBox } from "../picture/sentence.js";
import { Standalone } from "./standalone.js";
import choicesCss from "../picture/choices.css" with { type: "css" };

/** @typedef {import("../base/messages.js").LiveModel} LiveModel */
/** @typedef {import("../compute/model_file.js").BrowserModel} BrowserModel */

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

class LiveRun extends Standalone {
  /** @param {HTMLElement} root @param {Uint8Array} bytes @param {BrowserModel} model */
  constructor(root, bytes, model) {
    super(root, bytes, () => {}, " live", [choicesCss]);
    this.model = model;
    this.given = /** @type {LiveModel} */ (this.state.live);
    this.ownMask = model.groups[this.given.group].ownMask;
    const { off, ...controls } = this.given.controls;
    const settings = {
      text: this.given.text,
      controls: /** @type {Controls} */ (controls),
      off: headsOf([off].flat()),
    };
    this.saved = { ...settings, state: this.state, maps: this.maps, floats: this.floats, isStale: false, problem: "" };
    this.text = this.saved.text;
    this.controls = this.saved.controls;
    this.off = this.saved.off;
    this.isStale = false; // whether the maps are to be computed
    this.problem = ""; // why they cannot be
    this.mask = Object.assign(new MaskPaint(), { tool: "flip" });
    this.loaded = ""; // what `mask` is loaded with
    this.isPainting = false;
    this.plain = this.map.map;
    this.grid = new PaintGrid(this);
    this.grid.element.style.touchAction = "none";
    this.box = new SentenceBox({ writeAddress: () => {} }, (text) => this.edit({ text }));
    this.changer = new ControlChips(this, "Change the model");
    this.noticeList = notices();
    this.computed = h("p", { class: "computed", role: "status" });
    this.back = button("back to the saved picture", () => this.set(this, this.saved));
    this.brush = button("paint the mask", () => this.set(this, { isPainting: !this.isPainting }), { title: PAINT });
    this.scopes = choice("Heads to paint", SCOPES, (scope) => this.set(this.mask, { scope }));
    this.clear = button("clear", () => this.undo(), { title: "clear the painting" });
    this.scopes.element.append(this.clear);
    const controlRow = div("change-controls", this.changer.chips, this.changer.panel);
    this.top.append(this.box.element, controlRow, this.noticeList, div("computing", this.computed, this.back));
    this.actions.prepend(this.scopes.element, this.brush);
  }

  /** The model that the controls change. */
  get picture() {
    const { given, maps, ownMask } = this;
    return { ...given, ownMask, layers: maps.layers, heads: maps.heads, defaults: DEFAULTS };
  }

  /** The painted cells, as in a link. */
  get painted() {
    return (this.controls.mask === "painted" && this.controls.p) || "";
  }

  toParams() {
    return { ...this.controls, off: headNames(this.off) };
  }

  /** @param {Values} values null for defaults */
  change({ off = headNames(this.off), ...values }) {
    const controls = { ...this.controls, .../** @type {Controls} */ (values) };
    this.edit({ controls, off: headsOf([off ?? []].flat()) });
  }

  /** @param {number} layer @param {number} head */
  toggleOff(layer, head) {
    this.edit({ off: toggle(this.off, `${layer}.${head}`) });
  }

  /** @param {{text?: string, controls?: Controls, off?: Set<string>}} change */
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
    const { mask, controls, painted, ownMask } = this;
    const { n, heads } = this.maps;
    const rule = ruleOf(controls);
    const cellsOf = (/** @type {string} */ text) => forbiddenCells([allowedCells(text, n)])[0];
    const load = { n, heads, painted: paintedTokens(painted) === n ? painted : "", rule };
    if (this.loaded !== JSON.stringify(load)) mask.load({ ...load, base: cellsOf(rule), modelMask: cellsOf(ownMask) });
    mask.head = this.at.head;
    act(mask);
    const p = mask.text;
    this.loaded = JSON.stringify({ ...load, painted: p });
    this.edit({ controls: { ...controls, ...(p ? { mask: "painted", on: rule, p } : { p: null, ...maskOf(rule) }) } });
  }

  undo() {
    this.stroke((mask) => mask.clear());
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

  /** @param {import("../wire/local_run.js").LocalRun} run */
  take(run) {
    const { model, text, controls, off, ownMask } = this;
    const { layers, heads, tokens, forbidden, weights } = run;
    const changes = changed(controls, off, tokens).map((change) => change.text);
    const builtIn = ownMask === "none" ? [] : [`${ownMask} mask: built in`];
    const sizes = [counted(layers, "layer"), "of", `${counted(heads, "head")},`, counted(tokens.length, "token")].join(
      " ",
    );
    this.maps = mapsOf(mapsMessage(run, JSON.stringify([text, controls, [...off]])));
    this.floats = weights;
    this.state = {
      ...{ ...this.state, forbidden, exact: headsOfRun(run), origin: `${sizes}, computed in this browser` },
      title: `${text} · ${model.title}`,
      changed: [...(changes.length ? changes : ["nothing changed"]), ...builtIn].join(", "),
    };
  }

  /** What the reader should know about the words and the painting. */
  get sentences() {
    const { problem, maps, painted } = this;
    const unknown = maps.tokens.filter((token) => token === "[UNK]").length;
    const count = paintedTokens(painted);
    return [
      problem,
      unknown ? `This model does not know ${unknown} of these ${maps.n} tokens; it reads each of them as [UNK].` : "",
      count && count !== maps.n ? `The mask was painted for ${count} tokens; now only its rule applies.` : "",
    ].filter(Boolean);
  }

  draw() {
    if (this.isStale) this.compute();
    const { maps, at, floats, isPainting, asTable } = this;
    if (at.row >= maps.n || (at.key ?? 0) >= maps.n)
      Object.assign(at, { row: Math.min(at.row, maps.n - 1), key: null });
    this.map.use(isPainting ? this.grid : this.plain);
    super.draw();
    this.box.text = this.text;
    this.changer.draw();
    fillNotices(this.noticeList, this.sentences);
    const isSaved = maps === this.saved.maps;
    const count = `${counted(maps.layers * maps.heads, "map")} of ${maps.n} × ${maps.keys.length} weights`;
    const sums = `the row sum farthest from 1 is ${worstRowSum(floats, maps.keys.length).toFixed(6)}`;
    setText(this.computed, isSaved ? SAVED : `${count}, computed in this browser; ${sums}. ${LEFT_OUT}`);
    this.back.hidden = isSaved && !this.problem;
    this.brush.hidden = asTable;
    setAttribute(this.brush, "aria-pressed", String(isPainting));
    this.large.toggleAttribute("data-painting", isPainting && !asTable);
    this.scopes.element.hidden = asTable || !isPainting;
    this.scopes.press(this.mask.scope);
    setAttribute(this.clear, "disabled", !this.painted);
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
