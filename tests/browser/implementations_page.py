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
        expect(self.panel("Same thing, other words").locator("tbody tr").first).to_be_visible()
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
        return self

    def differences(self) -> list[list[list[str]]]:
        panels = [self.panel("On your sentence"), self.panel("On random input")]
        return [self.rows(table) for panel in panels for table in panel.locator("table").all()]

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def notices(self) -> list[str]:
        return self.page.locator(".sheet .notices p").all_text_contents()

    def raced(self) -> list[list[str]]:
        """Waits for the end of the race; its table."""
        expect(self.button("Stop").or_(self.panel("What came out")).first).to_be_visible()  # it has begun
        expect(self.button("Stop")).to_have_count(0, timeout=2 * WAIT_MS)
        expect(self.button("Start")).to_be_enabled()
        return self.rows(self.panel("What came out").locator("table"))
