// The lesson beside the page: question, answer, and the curtain over the picture. The step is in the link (learn=it.2);
// answers are kept while the tab is open, progress in the browser.

import * as course from "./course.js";
import { draw as drawCurtain } from "../base/curtain.js";
import { h, setAttribute, urlOf } from "../base/dom.js";
import { store, stored } from "../base/storage.js";
import { wishOf } from "./lesson_keys.js";
import { LessonPanel, Hands } from "./lesson_panel.js";
import { parseAt } from "../link/look.js";
import { go, linkTo, pageNow, visit } from "../link/navigation.js";
import { ApiClient } from "../wire/api_client.js";

const TAUGHT = "headlight-class"; // sessionStorage key of classroom mode
const COURSE = "lessons"; // path of the page with all lessons
const PAUSE = 300; // ms without a change of the picture before its verdict is requested
const WHOLE = "page"; // a picture that is the whole page
const COMING = "The numbers are still being computed.";

const hands = new Hands(() => show());
const panel = new LessonPanel((act, letter) => acts[act](letter), hands.element);
const black = h("div", { id: "headlight-black", hidden: "" });
/** Step -> its answer in this tab, and whether the curtain is open.
 * @type {Map<string, {answer: string | null, open: boolean}>} */
const visited = new Map();
const state = {
  name: "", // of the step, as in the link
  place: /** @type {LessonPlace | null} */ (null),
  answer: /** @type {string | null} */ (null),
  open: false,
  verdict: /** @type {StepVerdict | null} */ (null),
  sentence: "",
  notes: false,
  keys: false,
  isWholePage: false, // the whole page with all controls, not the step's picture alone
  taught: stored("sessionStorage", TAUGHT) === true, // classroom mode: an answer does not open the curtain
  room: false, // the class votes by phone
};
let pause = 0;

const wire = new ApiClient({
  take: (bytes) => setState({ verdict: JSON.parse(new TextDecoder().decode(bytes)), sentence: "" }),
  refuse: (sentence) => setState({ verdict: null, sentence }),
  wait: (waiting) => {
    if (waiting === "slow" && !state.verdict) setState({ sentence: COMING });
  },
});

/** @param {Partial<typeof state>} change */
function setState(change) {
  Object.assign(state, change);
  show();
}

/** @type {Record<import("./lesson_panel.js").Act, (letter?: string) => void>} */
const acts = {
  answer: (letter = "") => {
    state.answer = letter;
    if (state.taught || state.room) done();
    else open();
  },
  show: open,
  next: () => step(1),
  back: () => step(-1),
  leave: () => {
    const url = course.addressOf(null);
    take("");
    go(url);
  },
  again: () => state.place && go(course.addressOf(state.place)),
  lessons: () => toCourse(),
  notes: () => setState({ notes: !state.notes, keys: false }),
  page: () => state.open && setState({ isWholePage: !state.isWholePage }),
  class: () => {
    setState({ taught: !state.taught });
    store("sessionStorage", TAUGHT, state.taught || null);
  },
  keys: () => setState({ keys: !state.keys, notes: false }),
};
/** Show the answer, then go to the next step. */
const onward = () => state.place && acts[state.open ? "next" : "show"]();

/** Open the curtain and request the verdict. */
function open() {
  state.open = true;
  done();
  judge();
}

/** Handle an answered or skipped question. */
function done() {
  const { name, place, answer } = state;
  visited.set(name, { answer, open: state.open });
  if (place) course.markDone(place);
  show();
}

/** Request the verdict on the current picture. */
function judge() {
  clearTimeout(pause);
  const { place } = state;
  if (!place || !state.open || isAway() || course.askedFor() !== state.name) return;
  wire.ask("lesson", new URLSearchParams(location.search), "");
}

/** Follow a change of the address: another picture has its own verdict. */
function follow() {
  if (!state.open) return;
  clearTimeout(pause);
  pause = setTimeout(judge, PAUSE);
}

/** Return whether the page differs from the step's. */
const isAway = () => state.place !== null && pageNow().path !== state.place.step.path;

/** Set the step; "" for none. @param {string} name */
function take(name) {
  if (name === state.name && (state.place || !name)) {
    state.place &&= course.find(name); // the route may have changed
    return show();
  }
  wire.stop();
  const place = name ? course.find(name) : null;
  const { answer, open } = visited.get(name) ?? { answer: null, open: false };
  Object.assign(state, { name, place, answer, open, verdict: null, sentence: "", isWholePage: false });
  if (place && answer) course.markDone(place);
  hands.begin(name, place?.step.choices.map(({ letter }) => letter) ?? []);
  show();
  if (name && !place) course.load().then(() => name === state.name && missed(), missed);
  follow();
}

