"""The Masks page as a visitor meets it."""

from __future__ import annotations

from typing import Any, Self

from playwright.sync_api import Locator, expect
from torch import Tensor

from headlight.link import mask_codec
from headlight.picture.settings import Settings

from .expected import core
from .tab import Tab

WORDS = "can you can that"  # 6 tokens
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
        mask = mask_codec.allow_mask(settings.mask, settings.painted, mask_codec.token_count(settings.painted), 12)
    return core().run(settings.text, mask=mask).weights[layer, head]


class Masks(Tab):
    """The page in one tab."""

    PATH = "/masks"
    VIEW = ".view.painter"

    def open(self, **values: Any) -> Self:
        """Six tokens and layer 0, head 3, where the link says nothing else."""
        super().open(**{"s": WORDS, "at": "0.3", **values})
        self.view.evaluate(STILL)
        return self

    def settled(self, digest: str | None = None) -> Self:
        """Waits until the mask is drawn with its weights and the server has answered everything."""
        return self.rested(digest=digest)

    def complete(self) -> Self:
        """Waits for what follows from the mask too, which comes after its weights."""
        expect(self.view.locator(".outcomes:not([aria-busy])")).to_be_visible()
        return super().complete()

    def shows(self, mask: str = "none", painting: str = "", text: str = WORDS) -> Settings:
        """Waits for exactly this mask."""
        wanted = Settings(text, mask, painted=painting)
        try:
            self.settled(wanted.digest)
        except Exception as error:
            raise AssertionError(f"not the mask of {wanted}; {self.page.url}; {self.notices()}") from error
        return wanted

    # ---- parts

    @property
    def sheets(self) -> Locator:
        return self.view.locator(".sheet")

    def card(self, name: str) -> Locator:
        return self.view.locator(".card").filter(has=self.page.locator(".name", has_text=name))

    def head(self, number: int) -> Locator:
        return self.button(f"head {number}")

    @property
    def counted(self) -> Locator:
        return self.view.locator("section.mask-panel header .label")

    @property
    def rule(self) -> Locator:
        """The rule in use, as it is written, once "combine" is open."""
        return self.view.get_by_role("textbox", name="Rules combined")

    @property
    def sums(self) -> Locator:
        """What the rows of the weights after sum to."""
        return self.view.locator("section.weights-after header .label")

    @property
    def cell(self) -> Locator:
        """The cell of the grid that has the focus when the grid has."""
        return self.view.locator("section.mask-panel .cell")

    def table(self, when: str) -> list[list[str]]:
        """The weights before or after, in four digits; "—" where the mask forbids."""
        self.button("table").click()
        table = self.view.get_by_role("region", name=f"weights {when} as a table")
        rows = [row[1:] for row in self.rows(table)]
        self.button("map").click()
        return rows

    # ---- painting

    def place(self, row: int, key: int) -> tuple[float, float]:
        """The middle of a cell of the grid, in pixels of the page; −1 is a label."""
        return self.middle(self.cell, row, key)

    def click(self, row: int, key: int) -> None:
        self.page.mouse.click(*self.place(row, key))
