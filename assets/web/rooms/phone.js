// The page of a room: a phone that joins, follows the host and votes, or with the host's key the class projector. It
// has the view of the current page without its controls, and the lesson panel without navigation.

import { draw as drawCurtain } from "../base/curtain.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { find, load } from "../lessons/course.js";
import { LessonPanel } from "../lessons/lesson_panel.js";
import { setHistory } from "../link/link.js";
import { actsOf, doAct, Keys, readShown } from "./host_acts.js";
import { enter, join, leave, qrOf, room, sayLink, vote } from "./room_line.js";
import { handsOf, LETTERS } from "./tally.js";

/** @typedef {ApiView & {setCursor(): void}} View */
/** @typedef {(file: string) => {view: {Kind: new (root: ShadowRoot) => View}}} Open imports a module by its file name */

/** The lesson panel's parts on a page without a lesson. @type {Record<string, string>} */
const USUAL = { "": "map", compare: "two maps", masks: "two maps", shapes: "panel step", "model-map": "panel diagram" };
const UNTOLD = { title: "", objective: "", misconception: "", minutes: 0, exercise: "", teacher_notes: "" };
const NO_LESSON = { id: "", claims: false, course: "", ...UNTOLD, references: [], steps: [] };
const PANEL = {
  verdict: null,
  away: false,
  notes: false,
  keys: false,
  isWholePage: true,
  taught: false,
  back: "",
  next: "",
};
/** Phase of a room -> the instruction on a phone. @type {Record<string, string>} */
const TO_DO = {
  open: "Choose an answer. You may change it until the vote is closed.",
  discuss: "Discuss with your neighbour which answer is right, and why. Then you vote again.",
};
const CLOSED = "The vote is closed.";
const WAITING = "Your teacher will open the vote.";
const KEPT = [
  "No name, account or cookie is needed. Only this tab keeps the number that lets you vote once.",
  "The room and its votes are deleted when the host closes the room, or 90 minutes after the last activity.",
];

/** The form to join a room, with the privacy notice. @param {Node} message */
function makeDoor(message) {
  const typed = { maxlength: "12", autocomplete: "off", autocapitalize: "characters" };
  const field = h("input", { name: "code", required: "", ...typed });
  const press = button("join", null, { type: "submit", class: "strong" });
  const privacy = h("a", { href: "./room/privacy", target: "_blank" }, "What is stored, in full");
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    join(field.value.replaceAll(/[^A-Za-z0-9]/g, ""));
  };
  const lines = KEPT.map((line) => h("p", { class: "small" }, line));
  const label = h("label", {}, span("name", "Code"), field);
  return h("form", { class: "door", onsubmit }, h("h1", {}, "Join a room"), label, press, message, ...lines, privacy);
}

class Phone {
  /** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of the theme */
  constructor(open, page, theme, colours) {
    this.open = open;
    this.files = /** @type {Record<string, string>} */ (JSON.parse(page.dataset.views ?? "{}")); // path of a page -> module of its view
    this.address = page.dataset.address ?? ""; // for other machines
    this.link = ""; // of the view
    this.showsCode = true; // a projector shows the code in place of the picture until a question starts or K is pressed
    this.path = /** @type {string | null} */ (null);
    this.view = /** @type {View | null} */ (null);
    this.panel = new LessonPanel((name, letter) => name === "answer" && this.vote(letter ?? ""));
    setAttribute(this.panel.element, "class", theme);
    this.p = {
      code: span("code"),
      people: span("people"),
      alone: h("a", { class: "strong" }, "explore on your own"),
      leave: button("leave", () => leave()),
      status: h("p", { class: "status-line", role: "status" }),
      why: h("p", { role: "alert" }),
      large: div("large-code", span("code"), h("img", { alt: "QR code" }), span("address")),
      link: h("a", {}, "open it here"),
      place: div("stage"),
    };
    const { code, people, alone, leave: away, status, why, large, link, place } = this.p;
    this.door = makeDoor(why);
    this.elsewhere = h("p", {}, "This page is on the projector and has no picture for a phone. ", link);
    page.append(h("header", {}, code, people, span("push"), alone, away), status, this.door);
    page.append(large, this.elsewhere, place, this.panel.element);
    page.className = theme;
    for (const [key, colour] of Object.entries(colours)) page.style.setProperty(`--st-${key}`, colour);
    document.documentElement.classList.add("room-page");
    addEventListener("headlight-room", () => this.draw());
    const keys = new Keys(
      () => this.acts,
      (name) => this.do(name),
    );
    addEventListener("keydown", (event) => keys.take(event));
  }

  get isProjector() {
    return room.role === "host";
  }

  /** The lesson step in the host's link. @param {RoomState} now */
  stepOf({ link }) {
    return find(new URLSearchParams(readShown(link).query).get("learn") ?? "");
  }

