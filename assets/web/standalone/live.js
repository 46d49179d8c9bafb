// The picture of a run in a file that carries its model (mha_core/show): one's own sentence, masks, positions, the
// temperature and ablated heads, whose maps this browser computes itself.

import { choice } from "../base/choice.js";
import { button, div, fillNotices, h, notices, setAttribute, setText } from "../base/dom.js";
import { MASKS, RULE } from "../base/facts.js";
import { counted, toggle } from "../base/words.js";
import { headsOfRun, mapsMessage, runUnder, sentenceOf, unknownNotes } from "../compute/local_run.js";
import { worstRowSum } from "../compute/map_measures.js";
import { openModel } from "../compute/model_file.js";
import { changed, maskOf, ruleOf } from "../link/changes.js";
import { headNames, headsOf } from "../link/look.js";
import { allowedCells, forbiddenCells, paintedTokens } from "../link/mask_rules.js";
import { mapsOf } from "../wire/packets.js";
import { ControlChips } from "../picture/control_chips.js";
import { MaskPaint, SCOPES } from "../picture/mask_paint.js";
import { PaintGrid } from "../picture/paint_grid.js";
import { SentenceBox } from "../picture/sentence.js";
import { Standalone } from "./standalone.js";
import choicesCss from "../picture/choices.css" with { type: "css" };

const SAVED =
  "This is the saved picture. The file carries the model: type your own words, choose or paint a mask, change positions or ablate heads, and this browser computes all maps, without a network.";
const LEFT_OUT = "What Headlight’s server says beside the maps, such as kinds of heads and the next word, is left out.";
const PAINT = "press or drag over cells of the map to block or allow them; a token’s label flips its row or column";
const NUMBERS = MASKS.flatMap(({ numbers }) => numbers.map(([key, , preset]) => [key, String(preset)]));
/** @type {Record<string, string>} */
const DEFAULTS = { ...Object.fromEntries(NUMBERS), mask: "none", rule: RULE, on: "none", pos: "as trained", t: "1" };

class LiveRun extends Standalone {
  /** @param {HTMLElement} root @param {Uint8Array} bytes @param {import("../compute/model_file.js").BrowserModel} model */
  constructor(root, bytes, model) {
    super(root, bytes);
    document.adoptedStyleSheets.unshift(choicesCss);
    this.kind += " live";
    this.model = model;
    this.live = /** @type {import("../base/messages.js").LiveModel} */ (this.state.live);
    this.ownMask = model.groups[this.live.group].ownMask;
    const { off, ...controls } = this.live.controls;
    const settings = { controls: /** @type {Controls} */ (controls), off: headsOf([off].flat()) };
    const { state, maps, floats } = this;
    this.savedRun = { text: this.live.text, ...settings, state, maps, floats, isStale: false, problem: "" };
    this.text = this.savedRun.text;
    this.controls = this.savedRun.controls;
    this.off = this.savedRun.off;
    this.isStale = false; // whether the maps are to be computed
    this.problem = ""; // why they cannot be
    this.mask = Object.assign(new MaskPaint(), { tool: "flip" });
    this.isPainting = false;
    this.plain = this.map.map;
    this.grid = new PaintGrid(this);
    this.grid.element.style.touchAction = "none";
    this.box = new SentenceBox({ writeAddress: () => {} }, (text) => this.edit({ text }));
    this.heads.act.lamp = (layer, head) => this.edit({ off: toggle(this.off, `${layer}.${head}`) });
    this.changer = new ControlChips(this, "Change the model");
    this.noticeList = notices();
    this.computed = h("p", { class: "computed", role: "status" });
    this.back = button("back to the saved picture", () => this.edit(this.savedRun));
    const paint = () => this.edit({ isPainting: !this.isPainting, isStale: this.isStale });
    this.brush = button("paint the mask", paint, { title: PAINT });
    this.scopes = choice("Heads to paint", SCOPES, (scope) => {
      this.mask.scope = scope;
      this.redraw();
    });
    this.clear = button("clear", () => this.undo(), { title: "clear the painting" });
    this.scopes.element.append(this.clear);
    const controlRow = div("change-controls", this.changer.chips, this.changer.panel);
    this.top.append(this.box.element, controlRow, this.noticeList, div("computing", this.computed, this.back));
    this.actions.prepend(this.scopes.element, this.brush);
  }

  /** The model that the controls change. */
  get picture() {
    const { live, maps, ownMask } = this;
    return { ...live, ownMask, layers: maps.layers, heads: maps.heads, defaults: DEFAULTS };
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

  /** Compute the maps again after a change, unless it says otherwise. @param {object} change */
  edit(change) {
    Object.assign(this, { isStale: true }, change);
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
    const load = { n, heads, rule, base: cellsOf(rule), modelMask: cellsOf(ownMask) };
    if (!this.grid.stroke) mask.load({ ...load, painted: paintedTokens(painted) === n ? painted : "" });
    mask.head = this.at.head;
    act(mask);
    const p = mask.text;
    this.edit({ controls: { ...controls, ...(p ? { mask: "painted", on: rule, p } : { p: null, ...maskOf(rule) }) } });
  }

  undo() {
    this.stroke((mask) => mask.clear());
  }

  /** Compute all maps; while that is not possible, the last ones stay. */
  compute() {
    const { model, text, controls, off, ownMask, live } = this;
    this.isStale = false;
    this.problem = text.trim() ? "" : "Type a sentence; until then the last maps stay.";
    if (this.problem) return;
    try {
      const run = runUnder(model, { text, controls, off, group: live.group });
      const { layers, heads, tokens, forbidden } = run;
      const changes = changed(controls, off, tokens).map((change) => change.text);
      const builtIn = ownMask === "none" ? [] : [`${ownMask} mask: built in`];
      const origin = `${counted(layers, "layer")} of ${counted(heads, "head")}, ${counted(tokens.length, "token")}`;
      this.maps = mapsOf(mapsMessage(run, JSON.stringify([text, controls, [...off]])));
      this.floats = run.weights;
      this.state = {
        ...{ ...this.state, forbidden, exact: headsOfRun(run), title: `${text} · ${model.title}` },
        changed: [...(changes.length ? changes : ["nothing changed"]), ...builtIn].join(", "),
        origin: `${origin}, computed in this browser`,
      };
    } catch (error) {
      this.problem = sentenceOf(error);
    }
  }

  draw() {
    if (this.isStale) this.compute();
    const { maps, at, floats, isPainting, asTable } = this;
    Object.assign(at, { row: Math.min(at.row, maps.n - 1), key: (at.key ?? 0) < maps.keys.length ? at.key : null });
    this.map.use(isPainting ? this.grid : this.plain);
    super.draw();
    this.box.text = this.text;
    this.changer.draw();
    const painted = paintedTokens(this.painted);
    const misfit =
      painted && painted !== maps.n ? `The mask was painted for ${painted} tokens; only its rule applies.` : "";
    const notes = this.problem ? [this.problem] : [...unknownNotes(maps.tokens), misfit];
    fillNotices(this.noticeList, notes.filter(Boolean));
    const isSaved = maps === this.savedRun.maps;
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
  const result = await openModel(model).catch((/** @type {Error} */ error) => error);
  const view = result instanceof Error ? new Standalone(place, bytes) : new LiveRun(place, bytes, result);
  if (result instanceof Error)
    view.top.append(h("p", { role: "alert" }, `${result.message} Below is the recorded picture.`));
  view.drawNow();
}
