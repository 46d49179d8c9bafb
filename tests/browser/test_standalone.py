"""A run in a file of its own: opened from disk, with the network off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mha_core import Run
from mha_core.show import standalone
from pages.kit.picture.settings import Settings

from .expected import TIRED, run_of, written


@pytest.fixture(scope="module")
def run() -> Run:
    return run_of(Settings(TIRED))


@pytest.fixture
def opened(browser: Browser, run: Run, tmp_path: Path) -> Iterator[Page]:
    """The file in a tab without a network; whatever it asks for beyond itself fails the test."""
    file = tmp_path / "heads.html"
    file.write_text(standalone(run, layer=3, head=1, row=10, link="http://example.org/?at=3.1.10"), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="dark", offline=True)
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


def point(page: Page, row: int, key: int) -> str:
    """What is read out of a cell of the large map."""
    box = page.locator(".map .cell").evaluate(
        """(cell, [row, key]) => {
          const [map, { style }] = [cell.closest(".map").getBoundingClientRect(), cell];
          const [i, j] = [cell.parentElement.getAttribute("aria-rowindex") - 1, cell.getAttribute("aria-colindex") - 1];
          const [side, left, top] = [style.width, style.left, style.top].map(parseFloat);
          return [map.x + left + (key - j + 0.5) * side, map.y + top + (row - i + 0.5) * side];
        }""",
        [row, key],
    )
    page.mouse.move(*box)
    return page.locator(".readout").inner_text()


def test_the_file_shows_hover_heads_and_table(opened: Page, run: Run) -> None:
    tokens = run.tokens
    expect(opened.locator("h2")).to_have_text("“it” puts 64 % on “animal”")
    assert point(opened, 10, 2) == f"it → animal {written(float(run.weights[3, 1, 10, 2]))}"
    opened.locator('[data-head="3.5"]').click()
    expect(opened.locator(".view.standalone")).to_have_attribute("data-head", "5")
    assert point(opened, 4, 9) == f"{tokens[4]} → {tokens[9]} {written(float(run.weights[3, 5, 4, 9]))}"
    opened.get_by_role("button", name="table", exact=True).click()
    expect(opened.locator(".table tbody td")).to_have_count(len(tokens) ** 2)
    cells = opened.locator(".table tbody td").all_inner_texts()
    assert cells == [f"{weight:.4f}" for weight in run.weights[3, 5].flatten().tolist()]
    opened.get_by_role("button", name="lines", exact=True).click()
    expect(opened.locator(".lines canvas")).to_be_visible()

    opened.get_by_role("button", name="map", exact=True).click()
    opened.get_by_role("button", name="layer 0", exact=True).click()
    expect(opened.locator(".under-title")).to_contain_text("± 0.002")  # of another layer there is a byte a weight
    told = re.search(r"[\d.]+$", point(opened, 5, 4))
    assert told
    assert abs(float(told[0]) - float(run.weights[0, 5, 5, 4])) <= 1 / 510 + 0.005
    opened.get_by_role("button", name="all 72 heads", exact=True).click()
    expect(opened.locator(".tile")).to_have_count(72)
    opened.get_by_role("button", name="light theme", exact=True).click()
    expect(opened.locator(".view.standalone")).to_have_attribute("data-theme", "light")
    expect(opened.get_by_role("link")).to_have_attribute("href", "http://example.org/?at=3.1.10")
