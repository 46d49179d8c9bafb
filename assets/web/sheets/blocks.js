// The blocks of a sheet (headlight/ui/sheet.py), in the server's order: text, matrices, tables and bars. Each kind makes
// its element once and draws its contents in it.

import { isDrawn } from "../base/curtain.js";
import { isolated } from "../base/token_text.js";
import { setRovingTabindex } from "../base/choice.js";
import { div, fillNotices, h, linked, makeCopy, notices, render, setAttribute, setText } from "../base/dom.js";
import { linkTo } from "../link/navigation.js";
import { drawEquation } from "./equation.js";
import { drawClaims, lessons } from "../lessons/lesson_cards.js";
import { classes, makeListing, updateListing } from "../picture/listing.js";
import { MATRICES } from "./matrix.js";
import { patches } from "./patches.js";
import { explain } from "../base/terms.js";

const IN_ONE_FRAME = 60; // characters of a segmented choice; longer ones are single buttons
const PRESSED = '[aria-pressed="true"]';
const ABOUT_COLOUR = "A stronger colour means that the model gave the token a higher probability.";

/** A kind whose whole element is drawn from its block.
 * @param {"div" | "dl" | "nav" | "ol" | "span"} tag @param {(block: any, sheet: any) => any[]} draw what `render` takes */
const kind = (tag, draw) => ({
  make: () => h(tag),
  update: (element, block, sheet) => render(element, ...draw(block, sheet)),
});

const heading = (text, note) => [
  ["h2", text],
  ["span.label", ...linked(note ?? "")],
];

function makeCode() {
  const code = h("code");
  const copy = makeCopy("copy code", () => code.textContent ?? "");
  return div("", h("pre", { class: "code-lines", tabindex: "0" }, code), div("links", copy, h("a")));
}

/** Lines of code with optional marks, and a file of them. */
function updateCode(element, block) {
  const [lines, file] = element.children;
  const drawLine = (text, index) => [
    "span",
    { class: block.marks.includes(index) && !isDrawn() ? "marked" : null },
    `${text}\n`,
  ];
  const [code] = lines.children;
  const was = !code.firstElementChild || code.querySelector(".marked");
  render(code, ...block.lines.map(drawLine));
  const isLesson = document.documentElement.classList.contains("learning");
  if (isLesson && !was) code.querySelector(".marked")?.scrollIntoView({ block: "nearest" }); // the answer is out
  file.hidden = !block.file;
  const href = `data:text/x-python;charset=utf-8,${encodeURIComponent(lines.textContent)}`;
  setText(Object.assign(file.lastElementChild, { download: block.file, href }), block.file);
}

/** Bars on both sides of a zero line, or from the left edge if none is negative. */
function drawBars({ name, note, labels, sizes, values }) {
  const signed = sizes.some((size) => size < 0);
  const scale = signed ? 50 : 100;
  const drawBar = (label, index) => {
    const size = sizes[index];
    const start = signed ? 50 + Math.min(0, size) * scale : 0;
    const style = `inset-inline-start: ${start}%; width: ${Math.abs(size) * scale}%;`;
    const track = ["span.track", { "aria-hidden": "true" }, ["span", { class: size < 0 ? "less" : "more", style }]];
    return ["li", ["span.bar-label", { title: label }, label], track, ["span.bar-value", values[index]]];
  };
  const room = `${Math.min(14, Math.max(2, ...labels.map((label) => label.length)))}ch`;
  const list = { class: classes("bar-list", signed && "signed"), "aria-label": name, "--label": room };
  return [{ class: "bars" }, ["h3", name], ["ul", list, ...labels.map(drawBar)], ["p.label", { hidden: !note }, note]];
}

function makeButtons() {
  const name = h("span", { class: "label", "aria-hidden": "true" });
  return div("choice", name, h("div", { role: "group" }));
}

function updateButtons(element, { name, buttons, code }, sheet) {
  const [label, group] = element.children;
  setText(label, name);
  element.classList.toggle("code", code);
  const oneOf = buttons.every(({ pressed }) => pressed !== null);
  const isShort = buttons.map(({ text }) => text).join("").length <= IN_ONE_FRAME;
  const acts = buttons.every(({ pressed }) => pressed === null);
  const look = code ? "presets" : acts ? "actions" : oneOf && isShort ? "segments" : "presets";
  const before = [...group.querySelectorAll(PRESSED)];
  const draw = ({ text, event, pressed }) => [
    "button",
    { "aria-pressed": pressed, onclick: () => sheet.tell(event) },
    text,
  ];
  render(group, { class: look, role: "group", "aria-label": name || null }, ...buttons.map(draw));
  if (oneOf) setRovingTabindex(group);
  else {
    for (const child of group.children) child.removeAttribute("tabindex"); // left from a roving tabindex
    group.onkeydown = null;
  }
  // on a phone they are in one line: scroll to the selected one, once
  const pressed = [...group.querySelectorAll(PRESSED)].findLast((press) => !before.includes(press));
  if (pressed && group.scrollWidth > group.clientWidth)
    group.scrollLeft = pressed.offsetLeft - group.offsetLeft - group.clientWidth / 2;
}

