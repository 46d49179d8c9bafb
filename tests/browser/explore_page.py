"""The Explore page as a visitor meets it."""

from __future__ import annotations

from typing import Any, Self

from playwright.sync_api import Locator, expect

from headlight.link.presets import NAMES, PRESETS
from headlight.picture.settings import Settings
from headlight.registry import get_source, trained
from mha_core import Run

from .expected import TIRED, run_of
from .tab import TWO_FRAMES, Tab

__all__ = ["Explore"]

# Read from a copy: of a canvas that is read itself more than once Chromium has something to say.
PIXELS = """(canvas, points) => {
  const [{ width, height }, box] = [canvas, canvas.getBoundingClientRect()];
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  return points.map(([x, y]) => {
    const [px, py] = [x - box.x, y - box.y].map((at) => Math.floor((at * width) / box.width));
    return [...data.slice(4 * (py * width + px), 4 * (py * width + px) + 3)];
  });
}"""
IN_MENU = {"widen small weights", "proportional", "scaled per map", "show [CLS] [SEP]", "pin", "unpin"}
IN_MENU |= {"show only this head", "remove from view", "show all heads", "mean of heads", "value norms"}
IN_MENU |= {"one head", "merge word pieces", "rescale rows to 1", "select several columns", "show first token"}


class Explore(Tab):
    """The page in one tab."""

    VIEW = ".view.explore"

    def settled(self, digest: str | None = None) -> Self:
        """Waits until the picture, any or this one, has its numbers and the server has answered everything."""
        return self.rested(numbers=None, digest=digest)

    def shows(self, text: str = TIRED, **settings: Any) -> Run:
        """Waits for the picture of exactly these settings; returns what the core makes of them."""
        wanted = Settings(text, **settings)
        try:
            self.settled(wanted.digest)
        except Exception as error:
            notices = self.notices() if self.view.is_visible() else "no view"
            raise AssertionError(f"not the picture of {wanted}; {self.page.url}; {notices}") from error
        return run_of(wanted)

    def typed(self, text: str, **settings: Any) -> Run:
        """Writes a sentence and waits for its picture."""
        self.box.fill(text)
        return self.shows(text, **settings)

    # ---- what opens

    def button(self, name: str) -> Locator:
        """A button of the view; the menu that holds it is opened."""
        if name in IN_MENU or name.startswith("sort"):
            self.opened("view")
        elif name in PRESETS or any(name in get_source(one).presets for one in trained.shipped()):
            self.opened("try another")
            name = f"{NAMES[name]}: {name}" if name in NAMES else name
        elif name == "compare now":
            self.view.locator("details.proof").evaluate("proof => { proof.open = true; }")
        return super().button(name)

    def opened(self, name: str) -> None:
        opener = self.view.get_by_role("button", name=name, exact=True)
        if opener.get_attribute("aria-expanded") == "false":
            opener.click()

    def change(self, name: str) -> Locator:
        """The panel of one of the things that can be changed, open; until the next frame another may stand there."""
        tile = self.view.locator(".switch", has_text=name)
        if tile.get_attribute("aria-expanded") == "false":
            tile.click()
        panel = self.view.locator(".settings").and_(self.view.get_by_role("group", name=name, exact=True))
        expect(panel).to_be_visible()
        return panel

    def mask(self, name: str) -> None:
        self.change("Mask").get_by_role("radio", name=name, exact=True).click()

    def position(self, name: str) -> None:
        panel = self.change("Positional encoding")
        panel.get_by_role("radio", name=name, exact=True).click()

    # ---- parts

    @property
    def box(self) -> Locator:
        """The sentence box, also where the projector takes it out of sight."""
        return self.view.locator(".sentence textarea")

    @property
    def place(self) -> Locator:
        """Layer and head in focus, and what is changed, in words."""
        return self.view.locator(".large .subtitle .label").first

    def group(self, name: str) -> Locator:
        return self.view.get_by_role("group", name=name)

    def uncover(self) -> None:
        """Closes the panel that lies over the heads, if any does."""
        self.page.evaluate(TWO_FRAMES)  # what was just pressed is drawn
        opened = self.view.locator('.switch[aria-expanded="true"]')
        if opened.count():
            opened.click()

    def layer(self, number: int) -> Locator:
        self.uncover()
        return self.button(f"layer {number}")

    def tile(self, layer: int, head: int) -> Locator:
        return self.view.locator(f'.tile[data-head="{layer}.{head}"]')

    def lamp(self, layer: int, head: int) -> Locator:
        self.uncover()
        return self.tile(layer, head).locator(".lamp")

    def chips(self) -> list[str]:
        return self.view.locator(".chip").all_text_contents()

    def chip(self, number: int) -> Locator:
        return self.view.locator(".chip").nth(number)

    def badges(self) -> list[str]:
        """What the row in focus looks at, with its weights."""
        bars = self.view.locator(".large .top-keys .key-bar")
        names, values = bars.locator(".badge").all_text_contents(), bars.locator(".value").all_text_contents()
        return [f"{name} {value}" for name, value in zip(names, values, strict=True)]

    def looks_at(self, badges: list[str]) -> None:
        """Waits until the row in focus looks at these."""
        self.until(lambda: self.badges() == badges, f"the row in focus looks at {badges}")

    def has_heads(self, heads: list[str]) -> None:
        """Waits until these stand there, in this order."""
        tiles = self.view.locator(".tile")
        read = "tiles => tiles.map((tile) => tile.dataset.head)"
        self.until(lambda: bool(tiles.evaluate_all(read) == heads), f"the heads are {heads}")

    def table(self) -> list[list[str]]:
        """The body of the table, with its row heads."""
        return self.rows(self.view.locator(".large .table"))

    # ---- the enlarged map

    @property
    def cell(self) -> Locator:
        """The cell of the enlarged map that the arrows walk from."""
        return self.view.locator(".large .map .cell")

    def hover(self, row: int, key: int) -> str:
        """Points at a cell of the enlarged map; what is read out."""
        self.page.mouse.move(*self.middle(self.cell, row, key))
        return self.readout()

    def readout(self) -> str:
        return self.view.locator(".large .readout").inner_text()

    def click_cell(self, row: int, key: int) -> None:
        self.page.mouse.click(*self.middle(self.cell, row, key))

    def pixels(self, canvas: Locator, points: list[tuple[float, float]]) -> list[list[int]]:
        """The colours of a canvas at points of the window."""
        found: list[list[int]] = canvas.evaluate(PIXELS, points)
        return found
