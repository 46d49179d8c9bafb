"""The Compare page as a visitor meets it."""

from __future__ import annotations

from typing import Self

from playwright.sync_api import Locator, expect

from headlight.picture.settings import Settings
from mha_core import Run

from .expected import TIRED, run_of, written
from .tab import Tab

PANELS = ("Left", "Right", "Right − left")


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+' if value else ''}{written(abs(value))}"


def read(runs: tuple[Run, Run], layer: int, head: int, row: int, key: int) -> list[str]:
    """What the three maps must read of a cell."""
    tokens = runs[0].tokens
    left, right = (float(run.weights[layer, head, row, key]) for run in runs)
    where = f"{tokens[row]} → {tokens[key]}"
    # the browser subtracts float32 numbers as doubles
    difference = f"{where} {written(left)} → {written(right)}, {signed(right - left)}"
    return [f"{where} {written(left)}", f"{where} {written(right)}", difference]


class Compare(Tab):
    """The page in one tab."""

    PATH = "/compare"
    VIEW = ".view.pair"

    def settled(self, digest: str | None = None) -> Self:
        """Waits until both maps have their numbers and the server has answered everything."""
        return self.rested(numbers=None, digest=digest)

    def complete(self) -> Self:
        """Waits for what is asked beneath the maps too, or can be: it comes after them, and says more."""
        expect(self.shuffle).not_to_have_attribute("data-outdated", "")
        answered = self.view.locator(".head-bars:not([data-outdated])")
        expect(answered.or_(self.bars.get_by_role("button", name="Ablate each head in turn"))).to_be_visible()
        return self.settled()

    def shows(self, left: Settings, right: Settings) -> tuple[Run, Run]:
        """Waits for exactly these two; returns what the core makes of them."""
        self.settled(f"{left.digest}-{right.digest}")
        return run_of(left), run_of(right)

    def shows_default(self) -> tuple[Run, Run]:
        return self.shows(Settings(TIRED), Settings(TIRED, position="none"))

    # ---- parts

    @property
    def other_box(self) -> Locator:
        return self.page.get_by_role("textbox", name="Sentence, right", exact=True)

    @property
    def shuffle(self) -> Locator:
        return self.view.locator(".shuffle")

    @property
    def bars(self) -> Locator:
        return self.view.locator(".head-bars")

    @property
    def contrast(self) -> Locator:
        """What the sides differ in."""
        return self.view.locator(".contrast")

    def controls(self, name: str) -> Locator:
        """The panel of one control, "Mask, right", opened from its card."""
        panel = self.view.get_by_role("group", name=name, exact=True)
        opener = self.view.get_by_role("button", name=f"{name}:")
        if opener.get_attribute("aria-expanded") != "true":
            opener.click()
        expect(panel).to_be_visible()
        return panel

    def set(self, name: str, choice: str) -> None:
        """Chooses a mask or an encoding on a card."""
        controls = self.controls(name)
        controls.get_by_role("radio", name=choice, exact=True).click()

    def map(self, number: int) -> Locator:
        return self.view.get_by_role("region", name=PANELS[number], exact=True)

    def readouts(self) -> list[str]:
        return self.view.locator(":scope > .panel > .readout").all_inner_texts()

    def bar(self, layer: int, head: int) -> Locator:
        return self.bars.get_by_role("button", name=f"cosine without each head, row L{layer}, column H{head}:")

    def cell(self, number: int, row: int, key: int) -> tuple[float, float]:
        """The middle of a cell of one of the three maps."""
        return self.middle(self.map(number).locator(".cell"), row, key)

    def hover(self, number: int, row: int, key: int) -> list[str]:
        """Points at a cell of one map; what all three read."""
        self.page.mouse.move(*self.cell(number, row, key))
        return self.readouts()
