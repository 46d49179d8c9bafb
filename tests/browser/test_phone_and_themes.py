"""On a phone, in both themes, in large type, with less motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES

from .conftest import NewPage, NewTab
from .expected import written
from .explore_page import Explore
from .measures import scrolls_sideways

FITS = """map => {
  const { left, right } = map.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
}"""


def test_a_phone_shows_sentence_and_map_first_and_takes_taps(new_phone: NewTab) -> None:
    explore = new_phone(Explore)
    explore.open()
    run = explore.shows()
    for part in (explore.box, explore.view.locator(".large .map")):
        box = part.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 375
        assert box["y"] + box["height"] <= 812
    assert explore.page.evaluate("document.documentElement.scrollWidth") <= 375
    explore.has_heads([f"3.{head}" for head in range(12)])

    bubble = explore.view.locator(".large .bubble")
    expect(bubble).to_be_hidden()
    for row, key in [(10, 14), (1, 0), (10, 2)]:
        explore.page.touchscreen.tap(*explore.middle(explore.cell, row, key))
        expect(bubble).to_have_text(
            f"{run.tokens[row]} → {run.tokens[key]} {written(float(run.weights[3, 1, row, key]))}"
        )
        box = bubble.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
    explore.page.touchscreen.tap(*explore.middle(explore.cell, 10, 8))
    explore.settled()
    expect(explore.view.locator(".large .readout")).to_have_text(
        f"it → street {written(float(run.weights[3, 1, 10, 8]))}"
    )
    explore.position("none")
    moved = explore.shows(position="none")
    expect(bubble).to_have_text(f"it → street {written(float(moved.weights[3, 1, 10, 8]))}")
    explore.position("as trained")
    explore.shows()
    explore.change("Take the order away").get_by_role("button", name="done").tap()
    explore.tile(3, 7).locator(".square").tap()
    explore.settled()
    expect(explore.place).to_contain_text("layer 3, head 7 ")
    explore.lamp(3, 2).tap()
    explore.shows(heads_off=((3, 2),))

    explore.mask("causal")  # what it changes is seen without scrolling
    explore.shows(mask="causal", heads_off=((3, 2),))
    panel, maps = explore.change("Hide words"), explore.view.locator(".large .map")
    expect(panel).to_be_in_viewport()
    box, own = maps.bounding_box(), panel.bounding_box()
    assert box
    assert own
    assert max(box["y"], 48) + 100 < own["y"], "the map is in sight above the sheet"


# Notes how long each old picture takes to go.
WATCH_FADING = """view => {
  window.faded = [];
  const watch = new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const former of addedNodes)
        if (former.matches?.("canvas.fades")) faded.push(former.getAnimations()[0].effect.getTiming().duration);
  });
  watch.observe(view, { childList: true, subtree: true });
}"""
REST = "() => new Promise((done) => setTimeout(done, 600))"  # what changes sooner after the last time is drawn at once


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_what_changes_while_its_words_stay_fades_where_motion_is_welcome(new_page: NewPage, motion: str) -> None:
    explore = new_page(Explore, reduced_motion=motion).open()
    explore.view.evaluate(WATCH_FADING)
    explore.page.evaluate(REST)
    explore.mask("causal")
    explore.shows(mask="causal")
    expect(explore.view.locator(".fades")).to_have_count(0)
    explore.page.evaluate(REST)
    seen = explore.page.evaluate("faded")
    assert set(seen) == (set() if motion == "reduce" else {250})


def test_less_motion_any_size_and_the_projector(explore: Explore) -> None:
    explore.open()
    moving = """view => [view, ...view.querySelectorAll("*")].map(getComputedStyle).filter(
      (style) => style.transitionDuration !== "0s" || style.animationName !== "none").length"""
    assert explore.view.evaluate(moving) == 0

    large = explore.view.locator(".large .map")
    for width, height in ((320, 640), (800, 600), (1920, 1080)):
        explore.page.set_viewport_size({"width": width, "height": height})
        explore.until(lambda: large.evaluate(FITS), "the map is as narrow as its window")
        assert scrolls_sideways(explore.page) == 0
        assert explore.hover(10, 2) == "it → animal 0.64"

    explore.page.set_viewport_size({"width": 1280, "height": 720})
    explore.page.keyboard.press("p")
    explore.wait_for_query(big=["true"])
    explore.settled()
    expect(explore.view.locator(".all-heads")).to_be_hidden()
    box = large.bounding_box()
    assert box
    assert box["y"] >= 50
    assert box["y"] + box["height"] <= 720
    assert len(explore.chips()) == 15
    assert float(large.get_attribute("data-number") or 0) >= 16
    explore.page.get_by_role("link", name="Texts", exact=True).click()
    expect(explore.page.locator(".st-key-stage .question h1")).to_have_text(
        PAGES["texts"].question, use_inner_text=False
    )
    expect(explore.page.locator("html")).to_have_class("projector")
    explore.wait_for_query(big=["true"])
    explore.page.go_back()
    explore.settled()
    explore.page.keyboard.press("p")
    explore.wait_for_query(big=None)
    expect(explore.view.locator(".all-heads")).to_be_visible()


SYSTEM = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.cssText = `forced-color-adjust: none; color: ${name}`;
  const said = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return said;
}"""
PIXELS = """(canvas, places) => {
  const { left, top, width } = canvas.getBoundingClientRect();
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height); // read once
  const ratio = canvas.width / width;
  const at = ([x, y]) => 4 * (Math.round((y - top) * ratio) * canvas.width + Math.round((x - left) * ratio));
  return places.map((place) => [...data.subarray(at(place), at(place) + 3)]);
}"""


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_where_the_system_chooses_the_colours_maps_have_them_too(new_page: NewPage, scheme: str) -> None:
    explore = new_page(Explore, forced_colors="active", color_scheme=scheme).open(s="how are you", at="0.2")
    page = explore.page
    ink, ground = (page.evaluate(SYSTEM, name) for name in ("CanvasText", "Canvas"))
    assert ink != ground
    canvas = explore.view.locator(".large .map canvas").first
    run = explore.shows("how are you")
    weights = run.weights[0, 2]
    cells = [(3, 2), (1, 4)]
    assert [float(weights[cell]) for cell in cells] == pytest.approx([1, 0], abs=0.002)
    boxes = [explore.box_of(explore.cell, *cell) for cell in cells]
    found = canvas.evaluate(PIXELS, [[left + width / 8, top + height / 8] for left, top, width, height in boxes])
    assert found == [pytest.approx(colour, abs=12) for colour in (ink, ground)]
    pressed, other = (explore.button(name) for name in ("map", "table"))
    grounds = [one.evaluate("one => getComputedStyle(one).backgroundColor") for one in (pressed, other)]
    assert grounds[0] != grounds[1]
    assert explore.theme == ("dark" if sum(ground) < 380 else "light")


