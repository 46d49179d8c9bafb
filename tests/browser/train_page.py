"""The Train page in one tab."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Locator, Page, expect

from .conftest import WAIT_MS

__all__ = ["LONG", "SHORT", "Train"]

# small enough to be over in a few seconds
SHORT: dict[str, Any] = {
    "pe": ["none", "rotary"], "dm": "16", "nh": "2", "steps": "40", "batch": "16", "seeds": "1", "ratio": "false",
}  # fmt: skip
# and long enough not to be over before it is stopped
LONG: dict[str, Any] = {**SHORT, "pe": "none", "steps": "5000", "batch": "256"}


class Train:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, **values: Any) -> Train:
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}/train" + (f"?{query}" if query else ""))
        return self.settled()

    def settled(self) -> Train:
        """Waits for the last part of the page."""
        expect(self.page.get_by_text("Open a saved run")).to_be_visible(timeout=WAIT_MS)
        return self

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def start(self) -> Train:
        self.button("Train").click()
        expect(self.button("Stop")).to_be_enabled(timeout=WAIT_MS)
        return self

    def over(self) -> Train:
        """Waits for the end of a training that was started."""
        expect(self.button("Train")).to_be_enabled(timeout=2 * WAIT_MS)
        expect(self.button("Stop")).to_be_disabled()
        return self

    def panel(self, heading: str) -> Locator:
        return self.page.locator(".sheet .panel", has=self.page.get_by_role("heading", name=heading, exact=True))

    def known(self) -> list[list[str]]:
        """What each candidate knows, row by row."""
        rows: list[list[str]] = (
            self.panel("What each one knows")
            .locator("tbody")
            .first.evaluate("body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))")
        )
        return rows

    def notices(self) -> list[str]:
        return self.page.locator(".sheet .notices p").all_text_contents()

    @property
    def film(self) -> Locator:
        return self.page.locator(".view.film")

    @property
    def slider(self) -> Locator:
        return self.film.get_by_role("slider")

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query)
