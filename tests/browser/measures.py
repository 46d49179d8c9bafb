"""Measure what can be said of any page: contrast, widths, targets, names, and where the Tab key leads."""

from __future__ import annotations

from typing import Any, Literal

from playwright.sync_api import Page

__all__ = [
    "PHONE", "height", "not_reached_by_tab", "obscured", "scrolls_sideways", "small_targets",
    "space_letters", "unnamed", "unreadable",
]  # fmt: skip

PHONE: dict[str, Any] = {
    "viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True, "color_scheme": "light",
}  # fmt: skip
CONTRAST = 4.5  # of a text to what lies under it
BY_MOUSE, BY_FINGER = 23.5, 43.5  # pixels of what is pressed: 24 and 44, less what rounding takes
LAST_TAB = 400

# All elements that are seen and pass a test, inside views too.
SEEN = """(pass) => {
  const found = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      if (pass(element) && element.checkVisibility({ visibilityProperty: true })) found.push(element);
    }
  };
  walk(document);
  return found;
}"""
# Every text that is seen, with its contrast to what lies under it; WCAG 2.1's formula.
CONTRASTS = """() => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // a page has a dozen colours and a thousand texts
  const rgba = (colour) => {
    if (!known.has(colour)) {
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = colour;
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parent = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const over = (low, [r, g, b, a], shown) => [r, g, b].map((c, n) => c * a * shown + low[n] * (1 - a * shown));
  const grounds = new Map(); // of an element: the colour under its text, and how opaque that text is
  const ground = (element) => {
    if (!element) return [[255, 255, 255], 1];
    if (!grounds.has(element)) {
      const [low, above] = ground(parent(element));
      const { backgroundColor, opacity } = getComputedStyle(element);
      grounds.set(element, [over(low, rgba(backgroundColor), above * opacity), above * opacity]);
    }
    return grounds.get(element);
  };
  const found = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      const text = [...element.childNodes].map((node) => (node.nodeType === 3 ? node.data.trim() : "")).join("");
      if (!text || element.closest("style, script, noscript, [disabled], [inert], .aloud")) continue;
      if (element.closest("[data-testid=stSliderThumbValue]")) continue; // hangs over its own thumb
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      if (box.width < 3 || box.height < 3) continue;
      const [low, shown] = ground(element);
      const own = over(low, rgba(getComputedStyle(element).color), shown);
      const [bright, dark] = [light(own), light(low)].sort((x, y) => y - x);
      found.push([text, (bright + 0.05) / (dark + 0.05)]);
    }
  };
  walk(document);
  return found;
}"""
# A link within a sentence is as high as its line. A label is pressed for what it names, a slider's track for its thumb.
POINTED_AT = "button, select, textarea, summary, input, [role=option], a[href]:not(p *, li *, td *)"
TOUCHED = "button, .st-key-pages a, [role=option], .sheet input"
SMALL_TARGETS = (
    f"([what, least]) => ({SEEN})"
    + """((element) => element.matches(what))
  .map((element) => [
    element.textContent || element.ariaLabel,
    (element.closest("label, [data-testid=stSlider]") ?? element).getBoundingClientRect(),
  ])
  .filter(([, { width, height }]) => height && Math.min(width, height) < least)
  .map(([name, { width, height }]) => [name, width, height])"""
)
UNNAMED = (
    f"() => ({SEEN})"
    + """(
  (element) => element.matches("button, a[href], input, textarea, [role=grid], canvas"))
  .filter((element) => !(element.ariaLabel || element.textContent.trim() || element.title || element.labels?.length
    || element.getAttribute("aria-labelledby") || element.closest("[aria-hidden=true]") || element.type === "file"))
  .map((element) => element.outerHTML.slice(0, 200))"""
)
# Remembers after each Tab key what has the focus, and whether the walk is over: the page is left, or begins anew.
WALK = """() => {
  window.reached = new Set();
  window.walked = false;
  let first = null;
  const look = ({ key }) => {
    if (key !== "Tab") return;
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    window.walked ||= at === document.body || at === first;
    first ??= at;
    window.reached.add(at);
  };
  addEventListener("keyup", look, { capture: true });
  window.endWalk = () => removeEventListener("keyup", look, { capture: true });
}"""
# In a group, of radio buttons or of pills, the arrow keys go on: to reach one of it is to reach all.
NOT_REACHED = (
    f"() => ({SEEN})"
    + """(
  (element) => element.matches("button, a[href], input, textarea, select, [tabindex]"))
  .filter((element) => element.tabIndex >= 0 && !element.disabled && element.getBoundingClientRect().width > 1
    && ![...(element.closest("[role=radiogroup], [role=toolbar]") ?? element).querySelectorAll("*"), element]
      .some((one) => window.reached.has(one)))
  .map((element) => element.outerHTML.slice(0, 200))"""
)


