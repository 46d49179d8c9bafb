"""On a phone, in both themes, in large type, with less motion."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import NewPage, NewTab
from .expected import written
from .explore_page import Explore
from .measures import scrolls_sideways


def test_a_phone_shows_sentence_and_map_first(new_phone: NewTab) -> None:
    explore = new_phone(Explore)
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


def test_a_tap_gives_the_number_of_a_cell(new_phone: NewTab) -> None:
    explore = new_phone(Explore)
    explore.open()
    run = explore.shows()
    explore.page.touchscreen.tap(*explore.middle(explore.cell, 10, 8))
    explore.settled()
    expect(explore.view.locator(".readout")).to_have_text(f"it → street {written(float(run.weights[3, 1, 10, 8]))}")
    explore.tile(3, 7).locator(".square").tap()
    explore.settled()
    expect(explore.view.get_by_role("heading", name="Layer 3 · Head 7")).to_be_visible()
    explore.lamp(3, 2).tap()
    explore.shows(heads_off=((3, 2),))


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
    explore = new_page(Explore, reduced_motion="reduce")
    explore.open()
    moving = """view => [view, ...view.querySelectorAll("*")].map(getComputedStyle).filter(
      (style) => style.transitionDuration !== "0s" || style.animationName !== "none").length"""
    assert explore.view.evaluate(moving) == 0


def test_resizing_keeps_the_map_inside(new_page: NewPage) -> None:
    explore = new_page(Explore).open()
    for width, height in ((320, 640), (800, 600), (1920, 1080)):
        explore.page.set_viewport_size({"width": width, "height": height})
        explore.settled()
        box = explore.view.locator(".large .map").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert scrolls_sideways(explore.page) == 0
        assert explore.hover(10, 2) == "it → animal 0.64"
