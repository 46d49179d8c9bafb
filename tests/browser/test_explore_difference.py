"""Explore's difference: now − unchanged over the map of the head in focus, in the core's own numbers."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from pages.kit.picture.settings import Settings

from .expected import TIRED, WIDE, run_of, written
from .explore_page import Explore

NAME = "show the difference"
OFF = "A head that is off still looks the same; its absence shows in later layers."


def change(explore: Explore, row: int, key: int, at: tuple[int, int], **settings: object) -> str:
    """What a cell of the difference says."""
    text = explore.box.input_value()
    runs = [run_of(Settings(text)), run_of(Settings(text, **settings))]  # type: ignore[arg-type]
    before, now = (float(run.weights[at][row, key]) for run in runs)
    tokens = runs[0].tokens
    assert abs(now - before) > 0.0001, "a cell that changes, so that its sign is one"
    sign = "+" if now > before else "−"
    return f"{tokens[row]} → {tokens[key]} {written(before)} → {written(now)}, {sign}{written(abs(now - before))}"


def test_the_difference_is_the_core_s_and_follows_what_is_looked_at(explore: Explore) -> None:
    asked: list[str] = []
    explore.page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)
    explore.open(look="difference", at="3.1")
    with_nothing_changed_there_is_none(explore)
    asked.clear()
    explore.mask("none")
    explore.position("none")
    explore.uncover()
    explore.shows(position="none")
    press, title = explore.button(NAME), explore.view.locator(".large h2")
    expect(press).to_have_attribute("aria-pressed", "false")
    assert not [url for url in asked if "difference" in url]
    press.focus()
    explore.keys("Enter")
    explore.settled()
    expect(press).to_have_attribute("aria-pressed", "true")
    expect(title).to_have_text("Now − original: “it” → “animal” −0.60")
    assert explore.hover(10, 2) == "it → animal 0.64 → 0.04, −0.60"
    assert explore.hover(10, 2) == change(explore, 10, 2, (3, 1), position="none")
    explore.wait_for_query(look="difference")
    asked.clear()
    explore.clicked(explore.tile(3, 4))
    assert explore.hover(4, 0) == change(explore, 4, 0, (3, 4), position="none")
    assert len(asked) == 1, "the head before the changes comes with the head"
    explore.typed(WIDE, position="none")
    assert explore.hover(2, 0) == change(explore, 2, 0, (3, 4), position="none")
    explore.lamp(3, 5).click()
    explore.clicked(explore.layer(5), WIDE, position="none", heads_off=((3, 5),))
    assert explore.hover(7, 8) == change(explore, 7, 8, (5, 4), position="none", heads_off=((3, 5),))
    of_a_head_that_is_off_it_opens_the_head_that_changed_most(explore)


def with_nothing_changed_there_is_none(explore: Explore) -> None:
    explore.shows()
    assert explore.hover(10, 2) == "it → animal 0.64"
    explore.mask("causal")
    explore.shows(mask="causal")
    expect(explore.button(NAME)).to_have_attribute("aria-pressed", "false")


def of_a_head_that_is_off_it_opens_the_head_that_changed_most(explore: Explore) -> None:
    explore.button("reset all").click()
    explore.box.fill(TIRED)
    explore.layer(3).click()
    explore.lamp(3, 1).click()
    explore.tile(3, 1).click()
    explore.chip(10).click()
    change = (explore.shows(heads_off=((3, 1),)).weights - run_of(Settings(TIRED)).weights).abs()
    assert not change[:4].any()
    layer, head = divmod(int(change[:, :, 1:-1, 1:-1].flatten(2).amax(-1).argmax()), change.shape[1])
    title, why = explore.view.locator(".large h2"), explore.view.locator(".why")
    expect(why).to_be_hidden()
    explore.button(NAME).click()
    expect(explore.place).to_contain_text(f"layer {layer}, head {head} ")
    expect(why).to_have_text(f"This head changed most. {OFF}")
    expect(title).to_have_text(re.compile(r"^Now − original: “it” → “.+” [−+]"))
    explore.wait_for_query(at=f"{layer}.{head}.10", look="difference")

    explore.layer(3).click()
    explore.tile(3, 1).click()
    expect(why).to_have_text(f"No weight of this map changed. {OFF}")
    expect(title).to_contain_text("Difference to the original model: none in this row")
    explore.layer(layer).click()
    explore.tile(layer, (head + 1) % 12).click()
    expect(title).to_have_text(re.compile(r"^Now − original: “it” → “.+” [−+]"))
    expect(why).to_be_hidden()


def test_its_table_has_the_signed_numbers_of_a_link_and_it_goes_with_the_last_change(explore: Explore) -> None:
    explore.open(mask="causal", look="table_difference", at="2.0")
    now = explore.shows(mask="causal").weights[2, 0]
    before = run_of(Settings(TIRED)).weights[2, 0]
    expect(explore.button(NAME)).to_have_attribute("aria-pressed", "true")
    expect(explore.view.locator(".large .table")).to_be_visible()
    for row, cells in enumerate(explore.table()):
        for said, wanted in zip(cells[1:], (now - before)[row].tolist(), strict=True):
            size, sign = float(said.lstrip("+−").replace("−", "-")), -1 if said.startswith("−") else 1
            assert abs(sign * size - wanted) <= 0.00006
            assert (sign < 0) == (wanted < 0)
    it_goes_with_the_last_change(explore)


def it_goes_with_the_last_change(explore: Explore) -> None:
    title = explore.view.locator(".large h2")
    explore.button("map").click()
    explore.layer(3).click()
    explore.tile(3, 1).click()
    expect(title).to_contain_text("Now − original")
    explore.clicked("take back: mask: causal", TIRED)
    expect(explore.button(NAME)).to_be_hidden()
    expect(title).to_have_text("“it” puts 64 % on “animal”")
    assert explore.hover(10, 2) == "it → animal 0.64"
    explore.wait_for_query(look=None, mask=None)
    explore.clicked("undo", mask="causal")
    expect(explore.button(NAME)).to_have_attribute("aria-pressed", "false")
