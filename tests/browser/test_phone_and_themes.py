"""On a phone, in both themes, in large type, with less motion."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import NewPage
from .helpers import Explore, written

PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True}

# Every text that is seen, with its contrast to what lies under it; WCAG 2.1's formula.
CONTRASTS = """() => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const parent = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const under = (element) => {
    const layers = [];
    for (let at = element; at; at = parent(at)) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const over = (low, [r, g, b, a]) => [r, g, b].map((c, n) => c * a + low[n] * (1 - a));
    return layers.reverse().reduce(over, [255, 255, 255]);
  };
  const found = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      const text = [...element.childNodes].map((node) => (node.nodeType === 3 ? node.data.trim() : "")).join("");
      if (!text || element.closest("style, script, noscript, [disabled], .aloud")) continue;
      if (element.closest("[data-testid=stSliderThumbValue]")) continue; // hangs over its own thumb
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      if (box.width < 3 || box.height < 3) continue;
      const low = under(element);
      const [r, g, b, a] = rgba(getComputedStyle(element).color);
      const own = [r, g, b].map((c, n) => c * a + low[n] * (1 - a));
      const [bright, dark] = [light(own), light(low)].sort((x, y) => y - x);
      found.push([text, (bright + 0.05) / (dark + 0.05)]);
    }
  };
  walk(document);
  return found;
}"""
SMALL_TARGETS = """() => {
  const small = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      if (!element.matches("button") || !element.checkVisibility()) continue;
      const { width, height } = element.getBoundingClientRect();
      if (height && Math.min(width, height) < 43.5) small.push([element.textContent, width, height]);
    }
  };
  walk(document);
  return small;
}"""


def test_a_phone_shows_sentence_and_map_first(new_page: NewPage) -> None:
    explore = new_page(**PHONE)
    explore.open()
    explore.shows()
    for part in (explore.box, explore.view.locator(".large .map")):
        box = part.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 375
        assert box["y"] + box["height"] <= 812
    assert explore.page.evaluate("document.documentElement.scrollWidth") <= 375
    assert explore.heads() == [f"3.{head}" for head in range(12)]
    mask = explore.page.get_by_role("radiogroup", name="Mask").bounding_box()
    assert mask
    assert mask["y"] > 812, "the controls come below"


def test_a_tap_gives_the_number_of_a_cell(new_page: NewPage) -> None:
    explore = new_page(**PHONE)
    explore.open()
    run = explore.shows()
    box = explore.cell_box(10, 8)
    explore.page.touchscreen.tap(box["x"] + box["side"] / 2, box["y"] + box["side"] / 2)
    explore.settled()
    expect(explore.view.locator(".readout")).to_have_text(f"it → street {written(float(run.weights[3, 1, 10, 8]))}")
    explore.tile(3, 7).locator(".square").tap()
    explore.settled()
    expect(explore.view.get_by_role("heading", name="Layer 3 · Head 7")).to_be_visible()
    explore.lamp(3, 2).tap()
    explore.shows(heads_off=((3, 2),))


def test_targets_on_a_phone_are_large_enough(new_page: NewPage) -> None:
    explore = new_page(**PHONE)
    explore.open(mask="window")
    explore.shows(mask="window:3")
    assert not explore.page.evaluate(SMALL_TARGETS)


@pytest.mark.parametrize(
    "values",
    [{"look": "table"}, {"s": "internationalization " * 30}, {"big": "true"}, {"pin": "1.1~none~trained~1~~hello"}],
)
def test_a_phone_never_scrolls_sideways(new_page: NewPage, values: dict[str, str]) -> None:
    explore = new_page(**PHONE)
    explore.open(**values)
    explore.settled()
    assert explore.page.evaluate("document.documentElement.scrollWidth") <= 375
    assert explore.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 375


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_contrast_of_all_text(new_page: NewPage, theme: str) -> None:
    explore = new_page(color_scheme=theme)
    explore.open(mask="window", off=["L3 H2"], look="nospecials_hide3.3", at="3.1.4")
    explore.shows(mask="window:3", heads_off=((3, 2),))
    expect(explore.view).to_have_attribute("data-theme", theme)
    found = explore.page.evaluate(CONTRASTS)
    assert len(found) > 60
    assert not [(text, round(contrast, 2)) for text, contrast in found if contrast < 4.5]


def test_the_theme_button_switches_and_keeps_the_picture(new_page: NewPage) -> None:
    explore = new_page()
    explore.open(at="2.4", mask="causal")
    for theme, other in (("light", "dark"), ("dark", "light")):
        explore.page.get_by_role("button", name=f"{theme} theme").click()
        expect(explore.view).to_have_attribute("data-theme", theme)
        explore.shows(mask="causal")
        assert explore.query == {"at": ["2.4"], "mask": ["causal"]}
        expect(explore.page.get_by_role("button", name=f"{other} theme")).to_be_visible()


def test_large_type(explore: Explore) -> None:
    explore.open()
    size = "view => parseFloat(getComputedStyle(view).fontSize)"
    before = explore.view.evaluate(size)
    explore.page.get_by_test_id("stCheckbox").click()
    explore.wait_for_query(big=["true"])
    explore.page.wait_for_function("() => document.documentElement.style.fontSize !== ''")
    explore.settled()
    assert explore.view.evaluate(size) >= 1.25 * before
    assert explore.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_motion_when_it_is_not_wanted(new_page: NewPage) -> None:
    explore = new_page(reduced_motion="reduce")
    explore.open()
    moving = """view => [view, ...view.querySelectorAll("*")].map(getComputedStyle).filter(
      (style) => style.transitionDuration !== "0s" || style.animationName !== "none").length"""
    assert explore.view.evaluate(moving) == 0


@pytest.mark.parametrize("size", [(320, 640), (800, 600), (1920, 1080)])
def test_resizing_keeps_the_map_inside(explore: Explore, size: tuple[int, int]) -> None:
    explore.open()
    explore.page.set_viewport_size({"width": size[0], "height": size[1]})
    explore.settled()
    box = explore.view.locator(".large .map").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]
    assert explore.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert explore.hover(10, 2) == "it → animal 0.64"
