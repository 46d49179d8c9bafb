// The cards of all lessons with their progress, and the routes through them by time and audience; and the claims, of which
// the next one is answered here.

import { done, keepWay, wayKept } from "./course.js";
import { answerStep } from "./lesson.js";
import { fillChoice, group } from "../base/choice.js";
import { div, h, linked, render } from "../base/dom.js";
import { isSite, linkTo } from "../link/navigation.js";

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

/** @param {Card} card @param {number} number @param {number[]} steps of the route; [] for all
 * @param {boolean} isFirst first visible card
 */
function drawCard(card, number, steps, isFirst) {
  const doneSteps = card.steps.flatMap((address, index) => (isDone(address) ? index + 1 : []));
  const open = card.steps.findIndex((address) => !isDone(address)) + 1 || 1;
  const current = !steps.length || steps.includes(open) ? open : steps[0];
  const part = steps.length && steps.length < card.steps.length ? ` · in this plan: steps ${steps.join(", ")}` : "";
  const size = `${card.minutes} minutes · ${card.steps.length} ${card.id ? "steps" : "claims"}${part}`;
  const about = `${card.id ? `Lesson ${number} · ` : ""}${size} · ${card.audiences.join(", ")}`;
  const handout = new URL(`./handout?lesson=${encodeURIComponent(card.id)}`, new URL("./", location.href)).href;
  const label =
    doneSteps.length === card.steps.length
      ? "done ✓"
      : `${doneSteps.length} of ${card.steps.length} done, continue at step ${current}`;
  const marks = card.steps.map((_, step) => ["i", { "data-done": doneSteps.includes(step + 1) ? "" : null }]);
  const paper = { href: handout, target: "_blank", rel: "noopener", hidden: !card.id || isSite };
  return [
    "li.lesson.panel",
    ["p.step-position.label", ["span.next-step", isFirst && !doneSteps.length ? "Start here" : ""], ["span", about]],
    ["h2", ["a.start-link", { href: linkTo(card.id ? card.steps[current - 1] : "claims") }, card.title]],
    ["p", card.objective],
    [
      "p.done",
      ["span.marks", { "aria-hidden": "true" }, ...marks],
      ["span", doneSteps.length ? label : "not started"],
      ["a", paper, "printable handout"],
    ],
  ];
}

/** The button of a route: its number of lessons, its minutes, and a link to its first open step.
 * @param {{card: Card, at: number[]}[]} walked lessons and their steps
 */
function drawStart(walked) {
  const minutes = walked.reduce((sum, { card, at }) => sum + (card.minutes * at.length) / card.steps.length, 0);
  const all = walked.flatMap(({ card, at }) => at.map((step) => ({ card, step })));
  const next = all.find(({ card, step }) => !done()[card.id]?.includes(step)) ?? all[0];
  const text = `Start (${walked.length} ${walked.length > 1 ? "lessons" : "lesson"}, ${Math.round(minutes)} min)`;
  return [{ href: next && linkTo(next.card.steps[next.step - 1]), hidden: !next }, text];
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
  render(begin, ...drawStart(way ? walked : []));
  keepWay(way ? { minutes: way.minutes, audience: way.audience, steps: stepNames } : null);
  render(list, ...visible.map(({ card, number, steps }, index) => drawCard(card, number, steps, !index && !course)));
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

/** The next claim without an answer in this browser, in large type, above the list of all.
 * @param {{groups: [title: string, claims: Claim[]][]}} block */
export function drawClaims({ groups }) {
  const all = groups.flatMap(([, claims]) => claims);
  const next = all.find(([, , address]) => !isDone(address)) ?? all[0];
  if (!next) return [{ class: "claims" }, ["p", "This site has lessons without claims."]];
  const [question, source, address] = next;
  const count = all.filter(([, , address]) => isDone(address)).length;
  // the choices of every claim, by their letters
  const answers = ["True", "False", "It depends"].map((text, index) => {
    const onclick = () => answerStep(stepOf(address), "ABC"[index], address);
    return ["button", { onclick }, text];
  });
  const drawClaim = (/** @type {Claim} */ [question, source, address, page]) => {
    const link = ["a.claim", { href: linkTo(address) }, question];
    return ["li", link, ["p.label", ...linked(`${source} · ${page}${isDone(address) ? " · answered ✓" : ""}`)]];
  };
  const panels = groups.map(([title, claims]) => ["section.panel", ["h2", title], ["ul", ...claims.map(drawClaim)]]);
  return [
    { class: "claims" },
    [
      "div.panel.next-claim",
      ["p.label", `Claim ${all.indexOf(next) + 1} of ${all.length} · ${count} answered`],
      ["h2", question],
      ["p.source", ...linked(source)],
      ["div.answers", ...answers],
    ],
    ["div.side-by-side.columns", ...panels],
  ];
}
