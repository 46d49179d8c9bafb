// @ts-check
// Where the lesson stands: at the end of the page, or beside the step whose question it answers. It is a part of the page
// and not of the view, so the view leaves a gap of its size, and it is put there.

import { setAttribute } from "./dom.js";

/** @typedef {import("./step_panel.js").Side} Side */

const BAR = 60; // pixels of the bar on top

export class LessonPlace {
  constructor() {
    this.side = /** @type {Side | null} */ (null); // beside whose step it stands
    this.lesson = "";
    this.observer = new ResizeObserver(() => this.put());
  }

  /** The lesson on the page. @returns {HTMLElement | null} */
  get element() {
    return document.querySelector(".st-key-lesson_place");
  }

  /** Opens a lesson beside a step, or takes it back to the end of the page. @param {Side} side @param {string} lesson
   * @returns {boolean} whether it is open now
   */
  turn(side, lesson) {
    const opens = this.side !== side || this.lesson !== lesson;
    this.back();
    if (!opens || !this.element) return false;
    Object.assign(this, { side, lesson });
    this.observer.observe(this.element);
    this.put();
    this.bringIntoSight();
    return true;
  }

  /** Where the step in sight asks something else, the lesson goes back. */
  keep() {
    if (this.side?.lesson !== this.lesson || this.side.element.hidden) this.back();
    else this.put();
  }

  /** Puts the lesson over its gap, and makes the gap as high as the lesson. */
  put() {
    const { side, element } = this;
    const parent = element?.offsetParent;
    if (!side || !element || !parent) return;
    const { gap } = side;
    gap.hidden = false;
    setAttribute(side.parts.learn, "aria-expanded", "true");
    element.style.position = "absolute";
    element.style.width = `${gap.clientWidth}px`;
    gap.style.height = `${element.offsetHeight}px`;
    const [at, from] = [gap.getBoundingClientRect(), parent.getBoundingClientRect()];
    element.style.left = `${at.left - from.left + parent.scrollLeft - parent.clientLeft}px`;
    element.style.top = `${at.top - from.top + parent.scrollTop - parent.clientTop}px`;
  }

  /** The step's panel begins under the bar where its lesson does not fit into the window as it is; so does the lesson
   * itself on a phone. The next key goes on in it.
   */
  bringIntoSight() {
    const { side, element } = this;
    if (!side || !element) return;
    const narrow = side.element.closest(".narrow");
    const begin = narrow ? element : side.element;
    Object.assign(element.style, { outline: "none", scrollMarginTop: `${BAR}px` });
    side.element.style.scrollMarginTop = `${BAR}px`;
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    const { top, bottom } = element.getBoundingClientRect();
    if (top >= BAR && bottom <= window.innerHeight) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    begin.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }

  /** Takes the lesson back to the end of the page. */
  back() {
    const { side, element } = this;
    this.observer.disconnect();
    if (element) for (const name of ["position", "width", "left", "top"]) element.style.removeProperty(name);
    if (side) {
      side.gap.hidden = true;
      setAttribute(side.parts.learn, "aria-expanded", "false");
    }
    Object.assign(this, { side: null, lesson: "" });
  }
}
