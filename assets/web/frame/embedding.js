// In a frame of another site: with embed=1 a strip with the origin of the page in place of the bar, and the height of
// the page for the host, if the server allows that site to frame it (headlight/server/framing.py).

import { h, setAttribute } from "../base/dom.js";
import { omit, read } from "../link/link.js";
import { MAIN } from "../link/navigation.js";

const KEY = "embed"; // 1; Streamlit has a meaning of its own for "true"
const PAUSE = 150; // ms without a change, after which the height is told
const LEAST = 640; // pixels; the lowest window that views are laid out for while the host follows their height
const LOWEST = 400; // pixels; less is a page that waits for its picture

const hostWindow = /** @type {any} */ (window).headlightHost ?? window.parent; // boot.js hides it from Streamlit
export const isFramed = hostWindow !== window.self;
const { dataset } = document.documentElement;
if (new URLSearchParams(location.search).get(KEY) === "1") dataset.embed = "";

/** The link to the whole page, in a tab of its own. */
export function makeOrigin() {
  const link = h("a", { class: "origin", target: "_blank" }, "Headlight · open in full");
  const follow = () => {
    const query = omit(read(), KEY);
    setAttribute(link, "href", location.pathname + (query && `?${query}`));
  };
  addEventListener("headlight-address", follow);
  addEventListener("popstate", follow);
  follow();
  return link;
}

/** The origin of the page around this one, "" if the browser does not tell it. */
function hostOrigin() {
  const [ancestor] = /** @type {any} */ (location).ancestorOrigins ?? [];
  return ancestor ?? (document.referrer && new URL(document.referrer).origin);
}

/** The origin that may hear of the height, "" without one. */
function listener() {
  const sites = JSON.parse(document.getElementById("headlight-framing")?.textContent ?? "[]");
  const origin = isFramed ? hostOrigin() : "";
  return sites.includes(origin) || sites.includes("*") ? origin : "";
}

const origin = listener();
const latest = { height: 0, timer: 0 };

/** Tell the host a height that has changed, once it rests. @param {Element} page */
function tell(page) {
  clearTimeout(latest.timer);
  latest.timer = setTimeout(() => {
    if (document.getElementById("headlight-early")) return tell(page); // its picture is still on the way
    const { classList } = document.documentElement;
    const least = classList.contains("learning") ? Number(dataset.height) : LOWEST; // a lesson fills its window
    const height = Math.max(least, Math.ceil(page.getBoundingClientRect().height));
    if (height === latest.height || classList.contains("projector")) return; // which fills the window too
    latest.height = height;
    hostWindow.postMessage({ headlight: { height } }, origin);
  }, PAUSE);
}

const observer = new ResizeObserver(([{ target }]) => tell(target));

/** Follow the height of the page that has just been mounted. */
export function followHeight() {
  const page = origin && document.querySelector(`${MAIN} > *`);
  if (!page) return;
  if (!dataset.height) {
    // a page that grew with its window would grow without end
    dataset.height = `${Math.max(LEAST, innerHeight)}`;
    document.body.style.setProperty("--window", `${dataset.height}px`);
  }
  observer.disconnect();
  observer.observe(page);
}
