// A matrix of a sheet: read-only, or of number fields, switches or selectable cells. Arrow keys move between editable
// cells.

import { tintOf } from "../base/colour.js";
import { div, h, render, setAttribute, setAttributes, setText } from "../base/dom.js";
import { ARROWS } from "../base/grid_keys.js";
import { isolated } from "../base/token_text.js";

let count = 0;

function makeMatrix() {
  count += 1;
  const reasons = h("div", { class: "reasons", id: `reasons-${count}`, role: "status" });
  const parts = [h("header"), div("scroll", h("table")), reasons, h("p", { class: "label" })];
  return Object.assign(h("section", { class: "matrix" }, ...parts), { fields: new Map() });
}

/** The background of a cell and a legible text colour. @returns {string | null} */
function styleOf(level, colour, theme) {
  if (colour === "weights" && level !== undefined) return tintOf(level, theme, "root", 255); // √ weight, as in the maps
  const tint = level < 0 ? "var(--query)" : "var(--accent)";
  return level ? `background: color-mix(in srgb, ${tint} ${0.3 * Math.abs(level)}%, transparent)` : null;
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
  setAttribute(field, "aria-pressed", pressed);
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

/** The control of a cell, made once. `isPressed` marks the cell that the server has framed. */
function fieldOf({ fields, children }, kind, block, sheet, { row, col, text, isWrong, isMarked, isStop }) {
  const id = `${row}.${col}`;
  const field = fields.get(id) ?? kind.make(sheet);
  fields.set(id, field);
  field.place = { edit: block.edit, row, col };
  const name = `${block.name}, row ${isolated(block.rows[row])}, column ${isolated(block.cols[col])}`;
  setAttribute(field, "aria-label", field.localName === "button" ? `${name}: ${text}` : name); // the visible text is part of the name, for speech input
  setAttributes(field, {
    "aria-invalid": isWrong ? "true" : null,
    "aria-describedby": isWrong ? children[2].id : null,
  });
  if (block.kind === "choice") setAttribute(field, "tabindex", isStop ? "0" : "-1"); // one tab stop
  kind.update(field, text, sheet, isMarked);
  return field;
}

function updateMatrix(element, block, sheet, kind) {
  const { name, formula, axes, rows, cols, sums, edit, invalid } = block;
  const [header, scroll, reasons, note] = element.children;
  element.classList.toggle("compact", block.compact);
  const pills = axes.map(([letter, text]) => ["span", { class: `axis ${letter}` }, text]);
  render(header, ["h3", { hidden: !name }, name], ["span.formula", formula], ["span.axes", ...pills]);
  // a read-only matrix is a tab stop to be scrolled; otherwise its fields are
  setAttributes(scroll, { tabindex: edit ? null : "0", role: edit ? null : "group", "aria-label": edit ? null : name });
  const wrong = new Set(invalid.map(([i, j]) => `${i}.${j}`));
  const marked = new Set(block.marks.map((pair) => pair.join(".")));
  const drawCell = (text, row, col) => {
    const [isWrong, isMarked] = [wrong, marked].map((cells) => cells.has(`${row}.${col}`));
    const kinds = [isWrong && "wrong", isMarked && "marked"].filter(Boolean).join(" ") || null;
    const style = styleOf(block.levels?.[row][col], block.colour, sheet.theme);
    const cell = { row, col, text, isWrong, isMarked, isStop: isMarked || !(marked.size + row + col) };
    return ["td", { class: kinds, style }, kind ? fieldOf(element, kind, block, sheet, cell) : text];
  };
  const drawHead = (text, index) => {
    const props = { class: index >= cols.length ? "sum-head" : axes[1]?.[0], title: isolated(text) };
    return ["th", { ...props, scope: "col" }, isolated(text)];
  };
  const drawRow = (texts, row) => {
    const label = isolated(rows[row]);
    const sum = sums ? [["td.sum-cell", sums[row]]] : [];
    const cells = texts.map((text, col) => drawCell(text, row, col));
    return ["tr", ["th", { scope: "row", title: label, class: axes[0]?.[0] }, label], ...cells, ...sum];
  };
  const heads = [...cols, ...(sums ? ["row sum"] : [])].map(drawHead);
  const table = { "aria-label": formula ? `${name} = ${formula}` : name };
  const body = block.cells.map(drawRow);
  render(scroll.firstElementChild, table, ["thead", ["tr", ["td"], ...heads]], ["tbody", ...body]);
  const lines = invalid.map(([i, j, reason]) => ["p", `${isolated(rows[i])}, ${isolated(cols[j])}: ${reason}`]);
  render(reasons, ...lines);
  render(note, { hidden: !block.note }, block.note);
}

const matrix = (kind) => ({
  make: makeMatrix,
  update: (element, block, sheet) => updateMatrix(element, block, sheet, kind),
});

export const MATRICES = {
  matrix: matrix(null),
  number: matrix({ make: makeField, update: updateField }),
  choice: matrix({ make: makeChoice, update: (field, text, _, isPressed) => show(field, text, isPressed) }),
  switch: matrix({ make: makeSwitch, update: updateSwitch }),
};
