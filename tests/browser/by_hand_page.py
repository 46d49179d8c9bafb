"""The By-hand page as a visitor meets it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator

from .tab import Tab

__all__ = ["ByHand"]


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
