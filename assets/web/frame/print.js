// Prints black on white at the screen's layout: views do not measure themselves again for paper.

import { drawViews } from "../base/view_base.js";

const PAPER = 718; // pixels; the width of an A4 page between its margins

export function preparePrint() {
  addEventListener("beforeprint", () => {
    const { style } = document.documentElement;
    style.setProperty("--paper", String(Math.min(1, PAPER / innerWidth)));
    style.setProperty("--window", `${innerHeight}px`);
    drawViews("light");
  });
  addEventListener("afterprint", () => {
    document.documentElement.style.removeProperty("--window");
    drawViews();
  });
}
