"""Controls on a phone: a sheet from below, under a picture that stays in sight."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from .conftest import NewTab
from .explore_page import Explore
from .shapes_page import Shapes

HIGH = 812  # pixels of the window
OPAQUE = """element => {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(element).backgroundColor;
  probe.fillRect(0, 0, 1, 1);
  return probe.getImageData(0, 0, 1, 1).data[3] === 255;
}"""


def opened(page: Page) -> Locator:
    """The sheet of the page's controls."""
    page.get_by_role("button", name="controls", exact=True).tap()
    sheet = page.get_by_role("region", name="Controls")
    expect(sheet.get_by_role("heading", name="Controls")).to_be_visible()
    return sheet


def top_of(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["y"]


def test_a_control_of_a_layer_is_a_sheet_under_the_picture(new_phone: NewTab) -> None:
    shapes = new_phone(Shapes).open()
    panel = shapes.controls("Mask")
    expect(panel).to_be_in_viewport()
    assert panel.evaluate(OPAQUE)
    top = top_of(panel)
    assert top >= 0.44 * HIGH, "at most 55 % of the window"
    assert 48 <= top_of(shapes.side().locator(".made")) < top - 100, "the picture is in sight above"
    panel.get_by_role("radio", name="causal", exact=True).tap()
    shapes.shows(mask="causal")
    panel.get_by_role("radio").last.scroll_into_view_if_needed()
    panel.get_by_role("button", name="done").tap()
    expect(panel).to_be_hidden()
    shapes.controls("Weights of this layer")
    shapes.page.keyboard.press("Escape")
    expect(shapes.view.locator(".settings")).to_be_hidden()


def test_the_model_alone_is_a_low_sheet_and_a_tap_beside_the_choices_only_closes_them(new_phone: NewTab) -> None:
    explore = new_phone(Explore).open()
    sheet = opened(explore.page)
    assert sheet.evaluate(OPAQUE)
    assert HIGH - 180 < top_of(sheet) < top_of(explore.page.get_by_role("combobox", name="Model").first)
    sheet.get_by_role("button", name="close the controls").tap()
    expect(explore.page.get_by_role("combobox", name="Model")).to_be_hidden()

    panel = explore.change("Hide words")
    panel.get_by_role("radio", name="causal", exact=True).tap()
    explore.shows(mask="causal")
    top = top_of(panel)
    for part in (explore.view.locator(".chip-of-change"), explore.view.locator(".large h2")):
        box = part.bounding_box()
        assert box
        assert 48 <= box["y"] <= top - box["height"], "in sight above the sheet"
    link, large = explore.page.url, explore.view.locator(".large .map")
    explore.page.touchscreen.tap(200, top_of(large) + 90)
    expect(panel).to_be_hidden()
    explore.settled()
    assert explore.page.url == link
    panel = explore.change("Hide words")
    panel.get_by_role("button", name="done").tap()
    expect(panel).to_be_hidden()
    explore.change("Hide words")
    explore.view.get_by_role("button", name="take back: mask: causal").tap()
    explore.shows()
