// The panel of a lesson: progress, instruction, question, choices, and after the answer the numbers. It draws a state
// and forwards user actions. In a class a show of hands is counted per choice, in two rounds.

import { button, h, render, setText } from "../base/dom.js";

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
 * @property {string[][]} rounds the letters that the class chose, round by round
 * @property {boolean} [isAsked] whether there are choices @property {boolean} [isClosed] whether none can be chosen
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

const ROUNDS = ["alone", "after talking"];

/** The notes of a step, one per line. @param {LessonPlace} place */
function notesOf({ lesson, step }) {
  const { references } = lesson;
  const reading = references.length ? `Further reading: ${references.join("; ")}.` : "";
  const notes = [step.teacher_notes, lesson.teacher_notes, reading].filter(Boolean);
  return notes.length ? notes : ["This step has no notes."];
}

/** The votes for a choice as bars, round by round; nothing before the first vote.
 * @param {string[][]} rounds @param {string} letter */
export const barsOf = (rounds, letter) =>
  rounds.flatMap((hands, round) => {
    const count = hands.filter((hand) => hand === letter).length;
    const track = ["span.track", ["span", { style: `width: ${(100 * count) / hands.length}%;` }]];
    return hands.length ? [["div.bar", { title: ROUNDS[round] }, track, ["span.count", count]]] : [];
  });

export class LessonPanel {
  /** @param {(act: Act, letter?: string) => void} act @param {Element | null} hands where hands are counted */
  constructor(act, hands = null) {
    this.act = act;
    this.hands = hands;
    this.letters = /** @type {string[]} */ ([]); // of the choices
    this.verdict = h("div", { class: "verdict", role: "status", "aria-label": "Answer" });
    this.element = h("aside", { id: "headlight-lesson", "aria-label": "Lesson", hidden: "" });
    // a clicked button must not keep the focus: the space bar then belongs to the lesson again
    this.element.addEventListener("click", ({ detail, target }) => {
      const pressed = target instanceof Element && target.closest("button:not(.option)");
      if (detail && pressed instanceof HTMLElement) pressed.blur();
    });
  }

  /** @param {Act} name @param {string} text @param {Record<string, any>} [props] @param {string} [key] its shortcut */
  press(name, text, props = {}, key = "") {
    return [
      "button",
      { ...props, onclick: () => this.act(name) },
      text,
      key && ["kbd", { "aria-hidden": "true" }, key],
    ];
  }

  /** @param {PanelState} state */
  draw(state) {
    const { place, sentence } = state;
    this.element.hidden = false;
    if (place) return this.drawStep({ ...state, place });
    render(this.verdict, ["p", sentence], this.press("lessons", "all lessons"));
    const title = ["h1", { tabindex: "-1" }, "This step does not exist"];
    render(this.element, { "data-missing": "" }, ["div.head", ["p.step-position", "Lesson"]], title, this.verdict);
  }

