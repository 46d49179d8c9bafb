"""A run in a file of its own: opened from disk, with the network off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from headlight.picture.settings import Settings
from mha_core import Run
from mha_core.show import standalone

from .axe import AXE, RUN, SERIOUS
from .conftest import OPTIONS
from .expected import TIRED, core, run_of, written
from .explore_page import Explore

Opens = Callable[[Run], AbstractContextManager[Page]]


@pytest.fixture
def opens(browser: Browser, tmp_path: Path) -> Opens:
    """A run's file in a tab without a network; whatever it asks for beyond itself fails the test."""

    @contextmanager
    def in_a_tab(run: Run) -> Iterator[Page]:
        file = tmp_path / "heads.html"
        file.write_text(standalone(run, layer=3, head=1, row=10, link="http://example.org/?at=3.1.10"), "utf-8")
        context = browser.new_context(**OPTIONS, offline=True)
        page = context.new_page()
        asked, said = list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(file.as_uri())
        expect(page.locator(".view.standalone")).to_be_visible()
        yield page
        assert [url for url in asked if not url.startswith(("file:", "blob:null/"))] == []
        assert said == []
        context.close()

    return in_a_tab


class Standalone(Explore):
    """The file, which shows Explore's view."""

    VIEW = ".view.standalone"


def point(page: Page, row: int, key: int) -> str:
    """What is read out of a cell of the large map."""
    return Standalone(page, "").hover(row, key)


def colours_in(page: Page, row: int, key: int) -> int:
    """How many colours a cell of the large map has, the lines between cells left out."""
    view = Standalone(page, "")
    x, y, width, height = view.box_of(view.cell, row, key)
    points = [(x + 2 + at, y + 2 + at) for at in range(int(min(width, height)) - 4)]
    return len(set(map(tuple, view.pixels(view.view.locator(".large .map canvas").first, points))))


def test_the_file_shows_hover_heads_and_table(opens: Opens) -> None:
    run = run_of(Settings(TIRED))
    with opens(run) as page:
        tokens = run.tokens
        assert page.title().endswith(" · nothing changed")
        expect(page.locator(".top")).to_contain_text("nothing changed")
        expect(page.locator(".tile.off, .is-off, .off-note")).to_have_count(0)
        expect(page.locator(".legend")).not_to_contain_text("blocked")
        expect(page.locator("h2")).to_have_text("“it” attends most to “animal”: 0.64")
        assert point(page, 10, 2) == f"it → animal {written(float(run.weights[3, 1, 10, 2]))}"
        page.locator('[data-head="3.5"]').click()
        expect(page.locator(".view.standalone")).to_have_attribute("data-head", "5")
        assert point(page, 4, 9) == f"{tokens[4]} → {tokens[9]} {written(float(run.weights[3, 5, 4, 9]))}"
        page.get_by_role("button", name="table", exact=True).click()
        expect(page.locator(".table tbody td")).to_have_count(len(tokens) ** 2)
        expect(page.get_by_role("cell", name="blocked by the mask")).to_have_count(0)
        cells = page.locator(".table tbody td").all_inner_texts()
        assert cells == [f"{weight:.4f}" for weight in run.weights[3, 5].flatten().tolist()]
        page.get_by_role("button", name="map", exact=True).click()
        page.get_by_role("button", name="layer 5", exact=True).click()
        expect(page.locator(".subtitle")).to_contain_text("± 0.002")  # the farthest layer has a byte a weight
        told = re.search(r"[\d.]+$", point(page, 5, 4))
        assert told
        assert abs(float(told[0]) - float(run.weights[5, 5, 5, 4])) <= 1 / 510 + 0.005  # half a byte, half a digit
        page.get_by_role("button", name="all 72 heads", exact=True).click()
        expect(page.locator(".tile")).to_have_count(72)
        page.get_by_role("button", name="light theme", exact=True).click()
        expect(page.locator(".view.standalone")).to_have_attribute("data-theme", "light")
        expect(page.get_by_role("link")).to_have_attribute("href", "http://example.org/?at=3.1.10")

    allow = torch.ones(15, 15, dtype=torch.bool)
    allow[10] = False
    with opens(core().run(TIRED, mask=allow)) as page:
        expect(page.locator(".large h2")).to_have_text("“it” attends to no token: all its weights are 0")


CAUSAL = Settings(TIRED, mask="causal", position="none", temperature=2, heads_off=((3, 2), (0, 5)), values_off=(0,))
CHANGED = "mask causal, no positions, temperature 2, 2 heads off, without the value of “[CLS]”"


@pytest.mark.thorough("pixels and axe of a changed run")
def test_the_file_says_what_is_changed(opens: Opens) -> None:
    """In the tab and on top; a head that is off is marked and dimmed, what is blocked is hatched."""
    run = run_of(CAUSAL)
    with opens(run) as page:
        assert page.title().endswith(f" · {CHANGED}")
        expect(page.locator(".top")).to_contain_text(CHANGED)
        off, on = page.locator('[data-head="3.2"]'), page.locator('[data-head="3.1"]')
        expect(off).to_have_attribute("aria-label", "layer 3 head 2, ablated")
        expect(on).to_have_attribute("aria-label", "layer 3 head 1")
        mark = "tile => getComputedStyle(tile.querySelector('.name'), '::after').content"
        assert (off.evaluate(mark), on.evaluate(mark)) == ('"off"', "none")
        for theme in ("light", "dark"):
            if page.locator(".view.standalone").get_attribute("data-theme") != theme:
                page.get_by_role("button", name=f"{theme} theme", exact=True).click()
            expect(page.locator(".view.standalone")).to_have_attribute("data-theme", theme)
            assert colours_in(page, 3, 13) > 1, "hatched"
            page.evaluate(AXE)
            options = {"resultTypes": ["violations"], "rules": {"region": {"enabled": False}}}
            found = page.locator("html").evaluate(RUN, options)
            assert [line for impact, line in found if impact in SERIOUS] == []
        expect(page.locator(".legend")).to_contain_text("blocked")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")

        off.click()
        heading = page.locator(".large h2")
        expect(heading).to_contain_text("“it” attends")
        expect(heading).to_contain_text("ablated: its output counts as 0")
        expect(page.locator(".large.is-off")).to_be_visible()
        expect(page.locator(".aloud")).to_contain_text("Layer 3 head 2, ablated: its output counts as 0. “it” attends")
        on.click()
        expect(heading).not_to_contain_text("ablated")
        expect(page.locator(".large.is-off")).to_have_count(0)

        # so do the keyboard and the table
        assert point(page, 10, 12) == "it → too 0.00, blocked by the mask"
        assert "blocked" not in point(page, 10, 2)
        page.get_by_role("button", name="table", exact=True).click()
        blocked = page.get_by_role("cell", name="blocked by the mask")
        expect(blocked).to_have_count(15 * 14 // 2)
        assert set(blocked.all_inner_texts()) == {"—"}
