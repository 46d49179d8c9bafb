// A room beside any page: the host's strip at its foot, with what he may do next and a key for each; of a phone that goes on
// alone, the way back. What is shown is the page's link, what is asked the lesson's step or the host's own question.

import { pageNow } from "../base/page_list.js";
import { button, div, fill, h, setAttribute, setText, span, urlOf } from "../base/dom.js";
import { find, nameOf } from "../lessons/course.js";
import { Hands } from "../lessons/hands.js";
import { beside } from "../lessons/lesson.js";
import { read } from "../link/link.js";
import { go } from "../link/way.js";
import { setDots } from "../picture/map_dots.js";
import { views } from "../base/view_base.js";
import { Wire } from "../wire/wire.js";
import { measured, readMaps, sayMeasure } from "./measure.js";
import { Points } from "./points.js";
import { ACTS, actsOf, wishOf } from "./room_keys.js";
import { enter, linkOf, qrOf, room, sayLink, tell } from "./room_line.js";
import { words } from "./room_words.js";
import { csvOf, dotsOf, handsOf, hintOf, stepsOf } from "./tally.js";

/** @typedef {import("./room_keys.js").Act} Act */
/** @typedef {import("./points.js").Point} Point */

const ID = "headlight-room";
const LETTERS = "ABCDEF";
const OURS = ["big", "room"]; // keys of a link that phones have no use for
/** What the host may do at any time. @type {Act[]} */
const ALWAYS = ["gather", "code", "keys"];

class HostBar {
  constructor() {
    this.told = ""; // what the phones were told is shown
    this.isTelling = false;
    this.right = /** @type {string | null} */ (null); // the letter that the numbers pick now
    this.card = ""; // what lies over the page: "code", "ask", "keys" or nothing
    this.points = /** @type {Map<number, number | null>} */ (new Map()); // what the measure says of each sentence
    this.measuring = 0; // the sentence whose weights are on their way
    this.hands = new Hands(() => {});
    this.judge = new Wire({
      take: (bytes) => this.judged(JSON.parse(new TextDecoder().decode(bytes)).picked),
      refuse: () => this.judged(null),
    });
    this.weights = new Wire({ take: (bytes) => this.measure(bytes), refuse: () => this.measure(null) });
    const press = (/** @type {Act} */ act) => {
      const one = button("", () => this.act(act), { "aria-keyshortcuts": ACTS[act][0].toLowerCase() });
      one.append(span("text", ACTS[act][1]), h("kbd", { "aria-hidden": "true" }, ACTS[act][0]));
      return one;
    };
    this.p = {
      code: press("code"),
      people: span("people"),
      status: h("span", { class: "status", role: "status" }),
      acts: div("acts"),
      gather: press("gather"),
      ask: button("ask …", () => this.lay("ask"), { class: "quiet" }),
      keys: press("keys"),
      projector: h("a", { target: "_blank", rel: "noopener", class: "quiet" }, "projector ↗"),
    };
    this.press = press;
    this.cards = { code: this.makeCode(), ask: this.makeAsk(), keys: this.makeKeys() };
    this.asked = div("asked", h("h2"), div("options"));
    this.sentences = new Points(
      ({ text }) => this.showSentence(text),
      ({ id }) => tell("hide", { id }),
    );
    const { code, people, status, acts, gather, ask, keys, projector } = this.p;
    this.over = div("card", ...Object.values(this.cards), this.asked, this.sentences.element);
    this.element = h(
      "section",
      { id: ID, "aria-label": "Room" },
      this.over,
      div("strip", code, people, status, span("push"), acts, gather, ask, projector, keys),
    );
    addEventListener("headlight-address", () => this.show());
    addEventListener("popstate", () => this.show());
    addEventListener("headlight-lesson", () => this.show());
    addEventListener("keydown", (event) => this.key(event), true);
  }

  // ---- parts

  makeCode() {
    const image = h("img", { alt: "QR code of the address", width: 280, height: 280 });
    const note = h(
      "p",
      { class: "small" },
      "Two lines on what is kept stand where one joins. The address in your own bar opens this room for you alone: ",
    );
    const own = h("a", {}, "your own link");
    note.append(own);
    const end = button("delete now", () => tell("delete", {}), { title: "the room, its votes and its sentences" });
    const counts = h("a", { download: "headlight-room.csv" }, "counts, CSV");
    const handout = h("a", { target: "_blank" }, "handout with both votes");
    return Object.assign(
      div("code-card", span("large"), image, span("address"), note, div("ways", counts, handout, end)),
      { image, own, counts, handout },
    );
  }