  /** @param {PanelState & {place: LessonPlace}} state */
  drawStep(state) {
    const { open, away, notes, keys } = state;
    const { lesson, number, total, step, at } = state.place;
    const count = lesson.steps.length;
    const kind = lesson.course ? `${lesson.course} · lesson` : "Lesson";
    const [name, part] = lesson.claims ? ["Claims", "claim"] : [kind, "step"];
    const minutes = ["span.minutes", ` · ${lesson.minutes} minutes`];
    const isEnd = open && at === count;
    const quiet = { class: "quiet" };
    const taught = { ...quiet, title: TAUGHT, "aria-pressed": state.taught };
    const whole = { ...quiet, title: "the page with all its controls", "aria-pressed": state.isWholePage };
    const shortcuts = KEYS.flatMap(([key, action]) => [
      ["dt", key],
      ["dd", action],
    ]);
    // an overlay over the picture is a dialog while it is open
    const over = (/** @type {boolean} */ isOpen, /** @type {string} */ label) =>
      isOpen ? { role: "dialog", "aria-label": label } : { hidden: true };
    this.letters = step.choices.map(({ letter }) => letter);
    const before = this.verdict.textContent;
    this.drawVerdict(state);
    render(
      this.element,
      [
        "div.head",
        ["p.step-position", `${name} ${number} of ${total}`, minutes, ` · ${part} ${at} of ${count}`],
        this.press("leave", "leave the lesson", { ...quiet, title: "the picture stays as it is" }),
      ],
      ["h1", { tabindex: "-1" }, lesson.title],
      ["div.progress", { "aria-hidden": "true" }, ["span", { style: `width: ${(100 * at) / count}%;` }]],
      ["p.away", { hidden: !away }, "This step’s picture is on another page. ", this.press("again", "go to it")],
      ["p.instruction", step.instruction],
      ["h2", step.question],
      [
        "div.options",
        { role: "group", "aria-label": step.question, hidden: state.isAsked === false },
        ...this.choices(state),
      ],
      [
        "div.reveal",
        this.press("show", "show", { class: "strong", hidden: open }, "space"),
        this.press("class", "count hands", taught),
      ],
      this.hands,
      this.verdict,
      ["p.breaks", { hidden: !isEnd }, isEnd && ["strong", "Misconception: "], isEnd && lesson.misconception],
      [
        "p.exercise",
        { hidden: !isEnd || !lesson.exercise },
        isEnd && ["strong", "Now you. "],
        isEnd && lesson.exercise,
      ],
      [
        "div.ways",
        this.press("back", state.back, { hidden: !state.back }),
        this.press("next", state.next, { class: open ? "strong" : null }),
      ],
      [
        "div.more",
        this.press("page", "whole page", { ...whole, hidden: !open || away }, "W"),
        this.press("notes", "teacher’s notes", { ...quiet, "aria-expanded": notes }, "N"),
        this.press("keys", "keys", { ...quiet, "aria-expanded": keys }, "?"),
      ],
      [
        "div.notes.overlay",
        over(notes, "Teacher’s notes"),
        ["div.lines", ...[...notesOf(state.place), OPEN].map((line) => ["p", line])],
      ],
      ["div.keys.overlay", { tabindex: "0", ...over(keys, "Keys") }, ["dl", ...shortcuts]], // scrollable in a low window
    );
    if (open && state.verdict && this.verdict.textContent !== before) this.verdict.scrollIntoView({ block: "nearest" }); // on a phone it would be below the fold
  }

  /** @param {PanelState & {place: LessonPlace}} state */
  choices({ place, answer, open, verdict, rounds, isClosed }) {
    return place.step.choices.map(({ letter, text }) => {
      const [isChosen, right] = [answer === letter, open && verdict?.picked === letter];
      const mark = right ? "✓ right, as just measured" : isChosen && open ? "your answer" : "";
      const state = { "aria-pressed": isChosen, "data-correct": right ? "" : null, disabled: isClosed ?? false };
      const words = [
        ["span.letter", letter],
        ["span.text", text],
        ["span.mark", mark],
      ];
      const choose = () => this.act("answer", letter);
      return ["button.option", { ...state, onclick: choose }, ...words, ["span.votes", ...barsOf(rounds, letter)]];
    });
  }

  /** @param {PanelState} state */
  drawVerdict({ open, verdict, sentence, place }) {
    if (!open || !verdict) return render(this.verdict, sentence && ["p", sentence]);
    const numbers = verdict.numbers.map(([label, , text]) => ["li", ["span", label], " ", ["strong", text]]);
    const { result, method, caption } = partsOf(verdict.explanation, place?.lesson.claims ?? false);
    render(
      this.verdict,
      ["p", { class: verdict.picked ? "picked aloud" : "open" }, verdict.sentence],
      result && ["p.because", result],
      caption && ["p.small", caption],
      ["ul", ...numbers],
      method && ["details", ["summary", "How it was measured"], ["p", method]],
    );
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

  /** @param {{taught: boolean, open: boolean}} state */
  draw({ taught, open }) {
    this.element.hidden = !taught || (open && !this.rounds.flat().length);
    setText(this.talk, this.round ? "back to the first count" : "count again after talking");
  }
}
