"""Masks in a browser: painted by mouse, keys and finger, undone, joined, for one head, and sent at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
import torch
from playwright.sync_api import expect

from headlight.link import mask_codec
from headlight.link.rules import per_head_windows
from headlight.picture.settings import Settings
from tests.closeness import quoted

from .conftest import NewTab
from .expected import TIRED
from .explore_page import Explore
from .held import begins_with_its_picture, holds_back, say
from .masks_page import WORDS, Masks, weights_of
from .tab import TWO_FRAMES, place_of

HEADS = 12
# From `window.hold()` on every answer of a route waits for `window.release()`.
LATE = """() => {
  const real = window.fetch;
  let gate = null;
  window.hold = () => { gate = new Promise((open) => { window.release = open; }); };
  window.fetch = async (input, options) => {
    const answer = await real(input, options);
    if (String(input).includes("/api/")) await gate;
    return answer;
  };
}"""


def painting(cells: Iterable[tuple[int, int]], heads: Sequence[int] = range(HEADS), n: int = 6) -> str:
    """These cells turned round, as the link must say it."""
    flips = torch.zeros(HEADS, n, n, dtype=torch.bool)
    for i, j in cells:
        flips[list(heads), i, j] = True
    return mask_codec.write_flips(flips)


def check_weights(masks: Masks, settings: Settings, layer: int = 0, head: int = 3) -> None:
    """The table of the weights after, against the core: "—" where the mask forbids, and its four digits elsewhere."""
    n = mask_codec.token_count(settings.painted) if settings.painted else 6
    allow = mask_codec.allow_mask(settings.mask, settings.painted, n, HEADS)
    allow = allow[head] if allow.dim() == 3 else allow
    weights, shown = weights_of(settings, layer, head), masks.table("after")
    assert [[text == "—" for text in row] for row in shown] == (~allow).tolist()
    for row, key in allow.nonzero().tolist():
        quoted(float(weights[row, key]), shown[row][key])


def test_a_mask_is_painted_by_mouse_and_by_keyboard_and_joined_with_another(masks: Masks) -> None:
    masks.open(at="0.3")
    masks.shows()
    # a stroke by mouse leaves out no cell between its ends
    masks.page.mouse.move(*masks.place(5, 5))
    masks.page.mouse.down()
    for cell in ((2, 2), (2, 5)):
        masks.page.mouse.move(*masks.place(*cell))
    masks.page.mouse.up()
    stroke = [(5, 5), (4, 4), (3, 3), (2, 2), (2, 3), (2, 4), (2, 5)]
    settings = masks.shows("none", painting(stroke))
    expect(masks.counted).to_have_text("7 of 36 blocked")
    check_weights(masks, settings)
    masks.wait_for_query(mask="painted", p=settings.painted)

    # by keyboard, and undone
    masks.cell.focus()
    masks.keys("Home", *["ArrowUp"] * 5, "ArrowDown", "ArrowRight", "ArrowRight", "Space")
    expect(masks.cell).to_have_accessible_name("row can, key you: blocked")
    masks.shows("none", painting([*stroke, (1, 2)]))
    masks.clicked("undo", "none", settings.painted)

    # the row in focus is emptied, and named
    masks.clicked(masks.card("causal"), "causal")
    masks.clicked("block this row", "causal", painting([(1, 0), (1, 1)]))
    expect(masks.sums).to_have_text("row sums 1.0000 · one row empty")
    expect(masks.sheets.first).to_contain_text("Row 1 “can” may attend to no key")

    # two rules joined; the link shows the same
    masks.clicked(masks.card("causal"), "causal")
    masks.button("combine").click()
    masks.button("and").click()
    masks.clicked(masks.card("window 3"), "causal & window:3")
    masks.wait_for_query(mask="combination", rule="causal & window:3")
    masks.visit(masks.page.url).shows("causal & window:3")


@pytest.mark.thorough("A walk over rows and one head.")
def test_painted_by_row_and_for_one_head(masks: Masks) -> None:
    masks.open(mask="causal", at="0.3.4.1").shows("causal")
    # a row, and undone
    expect(masks.button("undo")).to_be_disabled()
    row = [(4, key) for key in range(5)]
    masks.button("row").click()
    masks.click(4, 0)
    settings = masks.shows("causal", painting(row))
    check_weights(masks, settings)
    expect(masks.sums).to_contain_text("one row empty")
    expect(masks.sheets.first).to_contain_text("6 of 6 weights are NaN")
    masks.clicked("undo", "causal", "")
    masks.clicked(masks.card("no mask"), "none")
    masks.button("block").click()

    # one head, then all; Explore shows the same mask
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


@pytest.mark.thorough("A walk over the gallery, its fields, joins and a second sentence of the batch.")
def test_the_gallery_joins_and_a_second_sentence(masks: Masks) -> None:
    # a bare address begins with a mask
    masks.visit(f"{masks.url}/masks?big=false").shows("causal")
    masks.wait_for_query(s=WORDS, mask="causal")
    masks.button("layer 0").click()
    masks.clicked(masks.head(3))
    masks.clicked(masks.card("no mask"), "none")
    settings = masks.clicked(masks.card("per head"), "none", mask_codec.write_flips(per_head_windows(6, HEADS)))
    check_weights(masks, settings)
    masks.clicked(masks.card("dilated 3 2"), "dilated:3:2")
    gap = masks.view.get_by_role("spinbutton", name="Distance between them")
    masks.enter(gap, "3")
    check_weights(masks, masks.shows("dilated:3:3"))
    masks.wait_for_query(mask="dilated", gap="3")
    gap.fill("0")
    masks.keys("Tab")
    expect(gap).to_have_value("3")
    masks.clicked(masks.card("causal"), "causal")
    expect(gap).to_have_count(0)

    # joined by and, or, and not; written; one that is no rule
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
    masks.enter(masks.rule, "!causal")
    masks.shows("!causal")
    masks.enter(masks.rule, "!causal & (")
    expect(masks.view.locator(".notices")).to_contain_text("Still using “!causal”")
    masks.shows("!causal")

    # a second sentence stands in the batch
    masks.visit(f"{masks.url}/masks?at=3.1").shows("none", text=TIRED)
    field = masks.page.get_by_role("textbox", name="Another sentence")
    expect(masks.sheets.last).to_contain_text("“how are you”: 5 tokens and 10 of padding")
    field.fill("you how are too")
    expect(masks.sheets.last).to_contain_text("“you how are too”: 6 tokens and 9 of padding")
    masks.wait_for_query(pad="you how are too")
    field.fill("a " * 600)
    expect(masks.view.locator(".outcomes .reason")).to_contain_text("the model can read 512")
    expect(masks.sheets.last).to_contain_text("“how are you”: 5 tokens and 10 of padding")
    assert masks.notices() == []
    masks.clicked(masks.card("causal"), "causal", text=TIRED)
    expect(masks.sheets.last).to_contain_text("The mask “causal” alone already blocks padding")
    field.fill("how are you")
    expect(masks.view.locator(".outcomes .reason")).to_be_empty()
    masks.wait_for_query(pad=None)


@pytest.mark.thorough(
    "Answers are held back, and a page is opened before its script: what is painted meanwhile counts."
)
def test_no_stroke_is_lost(masks: Masks) -> None:
    # painted on the first picture, before the script has heard anything
    holds_back(masks, from_the_start=True)
    begins_with_its_picture(masks, f"{masks.url}/masks?s=can+you+can+that&at=0.3")
    masks.click(1, 2)
    expect(masks.counted).to_have_text("1 of 36 blocked")
    say(masks)
    masks.page.wait_for_selector("#headlight-early", state="detached")
    settings = masks.shows("none", painting([(1, 2)]))
    check_weights(masks, settings)
    masks.wait_for_query(mask="painted", p=settings.painted)
    masks.forget_scripts()

    masks.open()

    # strokes faster than their answers, and one that goes on over an answer
    masks.clicked(masks.card("no mask"), "none", "")
    masks.page.evaluate(LATE)
    masks.page.evaluate("window.hold()")
    masks.click(0, 0)
    masks.page.mouse.move(*masks.place(2, 0))
    masks.page.mouse.down()
    masks.page.mouse.move(*masks.place(2, 2))
    masks.page.evaluate("window.release()")
    expect(masks.view).not_to_have_attribute("data-pending", "")  # the first one is answered
    masks.page.evaluate(TWO_FRAMES)
    expect(masks.counted).to_have_text("4 of 36 blocked")
    masks.page.mouse.move(*masks.place(2, 3))
    masks.page.mouse.up()
    settings = masks.shows("none", painting([(0, 0), (2, 0), (2, 1), (2, 2), (2, 3)]))
    check_weights(masks, settings)


@pytest.mark.thorough("A phone is a second window; the quick tier opens every page on one.")
def test_a_finger_scrolls_or_paints(new_phone: NewTab) -> None:
    masks = new_phone(Masks).open()
    grid = masks.view.locator("section.mask-panel .map")
    expect(masks.button("scroll")).to_have_attribute("aria-pressed", "true")
    expect(grid).to_have_css("touch-action", "auto")
    masks.page.touchscreen.tap(*masks.place(2, 1))
    masks.shows("none", painting([(2, 1)]))
    masks.view.get_by_role("group", name="Brush").get_by_role("button", name="paint").tap()
    expect(grid).to_have_css("touch-action", "none")
    masks.page.touchscreen.tap(*masks.place(3, 3))
    masks.shows("none", painting([(2, 1), (3, 3)]))
    assert place_of(grid).x >= 0
    assert place_of(grid).right <= 375