  /** The host's lesson step; the host's own question in the form of a step.
   * @param {RoomState} now @returns {LessonPlace | null} */
  placeOf(now) {
    const { question, link } = now;
    if (!question || question.learn) return question ? find(question.learn) : this.stepOf(now);
    const choices = question.options.map((text, index) => ({ letter: LETTERS[index], text }));
    const bare = { picture: "", instruction: "", hidden: [], teacher_notes: "", second: null };
    const step = { ...bare, ...readShown(link), question: question.text, choices };
    return { lesson: NO_LESSON, number: 1, total: 1, at: 1, again: false, step };
  }

  /** Show the host's link; another page has another view. @param {RoomState} now */
  follow({ link }) {
    const { path, query } = readShown(link);
    if (link === this.link) return;
    this.link = link;
    setHistory("replaceState", null, `${location.pathname}?${query}`);
    if (path === this.path) return this.view?.follow();
    this.path = path;
    this.view?.leave();
    this.view = null;
    this.p.place.replaceChildren();
    if (!(path in this.files)) return;
    const host = h("div");
    this.p.place.append(host);
    const { Kind } = this.open(this.files[path]).view;
    const root = host.attachShadow({ mode: "open" });
    this.view = new Kind(root);
    this.view.setCursor = () => {}; // only the host moves the cursor
    for (const input of root.querySelectorAll("textarea")) input.readOnly = true; // and types
    this.view.onMessage({ visit: "" });
  }

  /** @param {string} letter */
  vote(letter) {
    const { question, round, phase } = /** @type {RoomState} */ (room.now);
    if (question && phase === "open" && !this.isProjector)
      vote({ question: question.id, round, choice: LETTERS.indexOf(letter) });
  }

  /** The host's shortcuts on the projector. @returns {HostAct[]} */
  get acts() {
    const { now } = room;
    if (!this.isProjector || !now) return [];
    return [...actsOf(now, this.stepOf(now), readShown(now.link).open), "gather", "code"];
  }

  /** @param {HostAct} name */
  do(name) {
    const now = /** @type {RoomState} */ (room.now);
    if (name !== "code") return doAct(name, this.stepOf(now), now.link);
    this.showsCode = !this.showsCode;
    this.draw();
  }

  draw() {
    const { now, sentence } = room;
    const { isProjector, p } = this;
    document.documentElement.classList.toggle("projector", isProjector);
    setText(p.status, now ? sentence : "");
    setText(p.why, sentence);
    this.door.hidden = now !== null;
    for (const part of [p.code, p.people, p.leave]) part.hidden = !now;
    for (const part of [p.large, this.elsewhere, p.place, this.panel.element]) part.hidden = true;
    p.alone.hidden = !now || now.follows || isProjector;
    if (!now) return drawCurtain([]);
    this.follow(now);
    const { open, path, query } = readShown(now.link);
    const place = this.placeOf(now);
    const isOpen = now.question ? now.phase === "answer" : open;
    setText(p.code, now.code);
    setText(p.people, isProjector ? `${now.joined} joined` : "");
    for (const way of [p.alone, p.link]) setAttribute(way, "href", `./${path}?${query}`);
    document.documentElement.classList.toggle("learning", place !== null);
    this.drawPlace(now, path in this.files); // first: a view without a size cannot draw its curtain
    drawCurtain(isOpen ? [] : (place?.step.hidden ?? []), false, place?.step.picture || USUAL[path] || "");
    if (place) this.drawQuestion(now, place, isOpen);
  }

  /** @param {RoomState} now @param {boolean} isShown whether this device displays the picture */
  drawPlace({ question, code }, isShown) {
    const { large, place } = this.p;
    this.showsCode &&= this.isProjector && !question;
    large.hidden = !this.showsCode;
    place.hidden = !isShown || this.showsCode;
    this.elsewhere.hidden = isShown || this.showsCode;
    const [letters, image, address] = large.children;
    setText(letters, code);
    setAttribute(image, "src", large.hidden ? null : qrOf(this.address));
    setText(address, sayLink(this.address));
  }

  /** @param {RoomState} now @param {LessonPlace} place @param {boolean} open */
  drawQuestion({ question, phase, tallies, answer, choice, voted, joined }, place, open) {
    const prompt = this.isProjector ? `${voted} of ${joined} have voted` : (TO_DO[phase] ?? CLOSED);
    const picked = LETTERS[answer?.right[0] ?? -1] ?? null;
    const verdict = answer && { picked, sentence: answer.text, explanation: "", numbers: [] };
    const isWaiting = !question && !open && !this.isProjector && place.step.choices.length > 0;
    const sentence = question && !answer ? prompt : isWaiting ? WAITING : "";
    const state = { sentence, answer: LETTERS[choice ?? -1] ?? null, verdict };
    const votes = {
      rounds: tallies.map(handsOf),
      isAsked: question !== null,
      isClosed: phase !== "open" || this.isProjector,
    };
    this.panel.draw({ ...PANEL, ...state, ...votes, place, open: open && verdict !== null });
  }
}

/** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of the theme */
export async function beginRoom(open, page, theme, colours) {
  const phone = new Phone(open, page, theme, colours);
  phone.draw();
  await load().catch(() => {}); // without the course the host's own questions still work
  enter();
  phone.draw();
}
