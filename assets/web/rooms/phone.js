// The page of a room: a phone that joins it, follows what the host shows and votes; or, with the host's key, the projector of
// the class. The picture is the page's own view without its controls, the question the panel of a lesson without its ways.

import { draw as drawCurtain } from "../base/curtain.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { find, load } from "../lessons/course.js";
import { Hands } from "../lessons/hands.js";
import { LessonPanel } from "../lessons/lesson_panel.js";
import { say } from "../link/link.js";
import { setDots } from "../picture/map_dots.js";
import { Wire } from "../wire/wire.js";
import { dotsOf, handsOf } from "./tally.js";
import { enter, join, leave, qrOf, room, sayLink, tell } from "./room_line.js";
import { makeDoor } from "./room_door.js";
import { sayMeasure } from "./measure.js";
import { Points } from "./points.js";
import { actsOf, wishOf } from "./room_keys.js";
import { language, switchLanguage, words } from "./room_words.js";

/** @typedef {import("../wire/wire_view.js").WireView & {go(change: {row?: number | null, key?: number | null}): void}} Shown */
/** @typedef {(file: string) => {view: {Kind: new (root: ShadowRoot) => Shown}}} Open what a module exports */
/** @typedef {import("../lessons/course.js").Place} Place */
/** @typedef {import("../lessons/lesson_panel.js").Verdict} Verdict */

const USUAL = { "": "map", compare: "two maps", masks: "two maps", shapes: "panel step" }; // what is shown of a page

export class Phone {
  /** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of it */
  constructor(open, page, theme, colours) {
    this.open = open;
    this.theme = theme;
    this.files = /** @type {Record<string, string>} */ (JSON.parse(page.dataset.views ?? "{}")); // path of a page -> its view's
    this.shown = ""; // the link whose picture stands there
    this.view = /** @type {Shown | null} */ (null);
    this.path = "";
    this.verdict = /** @type {Verdict | null} */ (null);
    this.judged = "";
    this.mine = ""; // what this phone chose of the present question
    this.asked = 0; // the number of the question that it chose of
    this.hands = new Hands(() => {});
    this.panel = new LessonPanel((act, letter) => act === "answer" && this.vote(letter ?? ""), this.hands);
    this.wire = new Wire({
      take: (bytes) => this.told(JSON.parse(new TextDecoder().decode(bytes))),
      refuse: () => this.told(null),
    });
    this.parts = {
      code: span("code"),
      people: span("people"),
      said: h("p", { class: "said", role: "status" }),
      alone: h("a", { class: "alone" }),
      other: button("", () => {
        switchLanguage();
        this.draw();
      }),
      leave: button("", () => leave()),
      place: div("stage"),
      elsewhere: h("p", { class: "elsewhere" }, span("what"), " ", h("a")),
      large: div("large-code", span("code"), h("img", { alt: "QR code" }), span("address")),
      form: h(
        "form",
        { class: "own" },
        h("label", {}, span("name"), h("textarea", { rows: "2", maxlength: "300" })),
        h("button"),
      ),
    };
    this.points = new Points(null);
    this.door = makeDoor((code) => join(code));
    this.page = page;
    const { code, people, said, alone, other, leave: away, place, elsewhere, large, form } = this.parts;
    form.onsubmit = (event) => this.send(event);
    page.append(
      h("header", {}, code, people, span("push"), alone, other, away),
      said,
      this.door.element,
      large,
      elsewhere,
      place,
      this.points.element,
      form,
      this.panel.element,
    );
    setAttribute(page, "class", theme);
    for (const [key, colour] of Object.entries(colours)) page.style.setProperty(`--st-${key}`, colour);
    addEventListener("headlight-room", () => this.draw());
    addEventListener("keydown", (event) => this.key(event));
    document.documentElement.classList.add("room-page");
  }

  get isProjector() {
    return room.role === "host";
  }

