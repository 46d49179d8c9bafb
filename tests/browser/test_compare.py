"""Compare in a browser: three maps read as one by mouse and keyboard, each side's controls, all of it in the link."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from headlight.picture.settings import Settings
from headlight.ui.numbers import number as written_cosine
from mha_core.measure import measures, rounding
from pages.compare.orders import shuffle_words
from tests.closeness import within_rounding

from .compare_page import Compare, read
from .expected import TIRED, WIDE, core, run_of

# Six layers of MiniLM sum 384 features, heads of 32 and the 15 tokens, and 1,536 hidden units, one behind the other.
ROUNDING = rounding.sum_bound(*[384, 32, 15, 384, 384, 1536] * 6)


def test_three_maps_are_read_as_one_and_the_right_side_is_changed(compare: Compare) -> None:
    runs = compare.open(at="3.1").shows_default()
    it, animal = (runs[0].tokens.index(word) for word in ("it", "animal"))
    assert compare.readouts() == read(runs, 3, 1, it, animal), "the cell that is marked"
    expect(compare.contrast).to_have_text("One setting differs: positions.")

    # by mouse: a cell that is pointed at, then one that is clicked
    for number, row, column in [(0, 10, 8), (2, 14, 0)]:
        assert compare.hover(number, row, column) == read(runs, 3, 1, row, column)
    compare.page.mouse.click(*compare.cell(1, 5, 2))
    compare.wait_for_query(at="3.1.5.2")
    compare.settled()
    assert compare.readouts() == read(runs, 3, 1, 5, 2)

    # by keyboard, in the map of the difference
    compare.page.mouse.click(*compare.cell(2, 4, 4))
    compare.page.mouse.move(5, 5)
    compare.map(2).locator(".cell").focus()
    steps = [("ArrowDown", 5, 4), ("End", 5, 14), ("ArrowUp", 4, 14), ("Home", 4, 0), ("ArrowRight", 4, 1)]
    for key, row, column in [*steps, ("ArrowLeft", 4, 0)]:
        compare.keys(key)
        assert compare.readouts() == read(runs, 3, 1, row, column)
    compare.keys("Enter")
    compare.wait_for_query(at="3.1.4.0")

    # the right side's mask, both sides swapped, and the same link once more
    compare.set("Mask, right", "causal")
    left, right = Settings(TIRED), Settings(TIRED, "causal", "none")
    compare.shows(left, right)
    compare.keys("Escape")
    runs = compare.clicked("swap", right, left)
    compare.wait_for_query(mask="causal", pos="none", mask2=None, pos2="as trained")
    compare.visit(compare.page.url).shows(right, left)
    assert compare.readouts() == read(runs, 3, 1, 4, 0)


def test_more_than_two_maps_are_chosen_by_keyboard_and_an_old_address_opens_them(compare: Compare) -> None:
    compare.open(s="can you can that", at="3.1")
    compare.view.locator("summary", has_text="more than two").press("Enter")
    headings = compare.view.locator(".more .panel h2")
    expect(headings).to_have_text(["As trained", "No positional encoding", "Sinusoidal"])
    compare.view.locator(".more").get_by_role("button", name="rotary", exact=True).press("Enter")
    expect(headings).to_have_text(["As trained", "No positional encoding", "Sinusoidal", "Rotary"])
    compare.wait_for_query(three=["as trained", "none", "sinusoidal", "rotary"], mean="true")
    compare.visit(f"{compare.url}/side-by-side")
    expect(headings).to_have_text(["As trained", "No positional encoding", "Sinusoidal"])
    compare.wait_for_query(s="can you can that", at="3.1", mean="true")


@pytest.mark.thorough("A walk over each figure and shuffled orders.")
def test_figures_and_orders(compare: Compare) -> None:
    compare.open().shows_default()
    figures = compare.figures()
    assert figures[0] == "1.00 → 0.11"
    assert figures[1] == "0.706"
    titles = compare.view.locator(":scope > .panel > header h2")
    assert titles.all_inner_texts() == ["Learned positions", "No positions", "Largest change: “cross” → “t”"]
    for figure in compare.view.locator(".answers .figure").all():
        expect(figure).to_be_in_viewport(ratio=1)

    # the words in another order: shuffled again, and typed
    expect(compare.shuffle).to_contain_text(shuffle_words(TIRED, 1))
    compare.shuffle.get_by_role("button", name="shuffle again").click()
    compare.wait_for_query(shuffle="2")
    expect(compare.shuffle).to_contain_text(shuffle_words(TIRED, 2))
    headings = compare.shuffle.locator(".panel h2").all_inner_texts()
    with_order, without = (float(heading.split(": ")[1].replace("−", "-")) for heading in headings)
    assert with_order > 0.1
    assert without <= ROUNDING
    compare.box.fill("how are you")
    compare.shows(Settings("how are you"), Settings("how are you", position="none"))
    box = compare.page.get_by_role("textbox", name="Shuffle test")
    compare.enter(box, "you are how")
    expect(compare.shuffle).to_contain_text("you are how")
    compare.enter(box, "you are who")
    expect(compare.shuffle).to_contain_text("The new order must contain the same words")
    compare.shuffle.get_by_role("button", name="shuffle again").click()
    expect(compare.shuffle).to_contain_text(shuffle_words("how are you", 3))
    expect(box).to_have_value("")


@pytest.mark.thorough("A walk over sentences of two lengths and too long ones, the bars of all heads, and both files.")
def test_sentences_of_two_lengths_a_head_from_its_bar_and_both_sides_taken_along(compare: Compare) -> None:
    compare.open(s2="how are you")
    compare.shows(Settings(TIRED), Settings("how are you", position="none"))
    expect(compare.map(2).locator(".map")).to_be_hidden()
    expect(compare.map(2)).to_contain_text("The left sentence has 15 tokens, the right one 5")
    compare.other_box.fill("")
    compare.shows_default()
    expect(compare.map(2).locator(".map")).to_be_visible()
    short = Settings("how are you"), Settings("how are you", position="none")
    compare.box.fill("how are you")
    compare.shows(*short)
    for box, side in ((compare.box, "Left"), (compare.other_box, "Right")):
        box.fill("it " * 600)
        expect(compare.view.locator(".notices")).to_contain_text(f"{side}: still “how are you”.")
        compare.settled()
        assert len(compare.notices()) == 1, "it is said once"
        assert compare.notices()[0].startswith("This text has 602 tokens")
        compare.shows(*short)
        box.fill("how are you")
        expect(compare.view.locator(".notices p")).to_have_count(0)

    # each head's own bar, by mouse and by keyboard
    expect(compare.bars.locator("td button")).to_have_count(72)
    cosines = measures.ablate_each_head(core(), "how are you")
    layer, head = divmod(int(cosines.argmin()), 12)
    expect(compare.bars).to_contain_text(f"Ablating layer {layer} head {head} changes")
    expect(compare.bars.get_by_role("heading", level=2)).to_have_text(f"L{layer} H{head} has the largest effect")
    expect(compare.bar(2, 3)).to_have_text(written_cosine(float(cosines[2, 3])))
    compare.bar(layer, head).click()
    compare.settled()
    expect(compare.view).to_have_attribute("data-numbers", f"{layer}.{head}")
    compare.bar(0, 2).focus()
    compare.keys("ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    compare.wait_for_query(at="1.4")
    expect(compare.bar(1, 4)).to_have_attribute("aria-pressed", "true")
    expect(compare.bar(1, 4)).to_be_focused()

    # both sides as arrays and as pictures
    sides = Settings("can you can that"), Settings("can you see that", position="none")
    compare.box.fill(sides[0].text)
    compare.other_box.fill(sides[1].text)
    compare.shows(*sides)
    with np.load(io.BytesIO(compare.take("npz")), allow_pickle=False) as arrays:
        for side, run in zip(("left", "right"), map(run_of, sides), strict=True):
            within_rounding(torch.from_numpy(arrays[side]), run.weights[1, 4], ROUNDING)  # the server has other threads
            assert arrays[f"{side}_rows"].tolist() == run.tokens
    choice = compare.page.get_by_label("Picture", exact=True)
    names = choice.locator("option").all_text_contents()
    assert (names[:3], names[-1]) == (["Left", "Right", "Right − left"], "All of these together")
    sizes = []
    for name in ("Left", "All of these together"):
        choice.select_option(name)
        sizes.append(Image.open(io.BytesIO(compare.take("png"))).size)
    assert sizes[1][0] > 1.5 * sizes[0][0]


@pytest.mark.thorough("A walk over the way from Explore, every control of the right side.")
def test_from_explore_and_every_control_of_the_right_side(compare: Compare) -> None:
    compare.page.goto(f"{compare.url}/?mask=causal&off=L3+H5")
    expect(compare.page.locator(".tile.focused")).to_be_visible()
    compare.page.locator(".st-key-stage").wait_for(state="attached")  # a page that is left earlier is loaded anew
    compare.go("Compare")
    left = Settings(TIRED, "causal", heads_off=((3, 5),))
    compare.shows(left, replace(left, position="none"))
    compare.wait_for_query(mask="causal", off="L3 H5", mask2="causal", off2="L3 H5", pos2=None)
    expect(compare.view).to_have_attribute("data-numbers", "0.2")  # each page has its own first head
    compare.go("Explore")
    expect(compare.page.locator(".tile.focused")).to_have_attribute("data-head", "3.1")
    compare.page.go_back()
    compare.shows(left, replace(left, position="none"))
    expect(compare.view).to_have_attribute("data-numbers", "0.2")

    # right becomes left, with another model beside it
    left, right = Settings(TIRED, temperature=0.5), Settings(WIDE, "window:2", "none", heads_off=((3, 5),))
    compare.open(s2=WIDE, mask2="window", w2="2", off2="L3 H5", t="0.5").shows(left, right)
    compare.clicked("right = left", left, left)
    expect(compare.contrast).to_contain_text("Both sides are the same")
    expect(compare.button("swap")).to_be_disabled()
    compare.page.get_by_label("Right model").select_option("food-none-1")
    other = replace(left, model="food-none-1")
    compare.shows(left, other)
    compare.clicked("swap", other, left)
    compare.wait_for_query(model="food-none-1", model2="minilm", t="0.5")
    expect(compare.page.get_by_label("Model", exact=True)).to_have_value("food-none-1")

    # every control of the right side
    left, right = Settings(TIRED), Settings(WIDE, "causal", "sinusoidal", 0.9, ((0, 2),))
    compare.open()
    compare.set("Mask, right", "causal")
    compare.set("Positional encoding, right", "sinusoidal")
    compare.shows(left, replace(right, text=TIRED, temperature=1.0, heads_off=()))
    compare.controls("Temperature, right").get_by_role("slider").press("ArrowLeft")
    compare.controls("Ablate, right").get_by_role("button", name="layer 0 head 2", exact=True).click()
    compare.shows(left, replace(right, text=TIRED))
    compare.keys("Escape")
    expect(compare.view.get_by_role("button", name="Ablate, right: L0 H2 off")).to_be_focused()
    compare.other_box.fill(WIDE)
    compare.shows(left, right)
    assert compare.view.locator(".difference > .words").inner_text().startswith("The sentences differ at 1 position")
    expect(compare.contrast).to_contain_text("5 settings differ: sentence, mask, positions, temperature and heads off.")
    assert compare.hover(0, 2, 7)[1].endswith("blocked by the mask")
    compare.wait_for_query(mask2="causal", pos2="sinusoidal", t2="0.9", off2="L0 H2", s2=WIDE)
