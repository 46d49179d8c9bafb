"""Every control that changes the numbers: the picture is the core's for exactly these settings, as the link says."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from playwright.sync_api import expect

from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

from .compare_page import Compare
from .expected import TIRED, WIDE, largest, run_of
from .explore_page import Explore

CHANGED = {"mask": "causal", "position": "none", "heads_off": ((3, 5),)}


def percent(weight: float) -> str:
    return f"{weight:.0%}".replace("%", " %")


def shows_it(explore: Explore, **settings: Any) -> None:
    """The picture of these settings is there, with the core's numbers for layer 3 head 1."""
    run = explore.shows(**settings)
    assert explore.chips() == run.tokens
    explore.looks_at(largest(run, 3, 1, run.tokens.index("it")))


def test_what_is_changed_by_every_control_is_named_told_and_taken_back(explore: Explore) -> None:
    explore.open()
    what_is_changed_is_named_told_and_taken_back_and_lamps_and_panel_agree(explore)
    as_it_began(explore)
    a_head_off_by_its_lamp_is_not_described_as_if_it_worked(explore)
    as_it_began(explore)
    mask_position_and_temperature(explore)
    as_it_began(explore)
    the_comparison_keeps_the_place(explore)


def as_it_began(explore: Explore) -> None:
    explore.uncover()
    explore.clicked(explore.view.locator(".chip-of-change"), TIRED)
    explore.tile(3, 1).locator(".square").click()
    expect(explore.place).to_contain_text("layer 3, head 1 ")


def what_is_changed_is_named_told_and_taken_back_and_lamps_and_panel_agree(explore: Explore) -> None:
    changed = explore.view.get_by_role("group", name="What is changed")
    expect(changed.locator(".said")).to_have_text("Nothing changed yet.")
    explore.position("none")
    explore.mask("causal")
    explore.clicked(explore.lamp(3, 5), mask="causal", position="none", heads_off=((3, 5),))
    chips = changed.locator(".chip-of-change")
    assert chips.all_inner_texts() == ["mask: causal ×", "no positions ×", "L3 H5 off ×"]
    now, before = (float(run_of(Settings(TIRED, **own)).weights[3, 1, 10, 2]) for own in (CHANGED, {}))  # type: ignore[arg-type]
    expect(changed.locator(".said")).to_have_text(f"“it” gave “animal” {percent(before)}, now {percent(now)}.")
    link = explore.view.get_by_role("link", name="compare with the original model →")
    assert parse_qs(urlsplit(link.get_attribute("href") or "").query)["at"] == ["3.1.10"], "which the page chose"
    most = changed.get_by_role("button", name="Most changed")
    layer, head = re.match(r"Most changed: layer (\d), head (\d+) ›", most.inner_text()).groups()  # type: ignore[union-attr]
    most.click()
    explore.settled()
    expect(explore.place).to_contain_text(f"layer {layer}, head {head} ")
    asked = parse_qs(urlsplit(link.get_attribute("href") or "").query)
    assert asked == {"at": explore.query["at"], "mask2": ["causal"], "pos2": ["none"], "off2": ["L3 H5"]}
    changed.get_by_role("button", name="take back: no positions").click()
    explore.shows(mask="causal", heads_off=((3, 5),))
    explore.clicked("undo", mask="causal", position="none", heads_off=((3, 5),))
    changed.get_by_role("button", name="reset all").click()
    explore.shows()
    explore.wait_for_query(mask=None, pos=None, off=None)

    explore.layer(3).click()
    explore.tile(3, 1).locator(".square").click()
    explore.chip(10).click()
    panel = explore.change("Switch heads off")
    panel.get_by_role("button", name="layer 0 head 2", exact=True).click()
    shows_it(explore, heads_off=((0, 2),))
    explore.layer(0).click()
    expect(explore.lamp(0, 2)).to_have_attribute("aria-pressed", "false")
    explore.clicked(explore.lamp(0, 7), heads_off=((0, 2), (0, 7)))
    explore.wait_for_query(off=["L0 H2", "L0 H7"])
    explore.clicked(explore.lamp(0, 2), heads_off=((0, 7),))
    panel = explore.change("Switch heads off")
    expect(panel.get_by_role("button", name="layer 0 head 2", exact=True)).to_have_attribute("aria-pressed", "true")
    panel.get_by_role("button", name="all on").click()
    explore.shows()
    explore.wait_for_query(off=None)

    explore.layer(3).click()
    for head in (0, 1, 2, 3, 4, 5):
        explore.lamp(3, head).click()
    explore.clicked(explore.lamp(3, 0), heads_off=tuple((3, head) for head in (1, 2, 3, 4, 5)))
    explore.wait_for_query(off=[f"L3 H{head}" for head in (1, 2, 3, 4, 5)])
    explore.clicked("switch this head on", heads_off=tuple((3, head) for head in (2, 3, 4, 5)))  # of the enlarged map
    expect(explore.lamp(3, 1)).to_have_attribute("aria-pressed", "true")


