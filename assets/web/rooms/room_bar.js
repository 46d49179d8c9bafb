// The bar of a room at the bottom of any page: for the host the next actions with shortcuts; for a phone on its own the
// way back. The room shows the page's link and asks the lesson's step or the host's own question.

import { barsOf } from "../lessons/lesson_panel.js";
import { button, div, h, makeCopy, render, setAttribute, setText, span, urlOf } from "../base/dom.js";
import { store, stored } from "../base/storage.js";
import { addressOf, askedFor, find, nameOf } from "../lessons/course.js";
import { roomActions } from "../lessons/lesson.js";
import { read } from "../link/link.js";
import { go, pageNow } from "../link/navigation.js";
import { ACTS, actsOf, answerTo, ask, doAct, Keys, writeShown } from "./host_acts.js";
import { act, enter, erase, linkOf, qrOf, room, sayLink } from "./room_line.js";
import { csvOf, handsOf, hintOf, LETTERS, stepsOf } from "./tally.js";

const ID = "headlight-room";
const PAST = "headlight-room-asked"; // sessionStorage key of the past questions and votes
const MAX_OPTIONS = 6;
const OWN_LINK = "Anyone with the host link can act as the host. Keep it for yourself, to open another window.";
/** Actions that the host always has. @type {HostAct[]} */
const ALWAYS = ["gather", "code", "keys"];
const house = { address: "", theme: "dark" };

/** A button with its shortcut. @param {HostAct} name @param {(name: HostAct) => void} press */
function keyed(name, press) {
  const [key, text] = ACTS[name];
  const act = h("button", { type: "button", onclick: () => press(name), "aria-keyshortcuts": key.toLowerCase() });
  act.append(span("text", text), h("kbd", { "aria-hidden": "true" }, key));
  return act;
}

class HostBar {
  constructor() {
    this.sharedLink = ""; // link that the phones have, or are about to get
    this.right = { question: "", index: -1 }; // question and index of its correct option
    this.card = ""; // open card over the page: "code", "ask", "keys", "more" or ""
    this.met = /** @type {string | null} */ (null); // question that this page has navigated to
    this.mayDo = ""; // actions with a button
    const press = (/** @type {HostAct} */ name) => this.do(name);
    this.press = press;
    this.keys = new Keys(() => (room.now ? [...this.acts, ...ALWAYS] : []), press);
    this.p = {
      code: keyed("code", press),
      people: span("people"),
      status: h("span", { class: "status", role: "status" }),
      acts: div("acts"),
      gather: keyed("gather", press),
      ask: button("ask …", () => this.lay("ask"), { class: "quiet" }),
      more: button("⋯", () => this.lay("more"), { "aria-label": "more" }),
      projector: button("projector ↗", () => {
        window.open(linkOf(house.address, true), "_blank", "noopener");
        this.lay("more");
      }),
    };
    this.questionCard = div("question-card");
    const { code, people, status, acts, gather, ask: form, more, projector } = this.p;
    const others = div("ways", projector, keyed("keys", press));
    this.cards = { code: this.makeCode(), ask: this.makeAsk(), keys: this.makeKeys(), more: others };
    this.overlay = div("card", ...Object.values(this.cards), this.questionCard);
    this.strip = div("strip", code, people, status, span("push"), acts, gather, form, more);
    this.element = h("section", { id: ID, "aria-label": "Room" }, this.overlay, this.strip);
    roomActions.askByPhone();
    for (const event of ["headlight-address", "headlight-lesson", "popstate"])
      addEventListener(event, () => this.follow());
    addEventListener("keydown", (event) => this.key(event), true);
  }

  makeCode() {
    const counts = h("a", { download: "headlight-room.csv" }, "counts, CSV");
    const handout = h("a", { target: "_blank" }, "handout with the votes");
    const lock = button("", () => act("lock", { on: !room.now?.locked }));
    const end = button("close room", () => erase(), { title: "deletes the room and its votes" });
    const image = h("img", { alt: "QR code of the address", width: 260, height: 260 });
    // buttons: a browser shows the address of a hovered link, and the class may see this screen
    const copyOwn = makeCopy("copy host link", () => linkOf(house.address, true));
    const note = h("p", { class: "small" }, OWN_LINK);
    const ways = div("ways", copyOwn, counts, handout, lock, end);
    const element = div("code-card", span("large"), image, span("address"), note, ways);
    return Object.assign(element, { image, counts, handout, lock });
  }

