"""Compare in the browser: three maps read as one, by mouse and by keyboard; everything in the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from mha_core import Run
from mha_core.measure import compare
from pages.compare.orders import shuffled
from pages.compare.pairs import small
from pages.kit.picture.pictures import Settings

from .compare_page import Compare
from .conftest import NewPage
from .helpers import TIRED, WIDE, Explore, Server, core, run_of, written
from .test_phone_and_themes import CONTRASTS, PHONE, SMALL_TARGETS

BAG = Settings(TIRED, position="none")


@pytest.fixture
def page(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Compare]:
    """The Compare page, not yet opened, in a new tab."""
    server.check()
    tab = watched(desktop.new_page(), server.url)
    yield Compare(tab, server.url)
    tab.close()


def signed(value: float) -> str:
    size = abs(value)
    text = written(size) if not 0.9999 < size < 1 else "0.9999"
    return f"{'−' if value < 0 else '+' if value else ''}{text}"


def read(runs: tuple[Run, Run], layer: int, head: int, row: int, key: int) -> list[str]:
    """What the three maps must read of a cell."""
    tokens = runs[0].tokens
    left, right = (float(run.weights[layer, head, row, key]) for run in runs)
    where = f"{tokens[row]} → {tokens[key]}"
    # the browser subtracts float32 numbers as doubles
    difference = f"{where} {written(left)} → {written(right)}, {signed(right - left)}"
    return [f"{where} {written(left)}", f"{where} {written(right)}", difference]


def test_the_numbers_of_the_default_screen(page: Compare) -> None:
    page.open().shows_default()
    figures = page.figures()
    assert figures[0] == "0.9998 → 0.109"
    assert "0.64 → 0.04" in figures
    assert "0.706" in figures
    before, after = figures[-1].split(" → ")
    assert before == ">0.9999"
    assert float(after) <= 1e-5
    said = page.view.locator(".sentences").inner_text()
    run = core().run(TIRED, position="none", mask="causal")
    causal = compare.repeated_words(run.weights, run.ids)
    assert causal
    assert f"Right with a causal mask: they differ by up to {small(causal.difference)}, without positions" in said
    assert "nan" not in page.page.locator("body").inner_text().lower().split()


def test_hovering_one_map_reads_all_three(page: Compare) -> None:
    runs = page.open(at="3.1").shows_default()
    tokens = runs[0].tokens
    it, animal = tokens.index("it"), tokens.index("animal")
    assert page.readouts() == read(runs, 3, 1, it, animal), "the cell that is marked"
    for number, row, key in [(0, 10, 8), (1, 0, 0), (2, 14, 0), (0, 14, 14), (2, 1, 5)]:
        assert page.hover(number, row, key) == read(runs, 3, 1, row, key)
    page.page.mouse.move(5, 5)
    assert page.readouts() == read(runs, 3, 1, it, animal)


def test_a_click_marks_a_cell_everywhere_and_in_the_link(page: Compare, new_page: NewPage) -> None:
    runs = page.open(at="3.1").shows_default()
    page.page.mouse.click(*page.cell(1, 5, 2))
    page.page.wait_for_url("**at=3.1.5.2**")
    page.settled()
    page.page.mouse.move(5, 5)
    assert page.readouts() == read(runs, 3, 1, 5, 2)
    ends = " → ".join(written(float(run.weights[3, 1, 5, 2])) for run in runs)
    assert ends in page.figures()
    other = new_page()
    there = Compare(other.page, other.url)
    there.page.goto(page.page.url)
    there.settled()
    assert there.readouts() == read(runs, 3, 1, 5, 2)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_keyboard_walks_each_map(page: Compare, number: int) -> None:
    runs = page.open(at="3.1.4.4").shows_default()
    press = page.page.keyboard.press
    page.panel(number).locator(".cell").focus()
    for key, row, column in [
        ("ArrowDown", 5, 4),
        ("ArrowRight", 5, 5),
        ("Home", 5, 0),
        ("ArrowUp", 4, 0),
        ("End", 4, 14),
    ]:
        press(key)
        assert page.readouts() == read(runs, 3, 1, row, column)
    press("Enter")
    page.page.wait_for_url("**at=3.1.4.14**")
    page.settled()
    expect(page.panel(number).locator(".cell")).to_be_focused()
    assert page.readouts() == read(runs, 3, 1, 4, 14)


def test_layer_and_head_by_buttons(page: Compare) -> None:
    runs = page.open().shows_default()
    for name in ("layer 4", "head 7"):
        page.button(name).click()
        page.settled()
        expect(page.button(name)).to_have_attribute("aria-pressed", "true")
    page.page.wait_for_url("**at=4.7")
    expect(page.view).to_have_attribute("data-numbers", "4.7")
    assert page.hover(0, 3, 6) == read(runs, 4, 7, 3, 6)
    page.button("head 8").focus()
    page.page.keyboard.press("Enter")
    page.settled()
    assert page.hover(2, 3, 6) == read(runs, 4, 8, 3, 6)


def test_quick_clicks_end_on_the_last(page: Compare) -> None:
    page.open()
    for head in (5, 9, 1, 11):
        page.button(f"head {head}").click()
    page.settled()
    expect(page.view).to_have_attribute("data-numbers", "0.11")
    page.page.wait_for_url("**at=0.11")


def test_tables(page: Compare) -> None:
    runs = page.open(at="3.1").shows_default()
    page.button("tables").click()
    page.page.wait_for_url("**look=table**")
    page.settled()
    it, animal = (runs[0].tokens.index(word) for word in ("it", "animal"))
    cells = [page.panel(n).locator("tbody tr").nth(it).locator("td").nth(animal).inner_text() for n in range(3)]
    left, right = (float(run.weights[3, 1, it, animal]) for run in runs)
    assert cells == [f"{left:.4f}", f"{right:.4f}", f"−{left - right:.4f}"]
    page.button("maps").click()
    page.settled()
    expect(page.panel(0).locator(".map")).to_be_visible()


def test_every_control_of_the_right_side(page: Compare) -> None:
    page.open()
    left, right = Settings(TIRED), BAG
    page.page.get_by_role("radiogroup", name="Mask, right").get_by_role("radio", name="causal").click()
    right = Settings(TIRED, "causal", "none")
    page.shows(left, right)
    page.choose("Position encoding, right", "sinusoidal")
    right = Settings(TIRED, "causal", "sinusoidal")
    page.shows(left, right)
    page.page.get_by_role("slider", name="Softmax temperature, right").press("ArrowLeft")
    right = Settings(TIRED, "causal", "sinusoidal", 0.9)
    page.shows(left, right)
    page.choose("Heads off, right", "L0 H2")
    right = Settings(TIRED, "causal", "sinusoidal", 0.9, ((0, 2),))
    page.shows(left, right)
    page.page.keyboard.press("Escape")
    page.other_box.fill(WIDE)
    right = Settings(WIDE, "causal", "sinusoidal", 0.9, ((0, 2),))
    runs = page.shows(left, right)
    assert (
        page.view.locator(".difference > .label").inner_text().startswith("The sentences have other words at 1 place")
    )
    assert page.hover(0, 2, 7)[1].endswith("not allowed by the mask")
    page.page.wait_for_function("location.search.includes('s2=')")
    query = page.query
    assert {key: query[key] for key in ("mask2", "pos2", "t2", "off2", "s2")} == {
        "mask2": ["causal"], "pos2": ["sinusoidal"], "t2": ["0.9"], "off2": ["L0 H2"], "s2": [WIDE],
    }  # fmt: skip
    page.page.reload()
    again = page.shows(left, right)
    assert again[1] is runs[1]


def test_sentences_of_two_lengths(page: Compare) -> None:
    page.open(s2="how are you")
    page.shows(Settings(TIRED), Settings("how are you", position="none"))
    expect(page.panel(2).locator(".map")).to_be_hidden()
    expect(page.panel(2)).to_contain_text("The left sentence has 15 tokens, the right one 5")
    expect(page.panel(1).locator(".map")).to_be_visible()
    page.other_box.fill("")
    page.shows_default()
    expect(page.panel(2).locator(".map")).to_be_visible()


def test_the_comparisons_to_try(page: Compare) -> None:
    page.open()
    wanted = {
        "tired / wide": (Settings(TIRED), Settings(WIDE)),
        "causal alone": (BAG, Settings(TIRED, "causal", "none")),
        "can you can that": (Settings("can you can that"), Settings("can you can that", position="none")),
        "how are you / you how are": (Settings("how are you"), Settings("how are you", position="none")),
        "with and without positions": (Settings(TIRED), BAG),
    }
    for name, (left, right) in wanted.items():
        page.button(name).click()
        page.shows(left, right)
        expect(page.button(name)).to_have_attribute("aria-pressed", "true")
        if name.startswith("how"):
            expect(page.shuffle).to_contain_text("you how are")
    assert page.query == {}


def test_shuffle_again(page: Compare, new_page: NewPage) -> None:
    page.open().shows_default()
    expect(page.shuffle).to_contain_text(shuffled(TIRED, 1))
    page.shuffle.get_by_role("button", name="shuffle again").click()
    page.page.wait_for_url("**shuffle=2**")
    order = shuffled(TIRED, 2)
    expect(page.shuffle).to_contain_text(order)
    for position, most in (("trained", 9.0), ("none", 1e-5)):
        runs = [core().run(text, position=position) for text in (TIRED, order)]
        assert compare.difference_in_new_order(*runs) <= most
    headings = page.shuffle.locator(".side-by-side h2").all_inner_texts()
    left, right = (float(heading.split(": ")[1]) for heading in headings)
    assert left > 0.1
    assert right <= 1e-5
    other = new_page()
    there = Compare(other.page, other.url)
    there.page.goto(page.page.url)
    expect(there.shuffle).to_contain_text(order)


def test_a_typed_order(page: Compare) -> None:
    page.open(s="how are you")
    box = page.page.get_by_role("textbox", name="Shuffle test")
    box.fill("you are how")
    box.press("Enter")
    expect(page.shuffle).to_contain_text("you are how")
    box.fill("you are who")
    box.press("Enter")
    expect(page.shuffle).to_contain_text("The new order must have the words of the sentence")
    page.shuffle.get_by_role("button", name="shuffle again").click()
    expect(page.shuffle).to_contain_text(shuffled("how are you", 2))
    expect(box).to_have_value("")


def test_a_head_is_opened_from_its_bar(page: Compare) -> None:
    page.open(s="how are you")
    expect(page.bars.get_by_role("gridcell")).to_have_count(72)
    cosines = compare.without_each_head(core(), "how are you")
    worst = int(cosines.argmin())
    expect(page.bars).to_contain_text(f"layer {worst // 12} head {worst % 12} is missed most")
    page.bar(worst // 12, worst % 12).click()
    page.page.wait_for_url(f"**at={worst // 12}.{worst % 12}")
    page.settled()
    expect(page.view).to_have_attribute("data-numbers", f"{worst // 12}.{worst % 12}")
    page.bar(0, 2).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.page.keyboard.press(key)
    page.page.wait_for_url("**at=1.4")
    expect(page.bar(1, 4)).to_have_attribute("aria-selected", "true")
    expect(page.bar(1, 4)).to_be_focused()


def test_back_and_forward(page: Compare) -> None:
    both = Settings(TIRED, "causal"), BAG
    page.open(mask="causal", at="2.5").shows(*both)
    page.page.get_by_role("link", name="Explore", exact=True).click()
    Explore(page.page, page.url).shows(mask="causal")
    page.page.go_back()
    page.shows(*both)
    expect(page.view).to_have_attribute("data-numbers", "2.5")
    page.page.go_forward()
    Explore(page.page, page.url).shows(mask="causal")


def test_each_page_has_its_own_first_head(page: Compare) -> None:
    page.open()
    expect(page.view).to_have_attribute("data-numbers", "0.2")

    def go(title: str) -> None:
        page.page.get_by_role("link", name=title, exact=True).click()

    go("Explore")
    expect(page.page.locator(".tile.focused")).to_have_attribute("data-head", "3.1")
    go("Compare")
    expect(page.view).to_have_attribute("data-numbers", "0.2")
    page.button("layer 3").click()
    page.button("head 1").click()
    page.settled()
    page.page.wait_for_url("**at=3.1")
    go("Explore")
    expect(page.page.locator(".tile.focused")).to_have_attribute("data-head", "3.1")
    go("Compare")
    expect(page.view).to_have_attribute("data-numbers", "3.1")


def test_links_that_cannot_be_used(page: Compare) -> None:
    page.open(at="9.9", pos2="elsewhere", shuffle="x", look="upside_down").shows_default()
    said = " ".join(page.notices())
    for key in ("at=9.9", "pos2=elsewhere", "shuffle=x", "look=upside_down"):
        assert key in said
    page.open(s2="it " * 600)
    assert page.notices()[0].startswith("602 tokens")


def test_a_typed_word_stays_text(page: Compare) -> None:
    text = "<img src=x onerror=alert(1)> **it** $x$ it"
    page.open(s=text, order=" ".join(reversed(text.split())))
    page.shows(Settings(text), Settings(text, position="none"))
    expect(page.shuffle).to_contain_text("onerror=alert(1)>")
    assert page.page.locator("img[src=x]").count() == 0
    assert run_of(Settings(text)).tokens[1] == "<"


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_contrast_of_all_text(new_page: NewPage, theme: str) -> None:
    explore = new_page(color_scheme=theme)
    page = Compare(explore.page, explore.url).open(s="can you can that", at="3.1.2.3", mask2="causal")
    expect(page.view).to_have_attribute("data-theme", theme)
    expect(page.bars.get_by_role("gridcell")).to_have_count(72)
    found = page.page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert not [(text, round(contrast, 2)) for text, contrast in found if contrast < 4.5]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_phone(new_page: NewPage, theme: str) -> None:
    explore = new_page(**PHONE, color_scheme=theme)
    page = Compare(explore.page, explore.url)
    for values in ({}, {"s": "can you can that", "look": "table"}, {"s2": "how are you", "big": "true"}):
        page.open(**values)
        expect(page.bars.get_by_role("gridcell")).to_have_count(72)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 375
        assert page.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 375
        assert not page.page.evaluate(SMALL_TARGETS)
    runs = page.open(at="3.1").shows_default()
    box = page.panel(0).locator(".map").bounding_box()
    assert box
    assert box["y"] + box["height"] < 812, "the first map is on the first screen"
    page.page.touchscreen.tap(*page.cell(0, 10, 2))
    page.page.wait_for_url("**at=3.1.10.2**")
    page.settled()
    assert page.readouts() == read(runs, 3, 1, 10, 2)


def test_a_long_sentence_and_its_heads(page: Compare) -> None:
    text = "the cat ran a far way and so on " * 40
    page.open(s=text, look="table")
    runs = page.shows(Settings(text), Settings(text, position="none"))
    assert len(runs[0].tokens) == 362
    expect(page.panel(2).locator(".table")).to_contain_text("change from the")
    assert page.bars.count() == 0
    page.page.get_by_role("button", name="Switch off each head alone").click()
    page.page.get_by_role("button", name="Stop", exact=True).click()
    page.settled()
    expect(page.page.get_by_role("button", name="Switch off each head alone")).to_be_visible()
    page.button("maps").click()
    page.settled()
    assert page.hover(2, 100, 50) == read(runs, 0, 2, 100, 50)