def a_head_off_by_its_lamp_is_not_described_as_if_it_worked(explore: Explore) -> None:
    untouched = explore.shows()
    run = explore.clicked(explore.lamp(3, 5), heads_off=((3, 5),))
    expect(explore.lamp(3, 5)).to_have_attribute("aria-pressed", "false")
    expect(explore.tile(3, 5)).to_have_attribute("aria-label", "layer 3 head 5, off in the model")
    explore.wait_for_query(off=["L3 H5"])
    assert explore.figures()[1] == "1 of 72"
    assert float(explore.figures()[0]) == pytest.approx(float(run.sentence @ untouched.sentence), abs=6e-4)
    # up to its own layer nothing changes, later layers do; the screen shows both
    assert torch.equal(run.weights[:4], untouched.weights[:4])
    explore.clicked("table")
    before = [[f"{weight:.4f}" for weight in row] for row in untouched.weights[3, 1].tolist()]
    assert [row[1:] for row in explore.table()] == before
    explore.clicked(explore.layer(5))
    after = [[f"{weight:.4f}" for weight in row] for row in run.weights[5, 1].tolist()]
    assert [row[1:] for row in explore.table()] == after
    assert after != [[f"{weight:.4f}" for weight in row] for row in untouched.weights[5, 1].tolist()]
    explore.layer(3).click()
    explore.clicked(explore.lamp(3, 5), TIRED)
    explore.wait_for_query(off=None)

    explore.button("map").click()
    title, value = explore.view.locator(".large h2"), explore.view.locator(".large .story dd").last
    expect(title).to_have_text("“it” puts 64 % on “animal”")
    expect(value).to_contain_text("Its weight in this row is 64 %")
    explore.clicked("switch this head off", heads_off=((3, 1),))
    expect(title).to_have_text("“it” puts 64 % on “animal” switched off: what it finds is not passed on")
    expect(value).to_have_text("nothing: this head is off, so nothing of it is passed on.")
    expect(explore.view.locator(".large .map canvas").first).to_have_css("opacity", "0.7")
    explore.clicked(explore.tile(3, 2))
    expect(title).not_to_contain_text("off")
    expect(value).to_contain_text("Its weight in this row is")


def mask_position_and_temperature(explore: Explore) -> None:
    width = explore.page.get_by_role("spinbutton", name="words on either side, and itself")
    explore.mask("causal")
    shows_it(explore, mask="causal")
    explore.wait_for_query(mask=["causal"])
    assert "blocked by the mask" in explore.hover(2, 9)
    assert "not allowed" not in explore.hover(9, 2)
    expect(width).to_have_count(0)
    explore.mask("window")
    shows_it(explore, mask="window:3")
    width.fill("1")
    shows_it(explore, mask="window:1")
    explore.looks_at(["it 1.00"])
    explore.wait_for_query(mask=["window"], w=["1"])
    width.fill("513")  # beyond its end
    shows_it(explore, mask="window:1")
    explore.mask("none")
    shows_it(explore)
    explore.wait_for_query(mask=None)

    for position in ("none", "sinusoidal"):
        explore.position(position)
        shows_it(explore, position=position)
        explore.wait_for_query(pos=position)
    explore.position("as trained")
    shows_it(explore)
    explore.wait_for_query(pos=None)
    slider = explore.change("Sharpen or blur").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    shows_it(explore, temperature=1.2)
    explore.wait_for_query(t="1.2")
    expect(slider).to_be_focused()
    slider.press("End")
    shows_it(explore, temperature=5.0)
    slider.press("Home")
    shows_it(explore, temperature=0.1)


def the_comparison_keeps_the_place(explore: Explore) -> None:
    explore.position("none")
    explore.uncover()
    explore.tile(3, 7).click()
    explore.clicked(explore.chip(4), position="none")
    explore.view.get_by_role("link", name="compare with the original model →").click()
    expect(explore.on(Compare).settled().view).to_contain_text("ayer 3, head 7")