  makeAsk() {
    const text = h("textarea", { rows: "2", dir: "auto", maxlength: "300", "aria-label": "Question" });
    const hint = { placeholder: "one answer per line, two to six", "aria-label": "Answers" };
    const lines = h("textarea", { rows: "4", dir: "auto", maxlength: "600", ...hint });
    const send = button("ask the class", () => {
      const options = lines.value.split("\n").map((line) => line.trim());
      const question = { text: text.value.trim(), options: options.filter(Boolean).slice(0, MAX_OPTIONS) };
      if (!question.text || question.options.length < 2) return;
      text.value = lines.value = ""; // the next click must not ask it again
      this.card = "";
      ask({ ...question, learn: "" });
    });
    return div("ask-card", h("h2", {}, "Your own question"), text, lines, send);
  }

  makeKeys() {
    const rows = Object.values(ACTS).flatMap(([key, action]) => [h("dt", {}, key), h("dd", {}, action)]);
    return h("div", { class: "keys-card", tabindex: "0" }, h("dl", {}, ...rows));
  }

  /** @param {string} card */
  lay(card) {
    this.card = this.card === card ? "" : card;
    this.draw();
  }

  /** Update after a change of the page or its lesson. */
  follow() {
    this.draw();
    this.show();
  }

  /** Send the current link to the phones if theirs differs. */
  async show() {
    if (!room.now) return;
    const step = roomActions.askedNow();
    const link = writeShown(pageNow().path, String(read()), !step || roomActions.isOpen());
    if (link === this.sharedLink) return;
    this.sharedLink = link;
    if (!(await act("show", { link })) && this.sharedLink === link) this.sharedLink = room.now?.link ?? ""; // the next state retries
    // opening the answer in the lesson ends the vote, and opens it in the room too
    if (!step || !roomActions.isOpen() || room.now?.question?.learn !== nameOf(step)) return;
    for (const name of /** @type {HostAct[]} */ (["close", "answer"]))
      if (this.acts.includes(name)) await this.do(name);
  }

  /** @param {HostAct} name */
  do(name) {
    if (name === "code" || name === "keys") return this.lay(name);
    return doAct(name, roomActions.askedNow(), this.sharedLink);
  }

