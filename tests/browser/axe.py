"""axe-core, a list of rules for screen reader and keyboard: what it finds serious on a page or in a part of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator

from .explore_page import Explore
from .tab import Tab

__all__ = ["AXE", "COLOURS", "RUN", "SERIOUS", "Findings"]

CHANGES = ("Hide words", "Take the order away", "Switch heads off", "Sharpen or blur")
SERIOUS = {"serious", "critical"}  # what axe calls so; the others are minor and moderate
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules whose answer another theme can change
# Run by the debugger, to which the page's policy for scripts does not apply.
AXE = Axe().axe_script
RUN = """(element, options) => axe.run(element, options).then(({ violations }) => violations.flatMap(
  ({ id, impact, help, nodes }) =>
    nodes.map(({ target }) => [impact, `${id} at ${target.flat().join(" >> ")}: ${help}`])))"""


class Findings:
    """What axe finds serious, line by line: page, theme, rule, place. Streamlit's own markup is not let off."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.lines: list[str] = []

    def look(
        self, where: str, at: Locator | None = None, *, only: list[str] | None = None, without: Iterable[str] = ()
    ) -> None:
        """Looks at the whole page or at a part of it, by all rules, `only` by some or `without` some."""
        # whether all stands in a landmark is slow to find out, and never serious
        off = {rule: {"enabled": False} for rule in ("region", *without)}
        options: dict[str, Any] = {"resultTypes": ["violations"], "rules": off}
        if only:
            options["runOnly"] = {"type": "rule", "values": only}
        if self.tab.page.evaluate("typeof axe") == "undefined":  # a page that is loaded anew has forgotten it
            self.tab.page.evaluate(AXE)
        found = (at or self.tab.page.locator("html")).evaluate(RUN, options)
        self.lines += [f"{where}, {self.tab.theme}: {line}" for impact, line in found if impact in SERIOUS]

    def in_both_themes(self, where: str) -> None:
        """The page as it stands, and its colours in the other theme."""
        self.look(where)
        self.open_parts(where, None)
        before = self.tab.theme
        self.tab.in_theme("light" if before == "dark" else "dark")
        self.look(where, only=COLOURS)
        self.open_parts(where, COLOURS)
        self.tab.in_theme(before)

    def open_parts(self, where: str, only: list[str] | None) -> None:
        """The parts of a page that are seen one at a time."""
        if isinstance(self.tab, Explore):
            for name in CHANGES:
                self.look(f"{where}, {name}", self.tab.change(name), only=only)
