"""By hand in a browser: cells edited by mouse and keyboard, invalid text, links opened elsewhere, phone and themes."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import expect

from mha_core.measure.by_hand import take_apart
from pages.kit.picture.presets import PRESETS

from .expected import core
from .form_pages import ByHand
from .tab import place_of


def softmax_row(*scores: float) -> list[str]:
    row = torch.tensor(scores, dtype=torch.float64).softmax(-1)
    return [f"{weight:.4f}" for weight in row.tolist()]


def test_cells_are_edited_by_keyboard_and_mouse_and_invalid_text_says_so(by_hand: ByHand) -> None:
    by_hand.open()
    by_hand.take("npz")  # what is in it is asked of the route, in tests/pages/test_files.py
    expect(by_hand.page.locator(".take-along [data-kind=html]")).to_be_hidden()
    by_hand.keys("Escape")
    outputs_are_drawn_within_the_hull_of_the_values(by_hand)
    a_cell_edited_by_keyboard_changes_the_row(by_hand)
    invalid_text_says_so(by_hand)
    quick_edits_all_arrive_and_typing_is_not_overwritten(by_hand)
    a_mask_is_set_by_mouse_and_keyboard(by_hand)


def as_printed(by_hand: ByHand) -> None:
    by_hand.button("Reset the numbers").click()
    by_hand.wait_for("scores", 0, ["0.5", "0.1", "0.4"])
    by_hand.settled()
    assert "m" not in by_hand.query


def outputs_are_drawn_within_the_hull_of_the_values(by_hand: ByHand) -> None:
    assert by_hand.matrix("out") == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    area = by_hand.view.locator(".hull polygon.area")
    assert len(str(area.get_attribute("points")).split()) == 2
    by_hand.button("apart").click()
    expect(area).to_have_attribute("points", re.compile(r"^\S+ \S+ \S+$"))
    by_hand.wait_for_query(m="x_1.1_1.2_3.1_1.7_1.6_3.2")
    hull, diamonds = place_of(area), by_hand.view.locator(".hull .scroll polygon.i").all()
    assert len(diamonds) == 3
    for x, y in (place_of(diamond).middle for diamond in diamonds):
        assert hull.x <= x <= hull.right
        assert hull.y <= y <= hull.bottom
    as_printed(by_hand)


def a_cell_edited_by_keyboard_changes_the_row(by_hand: ByHand) -> None:
    by_hand.cell("scores", "how", "how").focus()
    press = by_hand.keys
    press("ArrowRight")
    assert by_hand.focused() == "scores, row how, column are"
    by_hand.page.keyboard.type("0.9")
    press("Tab")
    assert by_hand.focused() == "scores, row how, column you"
    by_hand.wait_for("weights", 0, softmax_row(0.5, 0.9, 0.4))
    assert by_hand.matrix("weights")[1] == ["0.2361", "0.4755", "0.2884"]
    assert by_hand.focused() == "scores, row how, column you"
    by_hand.wait_for_query(m="s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1")
    assert "post" not in by_hand.texts()
    by_hand.page.keyboard.type("8")
    press("ArrowDown")
    by_hand.wait_for("weights", 0, softmax_row(0.5, 0.9, 8))
    assert by_hand.focused() == "scores, row are, column you"
    as_printed(by_hand)


def invalid_text_says_so(by_hand: ByHand) -> None:
    before = by_hand.matrix("out")
    cell, reason = by_hand.cell("scores", "are", "are"), by_hand.view.locator(".reasons p")
    for typed in ("9999999", "<b>1</b>"):
        by_hand.enter(cell, typed)
        by_hand.settled()
        expect(cell).to_have_attribute("aria-invalid", "true")
        expect(cell).to_have_value(typed)
        expect(reason).to_contain_text("0.8 is still used")
        assert cell.get_attribute("aria-describedby") == reason.locator("..").get_attribute("id")
        assert by_hand.matrix("out") == before
        assert "m" not in by_hand.query
    by_hand.enter(by_hand.cell("scores", "are", "you"), "0.8")
    by_hand.wait_for("weights", 1, softmax_row(0.1, 0.8, 0.8))
    expect(cell).to_have_value(typed)
    by_hand.enter(cell, "1")
    by_hand.wait_for("weights", 1, softmax_row(0.1, 1, 0.8))
    expect(reason).to_have_count(0)
    as_printed(by_hand)


def quick_edits_all_arrive_and_typing_is_not_overwritten(by_hand: ByHand) -> None:
    by_hand.cell("x", "you", "1").click()
    by_hand.page.keyboard.type("10")
    by_hand.cell("x", "how", "0").click()
    by_hand.wait_for("v", 2, ["3.1000", "10.0000"])
    as_printed(by_hand)
    by_hand.wait_for("v", 2, ["3.1000", "3.2000"])

    by_hand.cell("scores", "how", "how").focus()
    for number in range(9):
        by_hand.page.keyboard.type(f"{number}.5")
        by_hand.keys("Tab")
    by_hand.settled()
    by_hand.wait_for_query(m="s_" + "_".join(f"{number}.5" for number in range(9)))
    assert [cell for row in by_hand.matrix("scores") for cell in row] == [f"{number}.5" for number in range(9)]
    as_printed(by_hand)

    by_hand.cell("scores", "how", "how").fill("2")
    by_hand.keys("Tab")
    by_hand.page.keyboard.type("3.14")
    by_hand.wait_for("weights", 0, softmax_row(2, 0.1, 0.4))
    expect(by_hand.cell("scores", "how", "are")).to_have_value("3.14")
    by_hand.keys("Escape")
    expect(by_hand.cell("scores", "how", "are")).to_have_value("0.1")
    as_printed(by_hand)


def a_mask_is_set_by_mouse_and_keyboard(by_hand: ByHand) -> None:
    by_hand.cell("allow", "how", "how").click()
    by_hand.wait_for("weights", 0, ["0.0000", *softmax_row(0.1, 0.4)])
    assert "Row 0 “how” may not look at itself" in by_hand.texts()
    by_hand.keys(*["ArrowRight", "Space"] * 2)
    by_hand.wait_for("weights", 0, ["0.0000", "0.0000", "0.0000"])
    assert "Row 0 “how” may look at nobody" in by_hand.texts()
    expect(by_hand.button("nobody for row 0")).to_have_attribute("aria-pressed", "true")
    by_hand.button("causal").click()
    by_hand.wait_for("weights", 0, ["1.0000", "0.0000", "0.0000"])
    by_hand.wait_for_query(m="a_1_0_0_1_1_0_1_1_1")


def test_examples_keep_what_they_hide_and_a_link_shows_the_same_once_more(by_hand: ByHand) -> None:
    by_hand.open(ex="a real cell", s="how are you", mask="causal")
    controls_that_an_example_hides_stay_in_the_link(by_hand)
    other_words(by_hand)
    a_link_shows_the_same(by_hand)


def controls_that_an_example_hides_stay_in_the_link(by_hand: ByHand) -> None:
    by_hand.example("one head")
    by_hand.wait_for_query(ex=None)
    assert by_hand.query == {"s": ["how are you"], "mask": ["causal"]}
    expect(by_hand.page.get_by_role("textbox", name="Sentence", exact=True)).to_be_hidden()
    by_hand.go("Explore")
    by_hand.page.locator(".view[data-numbers='3.1']").wait_for()
    assert by_hand.query == {"s": ["how are you"], "mask": ["causal"]}
    by_hand.go("By hand")
    by_hand.settled()


def other_words(by_hand: ByHand) -> None:
    by_hand.example("two sentences")
    box = by_hand.page.get_by_role("textbox", name="Words of the queries")
    by_hand.enter(box, "<b>how</b> can")
    expect(by_hand.cell("x", "<b>how</b>", "0")).to_have_value("4.1")
    assert [len(row) for row in by_hand.matrix("weights")] == [2, 2]


def a_link_shows_the_same(by_hand: ByHand) -> None:
    by_hand.example("two heads")
    by_hand.button("÷ 1,000").click()
    by_hand.enter(by_hand.cell("Wq", "0", "0"), "-2.5")
    by_hand.settled()
    by_hand.button("scores ÷ √2").click()
    by_hand.wait_for_query(sqrt="true")
    by_hand.settled()
    names = ("x", "Wq", "scores", "weights", "out")
    shown = [by_hand.matrix(name) for name in names]
    by_hand.visit(by_hand.page.url)
    assert [by_hand.matrix(name) for name in names] == shown
    assert by_hand.cell("Wq", "0", "0").input_value() == "-2.5"


def test_a_real_cell_is_chosen_and_taken_apart(by_hand: ByHand) -> None:
    by_hand.open(ex="a real cell")
    run = core().run(PRESETS[0], trace_layer=0)
    by_hand.page.locator("summary", has_text="Every number of it").click()
    value = by_hand.page.locator(".st-key-details tr.here td").first
    expect(by_hand.view.get_by_role("heading", name="Layer 3 head 1: it → animal")).to_be_visible()
    for group, name in (("Layer", "0"), ("Head", "2")):
        by_hand.view.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True).click()
    by_hand.cell("weights", "'", "didn").click()
    expect(by_hand.view.get_by_role("heading", name="Layer 0 head 2: ' → didn")).to_be_visible()
    by_hand.page.wait_for_function("() => new URLSearchParams(location.search).get('at') === '0.2.4.3'")
    steps = {step.name: step.value[0, 2] for step in run.steps if step.name in ("q", "k")}
    weight = take_apart(steps["q"], steps["k"], 4, 3).weight
    assert weight == pytest.approx(float(run.weights[0, 2, 4, 3]), abs=1e-6)
    by_hand.until(lambda: abs(float(value.inner_text()) - weight) <= 1e-6, f"the script's table says {weight}")
