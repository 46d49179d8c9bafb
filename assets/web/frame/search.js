// The search box of the bar: terms, questions, pages, lessons, claims and controls in one list; `/` opens it.

import { button, fetchRoute, h, once, render, setAttribute, setText } from "../base/dom.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { linkTo, visit } from "../link/navigation.js";
import { findAll, land } from "./landing.js";
import { normalise, search } from "./search_rank.js";
import { isolated } from "../base/token_text.js";

const LIST = "headlight-results";
const LENS = [
  "svg",
  { viewBox: "0 0 24 24", "aria-hidden": "true" },
  ["path", { d: "M10 3a7 7 0 1 0 .01 0M15 15l6 6" }],
];
const LOST = "The search index cannot be loaded: the server does not answer. Close this box and open it again.";

/** Load the index. @type {() => Promise<SearchGroup[]>} */
const loadIndex = once(async () => (await (await fetchRoute("api/search")).json()).groups);

/** The address of a result, with the present query where its group carries it.
 * @param {SearchEntry} entry @param {boolean} carries */
const addressOf = ({ link }, carries) => new URL(linkTo(link + (carries ? location.search : "")), document.baseURI);

/** Go to a term or a control, as soon as its page renders it. @param {string} target */
function reveal(target) {
  const key = CSS.escape(target);
  const inControl = `.st-key-${key} :is(input, select, textarea, button)`;
  land(() => findAll(`[data-term="${key}"], button[data-key="${key}"], ${inControl}, .pickers .${key} select`));
}

class SearchBox {
  constructor() {
    this.groups = /** @type {SearchGroup[]} */ ([]);
    this.options = /** @type {HTMLAnchorElement[]} */ ([]);
    this.active = -1;
    const aria = {
      "aria-label": "Search",
      "aria-autocomplete": "list",
      "aria-controls": LIST,
      "aria-expanded": "false",
    };
    const typed = { type: "text", role: "combobox", dir: "auto", autocomplete: "off", spellcheck: "false" };
    const placeholder = "Terms, questions, pages, lessons, claims, controls";
    this.input = h("input", { ...typed, ...aria, placeholder, oninput: () => this.draw() });
    this.list = h("div", { id: LIST, role: "listbox", "aria-label": "Results" });
    this.status = h("p", { role: "status" });
    this.element = h("dialog", {
      id: "headlight-search",
      "aria-label": "Search",
      onclose: () => this.element.open || this.element.remove(), // it may be open again before the event comes
      onclick: ({ target }) => target === this.element && this.element.close(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    const close = ["button", { onclick: () => this.element.close(), "aria-label": "close the search" }, "×"];
    render(this.element, ["div.line", LENS, this.input, close], this.status, this.list);
  }

  async open() {
    if (this.element.open) return;
    document.body.append(this.element);
    this.element.className = document.getElementById("headlight-bar")?.className ?? "";
    this.element.showModal();
    this.input.select();
    this.input.focus();
    try {
      this.groups = await loadIndex();
    } catch {
      return setText(this.status, LOST);
    }
    return this.draw();
  }

  draw() {
    const query = this.input.value;
    const results = search(this.groups, query);
    let count = 0;
    const drawGroup = (
      /** @type {{group: SearchGroup, entries: SearchEntry[]}} */ { group: { name, carries }, entries },
    ) => {
      const id = `${LIST}-${name}`;
      const options = entries.map((entry) => this.drawOption(entry, carries, count++));
      return ["div", { role: "group", "aria-labelledby": id }, ["span", { id }, name], ...options];
    };
    render(this.list, ...results.map(drawGroup));
    this.options = [...this.list.querySelectorAll("a")];
    setAttribute(this.input, "aria-expanded", results.length > 0);
    const counts = this.groups.map(({ name, entries }) => `${entries.length} ${name.toLowerCase()}`);
    const summary = `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)} can be searched.`;
    const { length } = this.options;
    const message = length
      ? `${length} ${length === 1 ? "result" : "results"}`
      : `Nothing matches “${isolated(query)}”. ${summary}`;
    setText(this.status, normalise(query) ? message : summary);
    this.activate(0);
  }

  /** @param {SearchEntry} entry @param {boolean} carries @param {number} index */
  drawOption(entry, carries, index) {
    const { title, also, text, page } = entry;
    const onclick = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      this.choose(entry, carries);
    };
    const state = { role: "option", id: `${LIST}-${index}`, tabindex: "-1", "aria-selected": false };
    const names = [also.length && ["span.also", also.join(", ")], page !== title && ["span.page", page]];
    const { href } = addressOf(entry, carries);
    return ["a", { ...state, href, onclick }, ["strong", title], ...names.filter(Boolean), ["span.text", text]];
  }

  /** Highlight the option that Enter chooses. @param {number} index */
  activate(index) {
    this.options[this.active]?.setAttribute("aria-selected", "false");
    const option = this.options[index];
    this.active = option ? index : -1;
    setAttribute(this.input, "aria-activedescendant", option?.id);
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation(); // no shortcut of the page
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const { length } = this.options;
    if (event.isComposing || !length || event.target !== this.input) return;
    if (step) this.activate((this.active + step + length) % length);
    else if (event.key === "Enter") this.options[this.active].click();
    else return;
    event.preventDefault();
  }

  /** @param {SearchEntry} entry @param {boolean} carries */
  choose(entry, carries) {
    this.element.close();
    dispatchEvent(new Event("headlight-leave")); // views write pending changes to the address
    const url = addressOf(entry, carries);
    if (!carries || url.pathname !== location.pathname) visit(url, carries);
    if (entry.target) reveal(entry.target);
  }
}

export function makeSearch() {
  const box = new SearchBox();
  addEventListener("keydown", (event) => {
    const isOther = event.defaultPrevented || isShortcut(event) || isTyped(event); // a token may begin with a slash
    if (event.key !== "/" || isOther || document.querySelector("dialog[open]")) return;
    event.preventDefault(); // no slash in the field
    box.open();
  });
  const title = "search terms, questions, pages, lessons, claims and controls: /";
  const opener = button("", () => box.open(), {
    class: "search-opener",
    "aria-label": "Search",
    title,
    "aria-haspopup": "dialog",
    "aria-keyshortcuts": "/",
  });
  render(opener, LENS);
  return opener;
}
