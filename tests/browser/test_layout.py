"""The layout at the widths of tablets, projectors and desks: nothing overlaps, is cut, or is set letter by letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES
from pages.kit.lessons.course import course

from .compare_page import Compare
from .conftest import NewTab
from .explore_page import Explore
from .layout import faults_at_every_width
from .lessons_page import Beside
from .masks_page import Masks
from .shapes_page import Shapes
from .test_every_page import KINDS

LESSONS = course().lessons


def change_explore(tab: Explore) -> None:
    """A mask, and the head in focus off: every layer has a badge."""
    tab.mask("causal")
    tab.page.keyboard.press("Escape")
    tab.lamp(3, 1).click()
    tab.shows(mask="causal", heads_off=((3, 1),))


def change_compare(tab: Compare) -> None:
    tab.button("tired / wide").click()
    expect(tab.view.locator(".differs .contrast")).to_contain_text("sentence")


def change_masks(tab: Masks) -> None:
    tab.view.locator(".card").filter(has_text="window").first.click()
    tab.wait_for_query(mask=["window"])


def change_shapes(tab: Shapes) -> None:
    tab.open(mask="causal", off=["L3 H2"], vs="fused")


CHANGES: dict[str, Callable[[Any], None]] = {
    "explore": change_explore,
    "compare": change_compare,
    "masks": change_masks,
    "shapes": change_shapes,
}


@pytest.mark.parametrize("name", PAGES)
def test_at_every_width(name: str, new_tab: NewTab) -> None:
    """As it opens, after a change, and in the projector."""
    tab = new_tab(KINDS[name]).open()
    found = {"at first": faults_at_every_width(tab)}
    if name in CHANGES:
        CHANGES[name](tab)
        tab.settled()
        found["changed"] = faults_at_every_width(tab)
        tab.page.keyboard.press("Escape")
        tab.page.keyboard.press("p")
        tab.wait_for_query(big="true")
        found["projected"] = faults_at_every_width(tab)
    assert not any(found.values()), found


@pytest.mark.parametrize("step", ["it.1", "it.4", "silent.1", "silent.3", "capital.1", "capital.3"])
def test_in_a_lesson_at_every_width(step: str, new_tab: NewTab) -> None:
    """Under the curtain, after the answer, and in the projector."""
    name, _, at = step.partition(".")
    tab = new_tab(Beside).begin(LESSONS[name], int(at))
    found = {"under the curtain": faults_at_every_width(tab)}
    tab.page.keyboard.press("b")
    expect(tab.lit).to_have_count(1)
    found["answered"] = faults_at_every_width(tab)
    tab.page.keyboard.press("p")
    tab.wait_for_query(big="true")
    found["projected"] = faults_at_every_width(tab)
    assert not any(found.values()), found
