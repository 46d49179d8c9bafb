// The page of a room: a phone that joins it, follows what the host shows and votes; or, with the host's key, the projector of
// the class. The picture is the page's own view without its controls, the question the panel of a lesson without its ways.

import { draw as drawCurtain } from "../base/curtain.js";
import { button, div, h, setAttribute, setText, span } from "../base/dom.js";
import { find, load } from "../lessons/course.js";
import { Hands } from "../lessons/hands.js";
import { LessonPanel } from "../lessons/lesson_panel.js";
import { say } from "../link/link.js";
import { setDots } from "../picture/map_panel.js";
import { sayMeasure } from "./measure.js";
import { Points } from "./points.js";
import { answerTo, askStep, linkOfStep, secondOf } from "./question.js";
import { makeDoor } from "./room_door.js";
import { actsOf, Keys } from "./room_keys.js";
import { act, doPlain, enter, leave, qrOf, room, sayLink, sayTold, tell } from "./room_line.js";
import { language, switchLanguage, words } from "./room_words.js";
import { readShown } from "./shown.js";
import { handsOf, LETTERS } from "./tally.js";

/** @typedef {import("../wire/wire_view.js").WireView & {go(change: {row?: number | null, key?: number | null}): void}} View */
/** @typedef {(file: string) => {view: {Kind: new (root: ShadowRoot) => View}}} Open what a module exports */
/** @typedef {import("../lessons/course.js").Place} Place */
/** @typedef {import("./room_line.js").State} State */
/** @typedef {ReturnType<typeof words>} Words */

/** What is shown of a page where no lesson says so. @type {Record<string, string>} */
const USUAL = { "": "map", compare: "two maps", masks: "two maps", shapes: "panel step" };
const EVER = /** @type {import("./room_keys.js").Act[]} */ (["gather", "code"]);
const UNTOLD = { title: "", aim: "", breaks: "", minutes: 0, now_you: "", teacher: "" };
const NO_LESSON = { id: "", ...UNTOLD, papers: [], steps: [] };
const PANEL = { verdict: null, away: false, notes: false, keys: false, whole: true, taught: false, back: "", next: "" };

class Phone {
  /** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of it */
  constructor(open, page, theme, colours) {
    this.open = open;
    this.page = page;
    this.files = /** @type {Record<string, string>} */ (JSON.parse(page.dataset.views ?? "{}")); // path of a page -> its view's
    this.address = page.dataset.address ?? ""; // for other machines
    this.link = ""; // what the view shows
    this.showsCode = true; // a projector, in the picture's place: until something is asked, or K
    this.path = /** @type {string | null} */ (null);
    this.view = /** @type {View | null} */ (null);
    this.hands = new Hands(() => {});
    this.panel = new LessonPanel(
      (name, letter) => name === "answer" && this.vote(LETTERS.indexOf(letter ?? "")),
      this.hands,
    );
    setAttribute(this.panel.element, "class", theme);
    this.points = new Points();
    this.door = makeDoor();
    this.p = {
      code: span("code"),
      people: span("people"),
      alone: h("a", { class: "strong" }),
      other: button("", () => {
        switchLanguage();
        this.draw();
      }),
      leave: button("", () => leave()),
      said: h("p", { class: "said", role: "status" }),
      large: div("large-code", span("code"), h("img", { alt: "QR code" }), span("address")),
      elsewhere: h("p", { class: "elsewhere" }, span("what"), " ", h("a")),
      place: div("stage"),
      own: h("textarea", { rows: "2", maxlength: "300" }),
      send: button("", () => this.send(), { class: "strong" }),
    };
    const { code, people, alone, other, leave: away, said, large, elsewhere, place, own, send } = this.p;
    this.form = div("own", h("label", {}, span("name"), own), send);
    const head = h("header", {}, code, people, span("push"), alone, other, away);
    page.append(head, said, this.door.element);
    page.append(large, elsewhere, this.points.element, this.form, place, this.panel.element);
    page.className = theme;
    for (const [key, colour] of Object.entries(colours)) page.style.setProperty(`--st-${key}`, colour);
    document.documentElement.classList.add("room-page");
    addEventListener("headlight-room", () => this.draw());
    const press = (/** @type {import("./room_keys.js").Act} */ name) => this.do(name);
    const keys = new Keys(() => this.acts, press);
    addEventListener("keydown", (event) => keys.take(event));
  }

