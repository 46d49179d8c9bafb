"""Compare in the browser: three maps read as one, by mouse and by keyboard; everything in the link."""

from __future__ import annotations

import io
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image
from playwright.sync_api import Route, expect

from mha_core.measure import measures
from pages.compare.orders import shuffled
from pages.kit.draw.numbers import cosine as written_cosine
from pages.kit.draw.numbers import small
from pages.kit.picture.settings import Settings

from .compare_page import Compare, read
from .expected import TIRED, WIDE, core, run_of, written
from .held import hold, holds_back
from .tab import place_of

BAG = Settings(TIRED, position="none")


def test_the_first_screen_the_comparisons_to_try_and_the_order_of_the_words(compare: Compare) -> None:
    compare.open().shows_default()
    the_first_screen_and_the_comparisons_to_try(compare)
    two_maps_or_their_difference_are_large_in_the_projector(compare)
    the_order_is_shuffled_again_and_typed(compare)


def the_first_screen_and_the_comparisons_to_try(compare: Compare) -> None:
    figures = compare.figures()
    assert figures[0] == "0.9998 → 0.1094"
    assert "0.64 → 0.04" in figures
    assert "0.706" in figures
    before, after = figures[-1].split(" → ")
    assert before == "1.000"
    assert float(after.replace("−", "-")) <= 1e-5
    assert compare.titles == ["Learned positions", "No positions", "“cross” → “t” changes most"]
    expect(compare.contrast).to_have_text("One thing differs: positions.")
    several = compare.view.get_by_role("link", name="more than two").get_attribute("href") or ""
    assert parse_qs(urlsplit(several).query) == {"s": [TIRED], "at": ["0.2"], "mean": ["false"]}
    stories = compare.view.locator(".panel > .words").all_inner_texts()
    assert stories[0].endswith("Positions say where each one stands.")
    assert stories[1].endswith("Nothing tells this model where a token stands.")
    for figure in compare.view.locator(".answers .figure").all():
        expect(figure).to_be_in_viewport(ratio=1)
    assert place_of(compare.shuffle).y < place_of(compare.bars).y
    compare.page.set_viewport_size({"width": 1280, "height": 720})
    for number in range(2):
        map_ = compare.map(number).locator(".map")
        expect(map_).to_have_attribute("data-number", "12")
        expect(map_).to_be_in_viewport(ratio=1)
    compare.page.set_viewport_size({"width": 1440, "height": 900})
    expect(compare.view.locator(".sentences")).to_be_hidden()
    compare.view.get_by_text("more numbers", exact=True).click()
    run = core().run(TIRED, position="none", mask="causal")
    causal = measures.repeated_words(run.weights, run.ids)
    assert causal
    wanted = f"No positions, with a causal mask: the rows differ by up to {small(causal.difference)}, without positions"
    expect(compare.view.locator(".sentences")).to_contain_text(wanted)
    assert "nan" not in compare.page.locator("body").inner_text().lower().split()
    to_try = {
        "tired / wide": (Settings(TIRED), Settings(WIDE)),
        "no positions: with and without a causal mask": (BAG, Settings(TIRED, "causal", "none")),
        "can you can that": (Settings("can you can that"), Settings("can you can that", position="none")),
        "how are you / you how are": tuple(Settings(text, position="none") for text in ("how are you", "you how are")),
        "with and without positions": (Settings(TIRED), BAG),
    }
    for name, (left, right) in to_try.items():
        compare.clicked(name, left, right)
        expect(compare.button(name)).to_have_attribute("aria-pressed", "true")
        if name.startswith("how"):
            expect(compare.shuffle).to_contain_text("you how are")
    assert compare.query == {}
    stops = (
        "view => [...view.querySelectorAll('.segments')].map(own => own.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert set(compare.view.evaluate(stops)) == {1}, "Tab reaches a row of buttons once"


def two_maps_or_their_difference_are_large_in_the_projector(compare: Compare) -> None:
    compare.page.set_viewport_size({"width": 1280, "height": 720})
    compare.keys("p")
    compare.wait_for_query(big="true")
    for seen, left_out in (((0, 1), (2,)), ((2,), (0, 1)), ((0, 1), (2,))):
        for number in seen:
            expect(compare.map(number).locator(".map")).to_be_in_viewport(ratio=1)
            assert place_of(compare.map(number).locator(".map canvas").first).height > 500
        for number in left_out:
            expect(compare.map(number)).to_be_hidden()
        if seen == (2,):
            compare.keys("-")
        else:
            compare.button("difference").click()
    compare.keys("p")
    for number in range(3):
        expect(compare.map(number).locator(".map")).to_be_visible()
    compare.page.set_viewport_size({"width": 1440, "height": 900})


def the_order_is_shuffled_again_and_typed(compare: Compare) -> None:
    expect(compare.shuffle).to_contain_text(shuffled(TIRED, 1))
    compare.shuffle.get_by_role("button", name="shuffle again").click()
    compare.page.wait_for_url("**shuffle=2**")
    order = shuffled(TIRED, 2)
    expect(compare.shuffle).to_contain_text(order)
    for position, most in (("trained", 9.0), ("none", 1e-5)):
        runs = [core().run(text, position=position) for text in (TIRED, order)]
        assert measures.difference_in_new_order(*runs) <= most
    headings = compare.shuffle.locator(".of-orders h3").all_inner_texts()
    left, right = (float(heading.split(": ")[1].replace("−", "-")) for heading in headings)
    assert left > 0.1
    assert right <= 1e-5
    compare.box.fill("how are you")
    compare.shows(Settings("how are you"), Settings("how are you", position="none"))
    box = compare.page.get_by_role("textbox", name="Shuffle test")
    compare.enter(box, "you are how")
    expect(compare.shuffle).to_contain_text("you are how")
    compare.enter(box, "you are who")
    expect(compare.shuffle).to_contain_text("The new order must have the words of the sentence")
    compare.shuffle.get_by_role("button", name="shuffle again").click()
    expect(compare.shuffle).to_contain_text(shuffled("how are you", 3))
    expect(box).to_have_value("")


def test_all_three_maps_are_read_also_while_numbers_are_late_and_without_the_script(compare: Compare) -> None:
    holds_back(compare)
    compare.open(at="3.1")
    mouse_keyboard_and_buttons_read_all_three_maps_and_their_tables(compare)
    while_the_numbers_are_on_their_way_the_earlier_ones_keep_their_name(compare)
    keys_clicks_and_comparisons_are_drawn_without_the_script(compare)


def mouse_keyboard_and_buttons_read_all_three_maps_and_their_tables(compare: Compare) -> None:
    runs = compare.shows_default()
    tokens = runs[0].tokens
    it, animal = tokens.index("it"), tokens.index("animal")
    assert compare.readouts() == read(runs, 3, 1, it, animal), "the cell that is marked"
    for number, row, column in [(0, 10, 8), (1, 0, 0), (2, 14, 0), (0, 14, 14), (2, 1, 5)]:
        assert compare.hover(number, row, column) == read(runs, 3, 1, row, column)
    compare.page.mouse.move(5, 5)
    assert compare.readouts() == read(runs, 3, 1, it, animal)
    compare.button("tables").click()
    compare.page.wait_for_url("**look=table**")
    compare.settled()
    cells = [compare.map(n).locator("tbody tr").nth(it).locator("td").nth(animal).inner_text() for n in range(3)]
    left, right = (float(run.weights[3, 1, it, animal]) for run in runs)
    assert cells == [f"{left:.4f}", f"{right:.4f}", f"−{left - right:.4f}"]
    compare.clicked("maps")
    expect(compare.map(0).locator(".map")).to_be_visible()

    compare.page.mouse.click(*compare.cell(1, 5, 2))
    compare.page.wait_for_url("**at=3.1.5.2**")
    compare.settled()
    compare.page.mouse.move(5, 5)
    assert compare.readouts() == read(runs, 3, 1, 5, 2)
    ends = " → ".join(written(float(run.weights[3, 1, 5, 2])) for run in runs)
    assert ends in compare.figures()
    press = compare.keys
    steps = [("ArrowDown", 5, 4), ("ArrowRight", 5, 5), ("Home", 5, 0), ("ArrowUp", 4, 0), ("End", 4, 14)]
    for number in range(3):
        compare.page.mouse.click(*compare.cell(number, 4, 4))  # each map has its own cell that the keys walk from
        compare.wait_for_query(at="3.1.4.4")
        compare.settled()
        compare.page.mouse.move(5, 5)
        assert compare.readouts() == read(runs, 3, 1, 4, 4)
        compare.map(number).locator(".cell").focus()
        for key, row, column in [*steps, *[("ArrowLeft", 4, 13 - left) for left in range(number)]]:
            press(key)
            assert compare.readouts() == read(runs, 3, 1, row, column)
        press("Enter")
        compare.wait_for_query(at=f"3.1.4.{14 - number}")
        compare.settled()
        expect(compare.map(number).locator(".cell")).to_be_focused()
        assert compare.readouts() == read(runs, 3, 1, 4, 14 - number)

    for name in ("layer 4", "head 5", "head 9", "head 7"):
        compare.button(name).click()
    compare.settled()
    expect(compare.button("head 7")).to_have_attribute("aria-pressed", "true")
    expect(compare.view).to_have_attribute("data-numbers", "4.7")
    assert compare.query["at"][0].startswith("4.7")
    assert compare.hover(0, 3, 6) == read(runs, 4, 7, 3, 6)
    compare.button("head 8").focus()
    compare.keys("Enter")
    compare.settled()
    assert compare.hover(2, 3, 6) == read(runs, 4, 8, 3, 6)


def while_the_numbers_are_on_their_way_the_earlier_ones_keep_their_name(compare: Compare) -> None:
    runs = compare.shows_default()
    for name in ("layer 3", "head 1"):
        compare.button(name).click()
    compare.page.wait_for_url("**at=3.1.**")
    compare.settled()
    held: list[Route] = []
    compare.page.route("**/api/pair?*", lambda route: held.append(route))
    compare.page.mouse.click(*compare.cell(1, 5, 2))
    compare.page.mouse.move(5, 5)
    assert compare.readouts() == read(runs, 3, 1, 5, 2), "a click is drawn at once"
    assert "because" not in compare.readouts()[0]
    expect(compare.view).to_have_attribute("data-late", "")
    compare.button("head 8").click()
    expect(compare.button("head 8")).to_have_attribute("aria-pressed", "true")
    expect(compare.view).to_have_attribute("data-waiting", "")
    expect(compare.map(0)).to_contain_text("layer 3 · head 1")
    assert compare.readouts() == read(runs, 3, 1, 5, 2)
    for route in held:
        route.continue_()
    compare.page.unroute("**/api/pair?*")  # the next test has the same tab
    compare.settled()
    expect(compare.view).to_have_attribute("data-numbers", "3.8")
    expect(compare.map(0)).to_contain_text("layer 3 · head 8")
    assert compare.readouts() == read(runs, 3, 8, 5, 2)


def keys_clicks_and_comparisons_are_drawn_without_the_script(compare: Compare) -> None:
    hold(compare)
    texts = [TIRED, ""]
    for side, box in enumerate((compare.box, compare.other_box)):
        box.click()
        compare.keys("End")
        for key in " it":
            compare.page.keyboard.type(key)
            texts[side] += key
            left, right = texts
            wanted = Settings(left), Settings(right or left, position="none")
            expect(compare.view).to_have_attribute("data-digest", "-".join(one.digest for one in wanted))
            expect(box).to_be_focused()
            expect(box).to_have_value(texts[side])
    expect(compare.map(2)).to_contain_text("The left sentence has 16 tokens, the right one 3")
    compare.button("no positions: with and without a causal mask").click()
    sides = BAG, Settings(TIRED, "causal", "none")
    expect(compare.view).to_have_attribute("data-digest", "-".join(side.digest for side in sides))
    expect(compare.button("no positions: with and without a causal mask")).to_have_attribute("aria-pressed", "true")
    expect(compare.box).to_have_value(TIRED)
    expect(compare.other_box).to_have_value("")
    compare.button("layer 4").click()
    expect(compare.view).to_have_attribute("data-numbers", "4.2")
    runs = run_of(sides[0]), run_of(sides[1])
    assert compare.hover(2, 3, 1) == read(runs, 4, 2, 3, 1), "of that comparison still"
    compare.other_box.fill(WIDE)
    sides = BAG, Settings(WIDE, "causal", "none")
    expect(compare.view).to_have_attribute("data-digest", "-".join(side.digest for side in sides))
    expect(compare.button("no positions: with and without a causal mask")).to_have_attribute("aria-pressed", "false")


def test_sentences_of_two_lengths_too_long_on_either_side_and_a_head_from_its_bar(compare: Compare) -> None:
    compare.open(s2="how are you")
    compare.shows(Settings(TIRED), Settings("how are you", position="none"))
    expect(compare.map(2).locator(".map")).to_be_hidden()
    expect(compare.map(2)).to_contain_text("The left sentence has 15 tokens, the right one 5")
    expect(compare.map(1).locator(".map")).to_be_visible()
    compare.other_box.fill("")
    compare.shows_default()
    expect(compare.map(2).locator(".map")).to_be_visible()
    compare.box.fill("how are you")
    compare.shows(Settings("how are you"), Settings("how are you", position="none"))

    for box, side in ((compare.box, "left"), (compare.other_box, "right")):
        box.fill("it " * 600)
        expect(compare.view.locator(".notices")).to_contain_text(f"{side.capitalize()}: still “how are you”.")
        compare.settled()
        assert len(compare.notices()) == 1, "it is said once"
        assert compare.notices()[0].startswith("This text has 602 tokens")
        compare.shows(Settings("how are you"), Settings("how are you", position="none"))
        box.fill("how are you")
        expect(compare.view.locator(".notices p")).to_have_count(0)

    expect(compare.bars.get_by_role("gridcell")).to_have_count(72)
    cosines = measures.ablate_each_head(core(), "how are you")
    worst = int(cosines.argmin())
    expect(compare.bars).to_contain_text(f"Switching off layer {worst // 12} head {worst % 12} changes")
    expect(compare.bars.get_by_role("heading")).to_have_text(f"L{worst // 12} H{worst % 12} matters most")
    compare.bar(2, 3).hover()
    expect(compare.bars.locator(".readout")).to_have_text(
        f"layer 2 head 3: cosine {written_cosine(float(cosines[2, 3]))}"
    )
    compare.bar(worst // 12, worst % 12).click()
    compare.page.wait_for_url(f"**at={worst // 12}.{worst % 12}")
    compare.settled()
    expect(compare.view).to_have_attribute("data-numbers", f"{worst // 12}.{worst % 12}")
    compare.bar(0, 2).focus()
    compare.keys("ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    compare.page.wait_for_url("**at=1.4")
    expect(compare.bar(1, 4)).to_have_attribute("aria-selected", "true")
    expect(compare.bar(1, 4)).to_be_focused()
    a_long_sentence_and_its_heads(compare)
    both_sides_are_taken_along(compare)


def a_long_sentence_and_its_heads(compare: Compare) -> None:
    text = "the cat ran a far way and so on " * 40
    compare.other_box.fill("")
    compare.box.fill(text)
    runs = compare.clicked("tables", Settings(text), Settings(text, position="none"))
    assert len(runs[0].tokens) == 362
    expect(compare.map(2).locator(".table")).to_contain_text("change from the")
    expect(compare.bars.get_by_role("grid")).to_be_hidden()
    compare.button("Switch off each head alone").click()
    expect(compare.bars.get_by_role("status")).to_contain_text("One head at a time: 1 s")
    with compare.page.expect_event("requestfailed", lambda request: "/api/each?" in request.url):
        compare.button("Stop").click()
    expect(compare.button("Switch off each head alone")).to_be_visible()
    expect(compare.button("Stop")).to_be_hidden()
    compare.button("maps").click()
    expect(compare.map(2).locator(".map")).to_be_visible()
    compare.settled()
    assert compare.hover(2, 100, 50) == read(runs, 1, 4, 100, 50)


def both_sides_are_taken_along(compare: Compare) -> None:
    sides = Settings("can you can that"), Settings("can you see that", position="none")
    compare.box.fill(sides[0].text)
    compare.other_box.fill(sides[1].text)
    compare.shows(*sides)
    compare.clicked("layer 2")
    compare.clicked("head 5", *sides)
    expect(compare.view).to_have_attribute("data-numbers", "2.5")
    with np.load(io.BytesIO(compare.take("npz")), allow_pickle=False) as arrays:
        for side, run in zip(("left", "right"), map(run_of, sides), strict=True):
            assert np.allclose(arrays[side], run.weights[2, 5].numpy(), rtol=0, atol=1e-5), side  # other threads
            assert arrays[f"{side}_rows"].tolist() == run.tokens
    choice = compare.page.get_by_label("Picture", exact=True)
    names = choice.locator("option").all_text_contents()
    assert names[:3] == ["Left", "Right", "Right − left"]
    assert names[-1] == "All of these together"
    sizes = []
    for name in ("Left", "All of these together"):
        choice.select_option(name)
        sizes.append(Image.open(io.BytesIO(compare.take("png"))).size)
    assert sizes[1][0] > 1.5 * sizes[0][0]
