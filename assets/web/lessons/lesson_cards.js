// The cards of all lessons with their progress, and the routes through them by time and audience; and the claims, of which
// the next one is answered here.

import { done, keepWay, wayKept } from "./course.js";
import { answerStep } from "./lesson.js";
import { fillChoice, group } from "../base/choice.js";
import { div, fill, h, setAttribute, setText, setTexts, span } from "../base/dom.js";

/** @typedef {{id: string, course: string, title: string, objective: string, minutes: number, steps: string[], audiences: string[]}} Card id: "" for the claims; course: "" for the first one; steps: addresses */
/** @typedef {{minutes: number, audience: string, lessons: Record<string, number[]>}} Way lesson -> its steps, [] for all */

const EVERY = "all lessons";

/** The name of the step at an address, as "heads.2". @param {string} address */
const stepOf = (address) => new URLSearchParams(address.split("?")[1]).get("learn") ?? "";

/** Whether a step was completed in this browser. @param {string} address */
function isDone(address) {
  const [id, at] = stepOf(address).split(".");
  return Boolean(done()[id]?.includes(Number(at)));
}

function makeCard() {
  const progress = h("p", { class: "step-position label" }, span("next-step"), h("span"));
  const title = h("h2", {}, h("a", { class: "start-link" }));
  const paper = h("a", { target: "_blank", rel: "noopener" }, "printable handout");
  const done = h("p", { class: "done" }, h("span", { class: "marks", "aria-hidden": "true" }), h("span"), paper);
  return h("li", { class: "lesson panel" }, progress, title, h("p"), done);
}

/** @param {Element} place @param {Card} card @param {number} number @param {number[]} steps of the route; [] for all
 * @param {boolean} isFirst first visible card
 */
function updateCard(place, card, number, steps, isFirst) {
  const doneSteps = card.steps.flatMap((address, index) => (isDone(address) ? index + 1 : []));
  const open = card.steps.findIndex((address) => !isDone(address)) + 1 || 1;
  const current = !steps.length || steps.includes(open) ? open : steps[0];
  const [position, title, aim, progress] = place.children;
  const link = /** @type {HTMLAnchorElement} */ (title.firstElementChild);
  const part = steps.length && steps.length < card.steps.length ? ` · in this plan: steps ${steps.join(", ")}` : "";
  setText(position.children[0], isFirst && !doneSteps.length ? "Start here" : "");
  const size = `${card.minutes} minutes · ${card.steps.length} ${card.id ? "steps" : "claims"}${part}`;
  setText(position.children[1], `${card.id ? `Lesson ${number} · ` : ""}${size} · ${card.audiences.join(", ")}`);
  setText(link, card.title);
  const handout = new URL(`./handout?lesson=${encodeURIComponent(card.id)}`, new URL("./", location.href)).href;
  setAttribute(progress.children[2], "href", handout);
  progress.children[2].toggleAttribute("hidden", !card.id);
  setText(aim, card.objective);
  setAttribute(link, "href", card.id ? `./${card.steps[current - 1]}` : "./claims");
  fill(progress.children[0], card.steps, "i", (mark, _, step) =>
    setAttribute(mark, "data-done", doneSteps.includes(step + 1) ? "" : null),
  );
  const label =
    doneSteps.length === card.steps.length
      ? "done ✓"
      : `${doneSteps.length} of ${card.steps.length} done, continue at step ${current}`;
  setText(progress.children[1], doneSteps.length ? label : "not started");
}

/** The button of a route: its number of lessons, its minutes, and a link to its first open step.
 * @param {Element} place @param {{card: Card, at: number[]}[]} walked lessons and their steps
 */
function drawStart(place, walked) {
  const minutes = walked.reduce((sum, { card, at }) => sum + (card.minutes * at.length) / card.steps.length, 0);
  const all = walked.flatMap(({ card, at }) => at.map((step) => ({ card, step })));
  const next = all.find(({ card, step }) => !done()[card.id]?.includes(step)) ?? all[0];
  setText(place, `Start (${walked.length} ${walked.length > 1 ? "lessons" : "lesson"}, ${Math.round(minutes)} min)`);
  setAttribute(place, "href", next && `./${next.card.steps[next.step - 1]}`);
  place.toggleAttribute("hidden", !next);
}

