"""The Masks page as a visitor meets it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from pages.kit.picture import mask_codec
from pages.kit.picture.pictures import Settings

from .helpers import TWO_FRAMES, core

WORDS = "can you can that"  # 6 tokens
# Drawn, everything heard by the server, and the server at rest.
SETTLED = """([view, digest]) => {
  const { turn, heard, digest: shown } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return shown && (!digest || digest === shown) && Number(heard) >= Number(turn)
    && !view.hasAttribute("data-waiting") && app.dataset.testScriptState === "notRunning" && view.isConnected;
}"""

# The frame's style sheet and the fonts may still come and move everything: its place for ten looks in a row.
STILL = """async (view) => {
  for (let [last, same] = ["", 0]; same < 10; ) {
    await new Promise((done) => setTimeout(done, 30));
    const { x, y, width, height } = view.querySelector(".cell").getBoundingClientRect();
    const place = [x, y, width, height].join();
    same = place === last ? same + 1 : 0;
    last = place;
  }
}"""


def weights_of(settings: Settings, layer: int, head: int) -> Tensor:
    """The weights that the page must show, computed in this process."""
    mask: str | Tensor = settings.mask
    if settings.painted:
        mask = mask_codec.allowed(settings.mask, settings.painted, mask_codec.tokens_of(settings.painted), 12)
    return core().run(settings.text, mask=mask).weights[layer, head]


class Masks:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.view = page.locator(".view.painter")
        self.box = page.get_by_role("textbox", name="Sentence", exact=True)
        self.sheets = page.locator(".view.sheet")

    def open(self, **values: Any) -> Masks:
        query = urlencode({"s": WORDS, "at": "0.3", **values}, doseq=True)
        self.page.goto(f"{self.url}/masks?{query}")
        self.settled()
        self.view.evaluate(STILL)
        return self

    def settled(self, digest: str | None = None) -> Masks:
        """Waits until the mask is drawn with its weights and the server has answered everything."""
        expect(self.view).to_be_visible()
        self.page.evaluate(TWO_FRAMES)
        self.page.wait_for_function(SETTLED, arg=[self.view.element_handle(), digest])
        return self

    def shows(self, mask: str = "none", painting: str = "", text: str = WORDS) -> Settings:
        """Waits for exactly this mask."""
        wanted = Settings(text, mask, painted=painting)
        try:
            self.settled(wanted.digest)
        except Exception as error:
            raise AssertionError(f"not the mask of {wanted}; {self.page.url}; {self.notices()}") from error
        return wanted

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    def wait_for_query(self, **values: str) -> None:
        """Waits until the link has these values."""
        self.page.wait_for_function(
            "wanted => Object.entries(wanted).every(([key, value]) =>"
            " new URLSearchParams(location.search).get(key) === value)",
            arg=values,
        )

    # ---- parts

    def button(self, name: str) -> Locator:
        return self.view.get_by_role("button", name=name, exact=True)

    def card(self, name: str) -> Locator:
        return self.view.locator(".card").filter(has=self.page.locator("b", has_text=name))

    def head(self, number: int) -> Locator:
        return self.button(f"head {number}")

    def notices(self) -> list[str]:
        return self.view.locator(".notices p").all_text_contents()

    @property
    def counted(self) -> Locator:
        return self.view.locator("section.who header .label")

    @property
    def cell(self) -> Locator:
        """The cell of the grid that has the focus when the grid has."""
        return self.view.locator("section.who .cell")

    def table(self, when: str) -> list[list[str]]:
        """The weights before or after, in four digits; "—" where the mask forbids."""
        self.button("table").click()
        table = self.view.get_by_role("region", name=f"weights {when} as a table")
        rows: list[list[str]] = table.locator("tbody").evaluate(
            "body => [...body.rows].map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
        )
        self.button("map").click()
        return rows

    # ---- painting

    def place(self, row: int, key: int) -> tuple[float, float]:
        """The middle of a cell of the grid, in pixels of the page; −1 is a label."""
        x, y = self.cell.evaluate(
            """(cell, [row, key]) => {
              const grid = cell.closest(".map");
              grid.scrollIntoView({ block: "center", behavior: "instant" });
              const [box, side] = [grid.getBoundingClientRect(), parseFloat(cell.style.width)];
              const i = cell.parentElement.getAttribute("aria-rowindex") - 1;
              const j = cell.getAttribute("aria-colindex") - 1;
              const [left, top] = [parseFloat(cell.style.left), parseFloat(cell.style.top)];
              return [box.x + left + (key - j + 0.5) * side, box.y + top + (row - i + 0.5) * side];
            }""",
            [row, key],
        )
        return x, y

    def click(self, row: int, key: int) -> None:
        self.page.mouse.click(*self.place(row, key))

    def drag(self, *cells: tuple[int, int]) -> None:
        """One stroke from cell to cell, without the places between them."""
        self.page.mouse.move(*self.place(*cells[0]))
        self.page.mouse.down()
        for cell in cells[1:]:
            self.page.mouse.move(*self.place(*cell))
        self.page.mouse.up()
