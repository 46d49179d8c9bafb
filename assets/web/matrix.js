// A matrix of a sheet: read only, of number fields, of switches, or of cells to choose from. Arrow keys walk the cells that can be changed.

import { palette } from "./colour.js";
import { fill, h, setAttribute, setText } from "./dom.js";

const SCALE = "root"; // as in the maps: √ weight
let made = 0;

const makeMatrix = () => {
  const reasons = `reasons-${(made += 1)}`;
  return h(
    "section",
    { class: "matrix" },
    h("header", {}, h("h3"), h("span", { class: "formula" }), h("span", { class: "axes" })),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr")), h("tbody"))),
    h("div", { class: "reasons", id: reasons, role: "status" }),
    h("p", { class: "label" }),
  );
};

/** Black or white, whichever can be read better on a colour: always above 4.5 : 1. */
function inkFor(parts) {
  const [r, g, b] = parts.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#FFFFFF";
}

/** The background of a cell and an ink that can be read on it. */
function paint(cell, block, i, j, theme) {
  const level = block.levels?.[i][j];
  if (level === undefined) {
    cell.style.background = cell.style.color = "";
  } else if (block.colour === "weights") {
    const pixel = palette(theme, SCALE, 255)[level];
    const parts = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
    cell.style.background = `rgb(${parts.join(" ")})`;
    cell.style.color = inkFor(parts);
  } else {
    const tint = level < 0 ? "var(--query)" : "var(--accent)";
    cell.style.background = level ? `color-mix(in srgb, ${tint} ${0.3 * Math.abs(level)}%, transparent)` : "";
    cell.style.color = "";
  }
}

/** Tab goes from cell to cell; arrows too, to the sides only from the end of what is typed. */
function walk(event, element) {
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
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const to = element
    .querySelector("tbody")
    .rows[row.sectionRowIndex + step[0]]?.cells[cell.cellIndex + step[1]]?.querySelector("input, button");
  if (!to) return;
  event.preventDefault();
  to.focus();
}

function makeField(element, sheet) {
  const field = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", size: "6" });
  const commit = () => {
    if (field.value === field.told) return;
    field.told = field.value;
    field.turn = sheet.tell({ edit: element.edit, ...field.place, text: field.value.slice(0, 40) });
  };
  field.onblur = commit;
  field.onfocus = () => field.select();
  field.onkeydown = (event) => {
    if (event.key === "Enter") commit();
    else if (event.key === "Escape") field.value = field.told;
    else walk(event, element);
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

function makeSwitch(element, sheet) {
  const one = h("button", { type: "button" });
  one.onclick = () => {
    const text = one.getAttribute("aria-pressed") === "true" ? "0" : "1";
    show(one, text);
    one.turn = sheet.tell({ edit: element.edit, ...one.place, text });
  };
  one.onkeydown = (event) => walk(event, element);
  return one;
}

function show(one, text) {
  setText(one, text);
  setAttribute(one, "aria-pressed", String(text === "1"));
}

function makeChoice(element, sheet) {
  const one = h("button", { type: "button" });
  one.onclick = () => sheet.tell({ edit: element.edit, ...one.place, text: one.textContent });
  one.onkeydown = (event) => walk(event, element);
  return one;
}

function update(element, block, sheet, make, change) {
  const [header, scroll, reasons, note] = element.children;
  element.edit = block.edit;
  element.classList.toggle("compact", block.compact);
  setText(header.children[0], block.name);
  setText(header.children[1], block.formula);
  fill(
    header.children[2],
    block.axes,
    () => h("span"),
    (pill, [letter, text]) => {
      setText(pill, text);
      setAttribute(pill, "class", `axis ${letter}`);
    },
  );
  const table = scroll.firstElementChild;
  setAttribute(table, "aria-label", block.formula ? `${block.name} = ${block.formula}` : block.name);
  // a matrix that is only read is reached with Tab to be scrolled; in another one its fields are
  setAttribute(scroll, "tabindex", block.edit ? null : "0");
  setAttribute(scroll, "role", block.edit ? null : "region");
  setAttribute(scroll, "aria-label", block.edit ? null : block.name);
  const heads = ["", ...block.cols, ...(block.sums ? ["row sum"] : [])];
  fill(
    table.tHead.rows[0],
    heads,
    (at) => h(at ? "th" : "td", at ? { scope: "col" } : {}),
    (cell, text, at) => {
      setText(cell, text);
      setAttribute(cell, "title", text);
      setAttribute(cell, "class", block.sums && at > block.cols.length ? "sum-head" : (block.axes[1]?.[0] ?? null));
    },
  );
  const wrong = new Map(block.invalid.map(([i, j, reason]) => [`${i}.${j}`, reason]));
  const marked = new Set(block.marks.map((pair) => pair.join(".")));
  fill(
    table.tBodies[0],
    block.cells,
    () => h("tr", {}, h("th", { scope: "row" })),
    (line, texts, i) => {
      setText(line.firstElementChild, block.rows[i]);
      setAttribute(line.firstElementChild, "title", block.rows[i]);
      setAttribute(line.firstElementChild, "class", block.axes[0]?.[0] ?? null);
      const cells = [block.rows[i], ...texts, ...(block.sums ? [block.sums[i]] : [])];
      fill(
        line,
        cells,
        (at) => (at ? h("td") : h("th", { scope: "row" })),
        (cell, text, at) => {
          const j = at - 1;
          if (j < 0) return;
          if (j === texts.length) {
            cell.replaceChildren(text);
            setAttribute(cell, "class", "sum-cell");
            cell.style.background = cell.style.color = "";
            return;
          }
          setAttribute(
            cell,
            "class",
            [wrong.has(`${i}.${j}`) && "wrong", marked.has(`${i}.${j}`) && "marked"].filter(Boolean).join(" ") || null,
          );
          paint(cell, block, i, j, sheet.theme);
          if (!make) return setText(cell, text);
          const control = cell.querySelector("input, button") ?? make(element, sheet);
          if (!control.isConnected) cell.replaceChildren(control);
          control.place = { row: i, col: j };
          setAttribute(control, "aria-label", `${block.name}, row ${block.rows[i]}, column ${block.cols[j]}`);
          setAttribute(control, "aria-invalid", wrong.has(`${i}.${j}`) ? "true" : null);
          setAttribute(control, "aria-describedby", wrong.has(`${i}.${j}`) ? reasons.id : null);
          return change(control, text, sheet);
        },
      );
    },
  );
  fill(
    reasons,
    block.invalid,
    () => h("p"),
    (line, [i, j, reason]) => setText(line, `${block.rows[i]}, ${block.cols[j]}: ${reason}`),
  );
  setText(note, block.note);
  note.hidden = !block.note;
}

/** A cell to choose says by `aria-pressed` that it is the chosen one, which the server has framed. */
const updateChoice = (one, text) => {
  setText(one, text);
  setAttribute(one, "aria-pressed", String(one.closest("td").classList.contains("marked")));
};
const updateSwitch = (one, text, sheet) => one.turn > sheet.heard || show(one, text);

export const MATRICES = {
  matrix: { make: makeMatrix, update: (element, block, sheet) => update(element, block, sheet, null, null) },
  number: {
    make: makeMatrix,
    update: (element, block, sheet) => update(element, block, sheet, makeField, updateField),
  },
  choice: {
    make: makeMatrix,
    update: (element, block, sheet) => update(element, block, sheet, makeChoice, updateChoice),
  },
  switch: {
    make: makeMatrix,
    update: (element, block, sheet) => update(element, block, sheet, makeSwitch, updateSwitch),
  },
};
