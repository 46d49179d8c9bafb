// A room beside any page: the host's strip at its foot, with what he may do next and a key for each; of a phone that goes on
// alone, the way back. What is shown is the page's link, what is asked the lesson's step or the host's own question.

import { button, div, h, setAttribute, setText, span, urlOf } from "../base/dom.js";
import { makeCopy } from "../base/copy_button.js";
import { keep, kept } from "../base/kept.js";
import { pageNow } from "../base/page_list.js";
import { views } from "../base/view_base.js";
import { addressOf, askedFor, find, nameOf } from "../lessons/course.js";
import { beside } from "../lessons/lesson.js";
import { read } from "../link/link.js";
import { go } from "../link/way.js";
import { setDots } from "../picture/map_panel.js";
import { AskCard, VotesCard } from "./ask_card.js";
import { measureNext, sayMeasure } from "./measure.js";
import { Points } from "./points.js";
import { answerTo, ask, askStep, secondOf } from "./question.js";
import { ACTS, actsOf, Keys } from "./room_keys.js";
import { act, doPlain, enter, erase, linkOf, qrOf, room, sayLink } from "./room_line.js";
import { words } from "./room_words.js";
import { readShown, writeShown } from "./shown.js";
import { csvOf, handsOf, hintOf, stepsOf } from "./tally.js";

/** @typedef {import("./room_keys.js").Act} Act */
/** @typedef {import("./room_line.js").State} State */
/** @typedef {import("./tally.js").Counted} Counted */
/** @typedef {import("../lessons/course.js").Place} Place */

const ID = "headlight-room";
const PAST = "headlight-room-asked"; // in this tab: what was asked in the room, and the votes
const MAP = [{ part: "map", words: [] }];
const OWN_LINK = "Whoever has your own link is the host: keep it for another window of yours.";
/** What the host may do at any time. @type {Act[]} */
const ALWAYS = ["gather", "code", "keys"];
const house = { address: "", theme: "dark" };

/** The view whose map can be asked about, once it is there. @returns {any} */
const viewNow = () => [...views].find((view) => view.isHere && /** @type {any} */ (view).maps?.tokens);

/** A button with its key. @param {Act} name @param {(name: Act) => void} press */
function keyed(name, press) {
  const [key, text] = ACTS[name];
  const one = h("button", { type: "button", onclick: () => press(name), "aria-keyshortcuts": key.toLowerCase() });
  one.append(span("text", text), h("kbd", { "aria-hidden": "true" }, key));
  return one;
}

class HostBar {
  constructor() {
    this.told = ""; // the link that the phones have, or get
    this.pair = { row: "", key: "" }; // of the sentences of the class
    this.right = { of: "", answer: /** @type {import("../base/messages.js").RoomAnswer} */ ({ right: [], text: "" }) };
    this.card = ""; // what lies over the page: "code", "ask", "keys" or nothing
    this.measured = /** @type {Set<number>} */ (new Set()); // the sentences that were
    this.met = /** @type {string | null} */ (null); // the question that this page stands at
    this.mayDo = ""; // the acts whose buttons are there
    const press = (/** @type {Act} */ name) => this.do(name);
    this.press = press;
    this.keys = new Keys(() => (room.now ? [...this.acts, ...ALWAYS] : []), press);
    this.p = {
      code: keyed("code", press),
      people: span("people"),
      status: h("span", { class: "status", role: "status" }),
      acts: div("acts"),
      gather: keyed("gather", press),
      ask: button("ask …", () => this.lay("ask"), { class: "quiet" }),
      keys: keyed("keys", press),
      projector: button("projector ↗", () => window.open(linkOf(house.address, true), "_blank", "noopener")),
    };
    this.ask = new AskCard(
      (question) => this.begin(question),
      () => this.askSentences(),
    );
    this.votes = new VotesCard();
    this.points = new Points(
      ["show it", ({ text }) => this.showSentence(text)],
      ["hide it", ({ number }) => act("hide", { number, on: true })],
    );
    this.cards = { code: this.makeCode(), ask: this.ask.element, keys: this.makeKeys() };
    const { code, people, status, acts, gather, ask, keys, projector } = this.p;
    this.over = div("card", ...Object.values(this.cards), this.votes.element, this.points.element);
    this.strip = div("strip", code, people, status, span("push"), acts, gather, ask, projector, keys);
    this.element = h("section", { id: ID, "aria-label": "Room" }, this.over, this.strip);
    beside.askByPhone();
    for (const event of ["headlight-address", "headlight-lesson", "popstate"])
      addEventListener(event, () => this.follow());
    addEventListener("keydown", (event) => this.key(event), true);
  }