def luminance(colour: list[int]) -> float:
    """Of WCAG 2.2."""
    parts = [part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_small_weights_stand_out_and_blocked_cells_are_plain_where_that_is_wanted(
    new_page: NewPage, scheme: str
) -> None:
    explore = new_page(Explore, contrast="more", color_scheme=scheme).open(s="how are you", mask="causal", at="3.1")
    run = explore.shows("how are you", mask="causal")
    weights = run.weights[3, 1].tril()
    small = divmod(int(weights.where(weights > 0.02, 1).argmin()), len(run.tokens))
    canvas = explore.view.locator(".large .map canvas").first

    def contrast() -> float:
        boxes = [explore.box_of(explore.cell, *cell) for cell in (small, (0, 4))]
        found = canvas.evaluate(PIXELS, [[left + width / 8, top + height / 8] for left, top, width, height in boxes])
        low, high = sorted(map(luminance, found))
        return (high + 0.05) / (low + 0.05)

    def choose(name: str, pressed: bool) -> None:
        explore.button("view").click()
        explore.button(name).click()  # the page is loaded again
        explore.settled().button("view").click()
        expect(explore.button(name)).to_have_attribute("aria-pressed", str(pressed).lower())
        explore.page.keyboard.press("Escape")

    assert contrast() >= 3, "the system asks for it"
    choose("strong contrast", False)
    assert contrast() < 3
    root = explore.page.locator("html")
    expect(root).not_to_have_attribute("data-hatch", "none")
    choose("hatching", False)
    expect(root).to_have_attribute("data-hatch", "none")