def test_undo_takes_back_a_sentence_that_one_press_changed_and_no_keys(explore: Explore) -> None:
    explore.open(at="3.1.4")
    undo = explore.button("undo")
    expect(undo).to_be_hidden()
    explore.box.press("End")
    explore.page.keyboard.type(" out")
    explore.shows(f"{TIRED} out")
    expect(undo).to_be_hidden()
    explore.clicked(PRESETS[3], PRESETS[3])
    explore.box.press("End")
    explore.page.keyboard.type(" now")
    explore.position("none")
    explore.shows(f"{PRESETS[3]} now", position="none")
    undo.click()
    explore.shows(f"{PRESETS[3]} now")
    undo.click()
    explore.shows(f"{TIRED} out")
    assert explore.query["at"] == ["3.1.4"], "where he looked, too"
    expect(undo).to_be_hidden()
    explore.position("none")
    explore.mask("causal")
    explore.clicked("reset all", f"{TIRED} out")
    expect(undo).to_be_visible()
    expect(explore.view.locator(".chip-of-change")).to_have_count(0)

    explore.opened("try another")  # an open menu is above what it covers
    menu = explore.view.locator(".view-menu .opener")
    covered = "opener => !opener.contains(opener.getRootNode().elementFromPoint(...Object.values(opener.getBoundingClientRect().toJSON()).slice(0, 2).map((place, at) => place + [opener.offsetWidth, opener.offsetHeight][at] / 2)))"  # noqa: E501
    assert menu.evaluate(covered)
    a_try_is_made_of_the_visitors_own_words(explore)


def a_try_is_made_of_the_visitors_own_words(explore: Explore) -> None:
    text = "My sister gave the dog a bone and then she went home"
    explore.typed(text)
    explore.chip(10).click()
    run, press = explore.shows(text), explore.view.locator("button.try")
    expect(press).to_contain_text("swap “")
    expect(press).to_contain_text("what does “she” look at now?")
    press.click()
    swapped = explore.box.input_value()
    run = explore.shows(swapped)
    assert sorted(swapped.split()) == sorted(text.split())
    assert swapped != text
    assert run.tokens[10] == "she"
    assert explore.query["at"] == ["3.1.10"], "the row that is asked about stays in focus"
    expect(explore.view.locator(".answered .text")).to_contain_text("“she” gave “")
    explore.clicked(explore.view.locator(".onward"), text)
    explore.chip(0).click()  # nobody asks what [CLS] looks at
    expect(press).to_contain_text("switch this head off: which layers notice? 1 of 1")
    explore.box.fill(" ")
    empty = explore.view.locator(".empty")
    expect(empty).to_contain_text("Type a sentence, or try one of these")
    explore.shows(text)  # stays, dimmed
    expect(explore.view.locator(".large .map canvas").first).to_have_css("opacity", "0.25")
    empty.get_by_role("button", name=TIRED).click()
    explore.shows()
    expect(empty).to_be_hidden()


def test_a_try_keeps_its_question_until_it_is_answered_and_the_last_leads_to_lesson_one(explore: Explore) -> None:
    explore.open(mask="causal")
    explore.shows(mask="causal")
    before = float(run_of(Settings(TIRED, "causal")).weights[3, 1, 10, 2])
    press, answer = explore.view.locator("button.try"), explore.view.locator(".answered .text")
    onward = explore.view.locator(".onward")
    expect(press).to_have_text(re.compile("type “wide” for “tired”: what does “it” look at now. 1 of 3"))
    press.click()
    explore.shows(WIDE, mask="causal")  # under which a later word changes nothing
    expect(answer).to_have_text(f"“it” still gives “animal” {percent(before)}.")
    expect(press).to_be_hidden()
    onward.click()  # what it changed is taken back
    explore.shows(mask="causal")
    expect(press).to_have_text(re.compile("take the order away: does “it” still look at “.+”. 2 of 3"))
    explore.position("none")  # by hand
    explore.shows(mask="causal", position="none")
    expect(answer).to_contain_text(f"“it” gave “animal” {percent(before)}, now ")
    explore.clicked("undo", mask="causal")
    expect(press).to_contain_text("2 of 3")
    press.click()
    explore.shows(mask="causal", position="none")
    explore.lamp(3, 4).click()  # what else was changed since stays
    onward.click()
    explore.shows(mask="causal", heads_off=((3, 4),))
    expect(press).to_contain_text("switch this head off: which layers notice? 3 of 3")
    press.click()
    explore.shows(mask="causal", heads_off=((3, 1), (3, 4)))
    expect(answer).to_contain_text("Most in layer ")
    expect(onward).to_have_text("Next: lesson 1 ›")
    onward.click()
    explore.page.wait_for_url("**learn=it.1")
