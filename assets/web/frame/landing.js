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

/** The thing of a name that can be seen: a keyed container, a part of a view by its class, or a panel by its heading.
 * @param {string} name
 */
function find(name) {
  const question = document.querySelector(".st-key-stage .question")?.parentElement;
  if (question?.dataset.path !== pageNow().path) return undefined; // still the page before
  const views = [...document.querySelectorAll(".st-key-stage *")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  const parts = (/** @type {string} */ selector) => views.flatMap((view) => [...view.querySelectorAll(selector)]);
  const headings = parts(".panel h2").filter(({ textContent }) => slug(textContent) === name);
  const keyed = document.querySelectorAll(`#${name}, .st-key-${name}`);
  const things = [...keyed, ...parts(`.${name}`), ...headings.map((heading) => heading.closest(".panel"))];
  return /** @type {HTMLElement | undefined} */ (things.find((thing) => thing?.getClientRects().length));
}

/** Scroll to what a fragment names, as soon as it is there and until it stays where it is. @param {string} fragment */
function land(fragment) {
  const [, name] = fragment.match(/^#at-([a-z][\w-]*)$/) ?? [];
  if (!name) return;
  latest += 1;
  const mine = latest;
  for (const act of ACTS) addEventListener(act, () => (latest += 1), { once: true, capture: true });
  let [top, steady, polls, landed] = [NaN, 0, 0, false];
  const poll = () => {
    polls += 1;
    if (mine !== latest || polls > MAX_POLLS || steady > STEADY) return;
    setTimeout(poll, POLL_MS);
    const thing = find(name);
    if (!thing) return;
    const fold = thing.closest("details:not([open])")?.firstElementChild;
    if (fold instanceof HTMLElement) fold.click();
    const bar = document.getElementById("headlight-bar")?.getBoundingClientRect().bottom ?? 0;
    const { y, height } = thing.getBoundingClientRect();
    if (y < bar || y + Math.min(height, innerHeight / 2) > innerHeight)
      document.querySelector(MAIN)?.scrollBy(0, y - bar - 12);
    steady = y === top ? steady + 1 : 0;
    top = thing.getBoundingClientRect().y;
    if (landed) return;
    landed = true;
    thing.setAttribute("data-landed", "");
    if (thing.tabIndex < 0) thing.tabIndex = -1;
    thing.focus({ preventScroll: true });
    thing.animate(MARK, 4000);
  };
  poll();
}

/** Land now, and whenever a link with a fragment is followed. */
export function listenToFragments() {
  land(arrival.fragment);
  let before = location.href;
  addEventListener("headlight-address", () => {
    if (location.href === before || location.href.endsWith("#")) return;
    before = location.href;
    land(location.hash);
  });
}