  /** Navigate to the current question, such as one started from the projector. @param {RoomState} now */
  meet({ question }) {
    const previous = this.met;
    this.met = question?.id ?? "";
    const place = find(question?.learn ?? "");
    if (previous !== null && previous !== this.met && place && nameOf(place) !== askedFor()) go(addressOf(place));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const closes = room.now !== null && event.key === "Escape" && this.card !== "";
    if (!closes && !this.keys.take(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (closes) this.lay(this.card);
  }

  get acts() {
    return room.now ? actsOf(room.now, roomActions.askedNow(), roomActions.isOpen()) : [];
  }

  /** Store the question with its votes for the exports. @param {RoomState} state @returns {Counted[]} */
  past(state) {
    const { question, tallies, code } = state;
    const { past, of } = stored("sessionStorage", PAST) ?? {};
    const all = /** @type {Counted[]} */ (of === code ? past : []);
    if (!question || !tallies.length) return all;
    const now = [...all.filter(({ id }) => id !== question.id), { ...question, tallies, right: this.rightOf(state) }];
    store("sessionStorage", PAST, { past: now, of: code });
    return now;
  }

  draw() {
    const { now, sentence } = room;
    const { p } = this;
    this.element.hidden = !now && !sentence;
    document.documentElement.classList.toggle("in-room", !this.element.hidden);
    for (const part of /** @type {Iterable<HTMLElement>} */ (this.strip.children))
      part.hidden = !now && part !== p.status;
    this.overlay.hidden = true;
    setText(p.status, sentence);
    if (!now) return; // the room is gone; the reason stays visible
    this.meet(now);
    setText(p.code.firstElementChild, now.code);
    setText(p.people, `${now.joined} joined`);
    setText(p.gather.firstElementChild, now.follows ? "free exploration" : "gather");
    setText(p.status, sentence || this.status(now));
    this.drawActs();
    p.ask.hidden = now.phase !== "idle";
    for (const [name, card] of Object.entries(this.cards)) card.hidden = this.card !== name;
    this.drawCode(now, this.past(now));
    this.drawVotes(now);
    this.overlay.hidden = [...this.overlay.children].every((card) => /** @type {HTMLElement} */ (card).hidden);
    document.documentElement.style.setProperty("--room", `${this.strip.offsetHeight}px`);
  }

  /** Update the buttons; an enabled one is kept, since a click must start and end on the same element. */
  drawActs() {
    const { acts } = this;
    if (this.mayDo === acts.join()) return;
    this.mayDo = acts.join();
    const place = this.p.acts;
    place.replaceChildren(...acts.map((name) => keyed(name, this.press)));
    setAttribute(place.firstElementChild ?? place, "class", acts.length ? "strong" : "acts");
  }

  /** The index of the correct option, −1 while it is unknown. @param {RoomState} now */
  rightOf({ question, tallies, answer }) {
    if (answer) return answer.right[0] ?? -1;
    if (question && tallies.length && this.right.question !== question.id) {
      const right = { question: question.id, index: -1 };
      this.right = right;
      answerTo(question, this.sharedLink).then(({ right: [at = -1] }) => {
        right.index = at;
        this.draw();
      });
    }
    return this.right.index;
  }

  /** The progress of a vote; when it is closed, or two are shown, the hint for the host. @param {RoomState} now */
  status(now) {
    const { question, phase, voted, tallies } = now;
    if (!question) return "";
    const hasHint = phase === "closed" || tallies.length > 1;
    return hasHint ? hintOf(tallies, this.rightOf(now)) : `${voted} have voted`;
  }

  /** @param {RoomState} now @param {Counted[]} past */
  drawCode({ code, locked }, past) {
    const card = this.cards.code;
    if (this.card !== "code") return;
    setText(card.children[0], code);
    setAttribute(card.image, "src", qrOf(house.address));
    setText(card.children[2], sayLink(house.address));
    setText(card.lock, locked ? "unlock the room" : "lock the room");
    setAttribute(card.counts, "href", `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(past))}`);
    const lesson = roomActions.askedNow()?.lesson.id ?? "";
    card.handout.hidden = !lesson;
    const votes = encodeURIComponent(JSON.stringify(stepsOf(past, lesson)));
    setAttribute(card.handout, "href", `./handout?lesson=${lesson}#${votes}`);
  }

  /** Draw the votes where the class sees them. @param {RoomState} now */
  drawVotes({ question, phase, tallies }) {
    const rounds = phase === "tallies" || phase === "answer" ? tallies.map(handsOf) : [];
    const step = roomActions.askedNow();
    const isStep = step !== null && question?.learn === nameOf(step);
    if (isStep && phase === "answer" && !roomActions.isOpen()) roomActions.open();
    roomActions.count(isStep ? rounds : []);
    this.questionCard.hidden = !question || isStep;
    if (!question || isStep) return;
    const drawOption = (/** @type {string} */ text, /** @type {number} */ index) => {
      const votes = ["span.votes", ...barsOf(rounds, LETTERS[index])];
      return ["div.option", ["span.letter", LETTERS[index]], ["span.text", text], votes];
    };
    render(this.questionCard, ["h2", question.text], ["div.options", ...question.options.map(drawOption)]);
  }
}

/** The link back of a phone on its own. */
class PhoneBar {
  back = h("a", { href: "./room", class: "strong" });
  code = span("code");

  element = h("section", { id: ID, "aria-label": "Room" }, div("strip", this.code, span("push"), this.back));

  follow() {
    const { now } = room;
    this.element.hidden = !now;
    if (!now) return;
    if (now.follows) location.assign(this.back.href); // the host has gathered all phones
    setText(this.code, now.code);
    setText(this.back, now.question ? "a question is open: vote" : "follow again");
  }
}

let bar = /** @type {HostBar | PhoneBar | null} */ (null);
addEventListener("headlight-room", () => draw());

/** Add the room's bar to the page if this tab is in a room. @param {string} address of the page for other machines
 * @param {"dark" | "light"} theme
 */
export function drawRoom(address, theme) {
  Object.assign(house, { address, theme });
  enter();
  draw();
}

function draw() {
  if (!bar && !room.role) return;
  if (!bar) {
    bar = room.role === "host" ? new HostBar() : new PhoneBar();
    document.body.append(bar.element);
    document.head.append(h("link", { rel: "stylesheet", href: urlOf("rooms/room.css").href }));
  }
  setAttribute(bar.element, "class", house.theme);
  bar.follow();
}
