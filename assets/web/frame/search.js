// The search box of the bar: terms, pages, lessons, claims and controls in one list; `/` opens it.

import { button, div, fetchRoute, h, once, setAttribute, setText, span, svg } from "../base/dom.js";
import { isShortcut, isTyped } from "../base/grid_keys.js";
import { MAIN, visit } from "../link/navigation.js";
import { normalise, search } from "./search_rank.js";
import { isolated } from "../base/token_text.js";

const LIST = "headlight-results";
const MAX_WAIT_MS = 10_000; // for a page to render the result
const LOST = "The search index cannot be loaded: the server does not answer. Close this box and open it again.";

/** Load the index. @type {() => Promise<SearchGroup[]>} */
const loadIndex = once(async () => (await (await fetchRoute("api/search")).json()).groups);

/** The address of a result, with the present query where its group carries it.
 * @param {SearchEntry} entry @param {boolean} carries */
const addressOf = ({ link }, carries) => new URL(`./${link}${carries ? location.search : ""}`, document.baseURI);

/** The document and the shadow roots of the views. @returns {(Document | ShadowRoot)[]} */
const roots = () => [
  document,
  ...[...document.querySelectorAll(`${MAIN} *`)].flatMap(({ shadowRoot }) => shadowRoot ?? []),
];

/** All matching elements of the page and its views. @param {string} selector */
const findAll = (selector) =>
  roots().flatMap((root) => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]));

/** Focus a term or control as soon as its page renders it, and open its folded parents. @param {string} target */
function reveal(target) {
  const key = CSS.escape(target);
  const inControl = `.st-key-${key} :is(input, select, textarea, button)`;
  const selector = `[data-term="${key}"], button[data-key="${key}"], ${inControl}, .pickers .${key} select`;
  const observer = new MutationObserver(focus);
  /** Focus the first visible match; without one, wait for the next change of the page or of a view in it. */
  function focus() {
    const element = findAll(selector).find((match) => match.checkVisibility());
    if (!element) return roots().forEach((root) => observer.observe(root, { childList: true, subtree: true }));
    observer.disconnect();
    if (element.ariaExpanded === "false" && element.dataset.key) element.click();
    if (element.tabIndex < 0) element.tabIndex = -1; // a term is focusable only here
    element.scrollIntoView({ block: "center" });
    return element.focus();
  }
  setTimeout(() => observer.disconnect(), MAX_WAIT_MS);
  focus();
}

class SearchBox {
  constructor() {
    this.groups = /** @type {SearchGroup[]} */ ([]);
    this.options = /** @type {HTMLAnchorElement[]} */ ([]);
    this.active = -1;
    this.input = h("input", {
      dir: "auto",
      type: "text",
      role: "combobox",
      "aria-label": "Search",
      "aria-autocomplete": "list",
      "aria-controls": LIST,
      "aria-expanded": "false",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "Terms, pages, lessons, claims, controls",
      oninput: () => this.draw(),
    });
    this.list = h("div", { id: LIST, role: "listbox", "aria-label": "Results" });
    this.status = h("p", { role: "status" });
    this.element = h(
      "dialog",
      {
        id: "headlight-search",
        "aria-label": "Search",
        onclose: () => this.element.remove(),
        onclick: ({ target }) => target === this.element && this.element.close(),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      },
      div(
        "line",
        makeLens(),
        this.input,
        button("×", () => this.element.close(), { "aria-label": "close the search" }),
      ),
      this.status,
      this.list,
    );
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
    this.options = [];
    this.list.replaceChildren(...results.map(({ group, entries }) => this.makeGroup(group, entries)));
    setAttribute(this.input, "aria-expanded", String(results.length > 0));
    const counts = this.groups.map(({ name, entries }) => `${entries.length} ${name.toLowerCase()}`);
    const summary = `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)} can be searched.`;
    const { length } = this.options;
    const message = length
      ? `${length} ${length === 1 ? "result" : "results"}`
      : `Nothing matches “${isolated(query)}”. ${summary}`;
    setText(this.status, normalise(query) ? message : summary);
    this.activate(0);
  }

  /** @param {SearchGroup} group @param {SearchEntry[]} entries */
  makeGroup({ name, carries }, entries) {
    const id = `${LIST}-${name}`;
    const options = entries.map((entry) => this.makeOption(entry, carries));
    return h("div", { role: "group", "aria-labelledby": id }, span("", name), ...options);
  }

  /** @param {SearchEntry} entry @param {boolean} carries */
  makeOption(entry, carries) {
    const { title, also, text, page } = entry;
    const choose = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      this.choose(entry, carries);
    };
    const option = h(
      "a",
      {
        role: "option",
        id: `${LIST}-${this.options.length}`,
        tabindex: "-1",
        "aria-selected": "false",
        onclick: choose,
      },
      h("strong", {}, title),
      also.length ? span("also", also.join(", ")) : null,
      page === title ? null : span("page", page),
      span("text", text),
    );
    option.href = addressOf(entry, carries).href;
    this.options.push(option);
    return option;
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

const makeLens = () =>
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: "M10 3a7 7 0 1 0 .01 0M15 15l6 6" }));

export function makeSearch() {
  const box = new SearchBox();
  addEventListener("keydown", (event) => {
    const isOther = event.defaultPrevented || isShortcut(event) || isTyped(event); // a token may begin with a slash
    if (event.key !== "/" || isOther || document.querySelector("dialog[open]")) return;
    event.preventDefault(); // no slash in the field
    box.open();
  });
  const title = "search terms, pages, lessons, claims and controls: /";
  const opener = button("", () => box.open(), {
    class: "search-opener",
    "aria-label": "Search",
    title,
    "aria-haspopup": "dialog",
    "aria-keyshortcuts": "/",
  });
  opener.append(makeLens());
  return opener;
}
