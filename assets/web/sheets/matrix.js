// A matrix of a sheet: read only, of number fields, of switches, or of cells to choose from. Arrow keys walk the cells
// that can be changed.

import { cssOf, inkOn } from "../base/colour.js";
import { div, fill, h, setAttribute, setText, span } from "../base/dom.js";
import { ARROWS } from "../base/grid_keys.js";

let count = 0;

function makeMatrix() {
  count += 1;
  const header = h("header", {}, h("h3"), span("formula"), span("axes"));
  const table = h("table", {}, h("thead", {}, h("tr")), h("tbody"));
  const reasons = h("div", { class: "reasons", id: `reasons-${count}`, role: "status" });
  return h("section", { class: "matrix" }, header, div("scroll", table), reasons, h("p", { class: "label" }));
}

/** The background of a cell and an ink that can be read on it. */
function paint(cell, level = undefined, colour = "", theme = /** @type {"dark" | "light"} */ ("dark")) {
  cell.style.background = cell.style.color = "";
  if (level === undefined) return;
  if (colour === "weights") {
    const as = /** @type {const} */ ([level, theme, "root", 255]); // as in the maps: √ weight
    Object.assign(cell.style, { background: cssOf(...as), color: inkOn(...as) });
  } else if (level) {
    const tint = level < 0 ? "var(--query)" : "var(--accent)";
    cell.style.background = `color-mix(in srgb, ${tint} ${0.3 * Math.abs(level)}%, transparent)`;
  }
}

/** Tab goes from field to field; arrows too, to the sides only from the end of what is typed. */
function walk(event) {
  const from = event.target;
  const free = from.tagName === "BUTTON";
  const whole = !free && from.selectionStart === 0 && from.selectionEnd === from.value.length;
  const leave = {
    ArrowLeft: free || whole || from.selectionEnd === 0,
    ArrowRight: free || whole || from.selectionStart === from.value?.length,
    ArrowUp: true,
    ArrowDown: true,
  };
  if (!leave[event.key] || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const cell = from.closest("td");
  const row = cell.parentElement;
  const [down, right] = ARROWS[event.key];
  const next = row.parentElement.rows[row.sectionRowIndex + down]?.cells[cell.cellIndex + right];
  const to = next?.querySelector("input, button");
  if (!to) return;
  event.preventDefault();
  to.focus();
}

// ---- cells that can be changed: `told` is the text that the server knows, `turn` the edit that it has to answer

const control = (element) => {
  const own = Object.assign(element, { told: "", turn: 0, place: { edit: "", row: 0, col: 0 } });
  own.onkeydown = walk;
  return own;
};

function makeField(sheet) {
  const attributes = { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", size: "6" };
  const field = control(h("input", attributes));
  const commit = () => {
    if (field.value === field.told) return;
    field.told = field.value;
    field.turn = sheet.tell({ ...field.place, text: field.value.slice(0, 40) });
  };
  field.onblur = commit;
  field.onfocus = () => field.select();
  field.onkeydown = (event) => {
    if (event.key === "Enter") commit();
    else if (event.key === "Escape") field.value = field.told;
    else walk(event);
  };
  return field;
}

/** Half-typed text, and text that the server has not answered yet, stay as they are. */
function updateField(field, text, sheet) {
  if (field.turn > sheet.heard) return;
  const typing = field.getRootNode().activeElement === field && field.value !== field.told;
  field.told = text;
  if (!typing && field.value !== text) field.value = text;
}

function show(one, text, pressed) {
  setText(one, text);
  setAttribute(one, "aria-pressed", String(pressed));
}

function makeSwitch(sheet) {
  const one = control(h("button", { type: "button" }));
  one.onclick = () => {
    const text = one.getAttribute("aria-pressed") === "true" ? "0" : "1";
    show(one, text, text === "1");
    one.turn = sheet.tell({ ...one.place, text });
  };
  return one;
}

function updateSwitch(one, text, sheet) {
  if (one.turn <= sheet.heard) show(one, text, text === "1");
}

function makeChoice(sheet) {
  const one = control(h("button", { type: "button" }));
  one.onclick = () => sheet.tell({ ...one.place, text: one.textContent });
  return one;
}

/** A cell to choose says by `aria-pressed` that it is the chosen one, which the server has framed. */
const updateChoice = (one, text) => show(one, text, one.closest("td").classList.contains("marked"));

// ---- the matrix

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
  // a matrix that is only read is reached with Tab to be scrolled; in another one its fields are
  setAttribute(scroll, "tabindex", block.edit ? null : "0");
  setAttribute(scroll, "role", block.edit ? null : "group");
  setAttribute(scroll, "aria-label", block.edit ? null : block.name);
  const heads = ["", ...block.cols, ...(block.sums ? ["row sum"] : [])];
  const make = (at) => h(at ? "th" : "td", at ? { scope: "col" } : {});
  fill(table.tHead.rows[0], heads, make, (cell, text, at) => {
    setText(cell, text);
    setAttribute(cell, "title", text);
    setAttribute(cell, "class", at > block.cols.length ? "sum-head" : (block.axes[1]?.[0] ?? null));
  });
}

/** One cell between its row's label and sum: its number, or what it is changed with. */
function updateCell(cell, text, place, { block, sheet, kind, reasons, wrong, marked }) {
  const { row, col } = place;
  const [isWrong, isMarked] = [wrong, marked].map((cells) => cells.has(`${row}.${col}`));
  setAttribute(cell, "class", [isWrong && "wrong", isMarked && "marked"].filter(Boolean).join(" ") || null);
  paint(cell, block.levels?.[row][col], block.colour, sheet.theme);
  if (!kind) {
    setText(cell, text);
    return;
  }
  const own = cell.querySelector("input, button") ?? kind.make(sheet);
  if (!own.isConnected) cell.replaceChildren(own);
  own.place = { edit: block.edit, row, col };
  const name = `${block.name}, row ${block.rows[row]}, column ${block.cols[col]}`;
  setAttribute(own, "aria-label", own.localName === "button" ? `${name}: ${text}` : name); // who speaks says what is written
  setAttribute(own, "aria-invalid", isWrong ? "true" : null);
  setAttribute(own, "aria-describedby", isWrong ? reasons.id : null);
  if (block.kind === "choice") setAttribute(own, "tabindex", isMarked || !(marked.size + row + col) ? "0" : "-1"); // one stop
  kind.update(own, text, sheet);
}

function updateMatrix(element, block, sheet, kind) {
  const [, scroll, reasons, note] = element.children;
  const table = scroll.firstElementChild;
  updateHead(element, table, block);
  const wrong = new Set(block.invalid.map(([i, j]) => `${i}.${j}`));
  const marked = new Set(block.marks.map((pair) => pair.join(".")));
  const given = { block, sheet, kind, reasons, wrong, marked };
  const fillRow = (line, texts, row) => {
    const cells = [block.rows[row], ...texts, ...(block.sums ? [block.sums[row]] : [])];
    const make = (at) => (at ? h("td") : h("th", { scope: "row" }));
    fill(line, cells, make, (cell, text, at) => {
      if (at && at <= texts.length) return updateCell(cell, text, { row, col: at - 1 }, given);
      setText(cell, text);
      setAttribute(cell, "title", at ? null : text);
      setAttribute(cell, "class", at ? "sum-cell" : block.axes[0]?.[0]);
      if (at) paint(cell);
    });
  };
  fill(table.tBodies[0], block.cells, "tr", fillRow);
  const sentence = (line, [i, j, reason]) => setText(line, `${block.rows[i]}, ${block.cols[j]}: ${reason}`);
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
