// In a frame of another site: with embed=1 a strip with the origin of the page in place of the bar, and the height of
// the page for its parent, if the server allows that site to frame it (headlight/server/framing.py).

import { h, setAttribute } from "../base/dom.js";
import { omit, read } from "../link/link.js";
import { MAIN } from "../link/navigation.js";

const KEY = "embed"; // 1; Streamlit has a meaning of its own for "true"
const PAUSE = 150; // ms without a change, after which the height is posted
const MIN_LAYOUT_HEIGHT = 640; // pixels of the window that views are laid out for while the parent follows their height
const MIN_HEIGHT = 400; // pixels; less is a page that waits for its picture

const parentWindow = /** @type {any} */ (window).headlightParent ?? window.parent; // boot.js hides it from Streamlit
export const isFramed = parentWindow !== window.self;
const { dataset } = document.documentElement;
if (new URLSearchParams(location.search).get(KEY) === "1") dataset.embed = "";

/** The link to the whole page, in a tab of its own. */
export function makeFullLink() {
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
function parentOrigin() {
  const [ancestor] = /** @type {any} */ (location).ancestorOrigins ?? [];
  return ancestor ?? (document.referrer && new URL(document.referrer).origin);
}

/** The origin that may hear of the height, "" without one. */
function targetOrigin() {
  const sites = JSON.parse(document.getElementById("headlight-framing")?.textContent ?? "[]");
  const origin = isFramed ? parentOrigin() : "";
  return sites.includes(origin) || sites.includes("*") ? origin : "";
}

const target = targetOrigin();
const latest = { height: 0, timer: 0 };

/** Post a height that has changed to the parent, once it rests. @param {Element} page */
function postHeight(page) {
  clearTimeout(latest.timer);
  latest.timer = setTimeout(() => {
    if (document.getElementById("headlight-early")) return postHeight(page); // its picture is still on the way
    const { classList } = document.documentElement;
    const minHeight = classList.contains("learning") ? Number(dataset.height) : MIN_HEIGHT; // a lesson fills its window
    const height = Math.max(minHeight, Math.ceil(page.getBoundingClientRect().height));
    if (height === latest.height || classList.contains("projector")) return; // which fills the window too
    latest.height = height;
    parentWindow.postMessage({ headlight: { height } }, target);
  }, PAUSE);
}

const observer = new ResizeObserver(([{ target }]) => postHeight(target));

/** Follow the height of the page that has just been mounted. */
export function followHeight() {
  const page = target && document.querySelector(`${MAIN} > *`);
  if (!page) return;
  if (!dataset.height) {
    // a page that grew with its window would grow without end
    dataset.height = `${Math.max(MIN_LAYOUT_HEIGHT, innerHeight)}`;
    document.body.style.setProperty("--window", `${dataset.height}px`);
  }
  observer.disconnect();
  observer.observe(page);
}
