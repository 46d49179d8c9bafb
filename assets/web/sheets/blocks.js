// The blocks of a sheet other than matrices. Each kind makes its element once and updates it in place.

import { isDrawn } from "../base/curtain.js";
import { isolated } from "../base/token_text.js";
import { makeCopy } from "../base/dom.js";
import { setRovingTabindex } from "../base/choice.js";
import { button, div, fill, fillNotices, h, notices, setAttribute, setText, setTexts, span } from "../base/dom.js";
import { equation } from "./equation.js";
import { claims, lessons } from "../lessons/lesson_cards.js";
import { classes, makeListing, updateListing } from "../picture/listing.js";
import { patches } from "./patches.js";
import { explain } from "../base/terms.js";

const IN_ONE_FRAME = 60; // characters of a segmented choice; longer ones are single buttons

const heading = () => div("heading", h("h2"), span("label"));

function fillHeading(element, text, note) {
  setTexts(element, text, note);
}

/** Large numbers, each with its derivation from the previous one. */
function updateSteps(element, block) {
  const make = () => h("li", {}, h("b"), span("label"));
  fill(element, block.steps, make, (step, [value, origin]) => {
    setTexts(step, value, origin);
  });
}

function makeCode() {
  const code = h("code");
  const copy = makeCopy("copy code", () => code.textContent ?? "");
  return div("", h("pre", { class: "code-lines", tabindex: "0" }, code), div("links", copy, h("a")));
}

/** Lines of code with optional marks, and a file of them. */
function updateCode(element, block) {
  const [lines, file] = element.children;
  fill(lines.firstElementChild, block.lines, "span", (line, text, index) => {
    setText(line, `${text}\n`);
    setAttribute(line, "class", block.marks.includes(index) && !isDrawn() ? "marked" : null);
  });
  file.hidden = !block.file;
  const href = `data:text/x-python;charset=utf-8,${encodeURIComponent(lines.textContent)}`;
  setText(Object.assign(file.lastElementChild, { download: block.file, href }), block.file);
}

function makeBar() {
  const track = h("span", { class: "track", "aria-hidden": "true" }, h("span"));
  return h("li", {}, span("bar-label"), track, span("bar-value"));
}

/** Bars on both sides of a zero line, or from the left edge if none is negative. */
function updateBars(element, block) {
  const [name, list, note] = element.children;
  setText(name, block.name);
  setText(note, block.note);
  note.hidden = !block.note;
  setAttribute(list, "aria-label", block.name);
  list.style.setProperty("--label", `${Math.min(14, Math.max(2, ...block.labels.map((label) => label.length)))}ch`);
  const signed = block.sizes.some((size) => size < 0);
  setAttribute(list, "class", classes("bar-list", signed && "signed"));
  fill(list, block.labels, makeBar, (item, label, index) => {
    const [tag, track, value] = item.children;
    setText(tag, label);
    setAttribute(tag, "title", label);
    setText(value, block.values[index]);
    const size = block.sizes[index];
    const scale = signed ? 50 : 100;
    const bar = /** @type {HTMLElement} */ (track.firstElementChild);
    setAttribute(bar, "class", size < 0 ? "less" : "more");
    bar.style.insetInlineStart = `${signed ? 50 + Math.min(0, size) * scale : 0}%`;
    bar.style.width = `${Math.abs(size) * scale}%`;
  });
}

function makeButtons() {
  const name = h("span", { class: "label", "aria-hidden": "true" });
  return div("choice", name, h("div", { class: "presets", role: "group" }));
}

function updateButtons(element, block, sheet) {
  const [name, group] = element.children;
  setText(name, block.name);
  element.classList.toggle("code", block.code);
  const oneOf = block.buttons.every(({ pressed }) => pressed !== null);
  const isShort = block.buttons.map(({ text }) => text).join("").length <= IN_ONE_FRAME;
  const acts = block.buttons.every(({ pressed }) => pressed === null);
  const look = block.code ? "presets" : acts ? "actions" : oneOf && isShort ? "segments" : "presets";
  setAttribute(group, "class", look);
  setAttribute(group, "aria-label", block.name || null);
  let pressedButton = /** @type {HTMLElement | null} */ (null);
  fill(group, block.buttons, button, (press, { text, event, pressed }) => {
    setText(press, text);
    press.onclick = () => sheet.tell(event);
    if (pressed && press.getAttribute("aria-pressed") !== "true") pressedButton = press;
    setAttribute(press, "aria-pressed", pressed === null ? null : String(pressed));
  });
  if (oneOf) setRovingTabindex(group);
  else {
    for (const child of group.children) child.removeAttribute("tabindex"); // left from a roving tabindex
    group.onkeydown = null;
  }
  // on a phone they are in one line: scroll to the selected one, once
  if (pressedButton && group.scrollWidth > group.clientWidth)
    group.scrollLeft = pressedButton.offsetLeft - group.offsetLeft - group.clientWidth / 2;
}

