"""The Compare page as a visitor meets it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Locator, Page, expect

from mha_core import Run
from pages.kit.picture.pictures import Settings

from .helpers import TIRED, TWO_FRAMES, run_of

# Drawn with its numbers, everything heard by the server, and the server at rest.
SETTLED = """([view, digest]) => {
  const { numbers, turn, heard, digest: shown } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return Boolean(numbers) && Number(heard) >= Number(turn) && (!digest || digest === shown)
    && app.dataset.testScriptState === "notRunning" && view.isConnected;
}"""
# The middle of a cell of a map, in pixels of the page.
CELL = """(cell, [row, key]) => {
  const map = cell.closest(".map");
  map.scrollIntoView({ block: "center", behavior: "instant" });
  const [at, side] = [map.getBoundingClientRect(), parseFloat(cell.style.width)];
  const i = cell.parentElement.getAttribute("aria-rowindex") - 1;
  const j = cell.getAttribute("aria-colindex") - 1;
  const [x, y] = [parseFloat(cell.style.left), parseFloat(cell.style.top)];
  return [at.x + x + (key - j + 0.5) * side, at.y + y + (row - i + 0.5) * side];
}"""
PANELS = ("Left", "Right", "Right − left")


class Compare:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.view = page.locator(".view.pair")
        self.box = page.get_by_role("textbox", name="Sentence", exact=True)
        self.other_box = page.get_by_role("textbox", name="Sentence, right", exact=True)
        self.shuffle = page.locator(".view.sheet")
        self.bars = page.locator(".view.bars-of-heads")

    def open(self, **values: Any) -> Compare:
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}/compare" + (f"?{query}" if query else ""))
        return self.settled()

    def settled(self, digest: str | None = None) -> Compare:
        """Waits until both maps have their numbers and the server has answered everything."""
        expect(self.view).to_be_visible()
        self.page.evaluate(TWO_FRAMES)
        self.page.wait_for_function(SETTLED, arg=[self.view.element_handle(), digest])
        return self

    def shows(self, left: Settings, right: Settings) -> tuple[Run, Run]:
        """Waits for exactly these two; returns what the core makes of them."""
        self.settled(f"{left.digest}-{right.digest}")
        return run_of(left), run_of(right)

    def shows_default(self) -> tuple[Run, Run]:
        return self.shows(Settings(TIRED), Settings(TIRED, position="none"))

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    # ---- parts

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def panel(self, number: int) -> Locator:
        return self.view.get_by_role("region", name=PANELS[number], exact=True)

    def readouts(self) -> list[str]:
        return self.view.locator(".panel > .readout").all_inner_texts()

    def figures(self) -> list[str]:
        return self.view.locator(".figure strong").all_inner_texts()

    def notices(self) -> list[str]:
        return self.view.locator(".notices p").all_text_contents()

    def bar(self, layer: int, head: int) -> Locator:
        return self.bars.locator(f'[data-head="{layer}.{head}"]')

    def cell(self, number: int, row: int, key: int) -> tuple[float, float]:
        x, y = self.panel(number).locator(".cell").evaluate(CELL, [row, key])
        return x, y

    def hover(self, number: int, row: int, key: int) -> list[str]:
        """Points at a cell of one map; what all three read."""
        self.page.mouse.move(*self.cell(number, row, key))
        return self.readouts()

    def choose(self, label: str, option: str) -> None:
        """Chooses in one of the rail's boxes. A list that opens while the page still scrolls closes again."""
        box = self.page.get_by_role("combobox", name=label, exact=True)
        box.evaluate("box => box.scrollIntoView({ block: 'center', behavior: 'instant' })")
        box.click()
        self.page.get_by_role("option", name=option, exact=True).click()