/** The prompt and the generated tokens, coloured by probability; pointing or tapping reads one. */
function updateContinuation(element, { given, tokens }) {
  const [text, readout] = element.children;
  const draw = ([before, token, chance, share]) => {
    const sentence = `“${isolated(token)}”: probability ${chance}`;
    const read = () => setText(readout, sentence);
    const mark = ["mark", { title: sentence }, isolated(token)];
    return ["span", { "--share": `${share}%`, onpointerenter: read, onclick: read }, ["span", before], mark];
  };
  render(text, { class: "words" }, ["span.prompt", given], ["span", ...tokens.map(draw)]);
  setText(readout, tokens.length ? ABOUT_COLOUR : "");
}

/** A term with its meaning, and a link to the page where it first occurs. */
const drawTerm = ([name, meaning, path, title]) => [
  "div.term",
  { "data-term": name },
  ["dt", name],
  ["dd", meaning],
  ["dd.first-page", ["a", { href: linkTo(path) }, title]],
];

const PLAIN = {
  title: kind("div", ({ text, note }) => [{ class: "heading" }, ...heading(text, note)]),
  text: {
    make: () => h("p"),
    update: (element, block) => {
      explain(element, block.text);
      setAttribute(element, "class", classes("words", block.muted && "label"));
    },
  },
  continuation: { make: () => div("continuation", h("p"), h("p", { class: "label" })), update: updateContinuation },
  sign: kind("span", ({ text }) => [{ class: "sign" }, text]),
  // the live region exists before its text, so that screen readers announce it
  verdict: kind("div", ({ result, heading, reason }) => [
    { class: "verdict", role: "status", "data-result": result || null },
    ["p.words", heading],
    ["p.words", reason],
  ]),
  notices: { make: notices, update: (element, block) => fillNotices(element, block.sentences) },
  row: {
    make: () => div("side-by-side"),
    update: (element, block, sheet) => {
      for (const kind of ["even", "chain", "columns", "pictures"]) element.classList.toggle(kind, Boolean(block[kind]));
      sheet.place(element, block.blocks);
    },
  },
  panel: {
    make: () => h("section", { class: "panel" }, div("heading"), div("stack")),
    update: (element, block, sheet) => {
      setAttribute(element, "aria-label", block.heading);
      render(element.children[0], { class: "heading" }, ...heading(block.heading, block.note));
      sheet.place(element.children[1], block.blocks);
    },
  },
  table: {
    make: makeListing,
    update: (element, block, sheet) => updateListing(element, block, (sort) => sheet.tell({ sort })),
  },
  terms: kind("dl", ({ long, rows }) => [{ class: classes("terms", long && "long") }, ...rows.map(drawTerm)]),
  links: kind("nav", ({ links }) => [
    { class: "links" },
    ...links.map(([text, path]) => ["a", { href: path.startsWith("https:") ? path : linkTo(path) }, text]),
  ]),
  claims: kind("div", drawClaims),
  lessons,
  equation: kind("div", drawEquation),
  patches,
  bars: kind("div", drawBars),
  buttons: { make: makeButtons, update: updateButtons },
  code: { make: makeCode, update: updateCode },
  // large numbers, each with its derivation from the previous one
  steps: kind("ol", ({ steps }) => [
    { class: "derivation" },
    ...steps.map(([value, origin]) => ["li", ["b", value], ["span.label", origin]]),
  ]),
};

/** @type {Record<string, {make: (panel: BlocksPanel) => HTMLElement, update: (element: HTMLElement, block: any, panel: BlocksPanel) => void}>} */
const KINDS = { ...PLAIN, ...MATRICES };

export class BlocksPanel {
  /** @param {(event: any) => number | void} tell sends an edit or click; returns the number, if any, that `acknowledged`
   * reaches with the response
   */
  constructor(tell = () => {}) {
    this.tell = tell;
    this.acknowledged = 0;
    this.theme = /** @type {Theme} */ ("dark");
    this.stack = div("stack");
    this.element = div("sheet", this.stack); // styled by sheet.css
  }

  /** @param {Block[]} blocks @param {Theme} theme */
  draw(blocks, theme) {
    this.theme = theme;
    this.place(this.stack, blocks);
  }

  /** Draw an element for each block; those of the same kind and name are reused, so that focus and input survive.
   * @param {HTMLElement} parent @param {Block[]} blocks
   */
  place(parent, blocks) {
    const keys = blocks.map((block) => `${block.kind} ${block.name ?? block.heading ?? ""}`);
    const childAt = (/** @type {number} */ index) => /** @type {HTMLElement | undefined} */ (parent.children[index]);
    const keySet = new Set(keys);
    for (const child of [...parent.children])
      if (!keySet.has(/** @type {HTMLElement} */ (child).dataset.block ?? "")) child.remove();
    blocks.forEach((block, index) => {
      let element = childAt(index);
      if (element?.dataset.block !== keys[index]) {
        element = KINDS[block.kind].make(this);
        element.dataset.block = keys[index];
        parent.insertBefore(element, parent.children[index] ?? null);
      }
      KINDS[block.kind].update(element, block, this);
    });
    while (parent.children.length > blocks.length) parent.lastElementChild?.remove();
  }
}
