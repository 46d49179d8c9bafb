// The panel of a lesson: progress, instruction, question, choices, and after the answer the numbers. It draws a state
// and forwards user actions. In a class a show of hands is counted per choice, in two rounds.

import { button, div, fill, fold, h, setAttribute, setAttributes, setText, span } from "../base/dom.js";

/** @typedef {"answer" | "show" | "next" | "back" | "leave" | "again" | "lessons" | "notes" | "page" | "class" | "keys"} Act */
/**
 * @typedef {object} PanelState
 * @property {LessonPlace | null} place null if the step in the link does not exist
 * @property {string} sentence status: why there is no step or verdict, or what is pending
 * @property {string | null} answer the chosen letter
 * @property {boolean} open whether the curtain is open
 * @property {StepVerdict | null} verdict
 * @property {boolean} away whether the current page is not the step's
 * @property {boolean} notes whether the teacher's notes are open
 * @property {boolean} keys whether the list of shortcuts is open
 * @property {boolean} isWholePage whether the whole page with all controls is visible
 * @property {boolean} taught classroom mode: an answer does not open the curtain
 * @property {string} back @property {string} next texts of the previous and next links
 */

const OPEN = "Anyone who opens this lesson can read these notes.";
const TAUGHT = "an answer does not reveal the picture; only “show” does";
const KEYS = [
  ["A – D, 1 – 4", "answer"],
  ["space", "show, then continue"],
  ["→ ←, Page ↓ ↑", "next and back, unless a field, map or list has the focus"],
  ["shift + A – D", "in a class: count a raised hand; ⌫ removes the last one"],
  ["R", "in a class: count again, after talking"],
  ["N", "teacher’s notes"],
  [".", "black screen; any key ends it"],
  ["−", "two maps: show or hide their difference"],
  ["W", "after the answer: the whole page, with all its controls"],
  ["P", "projector"],
  ["[ ], { }", "in the projector: previous or next head and layer"],
  ["O M T U E", "in the projector: ablate the head, mask, positional encoding, undo, edit the sentence"],
  ["?", "this list"],
];

/** The notes of a step, one per line. @param {LessonPlace} place */
function notesOf({ lesson, step }) {
  const { references } = lesson;
  const reading = references.length ? `Further reading: ${references.join("; ")}.` : "";
  const notes = [step.teacher_notes, lesson.teacher_notes, reading].filter(Boolean);
  return notes.length ? notes : ["This step has no notes."];
}

export class LessonPanel {
  /** @param {(act: Act, letter?: string) => void} act @param {import("./lesson_panel.js").Hands} hands */
  constructor(act, hands) {
    this.act = act;
    this.hands = hands;
    this.letters = /** @type {string[]} */ ([]); // of the choices
    const press = (/** @type {Act} */ name, text = "", props = {}) => button(text, () => act(name), props);
    this.p = {
      placeLabel: h("p", { class: "step-position" }),
      leave: press("leave", "leave the lesson", { class: "quiet", title: "the picture stays as it is" }),
      title: h("h1", { tabindex: "-1" }),
      progress: h("div", { class: "progress", "aria-hidden": "true" }, h("span")),
      away: h("p", { class: "away" }, "This step’s picture is on another page. ", press("again", "go to it")),
      instruction: h("p", { class: "instruction" }),
      question: h("h2"),
      choices: h("div", { class: "options", role: "group" }),
      show: press("show", "show", { class: "strong" }),
      taught: press("class", "count hands", { class: "quiet", title: TAUGHT }),
      verdict: h("div", { class: "verdict", role: "status", "aria-label": "Answer" }),
      exercise: h("p", { class: "exercise" }),
      back: press("back"),
      notes: press("notes", "teacher’s notes", { class: "quiet", "aria-expanded": "false" }),
      next: press("next"),
      lines: div("lines"),
      overlayNotes: div("notes overlay"),
      page: press("page", "whole page", {
        class: "quiet",
        title: "the page with all its controls",
        "aria-pressed": "false",
      }),
      misconception: h("p", { class: "breaks" }),
      help: press("keys", "keys", { class: "quiet", "aria-expanded": "false" }),
      keys: div(
        "keys overlay",
        h("dl", {}, ...KEYS.flatMap(([key, action]) => [h("dt", {}, key), h("dd", {}, action)])),
      ),
    };
    const { p } = this;
    const keyed = { space: p.show, W: p.page, N: p.notes, "?": p.help };
    for (const [key, part] of Object.entries(keyed)) part.append(h("kbd", { "aria-hidden": "true" }, key));
    this.element = h("aside", { id: "headlight-lesson", "aria-label": "Lesson", hidden: "" });
    // a clicked button must not keep the focus: the space bar then belongs to the lesson again
    this.element.addEventListener("click", ({ detail, target }) => {
      const pressed = target instanceof Element && target.closest("button:not(.option)");
      if (detail && pressed instanceof HTMLElement) pressed.blur();
    });
    this.arrange();
  }

