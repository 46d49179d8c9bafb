// A lesson rides beside the page that its step opens: what is asked, what was answered, and what the curtain hides until
// then. The step stands in the link (learn=it.2); answers are kept while the tab is open, what is done in the browser.

import {
  addressOf,
  askedFor,
  find,
  isTaught,
  keepTaught,
  load,
  markDone,
  nameOf,
  neighbour,
  whyNot,
} from "./course.js";
import { draw as drawCurtain } from "../base/curtain.js";
import { h, setAttribute, urlOf } from "../base/dom.js";
import { Hands } from "./hands.js";
import { wishOf } from "./lesson_keys.js";
import { LessonPanel } from "./lesson_panel.js";
import { parseAt } from "../link/look.js";
import { pageNow } from "../base/page_list.js";
import { go } from "../link/navigation.js";
import { ApiClient } from "../wire/api_client.js";

const COURSE = "lessons"; // the path of the page with all lessons
const PAUSE = 300; // ms without a change of the picture, until its verdict is asked for
const WHOLE = "page"; // a picture that leaves nothing of its page out
const COMING = "The numbers are still being computed.";

const hands = new Hands(() => show());
const panel = new LessonPanel((act, letter) => acts[act](letter), hands);
const black = h("div", { id: "headlight-black", hidden: "" });
/** Step -> its answer on this visit, and whether the curtain is open. @type {Map<string, {answer: string | null, open: boolean}>} */
const visited = new Map();
const state = {
  name: "", // of the step, as in the link
  place: /** @type {import("./course.js").Place | null} */ (null),
  answer: /** @type {string | null} */ (null),
  open: false,
  verdict: /** @type {import("./lesson_panel.js").Verdict | null} */ (null),
  sentence: "",
  notes: false,
  keys: false,
  isWholePage: false, // the page is shown with all that can be changed, not the step's picture alone
  taught: isTaught(),
  room: false, // phones vote
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
    const url = addressOf(null);
    take("");
    go(url);
  },
  again: () => state.place && go(addressOf(state.place)),
  lessons: () => toCourse(),
  notes: () => setState({ notes: !state.notes, keys: false }),
  page: () => state.open && setState({ isWholePage: !state.isWholePage }),
  class: () => {
    setState({ taught: !state.taught });
    keepTaught(state.taught);
  },
  keys: () => setState({ keys: !state.keys, notes: false }),
};
/** Shows, then goes on. */
const onward = () => state.place && acts[state.open ? "next" : "show"]();

/** Open the curtain and request the verdict. */
function open() {
  state.open = true;
  done();
  judge();
}

/** The question was answered, or given up. */
function done() {
  const { name, place, answer } = state;
  visited.set(name, { answer, open: state.open });
  if (place) markDone(place);
  show();
}

/** Ask what the numbers that are shown now say. */
function judge() {
  clearTimeout(pause);
  const { place } = state;
  if (!place || !state.open || isAway() || askedFor() !== state.name) return;
  wire.ask("lesson", new URLSearchParams(location.search), "");
}

/** The address says something else: another picture, which has its own verdict. */
function follow() {
  if (!state.open) return;
  clearTimeout(pause);
  pause = setTimeout(judge, PAUSE);
}

/** Tell whether another page than the step's is shown. */
const isAway = () => state.place !== null && pageNow().path !== state.place.step.path;

/** Set the step; "" for none. @param {string} name */
function take(name) {
  if (name === state.name && (state.place || !name)) {
    state.place &&= find(name); // on another way through the course, perhaps
    return show();
  }
  wire.stop();
  const place = name ? find(name) : null;
  const { answer, open } = visited.get(name) ?? { answer: null, open: false };
  Object.assign(state, { name, place, answer, open, verdict: null, sentence: "", isWholePage: false });
  hands.begin(name, place?.step.choices.map(({ letter }) => letter) ?? []);
  show();
  if (name && !place) load().then(() => name === state.name && missed(), missed);
  follow();
}

/** The course has come, or cannot be had. @param {Error} [error] */
function missed(error) {
  if (find(state.name)) {
    state.name += " "; // it was not this one as long as its lesson was not here
    take(state.name.trim());
  } else setState({ sentence: error?.message || whyNot(state.name) });
}

/** @param {1 | -1} way */
function step(way) {
  const next = state.place && neighbour(state.place, way);
  if (!next) return way > 0 ? toCourse() : undefined;
  take(nameOf(next)); // its curtain comes before its picture
  go(addressOf(next));
  panel.element.scrollTop = 0;
  panel.p.title.focus({ preventScroll: true });
}

/** To the page with all lessons. */
function toCourse() {
  take("");
  go(new URL(`./${COURSE}`, new URL("./", location.href)));
}

/** Tell whether a lesson stands beside the page. */
const isHere = () => state.name !== "" && pageNow().path !== COURSE;

/** The step that is asked of the picture beside it; null where none is. */
const askedNow = () => (isHere() && !isAway() ? state.place : null);

/** The interface of the lesson for a room: its step while it stands beside its page, the way to the answer, and places for its votes. */
export const roomActions = {
  askedNow,
  isOpen: () => state.open,
  open,
  /** The class votes by phone: an answer opens no curtain, and no hands are counted. */
  askByPhone: () => setState({ room: true }),
  /** Votes stand where hands would. @param {string[][]} rounds */
  count(rounds) {
    if (JSON.stringify(rounds) === JSON.stringify(hands.rounds)) return;
    hands.rounds = rounds;
    show();
  },
};

/** Draw it all. */
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
  const following = place && neighbour(place, 1);
  const isLast = following?.lesson.id !== place?.lesson.id;
  const next = !following ? "all lessons" : isLast ? "next lesson →" : "next →";
  panel.draw({ ...state, away, next, back: place && place.at > 1 ? "← back" : "" });
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
  document.getElementById("headlight-bar")?.after(panel.element); // Tab comes from the bar to the lesson, then to the page
  document.body.append(black);
  addEventListener("popstate", () => take(askedFor()));
  addEventListener("headlight-address", follow);
  addEventListener("keydown", key, true);
}

/** Put the lesson of the address beside the page, before anything of its picture is drawn. @param {"dark" | "light"} theme */
export function drawLesson(theme) {
  if (!panel.element.isConnected) {
    begin();
    take(askedFor());
  }
  setAttribute(panel.element, "class", theme);
  show();
}
