"""A run in a file of its own: opened from disk, with the network off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from mha_core import Run
from mha_core.show import standalone
from pages.kit.picture.settings import Settings

from .axe import AXE, RUN, SERIOUS
from .expected import TIRED, core, run_of, written


@pytest.fixture(scope="module")
def run() -> Run:
    return run_of(Settings(TIRED))


Opens = Callable[..., AbstractContextManager[Page]]


@pytest.fixture
def opens(browser: Browser, tmp_path: Path) -> Opens:
    """A run's file in a tab without a network; whatever it asks for beyond itself fails the test."""
    return contextmanager(partial(in_a_tab, browser, tmp_path / "heads.html"))


def in_a_tab(
    browser: Browser, file: Path, run: Run, *, width: int = 1440, height: int = 900, light: bool = False
) -> Iterator[Page]:
    file.write_text(standalone(run, layer=3, head=1, row=10, link="http://example.org/?at=3.1.10"), encoding="utf-8")
    scheme: Any = "light" if light else "dark"
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True, has_touch=width < 500
    )
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


@pytest.fixture
def opened(opens: Opens, run: Run) -> Iterator[Page]:
    with opens(run) as page:
        yield page


def test_the_file_shows_hover_heads_and_table(opened: Page, run: Run, opens: Opens) -> None:
    tokens = run.tokens
    nothing_is_marked_where_nothing_is_changed(opened)
    expect(opened.locator("h2")).to_have_text("“it” puts 64 % on “animal”")
    assert point(opened, 10, 2) == f"it → animal {written(float(run.weights[3, 1, 10, 2]))}"
    opened.locator('[data-head="3.5"]').click()
    expect(opened.locator(".view.standalone")).to_have_attribute("data-head", "5")
    assert point(opened, 4, 9) == f"{tokens[4]} → {tokens[9]} {written(float(run.weights[3, 5, 4, 9]))}"
    opened.get_by_role("button", name="table", exact=True).click()
    expect(opened.locator(".table tbody td")).to_have_count(len(tokens) ** 2)
    expect(opened.get_by_role("cell", name="blocked by the mask")).to_have_count(0)
    cells = opened.locator(".table tbody td").all_inner_texts()
    assert cells == [f"{weight:.4f}" for weight in run.weights[3, 5].flatten().tolist()]
    opened.get_by_role("button", name="lines", exact=True).click()
    expect(opened.locator(".lines canvas")).to_be_visible()

    opened.get_by_role("button", name="map", exact=True).click()
    opened.get_by_role("button", name="layer 0", exact=True).click()
    expect(opened.locator(".under-title")).to_contain_text("± 0.002")  # of another layer there is a byte a weight
    told = re.search(r"[\d.]+$", point(opened, 5, 4))
    assert told
    assert abs(float(told[0]) - float(run.weights[0, 5, 5, 4])) <= 1 / 510 + 0.005  # half a byte, half a digit
    opened.get_by_role("button", name="all 72 heads", exact=True).click()
    expect(opened.locator(".tile")).to_have_count(72)
    opened.get_by_role("button", name="light theme", exact=True).click()
    expect(opened.locator(".view.standalone")).to_have_attribute("data-theme", "light")
    expect(opened.get_by_role("link")).to_have_attribute("href", "http://example.org/?at=3.1.10")

    allow = torch.ones(15, 15, dtype=torch.bool)
    allow[10] = False
    with opens(core().run(TIRED, mask=allow)) as page:
        expect(page.locator(".large h2")).to_have_text("“it” may look at nobody")


def nothing_is_marked_where_nothing_is_changed(opened: Page) -> None:
    assert opened.title().endswith(" · nothing changed")
    expect(opened.locator(".top")).to_contain_text("nothing changed")
    expect(opened.locator(".tile.off, .is-off, .off-note")).to_have_count(0)
    expect(opened.locator(".legend")).not_to_contain_text("blocked")


CAUSAL = Settings(TIRED, mask="causal", position="none", temperature=2, heads_off=((3, 2), (0, 5)), values_off=(0,))
CHANGED = "mask causal, no positions, temperature 2, 2 heads off, without the value of “[CLS]”"
# The pixels of a part of a canvas, read from a copy: of a canvas that is read itself Chromium has something to say.
READ = """const read = (canvas, ...part) => {
  const [x, y, width, height] = part.map((one) => Math.round(one * devicePixelRatio));
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, x, y, width, height, 0, 0, width, height);
  return copy.getImageData(0, 0, width, height).data;
};
const colours = (data) => new Set(new Uint32Array(data.buffer)).size;"""
# The colours inside a cell of the large map, the lines between cells left out.
IN_CELL = f"""(map, [row, key]) => {{ {READ}
  const cell = map.querySelector(".cell");
  const [i, j] = [cell.parentElement.ariaRowIndex - 1, cell.ariaColIndex - 1];
  const [side, left, top] = [cell.style.width, cell.style.left, cell.style.top].map(parseFloat);
  const place = [left + (key - j) * side + 2, top + (row - i) * side + 2, side - 4, side - 4];
  return colours(read(map.querySelector("canvas"), ...place));
}}"""


@pytest.mark.thorough("pixels and axe of a changed run")
def test_the_file_says_what_is_changed(opens: Opens) -> None:
    """In the tab and on top; a head that is off is marked and dimmed, what is blocked is hatched."""
    run = run_of(CAUSAL)
    with opens(run) as page:
        assert page.title().endswith(f" · {CHANGED}")
        expect(page.locator(".top")).to_contain_text(CHANGED)
        off, on = page.locator('[data-head="3.2"]'), page.locator('[data-head="3.1"]')
        expect(off).to_have_attribute("aria-label", "layer 3 head 2, off in the model")
        expect(on).to_have_attribute("aria-label", "layer 3 head 1")
        mark = "tile => getComputedStyle(tile.querySelector('.name'), '::after').content"
        assert (off.evaluate(mark), on.evaluate(mark)) == ('"off"', "none")
        large = page.locator(".large .map")
        for theme in ("light", "dark"):
            if page.locator(".view.standalone").get_attribute("data-theme") != theme:
                page.get_by_role("button", name=f"{theme} theme", exact=True).click()
            expect(page.locator(".view.standalone")).to_have_attribute("data-theme", theme)
            assert large.evaluate(IN_CELL, [3, 13]) > 1
            page.evaluate(AXE)
            options = {"resultTypes": ["violations"], "rules": {"region": {"enabled": False}}}
            found = page.locator("html").evaluate(RUN, options)
            assert [line for impact, line in found if impact in SERIOUS] == []
        expect(page.locator(".legend")).to_contain_text("hatched: blocked by the mask")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")

        off.click()
        heading = page.locator(".large h2")
        expect(heading).to_contain_text("“it” puts")
        expect(heading).to_contain_text("switched off: what it finds is not passed on")
        expect(page.locator(".large.is-off")).to_be_visible()
        expect(page.locator(".aloud")).to_contain_text(
            "Layer 3 head 2, switched off: what it finds is not passed on. “it” puts"
        )
        on.click()
        expect(heading).not_to_contain_text("off")
        expect(page.locator(".large.is-off")).to_have_count(0)

        # so do the keyboard and the table
        assert point(page, 10, 12) == "it → too 0.00, blocked by the mask"
        assert "blocked" not in point(page, 10, 2)
        page.get_by_role("button", name="table", exact=True).click()
        blocked = page.get_by_role("cell", name="blocked by the mask")
        expect(blocked).to_have_count(15 * 14 // 2)
        assert set(blocked.all_inner_texts()) == {"—"}
