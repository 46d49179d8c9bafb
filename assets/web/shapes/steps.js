// The Shapes page: every tensor of one layer, step by step, in one or two implementations.

import { SIDE } from "../base/facts.js";
import { group } from "../base/choice.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { headChoice } from "../picture/map_choice.js";
import { writeAt } from "../link/look.js";
import { mount } from "../base/mount.js";
import { unpack } from "../wire/packets.js";
import { SentenceBox } from "../picture/sentence.js";
import { wholeClasses } from "./code_lines.js";
import { StepControls } from "./step_controls.js";
import { StepLesson } from "./step_lesson.js";
import { Side } from "./step_panel.js";
import { StepList } from "./steps_list.js";
import { groupOf, madeFrom } from "./steps_words.js";
import { findStep, unpackTrace } from "./tensor.js";
import { PlaceView } from "../wire/place_view.js";
import { ProjectorBar } from "../picture/projector_bar.js";
import choicesCss from "../picture/choices.css" with { type: "css" };
import stepsCss from "./steps.css" with { type: "css" };
import listingCss from "../picture/listing.css" with { type: "css" };
import sheetCss from "../sheets/sheet.css" with { type: "css" };
import stageCss from "../picture/stage.css" with { type: "css" };

/** @typedef {import("../base/messages.js").StepsPicture & {traces: Trace[]}} Picture */

const LETTERS = "b batch, i queries, j keys, h heads, d features of a head, c channels";
const PROJECTED = 1.5; // factor of the type size in projected drawings
const RANDOM = ["lw", "biases", "drop", "dice"]; // parameters of random weights in place of the trained ones
const LESSON = ["f", "lesson", "wrote"]; // parameters of channel and exercise, which do not change the traces
const IN_SIGHT = ["at", "step", ...LESSON]; // parameters of the focus, which change no number except by the layer
const OWN = ["s", "at", "step", "impl", "vs", ...SIDE, ...RANDOM, ...LESSON];

/** @extends {PlaceView<Picture>} */
export class StepView extends PlaceView {
  /** @param {ShadowRoot | HTMLElement} root */
  constructor(root) {
    super(root, [choicesCss, stepsCss, listingCss, sheetCss, stageCss], "steps");
    this.values = /** @type {Values} */ ({}); // as in the link; `at` as opened
    this.box = new SentenceBox(this, (text) => this.setText(text));
    this.controls = new StepControls(this);
    this.foot = new ProjectorBar(this, this.box.element, this.controls);
    this.lesson = new StepLesson(this);
    this.classes = wholeClasses(this);
    this.list = new StepList((delta) => this.walk(delta));
    this.sides = [new Side(this), new Side(this)];
    const p = {
      back: button("◀ back", () => this.walk(-1)),
      count: span("count"),
      next: button("next ▶", () => this.walk(1)),
      label: h("p", { class: "label" }),
    };
    this.parts = p;
    const stepper = group("steps", p.back, p.count, p.next);
    this.choice = headChoice(this);
    const bar = div("bar", stepper, ...this.choice.elements, ...this.controls.lists);
    const controls = div("controls", this.controls.chips);
    const top = div("top", this.box.element, this.noticeList);
    const end = div("end", this.lesson.element, p.label, this.classes.element);
    const sides = this.sides.map(({ element }) => element);
    this.show(top, controls, bar, this.controls.panel, this.list.element, ...sides, end);
  }

  get main() {
    return this.sides[0].flow;
  }

  /** @param {URLSearchParams} link */
  readLink(link) {
    this.values = { ...Object.fromEntries(OWN.map((key) => [key, link.get(key)])), off: link.getAll("off") };
    this.adoptPlace(link);
    this.box.text = this.text;
  }

  /** Take over the header of the traces, then the traces. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([header, ...traces], query) {
    this.picture = { ...unpack(header).header, traces: traces.map(unpackTrace) };
    this.onUnchanged(query);
    this.choosePlace(this.picture.traces[0].tokens.length);
    if (this.values.s === null) this.box.text = this.picture.sentence;
  }

  idleKeys() {
    return IN_SIGHT;
  }

  /** The text of the sentence field. */
  get text() {
    return String(this.values.s ?? this.picture?.sentence ?? "");
  }

  /** The step in focus. */
  get step() {
    return String(this.values.step ?? this.picture.defaults.step);
  }

  /** The channel of the head in focus. */
  get feature() {
    const feature = Number(this.values.f ?? 0);
    return Number.isInteger(feature) && feature >= 0 ? feature : 0;
  }

  toParams() {
    const { values, at, opened, placed, rowChosen } = this;
    return { ...values, at: opened ? values.at : placed ? writeAt(at, rowChosen) : null };
  }

