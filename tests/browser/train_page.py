"""The Train page in one tab."""

from __future__ import annotations

from typing import Any, Self

from playwright.sync_api import Locator, expect

from .tab import WAIT_MS, Tab, place_of

__all__ = ["LONG", "SHORT", "Train"]

# small enough to be over in a few seconds; its budget is for a machine that is busy: a training steps back for all else
SHORT: dict[str, Any] = {
    "pe": ["none", "rotary"], "dm": "16", "nh": "2", "steps": "40", "batch": "16", "seeds": "1",
    "budget": "1800",
}  # fmt: skip
# and long enough not to be over before it is stopped
LONG: dict[str, Any] = {**SHORT, "pe": "none", "steps": "5000", "batch": "256"}


class Train(Tab):
    """The page in one tab."""

    PATH = "/train"

    def settled(self) -> Self:
        """Waits for the last part of the page, and for the server to be at rest."""
        self.page.get_by_role("tab", name="Report").wait_for()
        self.page.locator("[role='tabpanel']:visible .view:visible").first.wait_for()
        self.script_ended()
        return self

    def button(self, name: str) -> Locator:
        return self.page.locator(".st-key-stage").get_by_role("button", name=name, exact=True)

    def tab(self, name: str) -> Self:
        """Opens one of the tabs under the training."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        expect(self.page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")
        return self.settled()

    def over(self) -> Self:
        """Waits for the end of a training that was started, which steps back for all that this machine does."""
        expect(self.button("Train")).to_be_enabled(timeout=4 * WAIT_MS)
        expect(self.button("Stop")).to_be_disabled()
        return self

    def known(self) -> list[list[str]]:
        """What each candidate knows, row by row."""
        return self.rows(self.panel("Results"))

    @property
    def film(self) -> Locator:
        return self.page.locator(".view.film")

    @property
    def slider(self) -> Locator:
        return self.film.get_by_role("slider")

    def check_first_screen_of_a_phone(self) -> None:
        """Task, positions and the two buttons stand over a curve that is seen without scrolling."""
        self.page.wait_for_function("() => document.querySelector('link[href*=\"house.css\"]')?.sheet")
        for name in ("Train", "Stop"):
            assert place_of(self.button(name)).y < 500  # under what is trained
        assert place_of(self.page.locator("[class*='st-key-axes_']").first).y < 812
