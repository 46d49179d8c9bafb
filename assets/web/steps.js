// The step view: every tensor on the way through one layer, one step at a time, in one implementation or two.

import { inks } from "./colour.js";
import { button, h, setAttribute, setText, styles } from "./dom.js";
import { LessonPlace } from "./lesson_place.js";
import { without } from "./link.js";
import { parseAt, writeAt } from "./look.js";
import { mount } from "./mount.js";
import { unpack } from "./packets.js";
import { SentenceBox } from "./sentence.js";
import { Side } from "./step_panel.js";
import { StepList } from "./steps_list.js";
import { groupOf, madeFrom, titleOf } from "./steps_words.js";
import { findStep, unpackTrace } from "./tensor.js";
import { fillChoice, fillNotices, group, named, notices, numbers } from "./view_base.js";
import { WireView } from "./wire_view.js";

/** @typedef {import("./messages.js").Steps} State */
/** @typedef {import("./messages.js").StepsPicture & {traces: import("./tensor.js").Trace[]}} Picture */

const BEAT = 1600; // ms a step while playing
const WALK = 150; // ms between two questions for the numbers of steps, however fast they are walked through
const LETTERS = "b batch, i queries, j keys, h heads, d features of a head, c channels";
const PROJECTED = 1.5; // how much larger the letters of the pictures are then
const IN_SIGHT = ["at", "step"]; // keys that say what is looked at, and but for the layer change no number

const STYLES = await styles("./view.css", "./steps.css");

/** @extends {WireView<State, Picture>} */
class StepView extends WireView {
  constructor(root) {
    super(root, STYLES, "steps");
    this.text = ""; // what stands in the box
    this.asked = ""; // the sentence that the wire is asked for: the last one that can be used
    this.at = { layer: 0, head: 0, row: 0, key: /** @type {number | null} */ (null) };
    this.rowChosen = false; // by the visitor, not by the page
    this.step = "";
    this.feature = 0;
    this.tracesOf = ""; // the query that the traces answer, but for what is in sight
    this.lastAsked = ""; // the traces that were asked for last, and when
    this.askedAt = 0;
    this.later = 0;
    this.playing = 0;
    this.box = new SentenceBox(
      "Sentence",
      (text) => this.type(text),
      () => this.flushAfter(0),
    );
    const choices = {
      pick: (row, column) => this.pick(row, column),
      chooseHead: (head) => this.go({ head }),
      learn: (lesson, side) => this.learn(lesson, side),
    };
    this.lessonPlace = new LessonPlace();
    this.list = new StepList((by) => this.walk(by));
    this.sides = [new Side(choices), new Side(choices)];
    const p = {
      notices: notices(),
      back: button("◀ back", () => this.walk(-1)),
      count: h("span", { class: "count" }),
      next: button("next ▶", () => this.walk(1)),
      play: button("play", () => this.play(!this.playing), { "aria-pressed": "false" }),
      layers: group("Layer"),
      heads: group("head"),
      label: h("p", { class: "label" }),
    };
    this.parts = p;
    const stepper = group("steps", p.back, p.count, p.next, p.play);
    const places = [named("layer", p.layers), named("head", p.heads)];
    const bar = h("div", { class: "bar" }, stepper, ...places);
    const list = h("div", { class: "listing" }, this.list.element, p.label);
    const top = h("div", { class: "top" }, this.box.element, p.notices);
    this.show(top, bar, list, ...this.sides.map(({ element }) => element));
  }

  get main() {
    return this.sides[0].made;
  }

  // ---- what comes in

  /** @param {State} state */
  adopt(state) {
    const { layer, head, row, key } = parseAt(state.at);
    const first = this.picture ?? { row: 0, key: null };
    this.rowChosen = row !== null;
    this.at = { layer, head, row: row ?? first.row, key: row === null ? first.key : key };
    this.step = state.step;
    this.feature = state.feature;
    this.text = this.box.text = state.box;
    this.asked = state.typed;
  }

