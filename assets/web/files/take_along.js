// @ts-check
// Take it along: what the page shows as a picture, as numbers, as a file that needs no server, or on paper.

import { themeOf } from "../base/colour.js";
import { button, div, fill, h, setText, urlOf } from "../base/dom.js";
import { read } from "../link/link.js";
import { csvOf, npzOf } from "./numbers_file.js";
import { numbersOfPage } from "./page_numbers.js";
import { views } from "../base/view_base.js";
import { picturesOfPage, pngOf, slideOf, svgOf, textOf } from "./picture_file.js";

/** @typedef {import("../base/view_base.js").Theme} Theme */
/** @typedef {{page: string, routes: string[], link: () => string, code: () => string}} Place name of the
 * page, what its routes answer with, the link to what is seen, and the same as a picture for a camera or ""
 */

const THEMES = /** @type {const} */ (["as shown", "light", "dark"]);
const WAITING = "[data-waiting], [data-pending], [data-late]"; // its numbers are those of an earlier state, or none
const LINES = 6; // to write on, under a picture on paper
const NO_PICTURE = "This page shows no picture.";
const COMING = "The picture is still being computed; try again in a moment.";
const NO_NUMBERS = "This page shows no numbers that make a table.";
const NO_HTML = "This page makes no file of its own: Explore makes one of its picture.";
const KINDS = {
  png: ["PNG", "image/png", "twice as large as on the screen"],
  svg: ["SVG", "image/svg+xml", "shapes and texts that can be edited"],
  slide: ["PNG for a slide", "image/png", "1920 × 1080"],
  csv: ["CSV", "text/csv", "float32, with the tokens"],
  npz: ["NPZ", "application/octet-stream", "float32 arrays for numpy"],
  html: ["HTML file", "text/html", "every head, hover and table, without a server"],
};
/** @typedef {keyof typeof KINDS} Kind */

/** What went wrong, in a sentence for the visitor. */
class Told extends Error {}

/** Hands a file to the browser. @param {BlobPart} content @param {string} name @param {string} type */
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
    this.theme = h(
      "select",
      { "aria-label": "Theme of the picture" },
      ...THEMES.map((theme) => h("option", {}, theme)),
    );
    this.said = h("p", { role: "status" });
    const presses = /** @type {Kind[]} */ (Object.keys(KINDS)).map((kind) =>
      button(KINDS[kind][0], () => this.take(kind), { title: KINDS[kind][2], "data-kind": kind }),
    );
    const print = button("Print", () => this.print(), {
      title: "the picture on paper, with its link",
      "data-kind": "print",
    });
    this.element = h(
      "section",
      { class: "take-along", "aria-label": "Take it along" },
      h("h3", {}, "Take it along"),
      div("choices-of-picture", this.picture, this.theme),
      div("kinds", ...presses, print),
      this.said,
    );
    this.picture.addEventListener("pointerdown", () => this.list());
    this.picture.addEventListener("focus", () => this.list());
    this.list();
  }

  /** The pictures of the page as it is now. */
  list() {
    const found = picturesOfPage();
    fill(this.picture, found, "option", (option, { name }) => setText(option, name));
    this.picture.hidden = found.length < 2;
    return found;
  }

  /** The one that is chosen, also where others have come in front of it since. */
  get chosen() {
    const at = Math.max(0, this.picture.selectedIndex);
    const name = this.picture.options[at]?.textContent;
    const found = this.list();
    const one = found[at]?.name === name ? found[at] : (found.find((own) => own.name === name) ?? found[0]);
    if (!one) throw new Told(NO_PICTURE);
    this.picture.selectedIndex = found.indexOf(one);
    return one;
  }

  /** What stands under the picture: of what it is, and where it is live. @param {string} name */
  caption(name) {
    const title = document.title.split(" · ")[0];
    return { lines: [[title, name, sentenceOfPage()].filter(Boolean).join(" · ")], link: this.place.link() };
  }

  /** @param {Kind} kind */
  async take(kind) {
    setText(this.said, "");
    try {
      const [, type] = KINDS[kind];
      const content = await this.content(kind);
      const name = `headlight-${this.place.page.replaceAll("_", "-")}${kind === "slide" ? "-slide.png" : `.${kind}`}`;
      save(content, name, type);
      setText(this.said, `Saved as ${name}.`);
    } catch (error) {
      const known = error instanceof Told || error instanceof RangeError;
      setText(this.said, known ? error.message : "The file could not be made; try again.");
    }
  }

  /** @param {Kind} kind @returns {Promise<BlobPart>} */
  async content(kind) {
    if (kind === "csv" || kind === "npz") return this.numbers(kind);
    if (kind === "html") return this.fetched(kind, NO_HTML);
    const made = this.drawing(kind === "slide");
    if (kind === "svg") return textOf(made);
    return pngOf(made, kind === "slide" ? 1 : 2);
  }

  /** @param {boolean} asSlide */
  drawing(asSlide) {
    if ([...views].some(({ element }) => element.isConnected && element.matches(WAITING))) throw new Told(COMING);
    const picture = this.chosen;
    const shown = themeOf(this.element);
    const asShown = this.theme.selectedIndex === 0;
    const theme = asShown ? shown : /** @type {Theme} */ (this.theme.value);
    return (asSlide ? slideOf : svgOf)(picture, theme, asShown || theme === shown, this.caption(picture.name));
  }

  /** @param {"csv" | "npz"} kind @returns {Promise<BlobPart>} */
  async numbers(kind) {
    if (this.place.routes.includes(kind)) return this.fetched(kind, NO_NUMBERS);
    const tables = numbersOfPage();
    if (!tables.length) throw new Told(NO_NUMBERS);
    return kind === "csv" ? csvOf(tables) : npzOf(tables);
  }

  /** What the server makes of the link, whole or not at all. @param {string} kind @param {string} none what is said where it makes none */
  async fetched(kind, none) {
    if (!this.place.routes.includes(kind)) throw new Told(none);
    const address = urlOf(`api/${this.place.page}.${kind}?${read()}`);
    const answer = await fetch(address).catch(() => null);
    if (!answer) throw new Told("The server cannot be reached; try again.");
    if (!answer.ok) throw new Told(await answer.text());
    return answer.arrayBuffer();
  }

  print() {
    setText(this.said, "");
    try {
      const made = this.drawing(false);
      printed(made, this.place.code());
    } catch (error) {
      setText(this.said, error instanceof Error ? error.message : "");
    }
  }
}

/** The sentence that the page shows, where it shows one. */
function sentenceOfPage() {
  const link = new URLSearchParams(location.search).get("s");
  const boxes = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => [
    .../** @type {NodeListOf<HTMLInputElement>} */ (
      shadowRoot?.querySelectorAll('input[aria-label^="Sentence"]') ?? []
    ),
  ]);
  return boxes[0]?.value ?? link ?? "";
}

/** Prints a drawing alone, with room to write and the link for a camera (house.css). @param {Element} made @param {string} code */
function printed(made, code) {
  const lines = Array.from({ length: LINES }, () => h("hr"));
  const camera = code ? h("img", { src: code, alt: "QR code of the link", width: 110, height: 110 }) : null;
  const sheet = h("div", { id: "headlight-print" }, made, div("notes", h("div", {}, ...lines), camera));
  document.body.append(sheet);
  document.documentElement.classList.add("printing");
  const end = () => {
    document.documentElement.classList.remove("printing");
    sheet.remove();
  };
  addEventListener("afterprint", end, { once: true });
  window.print();
}
