// A matrix of a sheet: read-only, or of number fields, switches or selectable cells. Arrow keys move between editable
// cells.

import { cssOf, inkOn } from "../base/colour.js";
import { div, fill, h, setAttribute, setAttributes, setText, span } from "../base/dom.js";
import { ARROWS } from "../base/grid_keys.js";
import { isolated } from "../base/token_text.js";

let count = 0;

function makeMatrix() {
  count += 1;
  const header = h("header", {}, h("h3"), span("formula"), span("axes"));
  const table = h("table", {}, h("thead", {}, h("tr")), h("tbody"));
  const reasons = h("div", { class: "reasons", id: `reasons-${count}`, role: "status" });
  return h("section", { class: "matrix" }, header, div("scroll", table), reasons, h("p", { class: "label" }));
}

/** Set the background of a cell and a legible text colour. */
function paint(cell, level = undefined, colour = "", theme = /** @type {"dark" | "light"} */ ("dark")) {
  cell.style.background = cell.style.color = "";
  if (level === undefined) return;
  if (colour === "weights") {
    const as = /** @type {const} */ ([level, theme, "root", 255]); // √ weight, as in the maps
    Object.assign(cell.style, { background: cssOf(...as), color: inkOn(...as) });
  } else if (level) {
    const tint = level < 0 ? "var(--query)" : "var(--accent)";
    cell.style.background = `color-mix(in srgb, ${tint} ${0.3 * Math.abs(level)}%, transparent)`;
  }
}