  arrange() {
    const { p, hands } = this;
    p.overlayNotes.append(p.lines);
    setAttribute(p.keys, "tabindex", "0"); // scrollable in a low window
    this.element.append(
      div("head", p.placeLabel, p.leave),
      p.title,
      p.progress,
      p.away,
      p.instruction,
      p.question,
      p.choices,
      div("reveal", p.show, p.taught),
      hands.element,
      p.verdict,
      p.misconception,
      p.exercise,
      div("ways", p.back, p.next),
      div("more", p.page, p.notes, p.help),
      p.overlayNotes,
      p.keys,
    );
  }

  /** @param {PanelState} state */
  draw(state) {
    const { p } = this;
    const { place, sentence } = state;
    this.element.hidden = false;
    setAttribute(this.element, "data-missing", place ? null : "");
    if (place) this.drawStep({ ...state, place });
    else {
      setText(p.placeLabel, "Lesson");
      setText(p.title, "This step does not exist");
      const all = button("all lessons", () => this.act("lessons"));
      p.verdict.replaceChildren(h("p", {}, sentence), all);
    }
  }

  /** @param {PanelState & {place: LessonPlace}} state */
  drawStep(state) {
    const { p } = this;
    const { lesson, number, total, step, at } = state.place;
    const count = lesson.steps.length;
    const minutes = h("span", { class: "minutes" }, ` · ${lesson.minutes} minutes`);
    const kind = lesson.course ? `${lesson.course} · lesson` : "Lesson";
    const [name, part] = lesson.claims ? ["Claims", "claim"] : [kind, "step"];
    p.placeLabel.replaceChildren(`${name} ${number} of ${total}`, minutes, ` · ${part} ${at} of ${count}`);
    setText(p.title, lesson.title);
    /** @type {HTMLElement} */ (p.progress.firstChild).style.width = `${(100 * at) / count}%`;
    setText(p.instruction, step.instruction);
    setText(p.question, step.question);
    setAttribute(p.choices, "aria-label", step.question);
    p.away.hidden = !state.away;
    this.drawChoices(state);
    p.show.hidden = state.open;
    setAttribute(p.taught, "aria-pressed", String(state.taught));
    this.hands.element.hidden = !state.taught || (state.open && !this.hands.any);
    this.hands.draw();
    this.drawVerdict(state);
    p.page.hidden = !state.open || state.away;
    setAttribute(p.page, "aria-pressed", String(state.isWholePage));
    p.misconception.hidden = !state.open || at < count;
    if (!p.misconception.hidden)
      p.misconception.replaceChildren(h("strong", {}, "Misconception: "), lesson.misconception);
    p.exercise.hidden = !state.open || at < count || !lesson.exercise;
    if (!p.exercise.hidden) p.exercise.replaceChildren(h("strong", {}, "Now you. "), lesson.exercise);
    setText(p.back, state.back);
    setText(p.next, state.next);
    p.back.hidden = !state.back;
    setAttribute(p.next, "class", state.open ? "strong" : null);
    setAttribute(p.notes, "aria-expanded", String(state.notes));
    setAttribute(p.help, "aria-expanded", String(state.keys));
    this.drawOver(p.overlayNotes, state.notes, "Teacher’s notes");
    this.drawOver(p.keys, state.keys, "Keys");
    fill(p.lines, [...notesOf(state.place), OPEN], "p", setText);
  }

  /** Open or close an overlay over the picture, a dialog while it is open.
   * @param {HTMLElement} part @param {boolean} isOpen @param {string} name */
  drawOver(part, isOpen, name) {
    part.hidden = !isOpen;
    setAttributes(part, { role: isOpen ? "dialog" : null, "aria-label": isOpen ? name : null });
  }