  /** What is said of the traces, then the traces. @param {Uint8Array[]} parts @param {URLSearchParams} query */
  receive([said, ...traces], query) {
    this.picture = { ...unpack(said).header, traces: traces.map(unpackTrace) };
    this.tracesOf = without(query, ...IN_SIGHT);
    if (!this.rowChosen) Object.assign(this.at, { row: this.picture.row, key: this.picture.key });
  }

  /** What the script will say of a picture that came with the page. @param {URLSearchParams} link */
  assumed(link) {
    const { layer, head, step, typed } = this.picture;
    const { row, key } = parseAt(link.get("at") ?? "");
    const feature = Number(link.get("f") ?? 0);
    return {
      at: row === null ? `${layer}.${head}` : writeAt({ layer, head, row, key }, true),
      step,
      feature: Number.isInteger(feature) && feature >= 0 ? feature : 0,
      box: typed,
      typed,
    };
  }

  answered(bytes, question) {
    super.answered(bytes, question);
    this.ask(); // another step may be in sight by now
  }

  // ---- what goes out

  own() {
    const { layer, head } = this.at;
    return { s: this.asked, at: `${layer}.${head}`, step: this.step, f: null, lesson: null };
  }

  /** The traces, unless they are here with the numbers in sight. @param {URLSearchParams} query */
  route(query) {
    const here = this.picture?.layer === this.at.layer && this.tracesOf === without(query, ...IN_SIGHT);
    return here && !this.isComing && !this.picture.cut ? "" : "steps";
  }

  /** True when the traces were too large to be sent whole, and not for what is in sight now. */
  get isComing() {
    const { picture, at, step } = this;
    if (picture.head === at.head && picture.step === step) return false;
    return picture.traces.some(({ steps }) => {
      const { from } = steps[this.placeIn(steps)];
      return [this.placeIn(steps), ...from].some((n) => !steps[n].here);
    });
  }

  ask() {
    clearTimeout(this.later);
    const query = this.query();
    const traces = `${this.at.layer} ${without(query, ...IN_SIGHT)}`;
    const wait = traces === this.lastAsked && this.route(query) ? this.askedAt + WALK - performance.now() : 0;
    if (wait > 0) {
      this.later = setTimeout(() => this.ask(), wait);
      return;
    }
    this.lastAsked = traces;
    this.askedAt = performance.now();
    super.ask();
  }

  // ---- what the visitor does

  /** @param {string} text */
  type(text) {
    this.text = this.asked = text;
    this.changed(true);
  }

  /** The steps in sight, group by group: of the steps of single heads only those of the head in focus. */
  get listed() {
    const own = ({ step }) => step.onlyHead === null || step.onlyHead === this.head;
    const all = this.picture.traces[0].steps.map((step, at) => ({ step, at, group: groupOf(step) })).filter(own);
    return all.sort((one, other) => one.group - other.group); // q, k and v go through a group together
  }

  /** The head in focus; of the traces that are here, where the model in focus has more heads. */
  get head() {
    return Math.min(this.at.head, this.picture.traces[0].heads - 1);
  }

  /** The place of the step in focus, or of what stands for it, in a trace. */
  placeIn(steps) {
    return findStep(steps, this.step, this.head);
  }

  walk(by) {
    const { listed } = this;
    const here = this.placeIn(this.picture.traces[0].steps);
    const now = listed.findIndex(({ at }) => at === here);
    const to = Math.max(0, Math.min(listed.length - 1, now + by));
    if (to !== now) this.goTo(listed[to].step.name);
    else if (this.playing) this.play(false);
  }

  play(on) {
    clearInterval(this.playing);
    this.playing = on ? setInterval(() => this.beat(), BEAT) : 0;
    const { steps } = this.picture.traces[0];
    if (on && this.placeIn(steps) === steps.length - 1) this.goTo(steps[0].name);
    setAttribute(this.parts.play, "aria-pressed", String(on));
    setText(this.parts.play, on ? "pause" : "play");
  }

