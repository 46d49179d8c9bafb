"""The Implementations page as a visitor meets it."""

from __future__ import annotations

from typing import Self

from playwright.sync_api import Locator, expect

from .tab import WAIT_MS, Tab

__all__ = ["Implementations"]


class Implementations(Tab):
    """The page in one tab."""

    PATH = "/implementations"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        self.page.get_by_role("heading", name="give the same numbers").wait_for()
        self.fold("One idea, many names").wait_for()
        self.script_ended()
        return self

    def fold(self, label: str) -> Locator:
        """What unfolds a part of the page."""
        return self.page.locator("summary", has_text=label)

    def unfold(self, label: str) -> Self:
        """Opens a part that is folded away, if it is not open."""
        details = self.page.locator("details", has=self.fold(label))
        if details.get_attribute("open") is None:
            self.fold(label).click()
        expect(self.page.locator("details[open]", has=self.fold(label))).to_have_count(1)
        return self.settled()

    def differences(self) -> list[list[list[str]]]:
        """The two tables of differences of each input; what a bias changes stands below."""
        self.unfold("The numbers")
        panels = [self.panel("On your sentence"), self.panel("On random input")]
        for panel in panels:
            expect(panel.locator("table").nth(1)).to_be_visible()
        return [self.rows(table) for panel in panels for table in panel.locator("table").all()[:2]]

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def notices(self) -> list[str]:
        return self.page.locator(".sheet .notices p").all_text_contents()

    def raced(self) -> list[list[str]]:
        """Waits for the end of the race; its table."""
        expect(self.button("Stop").or_(self.fold("All measured numbers")).first).to_be_visible()  # it has begun
        expect(self.button("Stop")).to_have_count(0, timeout=2 * WAIT_MS)
        expect(self.button("Start")).to_be_enabled()
        self.unfold("All measured numbers")
        table = self.page.locator(".st-key-folded_race_table table")
        expect(table).to_be_visible()
        return self.rows(table)
