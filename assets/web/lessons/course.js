// The course: loading it, the step in the address, and progress. The browser stores completed steps; the tab stores
// classroom mode and the chosen route through the course.

import { fetchRoute, once } from "../base/dom.js";
import { store, stored } from "../base/storage.js";
import { linkTo, prerequisites } from "../link/navigation.js";

/** @typedef {{minutes: number, audience: string, steps: string[]}} Way steps: names in order, such as "it.2" */

const DONE = "headlight-lessons"; // localStorage key of completed steps
const WAY = "headlight-way";
const KEY = "learn"; // link parameter

/** @type {CourseMessage | null} */
let course = JSON.parse(document.getElementById("headlight-course")?.textContent ?? "null");

/** Load the course; a page opened by a lesson's link contains it. @type {() => Promise<CourseMessage>} */
export const load = once(async () => (course ??= await (await fetchRoute("api/course")).json()));

prerequisites.lesson = load;

/** The step in the address, such as "it.2"; "" without one. */
export const askedFor = (search = location.search) => new URLSearchParams(search).get(KEY) ?? "";

/** The step with this name; null if it does not exist or is not loaded. @param {string} name @returns {LessonPlace | null} */
export function find(name) {
  const [, id, digits, more] = name.match(/^([\w-]+)\.([1-9]\d?)(\.2)?$/) ?? [];
  const lessons = course?.lessons ?? [];
  const index = lessons.findIndex((lesson) => lesson.id === id);
  const first = lessons[index]?.steps[Number(digits) - 1];
  const step = more && first ? first.second && { ...first, ...first.second } : first;
  if (!step) return null;
  const courseOf = (/** @type {CourseLesson} */ lesson) => `${lesson.claims} ${lesson.course}`;
  const alike = lessons.filter((lesson) => courseOf(lesson) === courseOf(lessons[index]));
  const walked = wayOf(`${id}.${digits}`) ?? alike.map((lesson) => `${lesson.id}.1`);
  const order = [...new Set(walked.map((step) => step.split(".")[0]))];
  const position = { number: order.indexOf(id) + 1, total: order.length };
  return { ...position, lesson: lessons[index], step, at: Number(digits), again: Boolean(more) };
}

/** The name of a step in links: "it.2"; "it.2.2" is its second question. @param {LessonPlace} place */
export const nameOf = ({ lesson, at, again }) => `${lesson.id}.${at}${again ? ".2" : ""}`;

/** The steps of the chosen route, if it contains this one. @param {string} name */
function wayOf(name) {
  const steps = wayKept()?.steps;
  return steps?.includes(name) ? steps : null;
}

/** The reason why a step does not exist, as a sentence. @param {string} name */
export function whyNot(name) {
  const [, id, step] = name.match(/^([\w-]+)\.(\d+)(?:\.2)?$/) ?? [];
  const short = `“${name.slice(0, 40)}”`;
  if (!id) return `The link has ${short}, which is not a lesson and step such as it.2.`;
  const knownLesson = course?.lessons.find((lesson) => lesson.id === id);
  if (!knownLesson) return `There is no lesson “${id.slice(0, 40)}”, which the link asks for.`;
  return `The lesson “${knownLesson.title}” has ${knownLesson.steps.length} steps; the link asks for step ${step.slice(0, 9)}.`;
}

/** The address of a step; null leaves the lesson and keeps the picture. @param {LessonPlace | null} place */
export function addressOf(place) {
  const url = new URL(place ? linkTo(`${place.step.path}?${place.step.query}`) : location.href, document.baseURI);
  url.searchParams.delete(KEY);
  if (place) url.searchParams.set(KEY, nameOf(place));
  return url;
}

/** The previous or next step, across the lessons of its course; null at the end. @param {LessonPlace} place @param {1 | -1} way */
export function neighbour({ lesson, at }, way) {
  const name = `${lesson.id}.${at}`;
  const walked = wayOf(name);
  if (walked) return find(walked[walked.indexOf(name) + way] ?? "");
  if (at + way >= 1 && at + way <= lesson.steps.length) return find(`${lesson.id}.${at + way}`);
  const lessons = course?.lessons ?? [];
  const other = lessons[lessons.findIndex(({ id }) => id === lesson.id) + way];
  return other?.course === lesson.course ? find(`${other.id}.${way > 0 ? 1 : other.steps.length}`) : null;
}

/** Completed steps of this browser: lesson -> steps, counted from 1. @returns {Record<string, number[]>} */
export function done() {
  const lists = Object.entries(stored("localStorage", DONE) ?? {}).filter(([, steps]) => Array.isArray(steps));
  return Object.fromEntries(lists.map(([id, steps]) => [id, steps.filter(Number.isInteger)]));
}

/** Store that a step is completed. @param {LessonPlace} place */
export function markDone({ lesson, at }) {
  const all = done();
  all[lesson.id] = [...new Set([...(all[lesson.id] ?? []), at])].sort((a, b) => a - b);
  store("localStorage", DONE, all);
}

/** @param {Way | null} way null for all lessons in order */
export const keepWay = (way) => store("sessionStorage", WAY, way);

/** The stored route; null without one. @returns {Way | null} */
export function wayKept() {
  const { minutes, audience, steps } = stored("sessionStorage", WAY) ?? {};
  return Array.isArray(steps) ? { minutes, audience, steps: steps.map(String) } : null;
}
