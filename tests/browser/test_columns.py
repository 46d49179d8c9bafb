"""Explore's columns at one press, lengths of values and the mean over heads, in one tab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from pages.kit.draw.numbers import precise
from pages.kit.picture.settings import Settings

from .expected import TIRED, run_of, written
from .explore_page import Explore

HIDE, ZERO = "hide this word from all others", "let them look, but pass nothing on"


def cosine(**settings: object) -> str:
    """Of the sentence vector to the unchanged one, as the page says it."""
    now, unchanged = run_of(Settings(TIRED, **settings)), run_of(Settings(TIRED))  # type: ignore[arg-type]
    return f"cosine to the unchanged one is {precise(float(now.sentence @ unchanged.sentence))}"


@pytest.mark.thorough("more acts on Explore's map than the one of the quick tests")
def test_a_column_goes_and_comes_back_at_the_same_press(explore: Explore) -> None:
    asked: list[str] = []
    explore.page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    explore.open(at="3.1.10.0", mask="causal")
    explore.shows(mask="causal")
    column = explore.group("the column of “[CLS]”")
    asked.clear()
    now = explore.clicked(HIDE, mask="causal & unseen:0")
    assert len(asked) == 1
    assert explore.hover(10, 0) == "it → [CLS] 0.00, blocked by the mask"
    assert explore.hover(10, 2) == f"it → animal {written(float(now.weights[3, 1, 10, 2]))}"
    expect(explore.button(HIDE)).to_have_attribute("aria-pressed", "true")
    expect(column).to_contain_text("No other token may look at “[CLS]”")
    expect(column).to_contain_text(cosine(mask="causal & unseen:0"))
    explore.wait_for_query(mask=["combination"], rule=["causal & unseen:0"])
    expect(explore.view.locator(".chip-of-change")).to_have_text(
        ["mask: causal ×", "hidden from all others: “[CLS]” ×"]
    )
    explore.clicked(HIDE, mask="causal")
    explore.wait_for_query(mask=["causal"])

    now = explore.clicked(ZERO, mask="causal", values_off=(0,))
    assert explore.hover(10, 0) == f"it → [CLS] {written(float(now.weights[3, 1, 10, 0]))}"
    expect(column).to_contain_text("its value is zeroed for all others")
    explore.wait_for_query(unheard=["0"])
    explore.clicked("take back: value of “[CLS]” zeroed", mask="causal")
    expect(column.locator("p")).to_have_text("")

    explore.clicked("value lengths")
    expect(explore.view.locator(".handed")).to_have_text(
        re.compile("^“it” gives “.+” \\d+ % of its weight, whose value")
    )
    explore.clicked("mean of heads")
    mean = run_of(Settings(TIRED, "causal")).weights[3].mean(dim=0)
    assert explore.hover(10, 2) == f"it → animal {written(float(mean[10, 2]))}"
    expect(explore.place).to_contain_text("layer 3, mean over 12 heads")
    expect(explore.view.locator(".large .sum").first).to_contain_text("no head looks like this")
    expect(explore.view.locator(".handed")).to_be_hidden()
    explore.wait_for_query(look=["mean_values"])