  makeCode() {
    const counts = h("a", { download: "headlight-room.csv" }, "counts, CSV");
    const handout = h("a", { target: "_blank" }, "handout with the votes");
    const end = button("delete now", () => erase(), { title: "the room, its votes and its sentences" });
    const image = h("img", { alt: "QR code of the address", width: 260, height: 260 });
    // neither stands in an address that a browser shows while the mouse is over it: the class may see this page
    const own = makeCopy("copy your own link", () => linkOf(house.address, true));
    const note = h("p", { class: "small" }, OWN_LINK);
    const ways = div("ways", own, counts, handout, end);
    const element = div("code-card", span("large"), image, span("address"), note, ways);
    return Object.assign(element, { image, counts, handout });
  }

  makeKeys() {
    const rows = Object.values(ACTS).flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]);
    return h("div", { class: "keys-card", tabindex: "0" }, h("dl", {}, ...rows));
  }

  // ---- what is done

  /** @param {string} card */
  lay(card) {
    this.card = this.card === card ? "" : card;
    this.draw();
  }

  /** The page shows something else, or its lesson does. */
  follow() {
    this.draw();
    this.show();
  }

  /** Tells the phones what is shown, where it is something else than they have. */
  async show() {
    if (!room.now) return;
    if (!this.told) this.pair = readShown(room.now.link).pair; // as before the page was loaded anew
    const step = beside.askedNow();
    const { pair } = this;
    const link = writeShown({ path: pageNow().path, query: String(read()), open: !step || beside.isOpen(), pair });
    if (link === this.told) return;
    this.told = link;
    if (!(await act("show", { link })) && this.told === link) this.told = room.now?.link ?? ""; // told anew with what comes next
    // the lesson’s own way to the answer leads the room there too
    const question = room.now?.question;
    if (step && beside.isOpen() && question?.learn === nameOf(step) && this.acts.includes("answer"))
      await this.answer();
  }

  /** @param {Omit<import("../base/messages.js").RoomAsked, "id" | "link">} question */
  begin(question) {
    const { maps } = viewNow() ?? {};
    if (question.kind === "cell" && !maps) return;
    this.card = "";
    return ask({ ...question, size: question.kind === "cell" ? [maps.n, maps.keys.length] : null }, this.told);
  }

  /** @param {Act} name @returns {unknown} a promise of when it is there */
  do(name) {
    const step = beside.askedNow();
    if (name === "code" || name === "keys") return this.lay(name);
    if (name === "ask" && step) return askStep(step, this.told);
    if (name === "second") return this.askSecond(secondOf(step));
    if (name === "answer") return this.answer();
    return doPlain(name);
  }

  /** The second question of the same idea: its picture behind the curtain, then the vote on it. @param {Place | null} more */
  async askSecond(more) {
    if (!more) return;
    go(addressOf(more));
    await this.show();
    await askStep(more, this.told);
  }

  /** Goes to the step that the projector's key asked. @param {State} now */
  meet({ question }) {
    const before = this.met;
    this.met = question?.id ?? "";
    const place = find(question?.learn ?? "");
    if (before !== null && before !== this.met && place && nameOf(place) !== askedFor()) go(addressOf(place));
  }

  /** Opens the curtain, here and on the phones, with what the numbers say. */
  async answer() {
    const question = room.now?.question;
    if (!question) return;
    const step = beside.askedNow();
    if (step && question.learn === nameOf(step)) beside.open();
    await act("answer", { answer: await answerTo(question, this.told) });
  }

  /** Asks a sentence of each, to be measured at the words in focus. */
  async askSentences() {
    const view = viewNow();
    if (!view) return;
    const { row, key } = view.at;
    this.pair = { row: view.maps.tokens[row] ?? "", key: view.maps.tokens[key] ?? "" };
    this.card = "";
    this.measured.clear();
    await act("write", { state: "asked" });
    this.show();
  }

  /** @param {string} text */
  showSentence(text) {
    const url = new URL(location.href);
    url.searchParams.set("s", text);
    url.searchParams.delete("learn");
    go(url);
  }

  /** Measures the sentences that have come. */
  async measure() {
    const values = await measureNext(room.sentences, this.measured, readShown(this.told).query, this.pair);
    if (values.length) act("measure", { values });
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
    const step = beside.askedNow();
    const canAsk = step !== null && !beside.isOpen();
    const second = secondOf(step) !== null;
    const { phase = "idle", write } = room.now ?? {};
    return actsOf({ phase, write, step: canAsk, second });
  }

  /** What was asked, with its votes; kept for the files. @param {State} now @returns {Counted[]} */
  asked({ question, tallies, code }) {
    const { past, of } = kept("sessionStorage", PAST) ?? {};
    const all = /** @type {Counted[]} */ (of === code ? past : []);
    if (!question || !tallies.length) return all;
    const now = [...all.filter(({ id }) => id !== question.id), { ...question, tallies }];
    keep("sessionStorage", PAST, { past: now, of: code });
    return now;
  }

  // ---- drawing

  draw() {
    const { now, said } = room;
    const { p } = this;
    this.element.hidden = !now && !said;
    document.documentElement.classList.toggle("in-room", !this.element.hidden);
    for (const part of /** @type {Iterable<HTMLElement>} */ (this.strip.children))
      part.hidden = !now && part !== p.status;
    this.over.hidden = true;
    setText(p.status, said);
    if (!now) return; // it is gone; why stays to be read
    this.meet(now);
    setText(p.code.firstElementChild, now.code);
    setText(p.people, `${now.joined} in`);
    setText(p.gather.firstElementChild, now.follows ? "let go" : "gather");
    setText(p.status, said || this.status(now));
    this.drawActs();
    p.ask.hidden = now.phase !== "idle";
    for (const [name, card] of Object.entries(this.cards)) card.hidden = this.card !== name;
    this.ask.draw();
    this.drawCode(this.asked(now));
    this.drawVotes(now);
    this.points.element.hidden = now.write === "off";
    this.points.draw(sayMeasure(this.pair), room.sentences, now.written);
    if (now.write !== "off") this.measure();
    this.over.hidden = [...this.over.children].every((card) => /** @type {HTMLElement} */ (card).hidden);
    document.documentElement.style.setProperty("--room", `${this.strip.offsetHeight}px`);
  }

  /** Buttons stay as long as they can be pressed: a press begins on one and ends on the same. */
  drawActs() {
    const { acts } = this;
    if (this.mayDo === acts.join()) return;
    this.mayDo = acts.join();
    const place = this.p.acts;
    place.replaceChildren(...acts.map((name) => keyed(name, this.press)));
    setAttribute(place.firstElementChild ?? place, "class", acts.length ? "strong" : "acts");
  }

  /** How far a vote is, and when it is closed what the host alone is told. @param {State} now */
  status({ question, phase, voted, round, tallies }) {
    const tally = tallies[round];
    if (!question || !tally) return question ? `${voted} have voted` : "";
    if (this.right.of !== question.id) {
      this.right = { of: question.id, answer: { right: [], text: "" } };
      answerTo(question, this.told).then((answer) => {
        this.right.answer = answer;
        this.draw();
      });
    }
    return phase.startsWith("closed") ? hintOf(tally, this.right.answer.right[0] ?? -1) : `${voted} have voted`;
  }

  /** @param {Counted[]} asked */
  drawCode(asked) {
    const { code } = this.cards;
    if (this.card !== "code") return;
    setText(code.children[0], room.now?.code ?? "");
    setAttribute(code.image, "src", qrOf(house.address));
    setText(code.children[2], sayLink(house.address));
    setAttribute(code.counts, "href", `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(asked))}`);
    const lesson = beside.askedNow()?.lesson.id ?? "";
    code.handout.hidden = !lesson;
    const votes = encodeURIComponent(JSON.stringify(stepsOf(asked, lesson)));
    setAttribute(code.handout, "href", `./handout?lesson=${lesson}#${votes}`);
  }

  /** The host sees the votes where the class does: they are its. @param {State} now */
  drawVotes({ question, phase, tallies, round, answer }) {
    const seen = phase === "tallies" || phase === "answer" ? tallies : [];
    const isCell = question?.kind === "cell";
    setDots(isCell ? (seen[round]?.dots ?? []) : []);
    beside.cover(isCell && phase !== "answer" ? MAP : []);
    const step = beside.askedNow();
    const isStep = Boolean(step && question?.learn === nameOf(step));
    if (isStep && phase === "answer" && !beside.isOpen()) beside.open(); // it was shown by the projector's key
    beside.count(isStep ? seen.map(handsOf) : []);
    this.votes.element.hidden = !question || isStep;
    if (question && !isStep) this.votes.draw(question, seen, answer?.text ?? "");
  }
}

/** The way back of a phone that goes on alone. */
class PhoneBar {
  back = h("a", { href: "./room", class: "strong" });
  code = span("code");

  constructor() {
    this.element = h("section", { id: ID, "aria-label": "Room" }, div("strip", this.code, span("push"), this.back));
  }

  follow() {
    const { now } = room;
    this.element.hidden = !now;
    if (!now) return;
    if (now.follows) location.assign(this.back.href); // all are gathered
    setText(this.code, now.code);
    setText(this.back, now.question ? words().asked : words().back);
  }
}

let bar = /** @type {HostBar | PhoneBar | null} */ (null);
addEventListener("headlight-room", () => draw());

/** Puts the strip of the room, where this tab is in one, under the page. @param {string} address of the page for other machines
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
