"""By hand, Implementations and Positions, pages of bound controls, as a visitor meets them."""

from __future__ import annotations

import re
from typing import Self

from playwright.sync_api import Locator, expect

from .tab import Tab

__all__ = ["ByHand", "Implementations", "Positions"]


class ByHand(Tab):
    """The page in one tab."""

    PATH = "/by-hand"

    def example(self, name: str) -> None:
        """Chooses an example."""
        self.page.get_by_role("radio", name=name, exact=True).click()

    def cell(self, matrix: str, row: str, col: str) -> Locator:
        name = re.escape(f"{matrix}, row {row}, column {col}")
        return self.view.get_by_label(re.compile(rf"^{name}(: \S+)?$")).first

    def matrix(self, name: str) -> list[list[str]]:
        """The last matrix of that name: its cells, without the row sums."""
        found = self.view.locator("section.matrix").filter(has=self.page.get_by_role("heading", name=name, exact=True))
        rows: list[list[str]] = found.last.locator("tbody").evaluate(
            "body => [...body.rows].map(row => [...row.cells].slice(1).filter(cell => !cell.matches('.sum-cell'))"
            ".map(cell => cell.querySelector('input')?.value ?? cell.textContent))"
        )
        return rows

    def wait_for(self, name: str, row: int, cells: list[str]) -> None:
        """Waits until a row of a matrix shows exactly this."""
        self.until(lambda: self.matrix(name)[row] == cells, f"row {row} of {name} is {cells}")

    def texts(self) -> str:
        return " ".join(self.view.locator(".words").all_text_contents())


class Folded(Tab):
    """A page with parts that are folded away."""

    def fold(self, label: str) -> Locator:
        """What unfolds a part of the page."""
        return self.page.locator("summary", has_text=label)

    def unfold(self, *labels: str) -> Self:
        """Opens parts that are folded away, where they are not open."""
        for label in labels:
            details = self.page.locator("details", has=self.fold(label))
            if details.get_attribute("open") is None:
                self.fold(label).press("Enter")  # no pointer: what unfolds above it moves it away
            expect(details).to_have_attribute("open", "")
        return self.settled()


class Implementations(Folded):
    """The page in one tab."""

    PATH = "/implementations"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        self.page.get_by_role("heading", name="give the same numbers").wait_for()
        self.fold("One concept, many names").wait_for()
        self.script_ended()
        return self

    def differences(self) -> list[list[list[str]]]:
        """The two tables of differences of each input; what a bias changes stands below."""
        self.unfold("The numbers")
        panels = [self.panel("On your sentence"), self.panel("On random input")]
        for panel in panels:
            expect(panel.locator("table").nth(1)).to_be_visible()
        return [self.rows(table) for panel in panels for table in panel.locator("table").all()[:2]]


class Positions(Folded):
    """The page in one tab."""

    PATH = "/positions"

    def settled(self) -> Self:
        """Waits for the last part of the page and for the server to be at rest."""
        self.page.locator(".view.encodings:visible, .st-key-problem .words").first.wait_for(state="attached")
        charts = self.page.locator(".js-plotly-plot").first
        charts.or_(self.heading("No encoding")).first.wait_for(state="attached")
        self.fold("Beyond the trained length").or_(self.heading("No encoding")).first.wait_for()
        self.script_ended()
        return self

    def map(self, title: str) -> Locator:
        """The small map of an encoding, by its title."""
        return self.page.locator(".encoding", has_text=title)

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def part(self, heading: str) -> Locator:
        """The framed part with this heading: words, numbers and chart."""
        return self.page.locator("[class*='st-key-part_']", has=self.heading(heading))

    def notices(self) -> list[str]:
        return self.page.locator(".st-key-notices .notices p").all_text_contents()