  /** The next step, once the numbers of this one have been seen. */
  beat() {
    if (!this.element.isConnected) this.play(false);
    else if (!this.isComing) this.walk(1);
  }

  goTo(step) {
    this.step = step;
    this.changed();
  }

  pick(row, column) {
    const { steps } = this.picture.traces[0];
    if (steps[this.placeIn(steps)].hasKeys) this.at.key = column;
    else this.feature = column;
    this.rowChosen = true;
    this.go({ row });
  }

  /** Opens a lesson beside the step that asks for it, or closes it. @param {string} lesson @param {Side} side */
  learn(lesson, side) {
    if (!this.lessonPlace.turn(side, lesson)) return;
    this.changed();
    this.wishes.push({ turn: this.turn, wish: { lesson } });
    this.flush();
  }

  /** @param {Partial<{layer: number, head: number, row: number}>} change */
  go(change) {
    Object.assign(this.at, change);
    this.changed();
  }

  changed(typing = false) {
    const { text, at, rowChosen, step, feature } = this;
    this.chose({ s: text, at: writeAt(at, rowChosen), step, feature }, typing);
  }

  leave() {
    super.leave();
    clearTimeout(this.later);
    clearInterval(this.playing);
    this.lessonPlace.back();
  }

  // ---- drawing

  draw() {
    const { parts: p, picture, at, head } = this;
    const { traces } = picture;
    if (!this.waiting) this.keepWithin(traces[0].tokens.length);
    this.kinds({ pair: traces.length > 1 });
    this.sides[1].element.hidden = traces.length < 2;
    const shown = traces.map((trace) => ({ trace, at: this.placeIn(trace.steps) }));
    const [{ trace, at: here }] = shown;
    const step = trace.steps[here];
    fillNotices(p.notices, this.notices);
    this.drawList(here);
    fillChoice(p.layers, numbers(picture.layers), at.layer, (layer) => this.go({ layer }), "layer");
    fillChoice(p.heads, numbers(trace.heads), at.head, (own) => this.go({ head: own }), "head");
    // until the numbers of a step have come, nothing must be said that follows from them
    const { isComing } = this;
    this.wait(isComing);
    const place = { head, row: at.row, key: at.key, feature: this.feature };
    const projected = this.projector && !this.narrow;
    const ink = { theme: this.theme, colours: inks(this.element), scale: this.projector ? PROJECTED : 1, projected };
    shown.forEach((own, n) => this.sides[n].draw(own.trace, own.at, place, ink, picture.lessons));
    this.lessonPlace.keep();
    const title = `${p.count.textContent}: ${titleOf(step, trace)}, shape ${step.sizes.join(", ")}`;
    if (!isComing) this.say(`${title}. ${madeFrom(step, trace)}`);
    const names = traces.map(({ implementation }) => implementation).join(" ");
    const whole = picture.cut ? "" : "true";
    Object.assign(this.element.dataset, { digest: trace.digest, step: step.name, shown: names, whole });
  }

  /** A row or key that the sentence does not have is no choice. @param {number} tokens */
  keepWithin(tokens) {
    const { at, picture } = this;
    if (at.row >= tokens) {
      this.rowChosen = false;
      Object.assign(at, { row: picture.row, key: picture.key });
    }
    if (at.key !== null && at.key >= tokens) at.key = null;
  }

  drawList(now) {
    const { parts: p, listed } = this;
    const place = listed.findIndex(({ at }) => at === now);
    setText(p.count, `step ${place + 1} of ${listed.length}`);
    setAttribute(p.back, "disabled", place === 0);
    setAttribute(p.next, "disabled", place === listed.length - 1);
    setText(p.label, `${this.picture.label}. Layers, heads and tokens are counted from 0; ${LETTERS}.`);
    this.list.draw(listed, now, (name) => this.goTo(name));
  }
}

export default mount(StepView);
