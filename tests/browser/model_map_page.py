"""The page of the model as a visitor meets it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, expect

from headlight.picture.settings import Settings

from .tab import Tab


class ModelMap(Tab):
    """The page in one tab."""

    PATH = "/model-map"
    VIEW = ".view.model-map"

    def shows(self, text: str | None = None, box: str | None = None, depth: str | None = None, **settings: Any) -> None:
        """Waits for this sentence, box and depth; None = any."""
        self.rested(digest=None if text is None else Settings(text, **settings).digest, box=box, depth=depth)

    @property
    def boxes(self) -> Locator:
        return self.view.locator(".box")

    def box_named(self, name: str) -> Locator:
        return self.view.locator(f'.box[data-box="{name}"]')

    @property
    def names(self) -> list[str]:
        """The boxes in the order of the pass."""
        found: list[str] = self.boxes.evaluate_all("boxes => boxes.map(box => box.dataset.box)")
        return found

    @property
    def about(self) -> Locator:
        return self.view.locator(".about")

    def depth(self, name: str) -> Locator:
        return self.about.get_by_role("group", name="Depth", exact=True).get_by_role("button", name=name, exact=True)

    def walked_to(self, name: str) -> None:
        """Waits until a box has the focus of the keyboard and is shown in the panel."""
        expect(self.box_named(name)).to_be_focused()
        self.shows(box=name)