  get isProjector() {
    return room.role === "host";
  }

  /** The step of the course that the host shows or asks; a question of his own as if it were one.
   * @param {State} now @returns {Place | null}
   */
  placeOf(now) {
    const { question, link } = now;
    const { path, query } = readShown(link);
    if (!question || question.kind === "lesson") return question ? find(question.learn) : this.stepOf(now);
    const options = question.options.map((text, at) => ({ letter: LETTERS[at], text }));
    const bare = { picture: "", say: "", curtain: [], teacher: "", second: null };
    const step = { ...bare, path, query, ask: question.text, options };
    return { lesson: NO_LESSON, number: 1, of: 1, at: 1, again: false, step };
  }

  // ---- what is done

  /** Shows the host's link: another page is another view. @param {State} now */
  follow({ link }) {
    const { path, query } = readShown(link);
    if (link === this.link) return;
    this.link = link;
    say("replaceState", null, `${location.pathname}?${query}`);
    if (path === this.path) return this.view?.follow();
    this.path = path;
    this.view?.leave();
    this.view = null;
    this.p.place.replaceChildren();
    if (!(path in this.files)) return;
    const host = h("div");
    this.p.place.append(host);
    const { Kind } = this.open(this.files[path]).view;
    this.view = new Kind(host.attachShadow({ mode: "open" }));
    this.view.go = ({ row, key }) => this.point(row, key); // the rest is the host's
    this.view.take({ visit: "" });
  }

  /** @param {number | [number, number]} choice */
  vote(choice) {
    const { question, round, phase } = /** @type {State} */ (room.now);
    const isAsked = phase === "open" || phase === "again";
    if (question && isAsked && !this.isProjector) tell("vote", { question: question.id, round, choice });
  }

  /** @param {number | null | undefined} row @param {number | null | undefined} key */
  point(row, key) {
    if (room.now?.question?.kind === "cell" && typeof row === "number" && typeof key === "number")
      this.vote([row, key]);
  }

  async send() {
    const { own } = this.p;
    if (!own.value.trim() || !(await tell("sentence", { text: own.value }))) return;
    own.value = "";
    sayTold(words().sent);
  }

  /** The step of the course that the host's link shows. @param {State} now */
  stepOf({ link }) {
    return find(new URLSearchParams(readShown(link).query).get("learn") ?? "");
  }

  /** What the host may do by a key on the projector. */
  get acts() {
    const { now } = room;
    if (!this.isProjector || !now) return [];
    const place = this.stepOf(now);
    const step = place !== null && !readShown(now.link).open;
    const acts = actsOf({ phase: now.phase, write: now.write, step, second: secondOf(place) !== null });
    return [...acts, ...EVER];
  }

  /** @param {import("./room_keys.js").Act} name @returns {unknown} a promise of when it is there */
  do(name) {
    const now = /** @type {State} */ (room.now);
    const { question, link } = now;
    const place = this.stepOf(now);
    if (name === "code") return this.showCode(!this.showsCode);
    if (name === "ask" && place) return askStep(place, link);
    if (name === "second") return this.askSecond(secondOf(place));
    if (name === "answer" && question) return answerTo(question, link).then((answer) => act("answer", { answer }));
    return doPlain(name);
  }

  /** @param {Place | null} more */
  async askSecond(more) {
    if (!more) return;
    const link = linkOfStep(more);
    if (await act("show", { link })) await askStep(more, link);
  }

  /** @param {boolean} is */
  showCode(is) {
    this.showsCode = is;
    this.draw();
  }

  // ---- drawing