/** Move the focus with arrow keys; sideways only from the ends of a field's text. */
function walk(event) {
  const from = event.target;
  const free = from.tagName === "BUTTON";
  const isSelected = !free && from.selectionStart === 0 && from.selectionEnd === from.value.length;
  const leave = {
    ArrowLeft: free || isSelected || from.selectionEnd === 0,
    ArrowRight: free || isSelected || from.selectionStart === from.value?.length,
    ArrowUp: true,
    ArrowDown: true,
  };
  if (!leave[event.key] || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const cell = from.closest("td");
  const row = cell.parentElement;
  const [down, right] = ARROWS[event.key];
  const next = row.parentElement.rows[row.sectionRowIndex + down]?.cells[cell.cellIndex + right];
  const field = next?.querySelector("input, button");
  if (!field) return;
  event.preventDefault();
  field.focus();
}

// ---- editable cells: `sent` is the text that the server has, `turn` the number of the pending edit

const control = (element) => {
  const field = Object.assign(element, { sent: "", turn: 0, place: { edit: "", row: 0, col: 0 } });
  field.onkeydown = walk;
  return field;
};

function makeField(sheet) {
  const attributes = { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", size: "6" };
  const field = control(h("input", attributes));
  const commit = () => {
    if (field.value === field.sent) return;
    field.sent = field.value;
    field.turn = sheet.tell({ ...field.place, text: field.value.slice(0, 40) }) ?? 0;
  };
  field.onblur = commit;
  field.onfocus = () => field.select();
  field.onkeydown = (event) => {
    if (event.key === "Enter") commit();
    else if (event.key === "Escape") field.value = field.sent;
    else walk(event);
  };
  return field;
}

/** Update a field, but keep unfinished input and input that the server has not acknowledged. */
function updateField(field, text, sheet) {
  if (field.turn > sheet.acknowledged) return;
  const typing = field.getRootNode().activeElement === field && field.value !== field.sent;
  field.sent = text;
  if (!typing && field.value !== text) field.value = text;
}

function show(field, text, pressed) {
  setText(field, text);
  setAttribute(field, "aria-pressed", String(pressed));
}

function makeSwitch(sheet) {
  const press = control(h("button", { type: "button" }));
  press.onclick = () => {
    const text = press.getAttribute("aria-pressed") === "true" ? "0" : "1";
    show(press, text, text === "1");
    press.turn = sheet.tell({ ...press.place, text }) ?? 0;
  };
  return press;
}

function updateSwitch(field, text, sheet) {
  if (field.turn <= sheet.acknowledged) show(field, text, text === "1");
}

function makeChoice(sheet) {
  const press = control(h("button", { type: "button" }));
  press.onclick = () => sheet.tell({ ...press.place, text: press.textContent });
  return press;
}

/** Update a selectable cell; `aria-pressed` marks the one that the server has framed. */
const updateChoice = (field, text) => show(field, text, field.closest("td").classList.contains("marked"));

function updateHead(element, table, block) {
  const [header, scroll] = element.children;
  const [name, formula, axes] = header.children;
  element.classList.toggle("compact", block.compact);
  setText(name, block.name);
  name.hidden = !block.name;
  setText(formula, block.formula);
  const fillAxis = (pill, [letter, text]) => {
    setText(pill, text);
    setAttribute(pill, "class", `axis ${letter}`);
  };
  fill(axes, block.axes, "span", fillAxis);
  setAttribute(table, "aria-label", block.formula ? `${block.name} = ${block.formula}` : block.name);
  // a read-only matrix is a tab stop to be scrolled; otherwise its fields are
  setAttributes(scroll, { tabindex: block.edit ? null : "0", role: block.edit ? null : "group" });
  setAttribute(scroll, "aria-label", block.edit ? null : block.name);
  const heads = ["", ...block.cols, ...(block.sums ? ["row sum"] : [])];
  const make = (index) => h(index ? "th" : "td", index ? { scope: "col" } : {});
  fill(table.tHead.rows[0], heads, make, (cell, text, index) => {
    setText(cell, isolated(text));
    setAttribute(cell, "title", isolated(text));
    setAttribute(cell, "class", index > block.cols.length ? "sum-head" : (block.axes[1]?.[0] ?? null));
  });
}

/** Update a cell: its number or its control. */
function updateCell(cell, text, place, { block, sheet, kind, reasons, wrong, marked }) {
  const { row, col } = place;
  const [isWrong, isMarked] = [wrong, marked].map((cells) => cells.has(`${row}.${col}`));
  setAttribute(cell, "class", [isWrong && "wrong", isMarked && "marked"].filter(Boolean).join(" ") || null);
  paint(cell, block.levels?.[row][col], block.colour, sheet.theme);
  if (!kind) {
    setText(cell, text);
    return;
  }
  const field = cell.querySelector("input, button") ?? kind.make(sheet);
  if (!field.isConnected) cell.replaceChildren(field);
  field.place = { edit: block.edit, row, col };
  const name = `${block.name}, row ${isolated(block.rows[row])}, column ${isolated(block.cols[col])}`;
  setAttribute(field, "aria-label", field.localName === "button" ? `${name}: ${text}` : name); // the visible text is part of the name, for speech input
  setAttributes(field, { "aria-invalid": isWrong ? "true" : null, "aria-describedby": isWrong ? reasons.id : null });
  if (block.kind === "choice") setAttribute(field, "tabindex", isMarked || !(marked.size + row + col) ? "0" : "-1"); // one tab stop
  kind.update(field, text, sheet);
}

function updateMatrix(element, block, sheet, kind) {
  const [, scroll, reasons, note] = element.children;
  const table = scroll.firstElementChild;
  updateHead(element, table, block);
  const wrong = new Set(block.invalid.map(([i, j]) => `${i}.${j}`));
  const marked = new Set(block.marks.map((pair) => pair.join(".")));
  const context = { block, sheet, kind, reasons, wrong, marked };
  const fillRow = (line, texts, row) => {
    const cells = [isolated(block.rows[row]), ...texts, ...(block.sums ? [block.sums[row]] : [])];
    const make = (index) => (index ? h("td") : h("th", { scope: "row" }));
    fill(line, cells, make, (cell, text, index) => {
      if (index && index <= texts.length) return updateCell(cell, text, { row, col: index - 1 }, context);
      setText(cell, text);
      setAttributes(cell, { title: index ? null : text, class: index ? "sum-cell" : block.axes[0]?.[0] });
      if (index) paint(cell);
    });
  };
  fill(table.tBodies[0], block.cells, "tr", fillRow);
  const sentence = (line, [i, j, reason]) =>
    setText(line, `${isolated(block.rows[i])}, ${isolated(block.cols[j])}: ${reason}`);
  fill(reasons, block.invalid, "p", sentence);
  setText(note, block.note);
  note.hidden = !block.note;
}

const matrix = (kind) => ({
  make: makeMatrix,
  update: (element, block, sheet) => updateMatrix(element, block, sheet, kind),
});

export const MATRICES = {
  matrix: matrix(null),
  number: matrix({ make: makeField, update: updateField }),
  choice: matrix({ make: makeChoice, update: updateChoice }),
  switch: matrix({ make: makeSwitch, update: updateSwitch }),
};
