"""The Positions page as a visitor meets it."""

from __future__ import annotations

from typing import Self

from playwright.sync_api import Locator, expect

from .tab import Tab

__all__ = ["Positions"]


class Positions(Tab):
    """The page in one tab."""

    PATH = "/positions"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        last = self.page.get_by_role("heading", name="On MiniLM: this sentence, everything else being equal")
        expect(last).to_be_attached()
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
        return self

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def part(self, heading: str) -> Locator:
        """The framed part with this heading: words, numbers and chart."""
        return self.page.locator("[class*='st-key-part_']", has=self.heading(heading))

    def row(self, heading: str) -> list[str]:
        """The first row of numbers of a part."""
        return self.part(heading).locator("tbody tr").first.locator("th, td").all_inner_texts()

    def choose(self, label: str, option: str) -> None:
        """A select box by keyboard alone."""
        box = self.page.get_by_role("combobox", name=label)
        box.focus()
        box.press("Enter")
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(option)
        self.page.get_by_role("option", name=option, exact=True).wait_for()
        self.page.keyboard.press("Enter")

    def notices(self) -> list[str]:
        return self.page.locator(".st-key-told .notices p").all_text_contents()
