// The teacher's notes in a window of their own, which follows the step that the class sees and takes the lesson's keys.

import { button, h, urlOf } from "../base/dom.js";

let other = /** @type {Window | null} */ (null);

/** What the notes of a step say, line by line. @param {import("./course.js").Place} place */
export function notesOf({ lesson, step }) {
  const papers = lesson.papers.length ? `To read on: ${lesson.papers.join("; ")}.` : "";
  const notes = [step.teacher, lesson.teacher, papers].filter(Boolean);
  return notes.length ? notes : ["There are no notes on this step."];
}

/** Opens the window, or brings it to the front. @param {(event: KeyboardEvent) => void} key of the lesson */
export function openNotes(key) {
  other = window.open("", "headlight-notes", "popup,width=520,height=680");
  if (!other) return;
  const { document: page } = other;
  page.head.replaceChildren(h("link", { rel: "stylesheet", href: urlOf("lessons/lesson.css").href }));
  page.documentElement.lang = "en";
  other.onkeydown = key;
  other.focus();
}

/** Has the window show what stands beside the class now. @param {import("./course.js").Place | null} place @param {() => void} next */
export function tellNotes(place, next) {
  if (!other || other.closed || !place) return;
  const { lesson, step, at } = place;
  const { document: page } = other;
  page.title = `Notes · ${lesson.title}`;
  page.body.className = "teacher";
  page.body.replaceChildren(
    h("p", {}, `${lesson.title} · step ${at} of ${lesson.steps.length}`),
    h("h1", {}, step.ask),
    ...notesOf(place).map((line) => h("p", { class: "note" }, line)),
    h("p", {}, lesson.steps[at] ? `Then: ${lesson.steps[at].ask}` : `At the end: ${lesson.now_you}`),
    button("show, then go on", next),
  );
}