# What the bar, or anything else that stays, lies over as soon as it has the focus: none of nine points of it is seen.
# From the last to the first, since what is scrolled down to comes to the foot of the window, where nothing lies.
OBSCURED = (
    f"() => ({SEEN})"
    + """((element) => element.matches("button, a[href], input, textarea, select, summary, [tabindex]")
    && element.tabIndex >= 0 && !element.disabled && element.getBoundingClientRect().width > 1)
  .reverse()
  .filter((element) => {
    element.focus();
    const shown = element.closest("label, [data-testid=stSlider], [role=grid]") ?? element;
    const { x, y, width, height } = shown.getBoundingClientRect();
    const at = (left, top, root = document) => root.elementFromPoint(x + width * left, y + height * top);
    const isSeenAt = (left, top) => {
      let [above, seen] = [null, at(left, top)];
      while (seen?.shadowRoot && seen !== above && !shown.contains(seen))
        [above, seen] = [seen, at(left, top, seen.shadowRoot)];
      return shown.contains(seen);
    };
    return ![0.1, 0.5, 0.9].some((left) => [0.1, 0.5, 0.9].some((top) => isSeenAt(left, top)));
  })
  .map((element) => element.outerHTML.slice(0, 200))"""
)
# What a reader may ask of the text: WCAG 2.2's 1.4.12. Nothing may be lost by it.
SPACED = """() => {
  const css = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
    p { margin-bottom: 2em !important; }`;
  const add = (root) => {
    const style = document.createElement("style");
    style.textContent = css;
    (root.head ?? root).append(style);
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) add(element.shadowRoot);
  };
  add(document);
}"""


def unreadable(page: Page, least: int = 41) -> list[tuple[str, float]]:
    """The texts with less contrast than they need; fails where there are not so many texts."""
    found = page.evaluate(CONTRASTS)
    assert len(found) >= least, "the page has hardly a text"
    return [(text, round(contrast, 2)) for text, contrast in found if contrast < CONTRAST]


def small_targets(page: Page, by: Literal["finger", "mouse"] = "finger") -> list[tuple[str, float, float]]:
    """What is to be hit and may be missed: its name, width and height. Cells of maps are as large as their data."""
    what = [TOUCHED, BY_FINGER] if by == "finger" else [POINTED_AT, BY_MOUSE]
    found: list[tuple[str, float, float]] = page.evaluate(SMALL_TARGETS, what)
    return found


def obscured(page: Page) -> list[str]:
    """What has the focus and is not seen."""
    found: list[str] = page.evaluate(OBSCURED)
    page.evaluate("document.activeElement.blur()")
    return found


def space_letters(page: Page) -> None:
    """Set letters, words, lines and paragraphs apart, as a reader may."""
    page.evaluate(SPACED)


def height(page: Page) -> int:
    """Pixels of the whole page."""
    return int(page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight"))


def scrolls_sideways(page: Page) -> int:
    """The pixels that the page, or its main part, is wider than the window."""
    wide: int = page.evaluate(
        """() => Math.max(...[document.documentElement, document.querySelector('[data-testid=stMain]')]
          .map((element) => element.scrollWidth)) - innerWidth"""
    )
    return max(0, wide)


def unnamed(page: Page) -> list[str]:
    """What can be used or read and has no name for a screen reader."""
    found: list[str] = page.evaluate(UNNAMED)
    return found


def not_reached_by_tab(page: Page) -> list[str]:
    """What can be used with a mouse and is not reached by the Tab key from the top of the page to its end."""
    # what was pressed last is where Tab goes on from, so the page itself takes the focus first
    page.evaluate("() => { document.body.tabIndex = -1; document.body.focus(); document.body.blur(); scrollTo(0, 0); }")
    page.evaluate("() => document.body.removeAttribute('tabindex')")
    page.evaluate(WALK)
    for number in range(LAST_TAB):
        page.keyboard.press("Tab")
        if number % 16 == 15 and page.evaluate("window.walked"):
            break
    else:
        return [f"the end of the page, in {LAST_TAB} steps"]
    page.evaluate("window.endWalk()")
    found: list[str] = page.evaluate(NOT_REACHED)
    return found
