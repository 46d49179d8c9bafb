"""The pages that need hardly a word of their own, as a visitor meets them."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Tab

__all__ = ["Claims", "Glossary", "Phone"]


class Claims(Tab):
    PATH = "/claims"


class Glossary(Tab):
    PATH = "/glossary"
    VIEW = ".st-key-glossary .sheet"  # the questions are folded


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
