// A site of static files: mounts the bar, the lesson and the view of each page without Streamlit. The requests of the
// views are answered by responses.js.

import { drawBar, makeTitle } from "../frame/bar.js";
import { followHeight } from "../frame/embedding.js";
import { COLOURS, decode, theme, VIEWS } from "../frame/first.js";
import { openSheet } from "../frame/control_sheet.js";
import { listenToFragments } from "../frame/landing.js";
import { drawPickers } from "../frame/pickers.js";
import { preparePrint } from "../frame/print.js";
import { drawShare } from "../frame/share.js";
import { div, h, transport } from "../base/dom.js";
import { drawViews, views } from "../base/view_base.js";
import { load } from "../lessons/course.js";
import { drawLesson } from "../lessons/lesson.js";
import { descriptions } from "../link/model_name.js";
import { pageNow } from "../link/navigation.js";
import { respond } from "./responses.js";
import { facts, serverSheets } from "./facts.js";
import { keepOffline } from "./offline.js";
import { findRecording } from "./recordings.js";
import siteCss from "./site.css" with { type: "css" };

/** @typedef {import("../frame/first.js").Open} Open */

const SHEET = "sheets/sheet.js";
const stage = div("st-key-stage");
let address = ""; // path of the page in view

/** Colours of the page, as Streamlit sets them. @param {"dark" | "light"} now */
function setTheme(now) {
  const { style } = document.documentElement;
  for (const [key, colour] of Object.entries(COLOURS[now])) style.setProperty(`--st-${key}`, colour);
  drawBar(now);
  drawLesson(now);
  drawViews();
}

/** The first message that the file of the page contains; it is of the page's address without a query. */
function takeFirst() {
  const block = document.getElementById("headlight-first");
  block?.remove();
  return block && !location.search ? decode(block) : null;
}

/** Draw the view of the page. @param {Open} open */
function showPicture(open) {
  const place = div("place");
  stage.append(place);
  const { Kind } = open(`${VIEWS[pageNow().path]}.js`).view;
  const view = new Kind(place.attachShadow({ mode: "open" }));
  view.visit = "site"; // any name: without one a view does not request the panels beneath it
  const message = takeFirst();
  if (message) view.begin(message);
  else view.follow();
}

/** Draw the sheets of a page, each in a place of its key; a title as key folds it.
 * @param {Open} open @param {{key: string, blocks: Block[]}[]} sheets */
function showSheets(open, sheets) {
  const { Kind } = open(SHEET).view;
  for (const { key, blocks } of sheets) {
    const place = div("place");
    if (key.includes(" ")) stage.append(h("details", { class: "folded" }, h("summary", {}, key), place));
    else stage.append(div(`st-key-${key}`, place));
    new Kind(place.attachShadow({ mode: "open" })).onMessage({ visit: "", acknowledged: 0, blocks });
  }
}

/** Draw the page of the address, unless it is in view. @param {Open} open */
async function show(open) {
  const page = pageNow();
  const { path } = page;
  const isAsked = !(path in VIEWS) && location.search.includes("learn="); // each step shows a sheet of its own
  const now = location.pathname + (isAsked ? location.search : "");
  if (address === now) return;
  address = now;
  for (const view of views) view.leave();
  openSheet(false);
  document.title = `${page.title} · Headlight`;
  stage.replaceChildren(h("div", { "data-path": path }, makeTitle(page)));
  drawPickers(page.model && path in VIEWS ? facts.models : [], [], { machine: false, hub: false, page: path });
  drawShare({ page: path, address: location.href, kinds: [], start: "" });
  if (path in VIEWS) return showPicture(open);
  const sheets = await findRecording(`page.${path}`, new URLSearchParams(isAsked ? location.search : "")).then(
    (bytes) => (bytes ? JSON.parse(new TextDecoder().decode(bytes)) : serverSheets(page.title)),
    (/** @type {Error} */ { message }) => [{ key: "problem", blocks: [{ kind: "notices", sentences: [message] }] }],
  );
  if (address === now) showSheets(open, sheets);
}

/** @param {Open} open */
export async function begin(open) {
  const content = h("div", { "data-testid": "stMainBlockContainer" }, stage);
  transport.send = respond;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, siteCss];
  document.body.append(h("main", { id: "stMain", "data-testid": "stMain", tabindex: "-1" }, content));
  for (const [name, title, , summary] of [...facts.models, ...facts.recorded])
    descriptions.set(name, [title, summary ?? ""]);
  if (location.search.includes("learn=")) await load().catch(() => {}); // the curtain must come before the picture
  setTheme(theme());
  addEventListener("headlight-theme", (event) => {
    event.preventDefault();
    setTheme(/** @type {CustomEvent} */ (event).detail);
  });
  addEventListener("popstate", () => show(open));
  preparePrint();
  listenToFragments();
  await show(open);
  followHeight();
  keepOffline();
}
