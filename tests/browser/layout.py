"""Measure what breaks in a layout: what lies over something else, sticks out, is cut, or is set letter by letter."""

from __future__ import annotations

import time

from playwright.sync_api import Page

from .measures import scrolls_sideways
from .tab import TWO_FRAMES, Tab

__all__ = ["faults", "faults_at_every_width"]

WINDOWS = [(768, 1024), (1440, 900)]
SECONDS = 15  # until what is wrong must have gone

# Every box that is seen is a line of text, a control, a map or a card. Two of which none is in the other may not
# overlap; none may reach beyond a card that it is in; a text may not be cut without a sign, nor be narrower than three
# of its letters. What is laid over the page on purpose, or sticks while the rest scrolls, is left out.
FAULTS = """() => {
  const SLACK = 3.5; // pixels: borders, and margins that make up for a padding
  const LETTERS = 3;
  const SHARE = 0.35; // of the lower of two boxes: lines are set closer than their boxes are high
  const PARTS = {
    bar: "#headlight-bar", stage: ".st-key-stage", lesson: "#headlight-lesson" };
  const CARDS = `.panel, .tile, .card, .figure, .all-heads, .view, header, button,
    #headlight-lesson`;
  const LAID_OVER = `.bubble, .note, .veils, .cell, .former, .overlay, .in-box, .menu-panel, .settings,
    .aloud, style, script, svg, math *, pre, [aria-hidden=true]:not(canvas)`;
  const parent = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const around = function* (element) { for (let at = element; at; at = parent(at)) yield at; };
  const named = (element) => [element.localName, ...element.classList].join(".").slice(0, 60);
  const short = (text) => text.replace(/\\s+/g, " ").slice(0, 40);
  const faults = new Set();
  const things = [];

  const styles = new Map(); // to ask for a style and a place takes long, and a page is in all that is on it
  const styleOf = (element) => {
    if (!styles.has(element)) {
      const { display, overflowX, overflowY, textOverflow, position, webkitLineClamp } = getComputedStyle(element);
      const own = element.getBoundingClientRect();
      styles.set(element, { display, overflowX, overflowY, textOverflow, position, webkitLineClamp, own });
    }
    return styles.get(element);
  };

  /* What is seen of a box, what cuts it without a sign, and whether the rest can be scrolled to. */
  const seen = (box, element) => {
    let { left, top, right, bottom } = box;
    let [cut, scrolled] = [null, false];
    for (const at of around(element)) {
      const { display, overflowX, overflowY, textOverflow, position, webkitLineClamp, own } = styleOf(at);
      if (display !== "contents" && overflowX !== "visible" && at !== document.body) {
        const scrolls = [overflowX, overflowY].some((way) => way === "auto" || way === "scroll");
        const isHalf = (top < own.top && bottom > own.top) || (top < own.bottom && bottom > own.bottom);
        const over = Math.max(own.top - top, bottom - own.bottom);
        const isLow = webkitLineClamp === "none" && isHalf && over > SLACK;
        const isWide = left < own.left - SLACK || right > own.right + SLACK;
        if ((isWide || isLow) && scrolls) scrolled = true;
        else if (isLow || (isWide && textOverflow !== "ellipsis")) cut ??= at;
        [left, right] = [Math.max(left, own.left), Math.min(right, own.right)];
        [top, bottom] = [Math.max(top, own.top), Math.min(bottom, own.bottom)];
      }
      if (position === "fixed") break;
    }
    return { left, top, right, bottom, cut, scrolled };
  };
  const take = (part, kind, element, box, text) => {
    const thing = { part, kind, element, text: short(text), ...seen(box, element) };
    if (thing.right - thing.left > 2 && thing.bottom - thing.top > 2) things.push(thing);
    return thing;
  };
  const takeText = (part, element, node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(({ width }) => width > 0.5);
    const text = node.data.trim();
    const letter = boxes.reduce((sum, { width }) => sum + width, 0) / text.length;
    const lines = boxes.map((box) => take(part, "text", element, box, text));
    const inSight = lines.filter(({ top, bottom, left, right }) => bottom - top > 2 && right > left);
    for (const { cut } of inSight) if (cut) faults.add(`cut: “${short(text)}” by ${named(cut)}`);
    if (text.length <= LETTERS || !inSight.length || lines.some(({ scrolled }) => scrolled)) return;
    const widest = Math.max(...inSight.map(({ left, right }) => right - left));
    if (widest < LETTERS * letter - 0.5) faults.add(`narrow: “${short(text)}” in ${named(element)}`);
  };
  const walk = (root, part) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot, part);
      if (element.closest(LAID_OVER)) continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      if (box.width < 3 || box.height < 3) continue;
      const text = element.ariaLabel || element.textContent.trim();
      if (element.matches("canvas, math")) take(part, "map", element, box, named(parent(element)));
      else if (element.matches("button, input, select, a, summary")) take(part, "control", element, box, text);
      else if (element.matches(".panel, .tile")) take(part, "card", element, box, named(element));
      for (const node of element.childNodes)
        if (node.nodeType === 3 && node.data.trim()) takeText(part, element, node);
    }
  };
  for (const [part, roots] of Object.entries(PARTS))
    for (const root of document.querySelectorAll(roots)) walk(root, part);

  const sticks = (element) => [...around(element)].some((at) => styleOf(at).position === "sticky");
  const flat = things.filter(({ element }) => !sticks(element)).sort((a, b) => a.top - b.top);
  for (const { kind, element, text, left, right } of flat) {
    for (const at of around(kind === "text" ? element : parent(element))) {
      const { position, display, own } = styleOf(at);
      if (position === "absolute" || position === "fixed") break;
      if (!at.matches(CARDS) || display === "contents") continue;
      const by = Math.max(own.left - left, right - own.right);
      if (by > SLACK) faults.add(`${kind} “${text}” sticks out of ${named(at)} by ${Math.round(by)} px`);
    }
  }
  const isIn = (inner, outer) => [...around(inner)].includes(outer);
  flat.forEach((a, at) => {
    for (let next = at + 1; next < flat.length && flat[next].top < a.bottom; next += 1) {
      const b = flat[next];
      if (a.part !== b.part || a.element === b.element || (a.kind === "map" && b.kind === "map")) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const least = Math.max(SLACK, SHARE * Math.min(a.bottom - a.top, b.bottom - b.top));
      if (across <= SLACK || down <= least || isIn(a.element, b.element) || isIn(b.element, a.element)) continue;
      faults.add(`${a.kind} “${a.text}” and ${b.kind} “${b.text}” overlap by ${Math.round(across)} px`);
    }
  });
  return [things.length, [...faults]];
}"""


def faults(page: Page) -> list[str]:
    """What is wrong with the layout of a page as it stands; fails where there is hardly anything on it."""
    count, found = page.evaluate(FAULTS)
    assert count > 20, "there is hardly anything on the page"
    wide = scrolls_sideways(page)
    return [*found, *([f"the page is {wide} px wider than the window"] if wide else [])]


def faults_at_every_width(tab: Tab) -> dict[str, list[str]]:
    """What is wrong in windows of each size, from the narrowest on, and stays wrong; the last window stays."""
    page, found = tab.page, {}
    for width, height in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        end = time.monotonic() + SECONDS
        page.evaluate(TWO_FRAMES)  # in the first the view measures itself, in the next it draws
        tab.settled()
        while (own := faults(page)) and time.monotonic() < end:  # a busy machine draws later
            page.evaluate(TWO_FRAMES)
        if own:
            found[f"{width}×{height}"] = own
    return found
