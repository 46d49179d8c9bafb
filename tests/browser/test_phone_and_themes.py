"""On a phone, where controls are a sheet under the picture; in both themes, in large type, with less motion."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import expect

from .conftest import NewTab
from .expected import written
from .explore_page import Explore
from .tab import place_of

THEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
HIGH = 812  # pixels of a phone


def test_a_phone_shows_sentence_and_map_first_and_takes_taps(new_phone: NewTab) -> None:
    explore = new_phone(Explore).open()
    run = explore.shows()
    for part in (explore.box, explore.view.locator(".large .map")):
        box = place_of(part)
        assert min(box.x, box.y) >= 0
        assert box.right <= 375
        assert box.bottom <= HIGH
    assert explore.page.evaluate("document.documentElement.scrollWidth") <= 375
    explore.has_heads([f"3.{head}" for head in range(12)])

    bubble = explore.view.locator(".large .bubble")
    expect(bubble).to_be_hidden()
    for row, key in [(10, 14), (1, 0), (10, 2)]:
        explore.page.touchscreen.tap(*explore.middle(explore.cell, row, key))
        expect(bubble).to_have_text(
            f"{run.tokens[row]} → {run.tokens[key]} {written(float(run.weights[3, 1, row, key]))}"
        )
        assert place_of(bubble).x >= 0
        assert place_of(bubble).right <= 375
    explore.page.touchscreen.tap(*explore.middle(explore.cell, 10, 8))
    explore.settled()
    readout = explore.view.locator(".large .readout")
    expect(readout).to_have_text(f"it → street {written(float(run.weights[3, 1, 10, 8]))}")
    explore.tile(3, 7).locator(".square").tap()
    explore.settled()
    expect(explore.place).to_contain_text("layer 3, head 7 ")
    explore.lamp(3, 2).tap()
    explore.shows(heads_off=((3, 2),))
    explore.mask("causal")  # what it changes is seen without scrolling
    explore.shows(mask="causal", heads_off=((3, 2),))
    panel, maps = explore.change("Mask"), explore.view.locator(".large .map")
    expect(panel).to_be_in_viewport()
    assert max(place_of(maps).y, 48) + 100 < place_of(panel).y, "the map is in sight above the sheet"
    panel.get_by_role("button", name="done").tap()
    explore.view.get_by_role("button", name="undo: L3 H2 off").tap()
    explore.shows(mask="causal")


SYSTEM = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.cssText = `forced-color-adjust: none; color: ${name}`;
  const said = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return said;
}"""


def colours_of(explore: Explore, *cells: tuple[int, int]) -> list[list[int]]:
    """The colours of cells of the enlarged map, beside their numbers."""
    boxes = [explore.box_of(explore.cell, *cell) for cell in cells]
    points = [(box.x + box.width / 8, box.y + box.height / 8) for box in boxes]
    return explore.pixels(explore.view.locator(".large .map canvas").first, points)


def distance(one: list[int], other: list[int]) -> int:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


@pytest.mark.thorough("both themes of a system that chooses the colours")
def test_maps_have_the_colours_of_the_system_and_the_contrast_that_is_chosen(explore: Explore) -> None:
    cells = [(3, 2), (1, 4)]
    for scheme in THEMES:
        explore.page.emulate_media(forced_colors="active", color_scheme=scheme)
        explore.open(s="how are you", at="0.2")
        ink, ground = (explore.page.evaluate(SYSTEM, name) for name in ("CanvasText", "Canvas"))
        assert ink != ground
        weights = explore.shows("how are you").weights[0, 2]
        assert weights[cells[0]] > 0.99 > 0.01 > weights[cells[1]]
        for drawn, wanted, other in zip(colours_of(explore, *cells), (ink, ground), (ground, ink), strict=True):
            assert 20 * distance(drawn, wanted) < distance(drawn, other), "the colour of the weight 1, or 0"
        pressed, unpressed = (explore.button(name) for name in ("map", "table"))
        grounds = [one.evaluate("one => getComputedStyle(one).backgroundColor") for one in (pressed, unpressed)]
        assert grounds[0] != grounds[1]
        assert explore.theme == ("dark" if sum(ground) < 380 else "light")

    # contrast and hatching are chosen and stay; tests/web/unit/pictures.test.js has what they do to colours
    explore.page.emulate_media(contrast="more", forced_colors="none")
    explore.open(s="how are you", mask="causal", at="3.1")
    root = explore.page.locator("html")
    for name, before, after in (("strong contrast", "true", "false"), ("hatching", "true", "false")):
        expect(root).not_to_have_attribute("data-hatch", "none")
        explore.button("view").click()
        expect(explore.button(name)).to_have_attribute("aria-pressed", before)
        explore.button(name).click()  # the page is loaded again
        explore.settled().button("view").click()
        expect(explore.button(name)).to_have_attribute("aria-pressed", after)
        explore.keys("Escape")
    expect(root).to_have_attribute("data-hatch", "none")