  draw() {
    const { now, said } = room;
    const text = words();
    const { isProjector, p } = this;
    this.page.lang = language();
    document.documentElement.classList.toggle("projector", isProjector);
    setText(p.other, text.other);
    setText(p.leave, text.leave);
    setText(p.alone, text.alone);
    setText(p.said, now ? said : "");
    this.door.draw(text, said, now !== null);
    for (const part of [p.code, p.people, p.leave]) part.hidden = !now;
    for (const part of [p.large, p.elsewhere, p.place, this.points.element, this.form, this.panel.element])
      part.hidden = true;
    p.alone.hidden = !now || now.follows || isProjector;
    if (!now) return drawCurtain([]);
    this.follow(now);
    const { open, path, query, pair } = readShown(now.link);
    const place = this.placeOf(now);
    const isOpen = now.question ? now.phase === "answer" : open;
    setText(p.code, now.code);
    setText(p.people, isProjector ? `${now.joined} in` : "");
    setAttribute(p.alone, "href", `./${path}?${query}`);
    const asks = place !== null && (now.question !== null || now.write === "off"); // sentences need the room
    document.documentElement.classList.toggle("learning", asks);
    this.drawPlace(now, text, path in this.files); // first: a view that has no room draws neither curtain nor dots
    const hidden = now.question?.kind === "cell" ? [{ part: "map", words: [] }] : (place?.step.curtain ?? []);
    drawCurtain(isOpen ? [] : hidden, false, place?.step.picture || USUAL[path] || "");
    setDots(this.dotsOf(now));
    this.points.element.hidden = now.write !== "shown";
    this.points.draw(sayMeasure(pair), room.sentences, now.written);
    this.form.hidden = isProjector || now.write !== "asked";
    setText(this.form.querySelector(".name"), text.own);
    setText(p.send, text.send);
    if (asks) this.drawQuestion(now, place, isOpen, text);
  }

  /** What was chosen on the map: by all, once the host shows it; until then this phone's own. @param {State} now */
  dotsOf({ question, tallies, mine, round }) {
    if (question?.kind !== "cell") return [];
    const own = Array.isArray(mine.choice) ? [/** @type {[number, number, number]} */ ([...mine.choice, 1])] : [];
    return tallies[round]?.dots ?? own;
  }

  /** @param {State} now @param {Words} text @param {boolean} isShown here too */
  drawPlace({ question, code }, text, isShown) {
    const { large, elsewhere, place, alone } = this.p;
    this.showsCode &&= this.isProjector && !question;
    large.hidden = !this.showsCode;
    place.hidden = !isShown || this.showsCode;
    elsewhere.hidden = isShown || this.showsCode;
    setText(elsewhere.children[0], text.elsewhere);
    setText(elsewhere.children[1], text.opens);
    setAttribute(elsewhere.children[1], "href", alone.getAttribute("href"));
    const [letters, image, address] = large.children;
    setText(letters, code);
    setAttribute(image, "src", large.hidden ? null : qrOf(this.address));
    setText(address, sayLink(this.address));
  }

  /** @param {State} now @param {Place} place @param {boolean} open @param {Words} text */
  drawQuestion(now, place, open, text) {
    const { question, phase, tallies, answer, mine, voted, joined } = now;
    const { isProjector } = this;
    const isAsked = phase === "open" || phase === "again";
    this.hands.letters = place.step.options.map(({ letter }) => letter);
    this.hands.rounds = tallies.map(handsOf);
    const asks = question?.kind === "cell" ? text.point : text.vote;
    const to = isAsked ? asks : phase === "discuss" ? text.discuss : text.closed;
    const sentence = !question || answer ? "" : isProjector ? `${voted} of ${joined} have voted` : to;
    const picked = LETTERS[answer?.right[0] ?? -1] ?? null;
    const verdict = answer && { picked, sentence: answer.text, because: "", numbers: [] };
    const chosen = typeof mine.choice === "number" ? LETTERS[mine.choice] : null;
    this.panel.draw({ ...PANEL, place, sentence, answer: chosen, open: open && verdict !== null, verdict });
    const { options } = this.panel.p;
    options.hidden = !question || question.kind === "cell";
    for (const option of options.querySelectorAll("button")) option.disabled = !isAsked || isProjector;
  }
}

/** @param {Open} open @param {HTMLElement} page @param {"dark" | "light"} theme @param {Record<string, string>} colours of it */
export async function beginRoom(open, page, theme, colours) {
  const phone = new Phone(open, page, theme, colours);
  phone.draw();
  await load().catch(() => {}); // without the course a question of the host's own is asked all the same
  enter();
  phone.draw();
}