  requestParams() {
    const { layer, head } = this.at;
    return { ...this.toParams(), at: this.placed ? `${layer}.${head}` : null, f: null, lesson: null, wrote: null };
  }

  /** Request the traces, unless they are here with the values in focus. @param {URLSearchParams} query */
  route(query) {
    const isCurrent = this.picture?.layer === this.at.layer && this.pictureOf === this.relevant(query);
    return isCurrent && !this.isComing && !this.picture.cut ? "" : "steps";
  }

  /** Return whether the tensor in focus must still be loaded because its trace was too large. */
  get isComing() {
    const { picture, at, step } = this;
    if (picture.head === at.head && picture.step === step) return false;
    return picture.traces.some(({ steps }) => {
      const { parents } = steps[this.placeIn(steps)];
      return [this.placeIn(steps), ...parents].some((n) => !steps[n].isSent);
    });
  }

  ask() {
    super.ask();
    if (this.route(this.query())) this.lesson.lesson.stop(); // it belongs to earlier traces and would delay these
  }

  /** @param {string} text */
  setText(text) {
    this.change({ s: this.clip(text, "s") }, true);
  }

  /** The visible steps, group by group; of the steps per head only those of the head in focus. */
  get listed() {
    const isListed = ({ step }) => step.onlyHead === null || step.onlyHead === this.head;
    const all = this.picture.traces[0].steps
      .map((step, index) => ({ step, at: index, group: groupOf(step) }))
      .filter(isListed);
    return all.sort((a, b) => a.group - b.group); // q, k and v pass a group together
  }

  /** The head in focus, clamped to the heads of the traces. */
  get head() {
    return Math.min(this.at.head, this.picture.traces[0].heads - 1);
  }

  /** The index in a trace of the step in focus, or of its equivalent. */
  placeIn(steps) {
    return findStep(steps, this.step, this.head);
  }

  walk(delta) {
    const { listed } = this;
    const index = this.placeIn(this.picture.traces[0].steps);
    const now = listed.findIndex(({ at }) => at === index);
    const next = Math.max(0, Math.min(listed.length - 1, now + delta));
    if (next !== now) this.change({ step: listed[next].step.name });
  }

  pick(row, column) {
    const { steps } = this.picture.traces[0];
    if (steps[this.placeIn(steps)].hasKeys) this.at.key = column;
    else this.values.f = String(column);
    this.setCursor({ row });
  }

  /** @param {Values} change @param {boolean} [typing] more input follows */
  change(change, typing = false) {
    Object.assign(this.values, change);
    this.onChange(typing);
  }

  draw() {
    const { parts: p, picture, at, head } = this;
    const { traces } = picture;
    if (!this.waiting) this.keepWithin(traces[0].tokens.length);
    this.setClasses({ pair: traces.length > 1 });
    this.sides[1].element.hidden = traces.length < 2;
    const panels = traces.map((trace) => ({ trace, at: this.placeIn(trace.steps) }));
    const [{ trace, at: index }] = panels;
    const step = trace.steps[index];
    this.drawList(index);
    this.choice.draw(trace.heads);
    // nothing may be derived from the numbers of a step before they have arrived
    const { isComing } = this;
    this.wait(isComing);
    const place = { head, row: at.row, key: at.key, feature: this.feature };
    const floor = this.foot.isOn ? this.foot.top : Number.POSITIVE_INFINITY;
    const ink = { theme: this.theme, colours: this.inks, scale: this.projector ? PROJECTED : 1, floor };
    panels.forEach((panel, n) => this.sides[n].draw(panel.trace, panel.at, place, ink, picture.lessons));
    const query = this.query();
    if (!this.pause && !this.route(query)) this.lesson.ask(query); // once the traces are here and the user has stopped typing
    this.lesson.draw();
    this.controls.draw();
    this.foot.draw();
    const title = `${p.count.textContent}: ${step.title}, shape ${step.sizes.join(", ")}`;
    if (!isComing) this.say(`${title}. ${madeFrom(step, trace)}`);
    const names = traces.map(({ implementation }) => implementation);
    this.classes.draw();
    const isCut = picture.cut ? "" : "true";
    Object.assign(this.element.dataset, {
      digest: trace.digest,
      step: step.name,
      shown: names.join(" "),
      whole: isCut,
    });
  }

  drawList(now) {
    const { parts: p, listed } = this;
    const place = listed.findIndex(({ at }) => at === now);
    setText(p.count, `step ${place + 1} of ${listed.length}`);
    setAttribute(p.back, "disabled", place === 0);
    setAttribute(p.next, "disabled", place === listed.length - 1);
    setText(p.label, `${this.picture.label}. Layers, heads and tokens are counted from 0; ${LETTERS}.`);
    this.list.draw(listed, now, (step) => this.change({ step }));
  }
}

export const view = mount(StepView);