  /** @param {PanelState & {place: LessonPlace}} state */
  drawChoices({ place, answer, open, verdict }) {
    const make = (/** @type {number} */ index) => {
      const choice = button("", () => this.act("answer", this.letters[index]), { class: "option" });
      choice.append(span("letter"), span("text"), span("mark"), span("votes"));
      return choice;
    };
    this.letters = place.step.choices.map(({ letter }) => letter);
    fill(this.p.choices, place.step.choices, make, (choice, { letter, text }) => {
      const [name, words, mark, votes] = choice.children;
      const [isChosen, right] = [answer === letter, open && verdict?.picked === letter];
      setText(name, letter);
      setText(words, text);
      setText(mark, right ? "✓ right, as just measured" : isChosen && open ? "your answer" : "");
      setAttributes(choice, { "aria-pressed": String(isChosen), "data-correct": right ? "" : null });
      this.hands.drawBars(votes, letter);
    });
  }

  /** @param {PanelState} state */
  drawVerdict({ open, verdict, sentence, place }) {
    const { p } = this;
    const lines = /** @type {HTMLElement[]} */ ([]);
    if (open && verdict) {
      const line = (label = "", text = "") => h("li", {}, h("span", {}, label), " ", h("strong", {}, text));
      const numbers = verdict.numbers.map(([label, , text]) => line(label, text));
      lines.push(h("p", { class: verdict.picked ? "picked aloud" : "open" }, verdict.sentence));
      const { result, method, caption } = partsOf(verdict.explanation, place?.lesson.claims ?? false);
      if (result) lines.push(h("p", { class: "because" }, result));
      if (caption) lines.push(h("p", { class: "small" }, caption));
      lines.push(h("ul", {}, ...numbers));
      if (method) lines.push(fold("How it was measured", {}, h("p", {}, method)));
    } else if (sentence) lines.push(h("p", {}, sentence));
    const text = lines.map((line) => line.textContent).join("\n");
    if (p.verdict.dataset.text === text) return; // announced once
    p.verdict.dataset.text = text;
    p.verdict.replaceChildren(...lines);
    if (open && verdict) p.verdict.scrollIntoView({ block: "nearest" }); // on a phone it would be below the fold
  }
}

/** The parts of an explanation: that of a claim has its result in the first sentence and the caption of the numbers
 * in the last one.
 * @param {string} text @param {boolean} isClaim @returns {{result: string, method: string, caption: string}} */
function partsOf(text, isClaim) {
  const [, result = text, method = "", caption = ""] =
    (isClaim && text.match(/^(.*?\.) (?=\p{Lu})(.*?) ?(?:The numbers: (.*))?$/su)) || [];
  return { result, method, caption: caption && caption[0].toUpperCase() + caption.slice(1) };
}

const ROUNDS = ["alone", "after talking"];

export class Hands {
  /** @param {() => void} counted called when a hand is counted or removed */
  constructor(counted) {
    this.tell = counted;
    this.round = 0;
    this.rounds = /** @type {string[][]} */ ([[], []]); // letters in counting order
    this.counted = /** @type {Map<string, string[][]>} */ (new Map()); // question -> its rounds, while the page is open
    this.talk = button("", () => this.turn(), { class: "quiet" });
    this.element = h("div", { class: "hands", role: "group", "aria-label": "Hands" }, this.talk);
    this.letters = /** @type {string[]} */ ([]);
  }

  /** Start a question with the hands counted for it before.
   * @param {string} name @param {string[]} letters letters of its choices */
  begin(name, letters) {
    const rounds = this.counted.get(name) ?? [[], []];
    this.counted.set(name, rounds);
    Object.assign(this, { letters, round: rounds[1].length ? 1 : 0, rounds });
  }

  /** Count a hand. @param {string} letter */
  count(letter) {
    if (this.letters.includes(letter)) this.rounds[this.round].push(letter);
    this.tell();
  }

  undo() {
    this.rounds[this.round].pop();
    this.tell();
  }

  turn() {
    this.round = 1 - this.round;
    this.tell();
  }

  /** Return whether a hand was counted. */
  get any() {
    return this.rounds.some((hands) => hands.length);
  }

  draw() {
    setText(this.talk, this.round ? "back to the first count" : "count again after talking");
  }

  /** Draw the hands of a choice as bars, round by round; nothing before the first hand.
   * @param {Element} place @param {string} letter */
  drawBars(place, letter) {
    const counted = this.rounds.filter((hands) => hands.length);
    const make = () => div("bar", span("track", h("span")), span("count"));
    fill(place, counted, make, (bar, hands) => {
      const count = hands.filter((hand) => hand === letter).length;
      /** @type {HTMLElement} */ (bar.children[0].firstElementChild).style.width = `${(100 * count) / hands.length}%`;
      setText(bar.children[1], String(count));
      setAttribute(bar, "title", ROUNDS[this.rounds.indexOf(hands)]);
    });
  }
}
