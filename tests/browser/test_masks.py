"""Masks in the browser: painted by mouse, keys and finger, undone, joined, for one head, and opened elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pytest
import torch
from playwright.sync_api import expect

from pages.kit.picture import mask_codec
from pages.kit.picture.rules import per_head_windows
from pages.kit.picture.settings import Settings

from .conftest import NewTab
from .expected import TIRED, core
from .explore_page import Explore
from .masks_page import WORDS, Masks, weights_of
from .tab import place_of

HEADS = 12


def painting(cells: Iterable[tuple[int, int]], heads: Sequence[int] = range(HEADS), n: int = 6) -> str:
    """These cells turned round, as the link must say it."""
    flips = torch.zeros(HEADS, n, n, dtype=torch.bool)
    for i, j in cells:
        flips[list(heads), i, j] = True
    return mask_codec.write_flips(flips)


def check_weights(masks: Masks, settings: Settings, layer: int = 0, head: int = 3) -> None:
    """The table of the weights after, against the core: blocked ones are none, and each row sums to 1 or is empty."""
    n = mask_codec.tokens_of(settings.painted) if settings.painted else 6
    allow = mask_codec.allowed(settings.mask, settings.painted, n, HEADS)
    allow = allow[head] if allow.dim() == 3 else allow
    weights = weights_of(settings, layer, head)
    shown = masks.table("after")
    assert [[text == "—" for text in row] for row in shown] == (~allow).tolist()
    for row, line in enumerate(shown):
        numbers = [0.0 if text == "—" else float(text) for text in line]
        assert numbers == pytest.approx(weights[row].tolist(), abs=6e-5)
        assert sum(numbers) == pytest.approx(1 if allow[row].any() else 0, abs=4e-4)


def test_a_mask_is_painted_by_row_by_mouse_by_keyboard_for_one_head_and_on_a_rule(masks: Masks) -> None:
    masks.open(mask="causal", at="0.3.4.1")
    rows_columns_undo_and_clear(masks)
    masks.button("clear").click()
    masks.clicked(masks.card("full"), "none", "")
    painted_by_mouse(masks)
    painted_by_keyboard(masks)
    masks.clicked("clear", "none", "")
    painted_for_one_head(masks)
    masks.button("clear").click()
    masks.clicked(masks.card("window 3"), "window:3")
    painted_on_a_rule_it_waits_for_its_sentence(masks)


def rows_columns_undo_and_clear(masks: Masks) -> None:
    masks.shows("causal")
    expect(masks.button("undo")).to_be_disabled()
    expect(masks.sheets.first).not_to_contain_text("may look at nobody")
    row = [(4, key) for key in range(5)]
    masks.clicked("empty a row", "causal", painting(row))
    expect(masks.sums.locator("li")).to_have_text(["1.00", "1.00", "1.00", "1.00", "empty", "1.00"])
    expect(masks.sheets.first).to_contain_text("Row 4 “that” may look at nobody")
    masks.clicked("undo", "causal")
    masks.button("row").click()
    masks.click(4, 0)
    settings = masks.shows("causal", painting(row))
    check_weights(masks, settings)
    expect(masks.sums.locator(".empty")).to_have_count(1)
    expect(masks.sheets.first).to_contain_text("6 of 6 weights are NaN")
    masks.click(-1, 0)  # the label of a column, whatever the tool
    column = [(key, 0) for key in range(6) if key != 4]
    masks.shows("causal", painting(row + column))
    masks.clicked("undo", "causal", settings.painted)
    masks.clicked("clear", "causal", "")
    masks.clicked("undo", "causal", settings.painted)
    masks.clicked(masks.card("window 3"), "window:3")
    masks.clicked("undo", "causal", settings.painted)
    masks.wait_for_query(mask="painted", on="causal")


def painted_by_mouse(masks: Masks) -> None:
    masks.button("block").click()
    masks.click(1, 2)
    expect(masks.counted).to_have_text("1 of 36 blocked")
    masks.shows("none", painting([(1, 2)]))
    masks.drag((3, 0), (3, 4))
    stroke = [(1, 2), *((3, key) for key in range(5))]
    masks.shows("none", painting(stroke))
    masks.drag((5, 5), (2, 2), (2, 5))
    stroke += [(5, 5), (4, 4), (3, 3), (2, 2), (2, 3), (2, 4), (2, 5)]
    settings = masks.shows("none", painting(stroke))
    check_weights(masks, settings)
    masks.wait_for_query(mask="painted", p=settings.painted)
    masks.button("allow").click()
    masks.drag((0, 2), (5, 2))
    left = [cell for cell in stroke if cell[1] != 2]
    masks.shows("none", painting(left))


def painted_by_keyboard(masks: Masks) -> None:
    masks.clicked("clear", "none", "")
    press = masks.keys
    masks.cell.focus()
    press("Home", *["ArrowUp"] * 5, "ArrowDown", "ArrowRight")
    expect(masks.cell).to_have_accessible_name("row can, key can: allowed")
    press("ArrowRight", "Space")
    expect(masks.cell).to_have_accessible_name("row can, key you: blocked")
    expect(masks.cell).to_be_focused()
    masks.shows("none", painting([(1, 2)]))
    masks.cell.focus()
    press("Enter")
    masks.shows("none", "")
    masks.button("block").click()
    masks.cell.focus()
    press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowLeft")
    masks.shows("none", painting([(1, 2), (2, 2), (3, 2), (3, 1)]))
    expect(masks.cell).to_have_accessible_name("row can, key can: blocked")
    masks.cell.focus()
    press("Control+z")
    masks.shows("none", painting([(1, 2), (2, 2), (3, 2)]))
    press("Home", "ArrowUp", "End", "Space")
    masks.shows("none", painting([(1, 2), (2, 2), (3, 2), (2, 5)]))


def painted_for_one_head(masks: Masks) -> None:
    masks.button("this head").click()
    masks.click(2, 1)
    settings = masks.shows("none", painting([(2, 1)], [3]))
    expect(masks.counted).to_have_text("1 of 36 blocked in head 3")
    masks.head(4).click()
    expect(masks.counted).to_have_text("0 of 36 blocked in head 4")
    check_weights(masks, masks.shows("none", settings.painted), head=4)
    masks.button("all heads").click()
    masks.click(0, 0)
    both = torch.zeros(HEADS, 6, 6, dtype=torch.bool)
    both[:, 0, 0] = both[3, 2, 1] = True
    settings = masks.shows("none", mask_codec.write_flips(both))
    masks.go("Explore")
    expect(masks.view).to_have_count(0)
    explore = masks.on(Explore).settled(settings.digest)
    explore.tile(0, 3).locator(".square").click()
    expect(explore.place).to_contain_text("layer 0, head 3 ")
    explore.button("table").click()
    expect(explore.view.locator(".large .table")).to_be_visible()
    rows = explore.table()
    assert (rows[2][2], rows[0][1]) == ("—", "—")
    assert sum(cell == "—" for row in rows for cell in row) == 2
    explore.go("Masks")
    masks.shows("none", settings.painted)


def painted_on_a_rule_it_waits_for_its_sentence(masks: Masks) -> None:
    masks.button("block").click()
    masks.click(0, 5)  # blocked by the rule already
    expect(masks.counted).to_have_text("12 of 36 blocked")
    masks.button("allow").click()
    masks.click(0, 5)
    masks.shows("window:3", painting([(0, 5)]))
    masks.clicked(masks.card("window 3"), "window:3")
    p = painting([(0, 5)])
    masks.wait_for_query(mask="window", w=None, on="window:3", p=p)
    masks.clicked(masks.card("painted"), "window:3", p)

    masks.box.fill(TIRED)
    masks.shows("window:3", text=TIRED)
    expect(masks.view.locator(".notices")).to_contain_text("painted for 6 tokens; the sentence has 15")
    masks.wait_for_query(p=p)
    masks.box.fill(WORDS)
    masks.shows("window:3", p)
    expect(masks.view.locator(".notices p")).to_have_count(0)
    masks.enter(masks.page.get_by_role("textbox", name="Another sentence"), "you how are")
    expect(masks.sheets.last).to_contain_text("“you how are”: 5 tokens and 1 of padding")


def test_a_bare_address_begins_with_a_mask_and_the_gallery_has_others_and_their_joins(masks: Masks) -> None:
    masks.visit(f"{masks.url}/masks?big=false").shows("causal")  # says nothing of the picture
    masks.wait_for_query(s=WORDS, mask="causal")
    masks.clicked(masks.card("full"), "none")
    masks.wait_for_query(s=WORDS, mask="none")
    masks.button("layer 0").click()
    masks.clicked(masks.head(3))
    for name, rule in (("prefix 2", "prefix:2"), ("documents", "documents:3")):  # the others below, and joined
        masks.clicked(masks.card(name), rule)
        expect(masks.card(name)).to_have_attribute("aria-pressed", "true")
    settings = masks.clicked(masks.card("per head"), "none", mask_codec.write_flips(per_head_windows(6, HEADS)))
    check_weights(masks, settings)
    masks.clicked(masks.card("causal"), "causal")
    masks.clicked(masks.card("painted"), "none", settings.painted)

    masks.clicked(masks.card("dilated 3 2"), "dilated:3:2")
    gap = masks.view.get_by_role("spinbutton", name="Distance between them")
    masks.enter(gap, "3")
    check_weights(masks, masks.shows("dilated:3:3"))
    masks.wait_for_query(mask="dilated", gap="3")
    gap.fill("0")
    masks.keys("Tab")
    expect(gap).to_have_value("3")
    masks.enter(gap, "2")
    masks.wait_for_query(mask="dilated", gap=None)
    masks.clicked(masks.card("causal"), "causal")
    expect(gap).to_have_count(0)
    expect(masks.view.locator(".meaning")).to_contain_text("A word sees itself and the words before it")
    masks.card("sinks 1").hover()
    expect(masks.view.locator(".meaning")).to_contain_text("All words see only the first token")

    expect(masks.button("and")).to_have_count(0)
    masks.button("combine").click()
    for join, name, rule in (
        ("and", "window 3", "causal & window:3"),
        ("or", "sinks 1", "causal & window:3 | sinks:1"),
        ("and not", "documents", "causal & window:3 & !documents:3 | sinks:1 & !documents:3"),
    ):
        masks.button(join).click()
        expect(masks.card("per head")).to_be_disabled()
        masks.clicked(masks.card(name), rule)
        expect(masks.rule).to_have_value(rule)
    check_weights(masks, masks.shows(rule))
    masks.wait_for_query(mask="combination", rule=rule)
    masks.enter(masks.rule, "!causal")
    masks.shows("!causal")
    masks.enter(masks.rule, "!causal & (")
    expect(masks.view.locator(".notices")).to_contain_text("Still using “!causal”")
    masks.shows("!causal")


def test_a_second_sentence_stands_in_the_batch_and_three_maps_in_line(masks: Masks) -> None:
    masks.visit(f"{masks.url}/masks?at=3.1").shows("none", text=TIRED)  # says something of the picture
    field = masks.page.get_by_role("textbox", name="Another sentence")
    expect(masks.sheets.last).to_contain_text("“how are you”: 5 tokens and 10 of padding")
    field.fill("you how are too")
    expect(masks.sheets.last).to_contain_text("“you how are too”: 6 tokens and 9 of padding")
    masks.wait_for_query(pad="you how are too")
    field.fill("a " * 600)
    expect(masks.view.locator(".outcomes .reason")).to_contain_text("the model can read 512")
    expect(masks.sheets.last).to_contain_text("“you how are too”: 6 tokens and 9 of padding")
    assert masks.notices() == []
    masks.clicked(masks.card("causal"), "causal", text=TIRED)
    expect(masks.sheets.last).to_contain_text("The mask “causal” alone already keeps these tokens")
    expect(masks.view.locator(".outcomes .reason")).to_contain_text("the model can read 512")
    field.fill("how are you")
    expect(masks.view.locator(".outcomes .reason")).to_be_empty()
    masks.wait_for_query(pad=None)
    three_maps_stand_in_line_and_have_numbers_also_projected(masks)


def check_rows_in_line(masks: Masks) -> None:
    boxes = [
        masks.box_of(masks.view.locator(f"section.{name} .cell"), row, 0)
        for row in (0, 14)
        for name in ("who", "before", "after")
    ]
    for row in (boxes[:3], boxes[3:]):
        assert max(box.y for box in row) - min(box.y for box in row) <= 1
        assert max(box.height for box in row) - min(box.height for box in row) <= 0.1
        assert row == sorted(row, key=lambda box: box.x)
    assert boxes[3].bottom <= 900, "the last row is on the first screen"


def check_numbers(masks: Masks) -> None:
    for name in ("before", "after"):
        panel = masks.view.locator(f"section.{name}")
        size = float(panel.locator(".map").get_attribute("data-number") or 0)
        assert size >= 12
        assert masks.box_of(panel.locator(".cell"), 0, 0).width > 1.3 * size, "a point and two digits"


def check_last_row(masks: Masks, text: str, shown: list[str]) -> None:
    n = len(core().tokenize(text)[0])
    for name in ("who", "before", "after"):
        panel = masks.view.locator(f"section.{name}")
        expect(panel).to_be_visible(visible=name in shown)
        if name in shown:
            last = masks.box_of(panel.locator(".cell"), n - 1, n - 1)
            assert last.bottom <= 720
            assert last.width >= 30, "three characters of 16 pixels"


def three_maps_stand_in_line_and_have_numbers_also_projected(masks: Masks) -> None:
    masks.still()
    masks.shows("causal", text=TIRED)
    check_rows_in_line(masks)
    check_numbers(masks)
    masks.page.set_viewport_size({"width": 1280, "height": 900})
    masks.still()
    check_rows_in_line(masks)
    masks.page.set_viewport_size({"width": 1280, "height": 720})
    masks.still()
    check_numbers(masks)

    masks.card("causal").press("p")
    expect(masks.view).to_have_class(re.compile(r"\bprojector\b"))
    masks.still()
    check_last_row(masks, TIRED, ["after"])
    masks.page.keyboard.press("Escape")  # the box is there again
    masks.box.fill(WORDS)
    masks.shows("causal", text=WORDS)
    masks.page.get_by_role("button", name="Projector", exact=True).click()
    expect(masks.view).to_have_class(re.compile(r"\bprojector\b"))
    masks.still()
    check_last_row(masks, WORDS, ["who", "after"])
    masks.button("before").click()
    expect(masks.view.locator("section.before")).to_be_visible()
    expect(masks.view.locator("section.after")).to_be_hidden()


def test_a_painting_that_is_too_long_for_a_link_is_said(masks: Masks) -> None:
    words, n = "the " * 60, 62
    noise = torch.rand(4, n, n, generator=torch.Generator().manual_seed(0)) < 0.5
    flips = noise[0].repeat(HEADS, 1, 1)
    flips[:3] |= noise[1:]
    flips[3, :30] |= noise[1, :30]
    p = mask_codec.write_flips(flips)
    assert 2800 < len(p) <= 3000
    masks.open(s=words, mask="painted", p=p, at="0.4")
    settings = masks.shows("none", p, words)
    masks.button("this head").click()
    masks.button("row").click()
    masks.click(61, 3)
    masks.click(61, 3)  # allowed in this head: what all heads had there now takes room in each of the others
    masks.settled()  # the first click's answer takes nothing of the second back
    expect(masks.view.locator(".notices")).to_contain_text("characters of 3,000")
    masks.button("undo").click()
    expect(masks.view.locator(".notices p")).to_have_count(0)
    masks.button("undo").click()
    masks.settled(settings.digest)

    text = "the " * 70  # longer than can be painted
    masks.card("causal").click()
    masks.box.fill(text)
    masks.shows("causal", text=text)
    expect(masks.view.locator(".notices")).to_contain_text("at most 64 tokens, this sentence has 72")
    masks.click(5, 2)
    masks.shows("causal", text=text)
    masks.clicked(masks.card("window 3"), "window:3", text=text)


def test_a_finger_scrolls_or_paints(new_phone: NewTab) -> None:
    masks = new_phone(Masks).open()
    grid = masks.view.locator("section.who .map")
    expect(masks.button("scroll")).to_have_attribute("aria-pressed", "true")
    expect(grid).to_have_css("touch-action", "auto")
    masks.page.touchscreen.tap(*masks.place(2, 1))
    masks.shows("none", painting([(2, 1)]))
    masks.view.get_by_role("group", name="What touching does").get_by_role("button", name="paint").tap()
    expect(grid).to_have_css("touch-action", "none")
    masks.page.touchscreen.tap(*masks.place(3, 3))
    masks.shows("none", painting([(2, 1), (3, 3)]))
    assert place_of(grid).x >= 0
    assert place_of(grid).right <= 375

    masks.box.fill(TIRED)
    masks.card("causal").tap()
    masks.shows("causal", text=TIRED)
    masks.page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    places = [place_of(masks.view.locator(name)) for name in (".sentence", ".gallery", "section.who .map")]
    assert places == sorted(places, key=lambda place: place.y), "the gallery stands over the grid"
    assert places[2].bottom <= 812, "the grid is seen without scrolling"
