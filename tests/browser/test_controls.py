"""Every control that changes the numbers: the picture is the core's for exactly these settings, as the link says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from playwright.sync_api import expect

from pages.kit.picture.fields import MASKS

from .expected import DEVICE, TIRED, largest
from .explore_page import Explore


def shows_it(explore: Explore, text: str = TIRED, **settings: Any) -> None:
    """The picture of these settings is there, with the core's numbers for layer 3 head 1."""
    run = explore.shows(text, **settings)
    row = run.tokens.index("it") if "it" in run.tokens else 1
    assert explore.chips() == run.tokens
    assert explore.badges() == largest(run, 3, 1, row)


def test_the_maps_follow_the_typing(explore: Explore) -> None:
    explore.open()
    explore.box.click()
    explore.page.keyboard.press("End")
    explore.page.keyboard.type(" and old", delay=30)
    shows_it(explore, f"{TIRED} and old")
    expect(explore.box).to_be_focused()
    explore.wait_for_query(s=[f"{TIRED} and old"])
    for _ in range(8):
        explore.page.keyboard.press("Backspace")
    shows_it(explore, TIRED)
    explore.wait_for_query(s=None)


def test_mask(explore: Explore) -> None:
    explore.open()
    mask = explore.page.get_by_role("radiogroup", name="Mask")
    width = explore.page.get_by_role("spinbutton", name=MASKS["window"]["w"])
    expect(width).to_have_count(0)
    mask.get_by_text("causal").click()
    shows_it(explore, mask="causal")
    explore.wait_for_query(mask=["causal"])
    assert "not allowed by the mask" in explore.hover(2, 9)
    assert "not allowed" not in explore.hover(9, 2)
    mask.get_by_text("window").click()
    shows_it(explore, mask="window:3")
    width.fill("1")
    width.press("Enter")
    shows_it(explore, mask="window:1")
    assert explore.badges() == ["it 1.00"]
    explore.wait_for_query(mask=["window"], w=["1"])
    width.fill("513")  # beyond its end
    width.press("Enter")
    shows_it(explore, mask="window:1")
    mask.get_by_text("none").click()
    shows_it(explore)
    explore.wait_for_query(mask=None)


def test_position_temperature_and_device(explore: Explore) -> None:
    explore.open()
    for position in ("none", "sinusoidal"):
        explore.choose("Position encoding", position)
        shows_it(explore, position=position)
        explore.wait_for_query(pos=position)
    explore.choose("Position encoding", "as trained")
    shows_it(explore)
    explore.wait_for_query(pos=None)
    slider = explore.page.get_by_role("slider")
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
    group = explore.page.get_by_role("radiogroup", name="Device")
    expect(group.get_by_role("radio", checked=True)).to_have_text(DEVICE)
    group.get_by_text(DEVICE).click()  # the one that is chosen cannot be deselected
    shows_it(explore, temperature=0.1)
    expect(group.get_by_role("radio", checked=True)).to_have_text(DEVICE)


def test_a_head_off_by_its_lamp(explore: Explore) -> None:
    explore.open()
    untouched = explore.shows()
    explore.lamp(3, 5).click()
    run = explore.shows(heads_off=((3, 5),))
    expect(explore.lamp(3, 5)).to_have_attribute("aria-pressed", "false")
    expect(explore.tile(3, 5)).to_have_attribute("aria-label", "layer 3 head 5, off in the model")
    expect(explore.page.get_by_test_id("stMultiSelect")).to_contain_text("L3 H5")
    explore.wait_for_query(off=["L3 H5"])
    assert explore.figures()[1] == "1 of 72"
    assert float(explore.figures()[0]) == pytest.approx(float(run.sentence @ untouched.sentence), abs=6e-4)
    # up to its own layer nothing changes, later layers do; the screen shows both
    assert torch.equal(run.weights[:4], untouched.weights[:4])
    explore.button("table").click()
    explore.settled()
    before = [[f"{weight:.4f}" for weight in row] for row in untouched.weights[3, 1].tolist()]
    assert [row[1:] for row in explore.table()] == before
    explore.layer(5).click()
    explore.settled()
    after = [[f"{weight:.4f}" for weight in row] for row in run.weights[5, 1].tolist()]
    assert [row[1:] for row in explore.table()] == after
    assert after != [[f"{weight:.4f}" for weight in row] for row in untouched.weights[5, 1].tolist()]
    explore.layer(3).click()
    explore.lamp(3, 5).click()
    explore.shows()
    explore.wait_for_query(off=None)


def test_heads_off_by_the_list_and_by_the_lamps_agree(explore: Explore) -> None:
    explore.open()
    combobox = explore.page.get_by_role("combobox", name="Heads off")
    combobox.click()
    combobox.fill("L0 H2")
    explore.page.get_by_role("option", name="L0 H2", exact=True).click()
    shows_it(explore, heads_off=((0, 2),))
    explore.page.keyboard.press("Escape")
    explore.layer(0).click()
    expect(explore.lamp(0, 2)).to_have_attribute("aria-pressed", "false")
    explore.lamp(0, 7).click()
    explore.shows(heads_off=((0, 2), (0, 7)))
    explore.wait_for_query(off=["L0 H2", "L0 H7"])
    explore.lamp(0, 2).click()
    explore.shows(heads_off=((0, 7),))
    expect(explore.page.get_by_test_id("stMultiSelect")).not_to_contain_text("L0 H2")


def test_fast_clicks_on_lamps_are_all_heard(explore: Explore) -> None:
    explore.open()
    for head in (0, 1, 2, 3, 4, 5):
        explore.lamp(3, head).click()
    explore.lamp(3, 0).click()
    explore.shows(heads_off=tuple((3, head) for head in (1, 2, 3, 4, 5)))
    explore.wait_for_query(off=[f"L3 H{head}" for head in (1, 2, 3, 4, 5)])
    explore.button("off in the model").click()  # of the enlarged map
    explore.shows(heads_off=tuple((3, head) for head in (2, 3, 4, 5)))
    expect(explore.lamp(3, 1)).to_have_attribute("aria-pressed", "true")