  /** The step of the course that the host shows or asks; a question of his own as if it were one. @returns {Place | null} */
  get place() {
    const { question, shown } = /** @type {import("./room_line.js").Told} */ (room.now);
    const step = find(question?.learn || (new URLSearchParams(shown.query).get("learn") ?? ""));
    if (step || !question) return step;
    const options = question.options.map(([letter, text]) => ({ letter, text }));
    const own = { path: shown.path, query: shown.query, picture: "", say: "", ask: question.ask, options };
    const lesson = { ...NO_LESSON, title: "" };
    return { lesson, number: 1, of: 1, at: 1, again: false, step: { ...own, curtain: [], teacher: "", second: null } };
  }

  // ---- what comes in

  /** @param {Verdict | null} verdict */
  told(verdict) {
    this.verdict = verdict;
    this.draw();
  }

  /** Shows the host's link: another page is another view. */
  follow() {
    const { shown } = /** @type {import("./room_line.js").Told} */ (room.now);
    const link = `${shown.path}?${shown.query}`;
    if (link === this.shown) return;
    this.shown = link;
    say("replaceState", null, `${location.pathname}?${shown.query}`);
    if (shown.path === this.path) return this.view?.follow();
    this.path = shown.path;
    this.view?.leave();
    this.view = null;
    this.parts.place.replaceChildren();
    if (!(shown.path in this.files)) return;
    const { Kind } = this.open(this.files[shown.path]).view;
    const host = h("div");
    this.parts.place.append(host);
    this.view = new Kind(host.attachShadow({ mode: "open" }));
    this.view.go = ({ row, key }) => this.point(row, key); // the rest is the host's
    this.view.take({ visit: "" });
  }