/** Handle the loaded course, or its failure. @param {Error} [error] */
function missed(error) {
  if (course.find(state.name)) {
    state.name += " "; // trailing space: forces the step to be set again once its lesson is loaded
    take(state.name.trim());
  } else setState({ sentence: error?.message || course.whyNot(state.name) });
}

/** @param {1 | -1} way */
function step(way) {
  const next = state.place && course.neighbour(state.place, way);
  if (!next) return way > 0 ? toCourse() : undefined;
  take(course.nameOf(next)); // the curtain must come before the picture
  go(course.addressOf(next));
  panel.element.scrollTop = 0;
  panel.element.querySelector("h1")?.focus({ preventScroll: true });
}

function toCourse() {
  take("");
  go(linkTo(COURSE));
}

/** Open a step that was answered on the page of claims. @param {string} name @param {string} answer @param {string} address */
export function answerStep(name, answer, address) {
  visited.set(name, { answer, open: !state.taught });
  visit(new URL(linkTo(address), document.baseURI), false);
}

/** Return whether a lesson is open beside the page. */
const isHere = () => state.name !== "" && pageNow().path !== COURSE;

/** The step that asks about the current picture; null if there is none. */
const askedNow = () => (isHere() && !isAway() ? state.place : null);

/** The interface of the lesson for a room: its step, the way to the answer, and the place for votes. */
export const roomActions = {
  askedNow,
  isOpen: () => state.open,
  open,
  /** Collect answers by phone: an answer opens no curtain, and no hands are counted. */
  askByPhone: () => setState({ room: true }),
  /** Show votes in the place of hands. @param {string[][]} rounds */
  count(rounds) {
    if (JSON.stringify(rounds) === JSON.stringify(hands.rounds)) return;
    hands.rounds = rounds;
    show();
  },
};

function show() {
  const { place, open: isOpen } = state;
  const isShown = isHere();
  document.documentElement.classList.toggle("learning", isShown);
  const away = isAway();
  const hidden = isShown && place && !away && !isOpen ? place.step.hidden : [];
  const { row } = parseAt(new URLSearchParams(place?.step.query).get("at") ?? "");
  const picture =
    isShown && place && !away && !state.isWholePage && place.step.picture !== WHOLE ? place.step.picture : "";
  drawCurtain(hidden, isShown && isOpen && !away && row !== null, picture);
  dispatchEvent(new Event("headlight-lesson"));
  panel.element.hidden = !isShown || (!place && !state.sentence);
  if (panel.element.hidden) return;
  const following = place && course.neighbour(place, 1);
  const isLast = following?.lesson.id !== place?.lesson.id;
  const next = !following ? "all lessons" : isLast ? "next lesson →" : "next →";
  hands.draw(state);
  panel.draw({ ...state, away, next, back: place && place.at > 1 ? "← back" : "", rounds: hands.rounds });
}

/** @param {KeyboardEvent} event */
function key(event) {
  if (!black.hidden && !["Shift", "Control", "Alt", "Meta"].includes(event.key)) {
    black.hidden = true;
  } else {
    const action = isHere() && state.place ? wishOf(event, panel.letters) : null;
    if (!action) return;
    const [name, letter] = action;
    if (name === "close" && !state.notes && !state.keys) return;
    if (name === "hand" || name === "undo" || name === "round") {
      if (!state.taught || state.room) return;
      if (name === "hand") hands.count(letter);
      else if (name === "undo") hands.undo();
      else hands.turn();
    } else if (name === "black") black.hidden = false;
    else if (name === "space") onward();
    else if (name === "close") setState({ notes: false, keys: false });
    else acts[name](letter);
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}

function begin() {
  if (!document.querySelector("link.lesson"))
    document.head.append(h("link", { rel: "stylesheet", class: "lesson", href: urlOf("lessons/lesson.css").href }));
  document.getElementById("headlight-bar")?.after(panel.element); // tab order: bar, lesson, page
  document.body.append(black);
  addEventListener("popstate", () => take(course.askedFor()));
  addEventListener("headlight-address", follow);
  addEventListener("keydown", key, true);
}

/** Open the lesson in the address, before its picture is drawn. @param {"dark" | "light"} theme */
export function drawLesson(theme) {
  if (!panel.element.isConnected) {
    begin();
    take(course.askedFor());
  }
  setAttribute(panel.element, "class", theme);
  show();
}
