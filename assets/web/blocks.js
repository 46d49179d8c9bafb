// The blocks of a sheet that hold no matrix. Each kind makes its element once and updates it in place.

import { curves } from "./curves.js";
import { button } from "./elements.js";
import { fill, h, setAttribute, setText } from "./dom.js";

const words = (tag, name) => ({
  make: () => h(tag, { class: name }),
  update: (element, block) => setText(element, block.text),
});

function updateTable(element, block) {
  const [caption, head, body] = element.querySelector("table").children;
  setText(caption, block.caption);
  caption.hidden = !block.caption;
  element.classList.toggle("prose", block.prose);
  const how = new Map(block.marks.map(([i, j, mark]) => [`${i}.${j}`, mark]));
  const side = (at) => (block.right[at] ? "right" : null);
  fill(
    head.rows[0],
    block.head,
    () => h("th", { scope: "col" }),
    (cell, text, at) => {
      setText(cell, text);
      setAttribute(cell, "class", side(at));
    },
  );
  fill(
    body,
    block.rows,
    () => h("tr"),
    (line, texts, i) => {
      setAttribute(line, "class", how.get(`${i}.-1`));
      fill(
        line,
        texts,
        (j) => (j ? h("td") : h("th", { scope: "row" })),
        (cell, text, j) => {
          setText(cell, text);
          setAttribute(cell, "title", text.length > 40 ? text : null);
          setAttribute(cell, "class", [side(j), how.get(`${i}.${j}`)].filter(Boolean).join(" ") || null);
        },
      );
    },
  );
}

const table = {
  make: () =>
    h(
      "div",
      { class: "scroll listing", tabindex: "0", role: "region" },
      h("table", {}, h("caption"), h("thead", {}, h("tr")), h("tbody")),
    ),
  update: (element, block) => {
    setAttribute(element, "aria-label", block.caption || block.head.join(", "));
    updateTable(element, block);
  },
};

/** Bars to both sides of a zero line; from the left edge when none is negative. */
function updateBars(element, block) {
  const [name, list, note] = element.children;
  setText(name, block.name);
  setText(note, block.note);
  note.hidden = !block.note;
  setAttribute(list, "aria-label", block.name);
  list.style.setProperty("--label", `${Math.min(12, Math.max(2, ...block.labels.map((label) => label.length)))}ch`);
  const signed = block.sizes.some((size) => size < 0);
  setAttribute(list, "class", `bar-list${signed ? " signed" : ""}`);
  fill(
    list,
    block.labels,
    () =>
      h(
        "li",
        {},
        h("span", { class: "bar-label" }),
        h("span", { class: "track", "aria-hidden": "true" }, h("span")),
        h("span", { class: "bar-value" }),
      ),
    (item, label, at) => {
      const [tag, track, value] = item.children;
      setText(tag, label);
      setAttribute(tag, "title", label);
      setText(value, block.values[at]);
      const size = block.sizes[at];
      const scale = signed ? 50 : 100;
      const start = signed ? 50 + Math.min(0, size) * scale : 0;
      const bar = track.firstElementChild;
      setAttribute(bar, "class", size < 0 ? "less" : "more");
      bar.style.insetInlineStart = `${start}%`;
      bar.style.width = `${Math.abs(size) * scale}%`;
    },
  );
}

export const PLAIN = {
  title: {
    make: () => h("div", { class: "heading" }, h("h2"), h("span", { class: "label" })),
    update: (element, block) => {
      setText(element.children[0], block.text);
      setText(element.children[1], block.note);
    },
  },
  text: {
    make: () => h("p"),
    update: (element, block) => {
      setText(element, block.text);
      setAttribute(element, "class", block.muted ? "words label" : "words");
    },
  },
  sign: words("span", "sign"),
  notices: {
    make: () => h("div", { class: "notices", role: "status" }),
    update: (element, block) =>
      fill(
        element,
        block.sentences,
        () => h("p"),
        (line, text) => setText(line, text),
      ),
  },
  row: {
    make: () => h("div", { class: "side-by-side" }),
    update: (element, block, sheet) => {
      element.classList.toggle("even", block.even);
      sheet.place(element, block.blocks);
    },
  },
  panel: {
    make: () =>
      h(
        "section",
        { class: "panel" },
        h("div", { class: "heading" }, h("h2"), h("span", { class: "label" })),
        h("div", { class: "stack" }),
      ),
    update: (element, block, sheet) => {
      const [heading, stack] = element.children;
      setText(heading.children[0], block.heading);
      setText(heading.children[1], block.note);
      setAttribute(element, "aria-label", block.heading);
      sheet.place(stack, block.blocks);
    },
  },
  table,
  curves: curves(table),
  bars: { make: () => h("div", { class: "bars" }, h("h3"), h("ul"), h("p", { class: "label" })), update: updateBars },
  buttons: {
    make: () =>
      h(
        "div",
        { class: "choice" },
        h("span", { class: "label", "aria-hidden": "true" }),
        h("div", { class: "presets", role: "group" }),
      ),
    update: (element, block, sheet) => {
      const [name, group] = element.children;
      setText(name, block.name);
      setAttribute(group, "aria-label", block.name);
      fill(
        group,
        block.buttons,
        () => button("", (event) => sheet.tell(event.currentTarget.told)),
        (one, { text, event, pressed }) => {
          setText(one, text);
          one.told = event;
          if (pressed && one.getAttribute("aria-pressed") !== "true") group.chosen = one;
          setAttribute(one, "aria-pressed", pressed === null ? null : String(pressed));
        },
      );
      // on a phone they stand in one line: the chosen one is brought into sight, once
      if (group.chosen && group.scrollWidth > group.clientWidth)
        group.scrollLeft = group.chosen.offsetLeft - group.offsetLeft - group.clientWidth / 2;
      group.chosen = null;
    },
  },
};
