"""SmolLM2 in the browser: what it says next, token by token, and the few heads of 270 that it takes to copy."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from pages.kit.picture.presets import CONTINUED

from .compare_page import Compare
from .explore_page import Explore

PRIVET, PLACE = next(iter(CONTINUED.items()))


def bar(explore: Explore, label: str) -> Locator:
    return explore.view.locator(".next-list").get_by_role("button", name=f"write {label}: ", exact=False).first


def chances(explore: Explore, label: str) -> list[float]:
    """The probability that a bar tells, before and after a change where there is one."""
    return [float(part) for part in bar(explore, label).locator(".value").inner_text().split(" → ")]


def test_it_copies_by_seven_of_270_heads_writes_on_and_draws_a_token(explore: Explore) -> None:
    seven_of_270_heads_carry_copying(explore)
    a_line_break_of_a_link_is_kept(explore)
    it_writes_on_takes_back_and_copies_random_tokens(explore)
    a_token_is_drawn_and_a_word_asked_about(explore)


def seven_of_270_heads_carry_copying(explore: Explore) -> None:
    explore.open(model="smollm2")
    expect(explore.box).to_have_value(PRIVET)
    assert chances(explore, "Drive") == pytest.approx([0.84], abs=0.01)
    expect(explore.place).to_contain_text(f"layer {PLACE.replace('.', ', head ')} ")
    assert explore.view.locator(".tile").count() == 9
    explore.view.get_by_role("button", name="Switch heads off").click()
    expect(explore.view.locator(".lamps")).to_be_hidden()  # 270 lamps would help nobody
    expect(explore.view.locator(".found-heads button").first).to_contain_text("L18 H6")
    explore.button("the 7 strongest").click()
    expect(bar(explore, "Drive").locator(".value")).to_contain_text("→")
    assert chances(explore, "Drive") == pytest.approx([0.84, 0.02], abs=0.01)
    explore.keys("Escape")
    explore.button("all 270 heads").click()
    expect(explore.view.locator(".tile")).to_have_count(270)
    expect(explore.view.locator(".tile[data-column]")).to_have_count(30)


def a_line_break_of_a_link_is_kept(explore: Explore) -> None:
    explore.open(model="smollm2", s="One.\nTwo.")
    expect(explore.box).to_have_value("One.⏎\ufe0eTwo.")
    explore.box.press("End")
    explore.box.press_sequentially("Three")
    expect(explore.box).to_have_value("One.⏎\ufe0eTwo.Three")
    explore.wait_for_query(s=["One.\nTwo.Three"])


def it_writes_on_takes_back_and_copies_random_tokens(explore: Explore) -> None:
    explore.box.fill("The capital of France is")
    explore.wait_for_query(s="The capital of France is")
    explore.settled()
    bar(explore, "Paris").click()
    expect(explore.box).to_have_value("The capital of France is Paris")
    explore.settled()
    assert explore.chips()[-1] == "Paris"
    explore.button("keep writing").click()
    expect(explore.button("stop")).to_be_visible()
    expect(explore.view.locator(".chip").nth(7)).to_be_visible()
    explore.clicked("stop")
    written = explore.chips()
    assert written[:6] == ["The", "capital", "of", "France", "is", "Paris"]
    text = explore.box.input_value()
    explore.button("remove last").click()
    expect(explore.box).not_to_have_value(text)
    explore.settled()
    left = explore.box.input_value()
    assert text.startswith(left), "what was written last is gone"
    assert explore.chips()[:-1] == written[: len(explore.chips()) - 1], "two line breaks in a row are read as one token"
    explore.box.fill("The capital of France is")
    expect(explore.button("remove last")).to_be_hidden()

    explore.settled()
    explore.view.get_by_role("button", name="Switch heads off").click()
    expect(explore.button("copy")).to_be_hidden()  # the sentence repeats nothing
    explore.button("measure on random words, written twice").click()
    expect(explore.view.locator(".random-said")).to_contain_text("so it copies.")
    explore.button("copy").click()
    expect(explore.view.locator(".found-heads button").first).to_contain_text("L18 H6")
    explore.wait_for_query(look=["random"])


def a_token_is_drawn_and_a_word_asked_about(explore: Explore) -> None:
    explore.box.fill("Once upon a time")
    explore.wait_for_query(s="Once upon a time")
    explore.settled()
    explore.button("more").click()
    explore.view.get_by_label("Sampling temperature").fill("1.5")
    drawn = explore.view.locator(".sampling > .label")
    expect(drawn).to_contain_text("draws “")
    explore.view.get_by_label("Seed of the draws").fill("7")
    explore.view.get_by_label("How likely is this word?").fill("there")
    expect(explore.view.locator(".word-said")).to_contain_text("“there” comes next with probability 0.")
    explore.wait_for_query(temp=["1.5"], dice=["7"], word=["there"])
    explore.settled()
    said = re.match("draws “(.+?)”, ", drawn.inner_text())
    assert said
    token = said[1]
    explore.view.locator(".help").click()  # out of the fields: letters are keys again
    explore.keys("n")
    expect(explore.view.locator(".chip").last).to_have_text(token)
    explore.keys("b")
    expect(explore.view.locator(".chip")).to_have_count(4)
    explore.settled()  # the script writes both into the address, one after the other
    explore.wait_for_query(s=["Once upon a time"], temp=["1.5"], dice=["7"], word=["there"])
    explore.page.reload()
    expect(drawn).to_contain_text(f"draws “{token}”, ")


def test_both_sides_of_compare_say_what_comes_next(compare: Compare) -> None:
    compare.open(model="smollm2", s="The capital of France is", pos2="none", word="Paris")
    bars = compare.view.locator(".next-list .next")
    expect(bars.filter(has_text="Paris")).to_contain_text("0.77 → 0.27")
    expect(compare.view.locator(".word-said")).to_have_text(
        "“Paris” comes next with probability 0.77 on the left, 0.27 on the right."
    )
