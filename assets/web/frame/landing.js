// A link whose fragment names a thing of a page, as #at-timing_panel, lands on it: scrolled into view below the bar,
// marked for a moment, and in focus, so that the keyboard goes on from there.

import { arrival, MAIN, pageNow } from "../link/navigation.js";

const POLL_MS = 100;
const MAX_POLLS = 200; // until a slow page is given up
const STEADY = 12; // polls at one place after which nothing above it will grow any more
const RING = { outline: "3px solid var(--accent)", outlineOffset: "3px" };
const MARK = [RING, RING, { ...RING, outlineColor: "transparent" }];
const ACTS = ["wheel", "touchstart", "pointerdown", "keydown"]; // after which the visitor scrolls, not the page

let latest = 0;

/** @param {string | null} heading */
const slug = (heading) =>
  (heading ?? "")
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.join("-");

/** All matching elements of the page and of the views in it. @param {string} selector */
export function findAll(selector) {
  const shadows = [...document.querySelectorAll(`${MAIN} *`)].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  return [document, ...shadows].flatMap((root) => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]));
}

/** The things of a name: keyed containers, parts of a view by their class, and panels by their headings.
 * @param {string} name
 */
function thingsOf(name) {
  const question = document.querySelector(".st-key-stage .question")?.parentElement;
  if (question?.dataset.path !== pageNow().path) return []; // still the page before
  const headings = findAll(".st-key-stage .panel h2, .view .panel h2").filter(
    ({ textContent }) => slug(textContent) === name,
  );
  const panels = headings.flatMap((heading) => /** @type {HTMLElement} */ (heading.closest(".panel")) ?? []);
  return [...findAll(`#${name}, .st-key-${name}`), ...findAll(`.view .${name}, .view.${name}`), ...panels];
}

/** Go to the first visible thing, as soon as it is there and until it stays where it is: it is scrolled into view below
 * the bar, marked for a moment, and in focus.
 * @param {() => HTMLElement[]} things
 */
export function land(things) {
  latest += 1;
  const mine = latest;
  for (const act of ACTS) addEventListener(act, () => (latest += 1), { once: true, capture: true });
  let [top, steady, polls, landed] = [NaN, 0, 0, false];
  const poll = () => {
    polls += 1;
    if (mine !== latest || polls > MAX_POLLS || steady > STEADY) return;
    setTimeout(poll, POLL_MS);
    const thing = things().find((candidate) => candidate.getClientRects().length);
    if (!thing) return;
    const fold = thing.closest("details:not([open])")?.firstElementChild;
    if (fold instanceof HTMLElement) fold.click();
    const bar = document.getElementById("headlight-bar");
    const edge = bar?.getBoundingClientRect().bottom ?? 0;
    const { y, height } = thing.getBoundingClientRect();
    const isCut = y < edge || y + Math.min(height, innerHeight / 2) > innerHeight;
    if (isCut && !bar?.contains(thing)) document.querySelector(MAIN)?.scrollBy(0, y - edge - 12);
    steady = y === top ? steady + 1 : 0;
    top = thing.getBoundingClientRect().y;
    if (landed) return;
    landed = true;
    if (thing.ariaExpanded === "false" && thing.dataset.key) thing.click(); // a control in a panel of its own
    thing.setAttribute("data-landed", "");
    if (thing.tabIndex < 0) thing.tabIndex = -1;
    thing.focus({ preventScroll: true });
    thing.animate(MARK, 4000);
  };
  poll();
}

/** @param {string} fragment */
function landAt(fragment) {
  const [, name] = fragment.match(/^#at-([a-z][\w-]*)$/) ?? [];
  if (name) land(() => thingsOf(name));
}

/** Land now, and whenever a link with a fragment is followed. */
export function listenToFragments() {
  landAt(arrival.fragment);
  let before = location.href;
  addEventListener("headlight-address", () => {
    if (location.href === before || location.href.endsWith("#")) return;
    before = location.href;
    landAt(location.hash);
  });
}