/** The last choice; it outlives a change of page. @type {{minutes: number | string, audience: string} | null} */
let last = null;

/** @param {Element} element @param {{cards: Card[], ways: Way[]}} block */
function update(element, block) {
  const { cards, ways } = block;
  last ??= wayKept() ?? { minutes: EVERY, audience: ways[0]?.audience ?? "" };
  const choice = last;
  const [times, audiences, begin, list] = element.children;
  const choose = (/** @type {object} */ change) => {
    Object.assign(choice, change);
    update(element, block);
  };
  const minutes = [...new Set(ways.map((way) => way.minutes))];
  const people = [...new Set(ways.filter((way) => way.minutes === choice.minutes).map(({ audience }) => audience))];
  if (people.length && !people.includes(choice.audience)) choice.audience = people[0];
  const courses = [...new Set(cards.map(({ course }) => course))].filter(Boolean);
  const spans = [EVERY, ...minutes, ...courses];
  const texts = [EVERY, ...minutes.map((count) => `${count} minutes`), ...courses];
  fillChoice(times, texts, spans.indexOf(choice.minutes), (index) => choose({ minutes: spans[index] }));
  fillChoice(audiences, people, people.indexOf(choice.audience), (index) => choose({ audience: people[index] }));
  const way = ways.find((path) => path.minutes === choice.minutes && path.audience === choice.audience);
  const course = courses.find((name) => name === choice.minutes) ?? "";
  const ofCourse = way ? cards : cards.filter((card) => card.course === course);
  const numbered = ofCourse.map((card, index) => ({ card, number: index + 1, steps: way?.lessons[card.id] ?? [] }));
  const visible = numbered.filter(({ card }) => !way || card.id in way.lessons);
  const walked = visible.map(({ card, steps }) => ({
    card,
    at: steps.length ? steps : card.steps.map((_, n) => n + 1),
  }));
  const stepNames = walked.flatMap(({ card, at }) => at.map((step) => `${card.id}.${step}`));
  drawStart(begin, way ? walked : []);
  keepWay(way ? { minutes: way.minutes, audience: way.audience, steps: stepNames } : null);
  fill(list, visible, makeCard, (place, { card, number, steps }, index) =>
    updateCard(place, card, number, steps, !index),
  );
}

function make() {
  return div(
    "course",
    group("Time"),
    group("For"),
    h("a", { class: "start", hidden: "" }),
    h("ol", { class: "cards" }),
  );
}

export const lessons = { make, update };

/** @typedef {[question: string, source: string, address: string, page: string]} Claim */

/** The next claim without an answer in this browser, in large type, above the list of all. */
export const claims = {
  make() {
    const parts = [h("p", { class: "label" }), h("h2"), h("p", { class: "source" }), div("answers")];
    return div("claims", div("panel next-claim", ...parts), div("side-by-side columns"));
  },
  /** @param {Element} element @param {{groups: [title: string, claims: Claim[]][]}} block */
  update({ children: [large, list] }, { groups }) {
    const all = groups.flatMap(([, claims]) => claims);
    const next = all.find(([, , address]) => !isDone(address)) ?? all[0];
    const [question, source, address] = next;
    const count = all.filter(([, , address]) => isDone(address)).length;
    setTexts(large, `Claim ${all.indexOf(next) + 1} of ${all.length} · ${count} answered`, question, source);
    // the choices of every claim, by their letters
    fill(large.children[3], ["True", "False", "It depends"], "button", (press, text, index) => {
      setText(press, text);
      press.onclick = () => answerStep(stepOf(address), "ABC"[index], address);
    });
    const makeClaim = () => h("li", {}, h("a", { class: "claim" }), h("p", { class: "label" }));
    const makePanel = () => h("section", { class: "panel" }, h("h2"), h("ul"));
    fill(list, groups, makePanel, (panel, [title, claims]) => {
      setText(panel.children[0], title);
      fill(panel.children[1], claims, makeClaim, (line, [question, source, address, page]) => {
        setTexts(line, question, `${source} · ${page}${isDone(address) ? " · answered ✓" : ""}`);
        setAttribute(line.children[0], "href", `./${address}`);
      });
    });
  },
};
