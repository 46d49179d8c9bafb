// The gallery of masks: each rule drawn for the visitor's own sentence; a click uses it or joins it to the rule in use.

import { contextOf, fill, h, setAttribute, setText } from "./dom.js";
import { button } from "./elements.js";
import { readCells } from "./painted.js";

const SIDE = 84; // pixels of a picture
export const JOINS = ["use", "and", "or", "and not", "or not"];

/** The mask of a card: allowed cells glow, forbidden ones are hatched where there is room for it. */
function drawMask(canvas, cells, n, inks, accent) {
  const context = contextOf(canvas, SIDE, SIDE);
  const step = SIDE / n;
  const gap = step > 4 ? 1 : 0;
  context.fillStyle = accent;
  context.strokeStyle = inks.line;
  context.lineWidth = 1;
  context.beginPath();
  // whole pixels: cells that share one would show as a pattern
  const edge = (at) => Math.round(at * step);
  cells.forEach((forbidden, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    const [x, y] = [edge(j), edge(i)];
    const [width, height] = [Math.max(1, edge(j + 1) - x - gap), Math.max(1, edge(i + 1) - y - gap)];
    if (!forbidden) context.fillRect(x, y, width, height);
    else if (gap) {
      context.rect(x + 0.5, y + 0.5, width - 1, height - 1);
      context.moveTo(x + 1, y + height - 1);
      context.lineTo(x + width - 1, y + 1);
    }
  });
  context.stroke();
}

const makeCard = (choose) => {
  const card = button("", () => choose(card.told), { class: "card" });
  card.append(h("canvas", { "aria-hidden": "true" }), h("b"), h("span"), h("span", { class: "counted" }));
  return card;
};

/** Puts the cards into `parent`. `used` says which one is the mask in use; `join` what a click does. */
export function drawGallery(parent, cards, { n, inks, accent, join, used, choose }) {
  fill(
    parent,
    cards,
    () => makeCard(choose),
    (card, told) => {
      const [canvas, name, line, counted] = card.children;
      card.told = told;
      const kind = `${n} ${told.cells} ${accent} ${inks.line} ${window.devicePixelRatio}`;
      if (canvas.kind !== kind) drawMask(canvas, readCells(told.cells, n * n), n, inks, accent);
      canvas.kind = kind;
      setText(name, told.name);
      setText(line, told.why_not || told.line);
      setText(counted, told.counted);
      setAttribute(card, "aria-pressed", String(used(told)));
      // only rules can be joined
      setAttribute(
        card,
        "disabled",
        Boolean(told.why_not) || (join !== "use" && Boolean(told.painted || told.event.kind)),
      );
    },
  );
}
