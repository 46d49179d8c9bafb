"""The Scaled dot product page as a visitor meets it."""

from __future__ import annotations

from typing import Self

from .tab import Tab

__all__ = ["ScaledDot"]


class ScaledDot(Tab):
    """The page in one tab."""

    PATH = "/scaled-dot"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        self.page.get_by_role("heading", name="What @ does").wait_for()
        self.page.locator("math").first.wait_for()
        self.script_ended()
        return self