  makeAsk() {
    const ask = h("textarea", { rows: "2", maxlength: "300", "aria-label": "Question" });
    const options = h("textarea", {
      rows: "4",
      maxlength: "600",
      placeholder: "an answer a line, two to six",
      "aria-label": "Answers",
    });
    const own = h(
      "form",
      {},
      h("h2", {}, "A question of your own"),
      ask,
      options,
      h("button", { type: "submit" }, "ask the class"),
    );
    own.onsubmit = (event) => {
      event.preventDefault();
      const lines = options.value
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean)
        .slice(0, LETTERS.length);
      if (ask.value.trim() && lines.length > 1)
        this.ask({
          kind: "options",
          ask: ask.value.trim(),
          options: lines.map((text, at) => [LETTERS[at], text]),
          learn: "",
        });
    };
    const cell = button("which cell of this map?", () =>
      this.ask({ kind: "cell", ask: ask.value.trim() || "Which cell has the largest weight?", options: [], learn: "" }),
    );
    const sentences = button("a sentence of each", () => this.askSentences());
    return div("ask-card", own, div("ways", cell, sentences));
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

  /** What the phones are to see, told once more while it changes. */
  async show() {
    if (!room.now || this.isTelling) return;
    const query = read();
    for (const key of OURS) query.delete(key);
    const step = beside.askedNow();
    const shown = { path: pageNow().path, query: String(query), open: !step || beside.isOpen() };
    const told = JSON.stringify(shown);
    if (told === this.told) return this.draw();
    this.isTelling = true;
    this.told = told;
    await tell("show", shown);
    this.isTelling = false;
    if (shown.open && room.now?.question?.learn && room.now.question.state !== "answer" && step) tell("answer", {});
    this.show();
  }

  /** @param {{kind: "options" | "cell", ask: string, options: [string, string][], learn: string}} question */
  ask(question) {
    this.card = "";
    this.right = null;
    tell("ask", question);
  }

  /** Asks a sentence of each phone, and measures it at the place that is in focus: its head, and the words of its row and key. */
  askSentences() {
    this.card = "";
    this.points.clear();
    const view = /** @type {any} */ ([...views].find((one) => one.isHere && "maps" in one));
    const { row, key } = view?.at ?? {};
    const [of, on] = [view?.maps.tokens[row], key === null ? "" : view?.maps.tokens[key]];
    tell("sentences", { pair: { row: of ?? "", key: on ?? "" } });
  }

  /** Has the next sentence measured that is not yet; one at a time. */
  askMeasure() {
    const next = room.now?.sentences?.points.find(({ id }) => !this.points.has(id));
    if (!next || this.measuring) return;
    this.measuring = next.id;
    const query = read();
    query.set("s", next.text);
    for (const key of [...OURS, "learn", "pin"]) query.delete(key);
    this.weights.ask("maps", query, "");
  }

  /** @param {Uint8Array | null} bytes null where the sentence cannot be shown */
  measure(bytes) {
    const { sentences } = /** @type {import("./room_line.js").Told} */ (room.now);
    const value = bytes && sentences ? measured(...readMaps(bytes), sentences.pair) : null;
    this.points.set(this.measuring, value);
    tell("value", { id: this.measuring, value });
    this.measuring = 0;
    this.draw();
  }

  /** @param {Act} act */
  act(act) {
    const { question } = /** @type {import("./room_line.js").Told} */ (room.now);
    const step = beside.askedNow();
    if (act === "code" || act === "keys") this.lay(act);
    else if (act === "gather") tell("free", { free: !room.now?.free });
    else if (act === "ask" && step) this.askStep(step);
    else if (act === "second" && step) this.askSecond(step);
    else if (act === "answer" && question?.learn && step) beside.open();
    else tell(act, {});
  }

  /** @param {import("../lessons/course.js").Place} place */
  askStep(place) {
    const { ask, options } = place.step;
    this.ask({
      kind: "options",
      ask,
      options: options.map(({ letter, text }) => [letter, text]),
      learn: nameOf(place),
    });
  }

  /** The second question of the same idea: its picture, behind the curtain, and the vote on it. @param {import("../lessons/course.js").Place} place */
  askSecond(place) {
    const more = find(`${nameOf(place)}.2`);
    if (!more) return;
    go(new URL(`./${more.step.path}?${more.step.query}&learn=${nameOf(more)}`, new URL("./", location.href)));
    this.askStep(more);
  }

