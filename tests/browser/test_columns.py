"""Explore's columns at one press, lengths of values and the mean over heads, in one tab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from mha_core.measure.reading import merged
from mha_core.models.words import words_of
from pages.kit.draw.numbers import precise
from pages.kit.picture import pictures
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

    # words in the place of tokens, keys summed, the rest renormalised, a word masked
    run = run_of(Settings(TIRED, "causal"))
    words = words_of(pictures.model_on("auto"), TIRED)
    of_words = merged(run.weights[3, 1], words, words)
    names = [word.text.strip() for word in words]
    it, animal, street = (names.index(name) for name in ("it", "animal", "street"))
    explore.button("one head").click()
    explore.clicked("join words")
    assert explore.hover(it, street) == f"it → street {written(float(of_words[it, street]))}"
    explore.wait_for_query(look=["values_words"])
    explore.click_cell(it, animal)
    explore.page.keyboard.down("Shift")
    explore.click_cell(it, street)
    explore.page.keyboard.up("Shift")
    explore.settled()
    share = round(100 * float(of_words[it, animal] + of_words[it, street]))
    title = explore.view.locator(".large h2")
    expect(title).to_have_text(f"“it” puts {share} % on “animal” and “street” together")
    explore.wait_for_query(at=["3.1.10.8"], look=["values_words_keys2"])
    explore.button("show [CLS] [SEP]").click()
    explore.clicked("rows sum to 1")
    ends = of_words[it, 0] + of_words[it, -1]
    said = f"{round(100 * float(ends))} % of this row’s weight goes to [CLS] and [SEP], which are not shown; the"
    expect(explore.view.locator(".large .sum").first).to_contain_text(said)
    kept = of_words[it] / (1 - ends)
    expect(title).to_contain_text(f"{round(100 * float(kept[animal] + kept[street]))} %")
    explore.button("put a mask in place of “it”").click()
    explore.wait_for_query(s=[TIRED.replace(" it ", " [MASK] ")])
    expect(explore.chip(10)).to_have_text("[MASK]")
    explore.view.locator(".in-box .undo").click()
    explore.wait_for_query(s=[])
    expect(explore.chip(10)).to_have_text("it")
