"""axe-core, a list of rules for screen reader and keyboard: it finds nothing serious on any page, in either theme."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from pages.kit.draw.pages import PAGES
from pages.kit.lessons.course import course

from .conftest import NewTab
from .explore_page import Explore
from .lessons_page import Beside
from .tab import Tab
from .test_every_page import KINDS, RICH

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
        tab.page.evaluate(AXE)

    def look(self, where: str, at: Locator | None = None, *, only: list[str] | None = None) -> None:
        """Looks at the whole page or at a part of it, by all rules or `only` by some."""
        # whether all stands in a landmark is slow to find out, and never serious
        options: dict[str, Any] = {"resultTypes": ["violations"], "rules": {"region": {"enabled": False}}}
        if only:
            options["runOnly"] = {"type": "rule", "values": only}
        found = (at or self.tab.page.locator("html")).evaluate(RUN, options)
        self.lines += [f"{where}, {self.tab.theme}: {line}" for impact, line in found if impact in SERIOUS]

    def in_both_themes(self, where: str) -> None:
        """The page as it stands, and its colours in the other theme."""
        self.look(where)
        self.open_parts(where, None)
        before, page = self.tab.theme, self.tab.page
        page.emulate_media(color_scheme="light" if before == "dark" else "dark")
        self.tab.until(lambda: self.tab.theme != before, "the theme follows the system")
        self.tab.settled()
        self.look(where, only=COLOURS)
        self.open_parts(where, COLOURS)
        page.emulate_media(color_scheme="dark" if before == "dark" else "light")  # the next test gets this tab

    def open_parts(self, where: str, only: list[str] | None) -> None:
        """The parts of a page that are seen one at a time."""
        if isinstance(self.tab, Explore):
            for name in CHANGES:
                self.look(f"{where}, {name}", self.tab.change(name), only=only)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_at_a_desk(name: str, new_tab: NewTab) -> None:
    tab = new_tab(KINDS[name]).open(**RICH[name])
    findings = Findings(tab)
    findings.in_both_themes(name)
    assert not findings.lines, "\n".join(findings.lines)


@pytest.mark.parametrize("name", ["explore", "train"])
def test_nothing_serious_on_a_phone(name: str, new_phone: NewTab) -> None:
    findings = Findings(new_phone(KINDS[name]).open())
    findings.look(f"{name} on a phone")
    assert not findings.lines, "\n".join(findings.lines)


def test_nothing_serious_in_share(explore: Explore) -> None:
    explore.open().page.get_by_role("button", name="Share", exact=True).click()
    panel = explore.page.get_by_test_id("stPopoverBody")
    panel.get_by_text("How was this computed?").click()
    expect(panel.get_by_role("button", name="PNG for a slide")).to_be_visible()
    findings = Findings(explore)
    findings.look("Share", panel)
    assert not findings.lines, "\n".join(findings.lines)


def test_nothing_serious_beside_a_lesson(new_tab: NewTab) -> None:
    lesson = course().lessons["it"]
    tab = new_tab(Beside).begin(lesson)
    findings = Findings(tab)
    findings.in_both_themes("a question")
    tab.page.keyboard.press("n")
    tab.page.keyboard.press("a")
    expect(tab.lit).to_be_visible()
    findings.in_both_themes("an answer")
    assert not findings.lines, "\n".join(findings.lines)