  /** Asks what the numbers say, once the host shows it. @param {boolean} isOpen */
  judge(isOpen) {
    const { learn } = room.now?.question ?? { learn: "" };
    const about = isOpen && learn ? this.shown : "";
    if (about === this.judged) return;
    this.judged = about;
    this.verdict = null;
    if (about)
      this.wire.ask(
        "lesson",
        new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), learn }),
        "",
      );
  }

  // ---- what goes out

  /** On the projector the host's keys go on with what is asked. @param {KeyboardEvent} event */
  key(event) {
    const { question = null } = room.now ?? {};
    const wish = this.isProjector && wishOf(event, [...actsOf({ question, step: false, second: false }), "gather"]);
    if (wish) tell(wish, wish === "gather" ? { free: !room.now?.free } : {});
  }

  /** @param {string} choice */
  async vote(choice) {
    const question = room.now?.question;
    if (question?.state !== "open" || this.isProjector) return;
    const { mine } = this;
    this.mine = choice;
    this.draw();
    if (await tell("vote", { question: question.id, choice })) return;
    this.mine = mine; // it was not counted
    this.draw();
  }

  /** @param {number | null | undefined} row @param {number | null | undefined} key */
  point(row, key) {
    if (room.now?.question?.kind === "cell" && Number.isInteger(row) && Number.isInteger(key))
      this.vote(`${row}.${key}`);
  }

  /** @param {SubmitEvent} event */
  async send(event) {
    event.preventDefault();
    const field = /** @type {HTMLTextAreaElement} */ (this.parts.form.querySelector("textarea"));
    if (!field.value.trim() || !(await tell("sentence", { text: field.value }))) return;
    field.value = "";
    setText(this.parts.said, words().sent);
  }

  // ---- drawing

  draw() {
    const { parts, page } = this;
    const text = words();
    const { now } = room;
    page.lang = language();
    setAttribute(page, "data-role", now ? room.role : null);
    setText(parts.other, text.other);
    setText(parts.leave, text.leave);
    setText(parts.alone, text.alone);
    this.door.draw(text, room.gone, now !== null);
    for (const part of [parts.code, parts.people, parts.leave]) part.hidden = !now;
    parts.alone.hidden = !now?.free || this.isProjector;
    document.documentElement.classList.toggle("projector", this.isProjector);
    parts.other.hidden = this.isProjector;
    setText(parts.said, room.lost ? text.lost : "");
    if (!now) {
      for (const part of [
        parts.large,
        parts.elsewhere,
        parts.place,
        parts.form,
        this.points.element,
        this.panel.element,
      ])
        part.hidden = true;
      return;
    }
    setText(parts.code, now.code);
    setText(parts.people, this.isProjector ? `${now.people} in` : "");
    setAttribute(parts.alone, "href", `./${now.shown.path}?${now.shown.query}`);
    this.follow();
    const { question } = now;
    if (question && question.id !== this.asked) Object.assign(this, { asked: question.id, mine: "" });
    const place = this.place;
    const isOpen = question ? question.state === "answer" : now.shown.open;
    this.judge(isOpen);
    const hidden = place && !isOpen ? place.step.curtain : [];
    const isCell = question?.kind === "cell";
    document.documentElement.classList.toggle("learning", place !== null);
    const usual = /** @type {Record<string, string>} */ (USUAL)[now.shown.path] ?? "";
    drawCurtain(isCell && !isOpen ? [{ part: "map", words: [] }] : hidden, false, place?.step.picture || usual);
    this.drawDots();
    this.drawAround(text);
    this.panel.element.hidden = !place;
    setAttribute(this.panel.element, "class", this.theme);
    if (place) this.drawQuestion(place, isOpen, text);
  }

  /** What was chosen on the map: by all, once the host shows it; until then this phone's own. */
  drawDots() {
    const question = room.now?.question;
    const told = question?.tallies.at(-1);
    const own = this.mine ? { [this.mine]: 1 } : {};
    setDots(question?.kind === "cell" ? dotsOf(told ?? own) : []);
  }

  /** @param {ReturnType<typeof words>} text */
  drawAround(text) {
    const { parts } = this;
    const { code, question, shown, sentences } = /** @type {import("./room_line.js").Told} */ (room.now);
    const isShown = shown.path in this.files;
    parts.place.hidden = !isShown;
    parts.elsewhere.hidden = isShown;
    setText(parts.elsewhere.children[0], text.elsewhere);
    setText(parts.elsewhere.children[1], text.opens);
    setAttribute(parts.elsewhere.children[1], "href", parts.alone.getAttribute("href"));
    parts.large.hidden = !this.isProjector || question !== null || sentences !== null;
    const [large, image, where] = parts.large.children;
    setText(large, code);
    setAttribute(image, "src", parts.large.hidden ? null : qrOf(this.page.dataset.address ?? ""));
    setText(where, sayLink(this.page.dataset.address ?? ""));
    parts.form.hidden = this.isProjector || !sentences;
    setText(parts.form.querySelector(".name"), text.own);
    setText(parts.form.querySelector("button"), text.send);
    this.points.draw(sentences && { measure: sayMeasure(sentences.pair), points: sentences.points });
  }

  /** @param {Place} place @param {boolean} open @param {ReturnType<typeof words>} text */
  drawQuestion(place, open, text) {
    const question = room.now?.question ?? null;
    const letters = place.step.options.map(({ letter }) => letter);
    Object.assign(this.hands, { letters, rounds: question?.tallies.map(handsOf) ?? [] });
    const [waits, more] = [question?.state === "open", { back: "", next: "", notes: false, keys: false, whole: true }];
    const sentence =
      this.isProjector || !question
        ? ""
        : waits
          ? question.kind === "cell"
            ? text.point
            : text.vote
          : open
            ? ""
            : text.closed;
    const said = this.isProjector && question ? `${question.voted} of ${room.now?.people} have voted` : sentence;
    const { verdict } = this;
    this.panel.draw({
      ...more,
      place,
      sentence: open ? "" : said,
      answer: this.mine || null,
      open,
      verdict,
      away: false,
      taught: false,
    });
    const { options } = this.panel.p;
    options.hidden = !question || question.kind === "cell";
    for (const option of options.querySelectorAll("button")) option.disabled = !waits || this.isProjector;
  }
}

const NO_LESSON = { id: "", aim: "", breaks: "", minutes: 0, now_you: "", teacher: "", papers: [], steps: [] };

/** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of it */
export async function beginRoom(open, page, theme, colours) {
  const phone = new Phone(open, page, theme, colours);
  await load().catch(() => {}); // without the course a question of the host's own is asked all the same
  enter();
  phone.draw();
}
