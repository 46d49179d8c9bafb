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
        self.page.locator(".view.encodings:visible, .st-key-problem .words").first.wait_for(state="attached")
        charts = self.page.locator(".js-plotly-plot").first
        charts.or_(self.heading("No encoding")).first.wait_for(state="attached")
        self.fold("Past the trained length").or_(self.heading("No encoding")).first.wait_for()
        self.script_ended()
        return self

    def fold(self, label: str) -> Locator:
        """What unfolds a part of the portraits."""
        return self.page.locator("summary", has_text=label)

    def unfold(self, *labels: str) -> None:
        """Opens parts that are folded away."""
        for label in labels:
            expect(self.fold(label)).to_be_visible()
            self.fold(label).press("Enter")  # no pointer: what unfolds above it moves it away
            expect(self.page.locator("details[open]", has=self.fold(label))).to_have_count(1)
        self.settled()

    def map(self, title: str) -> Locator:
        """The small map of an encoding, by its title."""
        return self.page.locator(".encoding", has_text=title)

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def part(self, heading: str) -> Locator:
        """The framed part with this heading: words, numbers and chart."""
        return self.page.locator("[class*='st-key-part_']", has=self.heading(heading))

    def row(self, heading: str) -> list[str]:
        """The first row of numbers of a part."""
        row = self.part(heading).locator("tbody tr").first
        row.wait_for()
        return row.locator("th, td").all_inner_texts()

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
