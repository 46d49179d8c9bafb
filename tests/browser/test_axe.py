"""axe-core finds nothing serious in what opens over a page; the pages themselves are looked at in test_every_page."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import expect

from pages.kit.lessons.course import course

from .axe import Findings
from .conftest import NewTab
from .explore_page import Explore
from .lessons_page import Beside
from .measures import unreadable

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def test_nothing_serious_in_share(explore: Explore) -> None:
    panel = explore.open().share()
    panel.get_by_text("How was this computed?").click()
    expect(panel.get_by_role("button", name="PNG for a slide")).to_be_visible()
    findings = Findings(explore)
    expect(panel).to_contain_text("Only this machine can open the link")
    for theme in THEMES:
        explore.in_theme(theme)
        expect(panel).to_be_visible()
        assert unreadable(explore.page) == []
        findings.look("Share", panel)
    explore.page.keyboard.press("Escape")
    picker = explore.page.get_by_role("combobox", name="Model", exact=True)
    picker.select_option("your own")
    dialog = explore.page.get_by_role("dialog", name="Another model")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    findings.look("a model of one's own", dialog)
    explore.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(picker).to_have_value("minilm")
    assert not findings.lines, "\n".join(findings.lines)


def test_nothing_serious_in_all_heads_one_of_them_and_an_empty_box(explore: Explore) -> None:
    findings = Findings(explore.open(look="all", pos="none").settled())
    findings.look("all heads")
    explore.group("Kinds of heads").get_by_role("button", name="spread out").click()
    findings.look("one kind")
    explore.tile(5, 8).click()
    explore.settled()
    findings.look("one of all heads")
    explore.page.keyboard.press("Escape")
    explore.button("one layer").click()
    explore.view.locator("button.try").click()
    expect(explore.view.locator(".onward")).to_be_visible()
    findings.look("an answered question")
    explore.retype("")
    expect(explore.view.locator(".empty")).to_be_visible()
    findings.look("an empty box")
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
