"""The Implementations page as a visitor meets it: equality, a race by mouse and by keyboard, its stop, and the link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from mha_core import IMPLEMENTATIONS
from pages.implementations.timing import YARDSTICK

from .conftest import NewTab
from .expected import WIDE
from .form_pages import Implementations
from .measures import PHONE, height
from .tab import place_of

ALL = list(IMPLEMENTATIONS)
# small enough to be over in a few seconds
SHORT: dict[str, Any] = {"n": "20", "d": "24", "h": "3", "secs": "1", "race": ["einsum", "sdpa"]}


@pytest.mark.usefixtures("nobody_else_works")
def test_all_give_the_same_and_are_raced_by_one_visitor_at_a_time(
    implementations: Implementations, new_tab: NewTab
) -> None:
    assert height(implementations.open().page) <= 2400
    no_row_is_above_its_bound(implementations)
    a_second_visitor_waits_until_the_first_has_stopped_his_race(implementations, new_tab(Implementations).open(**SHORT))
    on_a_narrow_screen_one_spelling_stands_below_the_other(implementations)


def no_row_is_above_its_bound(implementations: Implementations) -> None:
    tables = implementations.differences()
    assert len(tables) == 4
    for rows in tables:
        assert [row[0] for row in rows] == ALL
        assert {row[-1] for row in rows} == {"OK"}
    before = implementations.panel("On your sentence").locator("tbody").first.inner_text()
    implementations.page.get_by_role("textbox", name="Sentence", exact=True).fill(WIDE)
    implementations.page.get_by_text("causal", exact=True).click()
    expect(implementations.panel("On your sentence").locator("tbody").first).not_to_have_text(
        before, use_inner_text=True
    )
    implementations.settled()
    assert implementations.notices() == []
    for rows in implementations.differences():
        assert {row[-1] for row in rows} == {"OK"}


def on_a_narrow_screen_one_spelling_stands_below_the_other(implementations: Implementations) -> None:
    implementations.page.set_viewport_size(PHONE["viewport"])
    codes = implementations.unfold("The whole classes").page.locator(".st-key-folded_classes [data-testid='stCode']")
    expect(codes).to_have_count(2)
    first, second = map(place_of, codes.all())
    assert second.y >= first.bottom


def a_second_visitor_waits_until_the_first_has_stopped_his_race(
    implementations: Implementations, other: Implementations
) -> None:
    seconds = implementations.page.get_by_role("spinbutton", name="Seconds per length")
    implementations.enter(seconds, "20")  # not to be over before it is stopped
    implementations.wait_for_query(secs="20")
    implementations.settled().button("Start").click()
    expect(implementations.button("Stop")).to_be_visible()
    expect(implementations.page.get_by_role("progressbar")).to_be_visible()
    started_by_keyboard(other)
    expect(other.page.get_by_text("Waiting: 1 measurement comes first")).to_be_visible()
    implementations.button("Stop").click()
    expect(implementations.button("Start")).to_be_enabled()
    stopped = implementations.page.locator(".sheet .notices p", has_text=re.compile("^Stopped after"))
    expect(stopped).to_be_visible()
    charts = 0 if "results for 0 of" in stopped.inner_text() else 2  # a slow machine has finished a length meanwhile
    expect(implementations.page.locator(".js-plotly-plot")).to_have_count(charts)
    runs_to_its_chart_and_table(other)


def started_by_keyboard(implementations: Implementations) -> None:
    start = implementations.button("Start")
    implementations.page.get_by_role("spinbutton", name="Seconds per length").focus()
    for _ in range(6):
        implementations.keys("Tab")
        if start.evaluate("button => button === document.activeElement"):
            break
    expect(start).to_be_focused()
    implementations.keys("Enter")


def runs_to_its_chart_and_table(implementations: Implementations) -> None:
    rows = implementations.raced()
    assert [row[:2] for row in rows] == [[n, name] for n in ("16", "20") for name in ("einsum", "sdpa", YARDSTICK)]
    charts = implementations.page.locator(".js-plotly-plot")
    expect(charts).to_have_count(2)
    expect(charts.first.locator(".xtick text")).to_have_text(["16", "20"])
    names = charts.first.locator(".annotation-text").all_text_contents()
    assert sorted(names) == sorted(["einsum", "sdpa", f"{YARDSTICK} with maps"])
    assert "NaN" not in implementations.page.locator("body").inner_text()
