// Export of the page: as a picture, as numbers, as a standalone file, or in print.

import { themeOf } from "../base/colour.js";
import { isDrawn } from "../base/curtain.js";
import { button, div, fetchRoute, h, render, setText, UserError } from "../base/dom.js";
import { views } from "../base/view_base.js";
import { fileNameOf } from "../link/changes.js";
import { read } from "../link/link.js";
import { picturesOfPage, pngOf } from "./picture_file.js";

/** @typedef {{page: string, routes: string[], link: () => string}} Place page: its name; routes: its export routes;
 * link: to the current state
 */

const THEMES = /** @type {const} */ (["as shown", "light", "dark"]);
const WAITING = "[data-waiting], [data-pending], [data-late]"; // the numbers are stale or missing
const NO_PICTURE = "There is no image to download on this page; use Print.";
const COMING = "The picture is still being computed; try again in a moment.";
const KINDS = {
  png: ["PNG", "image/png", "twice the size on the screen"],
  slide: ["PNG for a slide", "image/png", "1920 × 1080"],
  csv: ["CSV", "text/csv", "float32, with the tokens"],
  npz: ["NPZ", "application/octet-stream", "float32 arrays for numpy"],
  html: ["HTML file", "text/html", "every head, with tooltips and tables; needs no server"],
};
/** @typedef {keyof typeof KINDS} Kind */
const OF_SERVER = ["csv", "npz", "html"];

/** Download a file. @param {BlobPart} content @param {string} name @param {string} type */
function save(content, name, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export class TakeAlong {
  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.picture = h("select", { "aria-label": "Picture" });
    const themes = THEMES.map((theme) => h("option", {}, theme));
    this.theme = h("select", { "aria-label": "Theme of the picture" }, ...themes);
    this.status = h("p", { role: "status" });
    this.presses = /** @type {Kind[]} */ (Object.keys(KINDS)).map((kind) =>
      button(KINDS[kind][0], () => this.take(kind), { title: KINDS[kind][2], "data-kind": kind }),
    );
    const print = button("Print", () => window.print(), { title: "print this page", "data-kind": "print" });
    this.element = h(
      "section",
      { class: "take-along", "aria-label": "Download" },
      h("h3", {}, "Download"),
      div("picture-choices", this.picture, this.theme),
      div("kinds", ...this.presses, print),
      this.status,
    );
    this.picture.addEventListener("pointerdown", () => this.list());
    this.picture.addEventListener("focus", () => this.list());
  }

  /** List the pictures of the page and the exports of the server. */
  list() {
    const pictures = picturesOfPage();
    render(this.picture, ...pictures.map(({ name }) => ["option", name]));
    this.picture.hidden = pictures.length < 2;
    for (const press of this.presses) {
      const kind = press.dataset.kind ?? "";
      press.hidden = OF_SERVER.includes(kind) && !this.place.routes.includes(kind);
    }
    return pictures;
  }

  /** The selected picture, also after others were added before it. */
  get selected() {
    const index = Math.max(0, this.picture.selectedIndex);
    const name = this.picture.options[index]?.textContent;
    const pictures = this.list();
    const picture = [pictures[index], ...pictures].find((candidate) => candidate?.name === name) ?? pictures[0];
    if (!picture) throw new UserError(NO_PICTURE);
    this.picture.selectedIndex = pictures.indexOf(picture);
    return picture;
  }

  /** The title of the selected picture; empty under a lesson's curtain, where it may be the answer. */
  get title() {
    const { element } = this.list()[Math.max(0, this.picture.selectedIndex)] ?? {};
    return (isDrawn() ? null : element?.querySelector("h2")?.textContent) ?? "";
  }

  /** @param {Kind} kind */
  async take(kind) {
    setText(this.status, "");
    try {
      const content = await (OF_SERVER.includes(kind)
        ? (await fetchRoute(`api/${this.place.page}.${kind}?${read()}`)).arrayBuffer()
        : this.makePicture(kind));
      const name = `${fileNameOf(this.place.page, this.title, read())}${kind === "slide" ? "-slide.png" : `.${kind}`}`;
      save(content, name, KINDS[kind][1]);
      setText(this.status, `Saved as ${name}.`);
    } catch (error) {
      setText(this.status, error instanceof UserError ? error.message : "The file could not be created; try again.");
    }
  }

  /** @param {Kind} kind */
  makePicture(kind) {
    if ([...views].some(({ element }) => element.isConnected && element.matches(WAITING))) throw new UserError(COMING);
    const picture = this.selected;
    const theme = this.theme.selectedIndex ? /** @type {Theme} */ (this.theme.value) : themeOf(this.element);
    const title = [document.title.split(" · ")[0], picture.name, sentenceOfPage()].filter(Boolean).join(" · ");
    const label = picture.element.querySelector(".titles .label")?.textContent; // with the changes
    const caption = { lines: [title, ...(label ? [label] : []), this.place.link()], theme };
    return pngOf(picture, caption, kind === "slide");
  }
}

/** The sentence of the page, or "". */
function sentenceOfPage() {
  const boxes = [...views].map(({ element }) => element.querySelector("textarea"));
  return boxes.find(Boolean)?.value ?? read().get("s") ?? "";
}
