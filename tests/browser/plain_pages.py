"""The pages that need hardly a word of their own, as a visitor meets them."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Tab

__all__ = ["Claims", "Glossary", "Phone", "ScaledDot", "SideBySide"]


class Claims(Tab):
    PATH = "/claims"


class Glossary(Tab):
    PATH = "/glossary"


class SideBySide(Tab):
    PATH = "/side-by-side"


class ScaledDot(Tab):
    PATH = "/scaled-dot"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        self.page.get_by_role("heading", name="What @ does").wait_for()
        self.page.locator("math").first.wait_for()
        self.script_ended()
        return self


class Phone(Tab):
    """A phone, or a projector, in a room."""

    PATH = "/room"
    VIEW = ".stage .view"

    def join(self, code: str) -> None:
        self.page.goto(f"{self.url}{self.PATH}")
        self.page.get_by_label("Code").fill(code.lower())
        self.page.get_by_role("button", name="join").click()
        expect(self.view).to_be_visible()

    def option(self, text: str) -> Locator:
        return self.page.get_by_role("button", name=text)
