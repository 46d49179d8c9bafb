"""The Scaled dot product page as a visitor meets it."""

from __future__ import annotations

from typing import Self

from playwright.sync_api import expect

from .tab import Tab

__all__ = ["ScaledDot"]


class ScaledDot(Tab):
    """The page in one tab."""

    PATH = "/scaled-dot"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        expect(self.page.get_by_role("heading", name="What @ does")).to_be_visible()
        expect(self.page.locator("math").first).to_be_visible()
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
        return self