  /** @param {string} text */
  showSentence(text) {
    const url = new URL(location.href);
    url.searchParams.set("s", text);
    url.searchParams.delete("learn");
    go(url);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!room.now) return;
    const wish =
      event.key === "Escape" && this.card ? /** @type {Act} */ (this.card) : wishOf(event, [...this.acts, ...ALWAYS]);
    if (!wish) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.key === "Escape") this.lay(this.card);
    else this.act(wish);
  }

  get acts() {
    const step = beside.askedNow();
    const question = room.now?.question ?? null;
    return actsOf({
      question,
      step: step !== null && !beside.isOpen(),
      second: Boolean(step?.step.second && !step.again),
    });
  }

  /** @param {string | null} picked */
  judged(picked) {
    this.right = picked;
    this.draw();
  }

  // ---- drawing

  draw() {
    const { now } = room;
    this.element.hidden = !now;
    document.documentElement.classList.toggle("in-room", now !== null);
    if (!now) return;
    const { question, people, code, free } = now;
    const { p } = this;
    setText(p.code.querySelector(".text"), code);
    setText(p.people, `${people} in`);
    setText(p.gather.querySelector(".text"), free ? "gather" : "let go");
    setAttribute(p.projector, "href", linkOf(house.address, true));
    this.drawStatus(question);
    const acts = this.acts;
    p.acts.replaceChildren(...acts.map((act, at) => Object.assign(this.press(act), { className: at ? "" : "strong" })));
    p.ask.hidden = question !== null;
    for (const [name, card] of Object.entries(this.cards)) card.hidden = this.card !== name;
    this.drawCode();
    this.drawVotes(question);
    this.sentences.draw(now.sentences && { measure: sayMeasure(now.sentences.pair), points: now.sentences.points });
    this.askMeasure();
    this.over.hidden = ![...this.over.children].some((card) => !(/** @type {HTMLElement} */ (card).hidden));
    document.documentElement.style.setProperty(
      "--room",
      `${/** @type {HTMLElement} */ (this.p.acts.parentElement).offsetHeight}px`,
    );
  }

  /** @param {import("./room_line.js").Question | null} question */
  drawStatus(question) {
    const tally = question?.counted?.at(-1);
    const isClosed = question?.state === "closed" && tally;
    if (isClosed && question.learn) this.judge.ask("lesson", new URLSearchParams(`${read()}`), "");
    const voted = question ? `${question.voted} have voted` : "";
    setText(this.p.status, room.lost ? "The server cannot be reached." : isClosed ? hintOf(tally, this.right) : voted);
  }

  drawCode() {
    const { code } = this.cards;
    if (this.card !== "code") return;
    setText(code.children[0], room.now?.code ?? "");
    setAttribute(code.image, "src", qrOf(house.address));
    setText(code.children[2], sayLink(house.address));
    setAttribute(code.own, "href", linkOf(house.address, true));
    setAttribute(code.counts, "href", `data:text/csv;charset=utf-8,${encodeURIComponent(csvOf(room.now?.past ?? []))}`);
    const lesson = beside.askedNow()?.lesson.id;
    code.handout.hidden = !lesson;
    const votes = stepsOf(room.now?.past ?? [], lesson ?? "");
    setAttribute(code.handout, "href", `./handout?lesson=${lesson}#${encodeURIComponent(JSON.stringify(votes))}`);
  }

  /** Where a lesson stands beside the page, its options show the votes. @param {import("./room_line.js").Question | null} question */
  drawVotes(question) {
    const tallies = question?.tallies ?? [];
    const isCell = question?.kind === "cell";
    setDots(isCell && tallies.length ? dotsOf(/** @type {Record<string, number>} */ (tallies.at(-1))) : []);
    beside.cover(isCell && question.state !== "answer" ? [{ part: "map", words: [] }] : []);
    const step = beside.askedNow();
    const isSteps = Boolean(step && question?.learn === nameOf(step));
    if (isSteps) beside.count(tallies.map(handsOf));
    this.asked.hidden = !question || isSteps;
    if (!question || isSteps) return;
    setText(this.asked.children[0], question.ask);
    Object.assign(this.hands, { letters: question.options.map(([letter]) => letter), rounds: tallies.map(handsOf) });
    fill(
      this.asked.children[1],
      question.options,
      () => div("option", span("letter"), span("text"), span("votes")),
      (option, [letter, text]) => {
        setText(option.children[0], letter);
        setText(option.children[1], text);
        this.hands.drawBars(option.children[2], letter);
      },
    );
  }
}

/** The way back of a phone that goes on alone. */
class PhoneBar {
  back = h("a", { href: "./room", class: "strong" });
  text = span("text");

  constructor() {
    this.element = h("section", { id: ID, "aria-label": "Room" }, div("strip", this.text, span("push"), this.back));
  }

  draw() {
    const { now } = room;
    this.element.hidden = !now;
    if (!now) return;
    if (!now.free) location.assign(this.back.href); // all are gathered
    setText(this.text, now.code);
    setText(this.back, now.question ? words().asked : words().back);
  }
}

let bar = /** @type {HostBar | PhoneBar | null} */ (null);
const house = { address: "", theme: "dark" };
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
  if (!room.role && !bar) return;
  if (!bar) {
    bar = room.role === "host" ? new HostBar() : new PhoneBar();
    document.body.append(bar.element);
    document.head.append(h("link", { rel: "stylesheet", href: urlOf("rooms/room.css").href }));
  }
  setAttribute(bar.element, "class", house.theme);
  bar.draw();
}
