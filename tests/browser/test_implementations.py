"""The Implementations page as a visitor meets it: equality, a race by mouse and by keyboard, its stop, and the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from mha_core import IMPLEMENTATIONS
from pages.implementations.timing import YARDSTICK

from .conftest import WAIT_MS, NewPage
from .helpers import WIDE, Server

ALL = list(IMPLEMENTATIONS)
# small enough to be over in a few seconds
SHORT: dict[str, Any] = {"n": "20", "d": "24", "h": "3", "secs": "1", "race": ["einsum", "sdpa"]}
# and large enough not to be over before it is stopped
LONG: dict[str, Any] = {"n": "512", "b": "2", "secs": "20", "sweep": "false"}


class Implementations:
    """The page in one tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, **values: Any) -> Implementations:
        query = urlencode(values, doseq=True)
        self.page.goto(f"{self.url}/implementations" + (f"?{query}" if query else ""))
        return self.settled()

    def settled(self) -> Implementations:
        """Waits for the last part of the page and for the server to be at rest."""
        expect(self.panel("Same thing, other words").locator("tbody tr").first).to_be_visible(timeout=WAIT_MS)
        expect(self.page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_visible()
        return self

    def panel(self, heading: str) -> Locator:
        return self.page.locator(".sheet .panel", has=self.page.get_by_role("heading", name=heading, exact=True))

    def rows(self, table: Locator) -> list[list[str]]:
        """The body of a table, with its row heads."""
        rows: list[list[str]] = table.locator("tbody").evaluate(
            "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return rows

    def differences(self) -> list[list[list[str]]]:
        panels = [self.panel("On your sentence"), self.panel("On random input")]
        return [self.rows(table) for panel in panels for table in panel.locator("table").all()]

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def notices(self) -> list[str]:
        return self.page.locator(".sheet .notices p").all_text_contents()

    def raced(self) -> list[list[str]]:
        """Waits for the end of the race; its table."""
        expect(self.button("Stop").or_(self.panel("What came out")).first).to_be_visible()  # it has begun
        expect(self.button("Stop")).to_have_count(0, timeout=2 * WAIT_MS)
        expect(self.button("Start")).to_be_enabled()
        return self.rows(self.panel("What came out").locator("table"))


@pytest.fixture
def tab(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Implementations]:
    """The page, not yet opened, in a new tab."""
    server.check()
    page = watched(desktop.new_page(), server.url)
    yield Implementations(page, server.url)
    page.close()


def test_no_row_is_above_its_bound(tab: Implementations) -> None:
    tables = tab.open().differences()
    assert len(tables) == 4
    for rows in tables:
        assert [row[0] for row in rows] == ALL
        assert {row[-1] for row in rows} == {"OK"}
    before = tab.panel("On your sentence").locator("tbody").first.inner_text()
    tab.page.get_by_role("textbox", name="Sentence", exact=True).fill(WIDE)
    tab.page.get_by_text("causal", exact=True).click()
    expect(tab.panel("On your sentence").locator("tbody").first).not_to_have_text(before, use_inner_text=True)
    tab.settled()
    assert tab.notices() == []
    for rows in tab.differences():
        assert {row[-1] for row in rows} == {"OK"}


def test_a_short_race_runs_to_its_chart_and_table(tab: Implementations) -> None:
    tab.open(**SHORT)
    tab.button("Start").click()
    expect(tab.page.get_by_role("progressbar")).to_be_visible()
    rows = tab.raced()
    assert [row[:2] for row in rows] == [[n, name] for n in ("16", "20") for name in ("einsum", "sdpa", YARDSTICK)]
    charts = tab.page.locator(".js-plotly-plot")
    expect(charts).to_have_count(2)
    expect(charts.first.locator(".xtick text")).to_have_text(["16", "20"])
    legend = charts.first.locator(".legendtext").all_text_contents()
    assert legend == ["einsum", "sdpa", f"{YARDSTICK} with maps"]
    assert "NaN" not in tab.page.locator("body").inner_text()


def test_a_race_is_stopped(tab: Implementations) -> None:
    tab.open(**LONG)
    tab.button("Start").click()
    tab.button("Stop").click()
    expect(tab.button("Start")).to_be_enabled()
    assert [told for told in tab.notices() if told.startswith("Stopped after")]
    expect(tab.page.locator(".js-plotly-plot")).to_have_count(0)
    tab.button("Start").click()  # the place is free again
    expect(tab.button("Stop")).to_be_visible()
    tab.button("Stop").click()
    expect(tab.button("Start")).to_be_enabled()


def test_a_second_visitor_waits_until_the_first_has_gone(tab: Implementations, new_page: NewPage) -> None:
    other = Implementations(new_page().page, tab.url)
    tab.open(**LONG)
    other.open(**SHORT)
    tab.button("Start").click()
    expect(tab.button("Stop")).to_be_visible()
    other.button("Start").click()
    expect(other.page.get_by_text("Waiting: 1 race comes first")).to_be_visible()
    tab.page.goto("about:blank")  # no more signs of life
    assert len(other.raced()) == 6


def test_the_link_opens_the_same_elsewhere(tab: Implementations, new_page: NewPage) -> None:
    wanted = {**SHORT, "s": WIDE, "at": "2.1", "mask": "causal", "diff": "largest", "impl": "naive", "beside": "torch"}
    wanted |= {"what": "training step with maps", "sweep": "false"}
    tab.open()
    tab.page.get_by_text("causal", exact=True).click()
    tab.settled()
    tab.open(**wanted)
    other = Implementations(new_page().page, tab.url)
    other.page.goto(tab.page.url)
    other.settled()
    assert other.differences() == tab.differences()
    assert other.notices() == []
    for page in (tab.page, other.page):
        expect(page.get_by_role("spinbutton", name="Tokens, n")).to_have_value("20")
        expect(page.locator("[data-testid='stCode']").first).to_contain_text("class NaiveAttention")
        expect(page.get_by_role("switch", name="All lengths up to n")).not_to_be_checked()


def test_by_keyboard_alone(tab: Implementations) -> None:
    tab.open(**SHORT)
    start = tab.button("Start")
    tab.page.get_by_role("spinbutton", name="Seconds per length").focus()
    for _ in range(6):
        tab.page.keyboard.press("Tab")
        if start.evaluate("button => button === document.activeElement"):
            break
    expect(start).to_be_focused()
    tab.page.keyboard.press("Enter")
    assert len(tab.raced()) == 6


def test_sizes_that_do_not_fit_leave_the_rest(tab: Implementations) -> None:
    tab.open(**{**SHORT, "d": "25"})
    assert len(tab.differences()) == 2
    assert tab.notices() == [
        f"This cannot be {done}: d_model=25 cannot be split into 3 equal heads; choose a multiple of 3."
        for done in ("computed", "timed")
    ]
    expect(tab.button("Start")).to_be_disabled()
    tab.page.get_by_role("spinbutton", name="d_model").fill("24")
    tab.page.keyboard.press("Enter")
    expect(tab.button("Start")).to_be_enabled()
    assert len(tab.differences()) == 4


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_on_a_phone_in_both_themes(new_page: NewPage, scheme: str) -> None:
    explore = new_page(viewport={"width": 375, "height": 812}, color_scheme=scheme)
    phone = Implementations(explore.page, explore.url).open(**SHORT)
    phone.button("Start").click()
    assert len(phone.raced()) == 6
    expect(phone.page.locator(".js-plotly-plot")).to_have_count(2)
    wide = phone.page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 375
    first, second = (code.bounding_box() for code in phone.page.locator("[data-testid='stCode']").all())
    assert first is not None
    assert second is not None
    assert second["y"] >= first["y"] + first["height"]
