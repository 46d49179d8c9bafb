"""The Positions page as a visitor meets it: one visit, by mouse and keyboard, with the projector and the link."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from pages.positions.parts import TITLES

from .form_pages import Positions
from .measures import height
from .tab import place_of

GROUPS = ("Trained with this", "Never seen by this model")
FOLDS = ("Curves", "Closer", "Past the trained length", "Amplitude")


def test_encodings_side_by_side_by_mouse_and_keyboard(positions: Positions) -> None:
    positions.open()
    two_portraits_stand_side_by_side(positions)
    the_maps_stand_in_two_groups(positions)
    projected_the_whole_map_stands_in_the_window_with_numbers(positions)
    a_map_that_is_pressed_brings_its_portrait(positions)
    taken_back_at_once_by_its_control_it_stays_taken_back(positions)
    encodings_and_the_position_are_set_by_keyboard(positions)
    a_preset_sets_both_and_the_sentence_is_live(positions)
    every_fold_has_its_charts(positions)
    positions.page.get_by_role("link", name="compared on Train").click()  # the way to a fair comparison
    positions.page.wait_for_url("**/train*")


def two_portraits_stand_side_by_side(positions: Positions) -> None:
    left, right = (place_of(positions.part(f"{TITLES[name]}: picture")) for name in ("sinusoidal", "learned"))
    assert right.x >= left.right
    assert abs(right.y - left.y) < 2
    assert abs(right.height - left.height) < 2
    expect(positions.page.locator(".js-plotly-plot")).to_have_count(4)
    expect(positions.page.locator(".js-plotly-plot").first.locator(".ytick text").first).to_have_text("0 [CLS]")


def the_maps_stand_in_two_groups(positions: Positions) -> None:
    maps = positions.page.locator(".view.encodings .group")
    learnt, unseen = (maps.and_(positions.page.get_by_role("group", name=name)) for name in GROUPS)
    expect(learnt.locator(".encoding")).to_have_text([re.compile("^As trained")])
    expect(unseen.locator(".encoding")).to_have_count(9)
    left, right = (place_of(group.locator(".encoding").first) for group in (learnt, unseen))
    assert abs(left.y - right.y) < 2
    assert height(positions.page) <= 2400
    expect(unseen.get_by_role("link", name="compared on Train")).to_be_visible()


def projected_the_whole_map_stands_in_the_window_with_numbers(positions: Positions) -> None:
    positions.page.set_viewport_size({"width": 1280, "height": 720})
    positions.keys("p")
    map_ = positions.page.locator(".enlarged .map")
    expect(map_).to_have_attribute("data-number", re.compile("^1[6-9]"))
    assert place_of(map_).y >= 50
    assert place_of(map_).bottom <= 720
    positions.keys("p")
    positions.wait_for_query(big=None)
    positions.page.set_viewport_size({"width": 1440, "height": 900})


def a_map_that_is_pressed_brings_its_portrait(positions: Positions) -> None:
    large = positions.page.locator(".enlarged")
    expect(large.get_by_role("heading")).to_contain_text("As trained: layer 0 head 2 gives the word before 0.9998")
    expect(large.get_by_role("gridcell")).to_have_accessible_name(re.compile("→"))
    positions.map("ALiBi").focus()
    positions.keys("Enter")
    expect(large.get_by_role("heading")).to_contain_text("ALiBi: layer 0 head 2")
    expect(positions.map("ALiBi")).to_have_attribute("aria-pressed", "true")
    expect(positions.heading(TITLES["alibi"])).to_be_visible()
    positions.wait_for_query(enc="alibi")
    expect(positions.map("ALiBi")).to_be_focused()


def taken_back_at_once_by_its_control_it_stays_taken_back(positions: Positions) -> None:
    positions.choose("Encoding", "sinusoidal")
    expect(positions.heading(TITLES["alibi"])).to_have_count(0)
    positions.settled()
    positions.wait_for_query(enc=None)
    expect(positions.heading(TITLES["sinusoidal"])).to_be_visible()


def encodings_and_the_position_are_set_by_keyboard(positions: Positions) -> None:
    positions.choose("Encoding", "rotary")
    expect(positions.heading(TITLES["rotary"])).to_be_visible()
    positions.choose("Beside it", "t5")
    positions.unfold("Closer")
    positions.wait_for_query(enc="rotary", enc2="t5")
    expect(positions.page.get_by_role("spinbutton", name="Head in sight")).to_be_visible()
    heading = "Rotary (RoPE): pair 0, position by position"
    assert positions.row(heading)[:2] == ["1", "1.0000"]
    positions.page.get_by_role("slider", name="Position on the circles").focus()
    positions.keys(*["ArrowRight"] * 2)
    expect(positions.part(heading).locator("tbody th").first).to_have_text("3")
    assert positions.row(heading)[1:3] == ["3.0000", "0.4775"]
    positions.wait_for_query(at_pos="3")
    pair = positions.page.get_by_role("spinbutton", name="Pair of channels")
    positions.enter(pair, "4")
    # 10000^(−8/32) is 0.1
    moved = "Rotary (RoPE): pair 4, position by position"
    expect(positions.heading(moved)).to_be_attached()
    assert positions.row(moved)[1] == "0.3000"


def a_preset_sets_both_and_the_sentence_is_live(positions: Positions) -> None:
    positions.page.get_by_role("button", name="ALiBi and T5").click()
    expect(positions.heading("ALiBi: all heads")).to_be_attached()
    positions.wait_for_query(enc="alibi", enc2="t5")
    expect(positions.page.get_by_role("slider", name="Position on the circles")).to_be_hidden()
    positions.box.fill("how are <b>you</b>")
    expect(positions.part("ALiBi: picture").locator(".ytick text").nth(3)).to_have_text("3 <")
    assert positions.page.locator(".js-plotly-plot b").count() == 0
    positions.page.get_by_role("button", name="waves and a trained table").click()
    expect(positions.heading("Sinusoids: picture")).to_be_attached()
    positions.wait_for_query(enc=None, enc2=None)


def every_fold_has_its_charts(positions: Positions) -> None:
    positions.unfold(*(fold for fold in FOLDS if fold != "Closer"))
    expect(positions.page.locator(".js-plotly-plot")).to_have_count(11)
    assert positions.notices() == []
    assert "NaN" not in positions.page.locator("body").inner_text()