function updateLinks(element, block) {
  fill(element, block.links, "a", (link, [text, path]) => {
    setText(link, text);
    setAttribute(link, "href", path.startsWith("https:") ? path : `./${path}`);
  });
}

/** The prompt and the generated tokens, coloured by probability; pointing or tapping reads one. */
function updateContinuation(element, block) {
  const [text, readout] = element.children;
  const [prompt, tokens] = text.children;
  setText(prompt, block.given);
  const sentence = ([, token, chance]) => `“${isolated(token)}”: probability ${chance}`;
  const make = () => h("span", {}, h("span"), h("mark"));
  fill(tokens, block.tokens, make, (element, token) => {
    setTexts(element, token[0], isolated(token[1]));
    setAttribute(element.children[1], "title", sentence(token));
    setAttribute(element, "style", `--share: ${token[3]}%`);
    element.onpointerenter = element.onclick = () => setText(readout, sentence(token));
  });
  setText(
    readout,
    block.tokens.length ? "A stronger colour means that the model gave the token a higher probability." : "",
  );
}

const makeContinuation = () =>
  div("continuation", h("p", { class: "words" }, span("prompt"), h("span")), h("p", { class: "label" }));

const table = {
  make: makeListing,
  update: (element, block, sheet) => updateListing(element, block, (sort) => sheet.tell({ sort })),
};

/** A term with its meaning, and a link to the page where it first occurs. */
const makeTerm = () => div("term", h("dt"), h("dd"), h("dd", { class: "first-page" }, h("a")));

const terms = {
  make: () => h("dl", { class: "terms" }),
  /** @param {HTMLElement} element @param {Block} block */
  update(element, block) {
    element.classList.toggle("long", block.long);
    fill(element, block.rows, makeTerm, (line, [name, meaning, path, title]) => {
      const [word, definition, met] = line.children;
      setAttribute(line, "data-term", name);
      setText(word, name);
      setText(definition, meaning);
      const link = /** @type {HTMLAnchorElement} */ (met.firstElementChild);
      setText(link, title);
      setAttribute(link, "href", `./${path}`);
    });
  },
};

/** A verdict: the live region exists before its text, so that screen readers announce it. */
const verdict = {
  make: () => h("div", { class: "verdict", role: "status" }, h("p", { class: "words" }), h("p", { class: "words" })),
  update: (element, block) => {
    setAttribute(element, "data-result", block.result || null);
    setTexts(element, block.heading, block.reason);
  },
};

export const PLAIN = {
  title: { make: heading, update: (element, block) => fillHeading(element, block.text, block.note) },
  text: {
    make: () => h("p"),
    update: (element, block) => {
      explain(element, block.text);
      setAttribute(element, "class", classes("words", block.muted && "label"));
    },
  },
  continuation: { make: makeContinuation, update: updateContinuation },
  sign: { make: () => span("sign"), update: (element, block) => setText(element, block.text) },
  verdict,
  notices: { make: notices, update: (element, block) => fillNotices(element, block.sentences) },
  row: {
    make: () => div("side-by-side"),
    update: (element, block, sheet) => {
      for (const kind of ["even", "chain", "columns", "pictures"]) element.classList.toggle(kind, Boolean(block[kind]));
      sheet.place(element, block.blocks);
    },
  },
  panel: {
    make: () => h("section", { class: "panel" }, heading(), div("stack")),
    update: (element, block, sheet) => {
      setAttribute(element, "aria-label", block.heading);
      fillHeading(element.children[0], block.heading, block.note);
      sheet.place(element.children[1], block.blocks);
    },
  },
  table,
  terms,
  links: { make: () => h("nav", { class: "links" }), update: updateLinks },
  claims,
  lessons,
  equation,
  patches,
  bars: { make: () => div("bars", h("h3"), h("ul"), h("p", { class: "label" })), update: updateBars },
  buttons: { make: makeButtons, update: updateButtons },
  code: { make: makeCode, update: updateCode },
  steps: { make: () => h("ol", { class: "derivation" }), update: updateSteps },
};
