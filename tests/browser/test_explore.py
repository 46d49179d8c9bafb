"""Explore in a browser: the picture is the core's numbers, whatever is changed, looked at, compared with or undone."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import torch
from playwright.sync_api import expect

from mha_core import Run
from pages.explore.kinds import of_layer
from pages.kit.picture import pictures
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes
from tests.bench.visitors import unpacked
from tests.closeness import quoted

from .axe import nothing_serious
from .compare_page import Compare
from .expected import TIRED, WIDE, largest, run_of, written
from .explore_page import Explore
from .tab import place_of

SCALES = (("root", "show small weights"), ("linear", "true to scale"), ("own", "each map by its own maximum"))
OFF = "A head that is off still looks the same; its absence shows in later layers."
DIFFERENCE = "show the difference"
# A point of a cell where neither its number nor a line is drawn.
ACROSS, DOWN = 0.5, 0.14
PALETTE = """async ([view, scale, most]) => {
  const files = performance.getEntriesByType("resource").map((entry) => entry.name);
  const { open } = await import(files.find((name) => name.endsWith("/app.js")));
  const colour = open("base/colour.js");
  const pixels = colour.palette(view.dataset.theme, scale, most);
  return Array.from(pixels, (pixel) => [0, 8, 16].map((shift) => (pixel >> shift) & 255));
}"""
# How many pixels of the layer over the map are painted left of the cells, and above them.
PAINTED = """(over, [left, top]) => {
  const { width, height } = over;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(over, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  const scale = width / over.clientWidth;
  const found = [0, 0];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      if (!data[4 * (y * width + x) + 3]) continue;
      if (x / scale < left) found[0] += 1;
      else if (y / scale < top) found[1] += 1;
    }
  return found;
}"""
FAST_CLICKS = """view => {
  const click = (text) => [...view.querySelectorAll("button")].find((one) => one.textContent === text).click();
  click("pin");
  view.querySelectorAll(".presets button")[1].click();
  view.querySelector('[data-head="3.5"] .lamp').click();
  click("true to scale");
}"""


def percent(weight: float) -> str:
    return f"{weight:.0%}".replace("%", " %")


def shows_it(explore: Explore, **settings: Any) -> None:
    """The picture of these settings is there, with the core's numbers for layer 3 head 1."""
    run = explore.shows(**settings)
    assert explore.chips() == run.tokens
    explore.looks_at(largest(run, 3, 1, run.tokens.index("it")))


def bytes_of(run: Run, layer: int, head: int) -> list[list[int]]:
    rows: list[list[int]] = (run.weights[layer, head] * 255).round().int().tolist()
    return rows


def check_map(explore: Explore, rows: list[list[int]], scale: str) -> None:
    """Every cell of the enlarged map has the colour of its weight, and a larger weight is not darker."""
    most = max(map(max, rows)) if scale == "own" else 255
    colours = explore.page.evaluate(PALETTE, [explore.view.element_handle(), scale, most])
    cells = [(row, key) for row in range(len(rows)) for key in range(len(rows))]
    left, top, width, height = explore.box_of(explore.cell, 0, 0)
    points = [(left + (key + ACROSS) * width, top + (row + DOWN) * height) for row, key in cells]
    drawn = explore.pixels(explore.view.locator(".large .map canvas").first, points)
    assert drawn == [colours[rows[row][key]] for row, key in cells]
    by_weight = sorted(
        (rows[row][key], 0.299 * r + 0.587 * g + 0.114 * b) for (row, key), (r, g, b) in zip(cells, drawn, strict=True)
    )
    assert all(low <= high + 2 for (_, low), (_, high) in pairwise(by_weight))


def check_tiles(explore: Explore, run: Run, layer: int) -> None:
    """Every cell of some tiles has the colour of its weight."""
    n = len(run.tokens)
    colours = explore.page.evaluate(PALETTE, [explore.view.element_handle(), "root", 255])
    points, wanted = [], []
    for head in (0, 5, 11):
        box = place_of(explore.tile(layer, head).locator(".square"))
        across, down = box.width / n, box.height / n
        for row, bytes_of_row in enumerate(bytes_of(run, layer, head)):
            points += [(box.x + (key + 0.5) * across, box.y + (row + 0.5) * down) for key in range(n)]
            wanted += [colours[byte] for byte in bytes_of_row]
    assert explore.pixels(explore.view.locator(".heads-holder canvas"), points) == wanted


def check_table(explore: Explore, run: Run, layer: int, head: int) -> None:
    """The table has four digits of each weight."""
    wanted = [[f"{weight:.4f}" for weight in row] for row in run.weights[layer, head].tolist()]
    explore.until(lambda: [row[1:] for row in explore.table()] == wanted, "the table has the weights")


def test_the_first_picture_is_the_cores_numbers_in_words_colours_and_a_table(explore: Explore) -> None:
    run = explore.open().shows()
    it = run.tokens.index("it")
    assert explore.chips() == run.tokens
    expect(explore.place).to_contain_text("layer 3, head 1 ")
    explore.looks_at(largest(run, 3, 1, it))
    assert explore.badges()[0] == "animal 0.64"
    assert explore.figures()[:3] == ["1.000", "0 of 72", "1.000000"]
    assert not explore.notices()
    assert not explore.query
    check_map(explore, bytes_of(run, 3, 1), "root")
    for row, key in [(10, 2), (4, 9), (14, 14)]:
        weight = written(float(run.weights[3, 1, row, key]))
        assert explore.hover(row, key) == f"{run.tokens[row]} → {run.tokens[key]} {weight}"

    # a layer, a head, a cell and the table of it; the link shows the same
    explore.layer(0).click()
    explore.clicked(explore.tile(0, 5).locator(".square"))
    check_tiles(explore, run, 0)
    explore.click_cell(4, 6)
    explore.settled()
    explore.looks_at(largest(run, 0, 5, 4))
    explore.button("table").click()
    check_table(explore, run, 0, 5)
    explore.wait_for_query(at="0.5.4.6", look="table")
    explore.visit(explore.page.url).shows()
    check_table(explore, run, 0, 5)


def test_a_mask_no_positions_and_a_head_off_change_the_picture_and_are_taken_back(explore: Explore) -> None:
    explore.open().shows()
    explore.mask("causal")
    shows_it(explore, mask="causal")
    assert "blocked by the mask" in explore.hover(2, 9)
    explore.position("none")
    explore.clicked(explore.lamp(3, 5), mask="causal", position="none", heads_off=((3, 5),))
    shows_it(explore, mask="causal", position="none", heads_off=((3, 5),))
    explore.wait_for_query(mask="causal", pos="none", off="L3 H5")
    changed = explore.view.get_by_role("group", name="What is changed")
    assert changed.locator(".chip-of-change").all_inner_texts() == ["mask: causal ×", "no positions ×", "L3 H5 off ×"]
    settings = Settings(TIRED), Settings(TIRED, "causal", "none", heads_off=((3, 5),))
    before, now = (percent(float(run_of(own).weights[3, 1, 10, 2])) for own in settings)
    expect(changed.locator(".said")).to_have_text(f"“it” gave “animal” {before}, now {now}.")

    # one taken back, undone, and all taken back
    changed.get_by_role("button", name="take back: no positions").click()
    explore.shows(mask="causal", heads_off=((3, 5),))
    explore.clicked("undo", mask="causal", position="none", heads_off=((3, 5),))
    changed.get_by_role("button", name="reset all").click()
    shows_it(explore)
    explore.wait_for_query(mask=None, pos=None, off=None)

    # another sentence by one click; its difference to the original
    run = explore.clicked(WIDE, WIDE)
    assert explore.chips() == run.tokens
    assert dict(badge.rsplit(" ", 1) for badge in explore.badges())["animal"] == "0.27"
    explore.clicked(TIRED, TIRED)
    explore.position("none")
    explore.uncover()
    explore.shows(position="none")
    explore.button(DIFFERENCE).focus()
    explore.keys("Enter")
    explore.settled()
    expect(explore.view.locator(".large h2")).to_have_text("Now − original: “it” → “animal” −0.60")
    assert explore.hover(10, 2) == "it → animal 0.64 → 0.04, −0.60"


@pytest.mark.thorough("A walk over the scales, presets, a long map, the lamps, the mask's width, temperature and undo.")
def test_scales_and_every_control_and_what_is_said_of_a_head_that_is_off(explore: Explore) -> None:
    untouched = explore.open().shows()
    # the colours in each scale, the tiles' readout, a label that stands for its row
    for scale, button in SCALES:
        explore.button(button).click()
        expect(explore.button(button)).to_have_attribute("aria-pressed", "true")
        check_map(explore, bytes_of(untouched, 3, 1), scale)
    explore.button("show small weights").click()
    for head, row, key in [(2, 0, 0), (5, 10, 8), (11, 14, 14)]:
        box = place_of(explore.tile(3, head).locator(".square"))
        explore.page.mouse.move(box.x + (key + 0.5) * box.width / 15, box.y + (row + 0.5) * box.height / 15)
        weight = bytes_of(untouched, 3, head)[row][key] / 255
        assert explore.readout() == f"L3 H{head}: {untouched.tokens[row]} → {untouched.tokens[key]} {weight:.2f}"
    cell = explore.box_of(explore.cell, 1, 0)
    explore.page.mouse.click(cell.x - 20, cell.middle[1])
    explore.settled()
    explore.looks_at(largest(untouched, 3, 1, 1))
    explore.clicked(explore.chip(10))

    # a head that is off by its lamp is not described as if it worked; later layers change
    run = explore.clicked(explore.lamp(3, 5), heads_off=((3, 5),))
    expect(explore.tile(3, 5)).to_have_attribute("aria-label", "layer 3 head 5, off in the model")
    assert explore.figures()[1] == "1 of 72"
    quoted(float(run.sentence.double() @ untouched.sentence.double()), explore.figures()[0])
    explore.clicked("table")
    check_table(explore, untouched, 3, 1)
    explore.clicked(explore.layer(5))
    check_table(explore, run, 5, 1)
    assert not torch.equal(run.weights[5, 1], untouched.weights[5, 1])
    explore.layer(3).click()
    explore.clicked(explore.lamp(3, 5), TIRED)
    explore.button("map").click()
    title, value = explore.view.locator(".large h2"), explore.view.locator(".large .story dd").last
    expect(value).to_contain_text("Its weight in this row is 64 %")
    explore.clicked("switch this head off", heads_off=((3, 1),))
    expect(title).to_have_text("“it” puts 64 % on “animal” switched off: what it finds is not passed on")
    expect(value).to_have_text("nothing: this head is off, so nothing of it is passed on.")
    explore.clicked(explore.tile(3, 2))
    expect(title).not_to_contain_text("off")

    # panel and lamps agree
    panel = explore.change("Switch heads off")
    panel.get_by_role("button", name="layer 0 head 2", exact=True).click()
    explore.layer(0).click()
    expect(explore.lamp(0, 2)).to_have_attribute("aria-pressed", "false")
    explore.clicked(explore.lamp(0, 7), heads_off=((0, 2), (0, 7), (3, 1)))
    explore.wait_for_query(off=["L0 H2", "L0 H7", "L3 H1"])
    panel = explore.change("Switch heads off")
    panel.get_by_role("button", name="all on").click()
    explore.shows()
    explore.layer(3).click()
    explore.tile(3, 1).locator(".square").click()
    expect(explore.lamp(3, 1)).to_have_attribute("aria-pressed", "true")

    # the width of a mask, every position, and the temperature by keyboard
    explore.mask("window")
    shows_it(explore, mask="window:3")
    width = explore.page.get_by_role("spinbutton", name="words on either side, and itself")
    width.fill("1")
    shows_it(explore, mask="window:1")
    explore.looks_at(["it 1.00"])
    explore.wait_for_query(mask=["window"], w=["1"])
    width.fill("513")  # beyond its end
    shows_it(explore, mask="window:1")
    explore.mask("none")
    explore.position("sinusoidal")
    shows_it(explore, position="sinusoidal")
    explore.position("as trained")
    slider = explore.change("Sharpen or blur").get_by_role("slider")
    slider.focus()
    for keys, temperature in ((["ArrowRight"] * 2, 1.2), (["End"], 5.0), (["Home"], 0.1)):
        explore.keys(*keys)
        shows_it(explore, temperature=temperature)
        expect(slider).to_be_focused()
    explore.wait_for_query(t="0.1")
    explore.uncover()
    explore.clicked(explore.view.locator(".chip-of-change"), TIRED)

    # the head that changed most, and a link to Compare that keeps the place
    explore.position("none")
    explore.shows(position="none")
    most = explore.view.get_by_role("button", name="Most changed")
    place = most.inner_text().removeprefix("Most changed: ").removesuffix(" ›")
    most.click()
    explore.settled()
    expect(explore.place).to_contain_text(f"{place} ")
    link = explore.view.get_by_role("link", name="compare with the original model →")
    query = parse_qs(urlsplit(link.get_attribute("href") or "").query)
    assert (query["at"], query["pos2"]) == (explore.query["at"], ["none"])
    link.click()
    expect(explore.on(Compare).settled().view).to_contain_text(place.removeprefix("l"))

    # a long map names the row and the column that are pointed at
    explore.open()
    for text, (row, key), least in ((TIRED, (4, 9), 0), ("it was the age of wisdom and of light " * 9, (41, 30), 20)):
        explore.typed(text)
        explore.hover(row, key)
        box, (x, y) = place_of(explore.view.locator(".large .map")), explore.middle(explore.cell, 0, 0)
        over = explore.view.locator(".large .map canvas.over")
        found = over.evaluate(PAINTED, [x - box.x - 4, y - box.y - 4])
        assert min(found) > least if least else found == [0, 0], text


@pytest.mark.thorough("A walk over undo, a sentence of one's own, and each of the three tries to its answer.")
def test_undo_and_a_try_keeps_its_question_until_it_is_answered(explore: Explore) -> None:
    explore.open(at="3.1.4")
    undo = explore.button("undo")
    expect(undo).to_be_hidden()
    explore.box.press("End")
    explore.page.keyboard.type(" out")
    explore.shows(f"{TIRED} out")
    expect(undo).to_be_hidden()  # takes back what one press changed, and no keys
    explore.clicked(PRESETS[3], PRESETS[3])
    explore.position("none")
    explore.shows(PRESETS[3], position="none")
    undo.click()
    explore.shows(PRESETS[3])
    undo.click()
    explore.shows(f"{TIRED} out")
    assert explore.query["at"] == ["3.1.4"], "where he looked, too"
    expect(undo).to_be_hidden()

    # a try is made of the visitor's own words
    text = "My sister gave the dog a bone and then she went home"
    explore.typed(text)
    explore.chip(10).click()
    explore.shows(text)
    press, answer = explore.view.locator("button.try"), explore.view.locator(".answered .text")
    onward = explore.view.locator(".onward")
    expect(press).to_contain_text("what does “she” look at now?")
    press.click()
    swapped = explore.box.input_value()
    run = explore.shows(swapped)
    assert sorted(swapped.split()) == sorted(text.split())
    assert swapped != text
    assert run.tokens[10] == "she"
    assert explore.query["at"] == ["3.1.10"], "the row that is asked about stays in focus"
    expect(answer).to_contain_text("“she” gave “")
    explore.clicked(onward, text)
    explore.box.fill(" ")
    empty = explore.view.locator(".empty")
    expect(empty).to_contain_text("Type a sentence, or try one of these")
    explore.shows(text)  # stays, dimmed
    expect(explore.view.locator(".large .map canvas").first).to_have_css("opacity", "0.25")
    empty.get_by_role("button", name=TIRED).click()
    explore.shows()
    expect(empty).to_be_hidden()

    # three tries; the last leads to lesson one
    explore.open(mask="causal").shows(mask="causal")
    before = percent(float(run_of(Settings(TIRED, "causal")).weights[3, 1, 10, 2]))
    expect(press).to_have_text(re.compile("type “wide” for “tired”: what does “it” look at now. 1 of 3"))
    press.click()
    explore.shows(WIDE, mask="causal")  # under which a later word changes nothing
    expect(answer).to_have_text(f"“it” still gives “animal” {before}.")
    expect(press).to_be_hidden()
    onward.click()  # what it changed is taken back
    explore.shows(mask="causal")
    expect(press).to_have_text(re.compile("take the order away: does “it” still look at “.+”. 2 of 3"))
    explore.position("none")  # by hand
    explore.shows(mask="causal", position="none")
    expect(answer).to_contain_text(f"“it” gave “animal” {before}, now ")
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


def given(run: Run, row: int, key: int) -> list[str]:
    """The heads of layer 3 by what they give, largest first."""
    sizes = (run.weights[3, :, row, key] * 255).round().int().tolist()
    return [f"3.{head}" for head in sorted(range(len(sizes)), key=lambda head: (-sizes[head], head))]


def pinned_cell(explore: Explore) -> str:
    """Points at it → animal in the pinned map."""
    explore.page.mouse.move(*explore.middle(explore.view.locator(".pinned .cell"), 10, 2))
    return explore.view.locator(".pinned .readout").inner_text()


@pytest.mark.thorough("A walk over all heads at once, hidden, sorted and pinned ones, which change no number.")
def test_all_heads_hidden_sorted_and_pinned_ones_are_only_looked_at(explore: Explore) -> None:
    run = explore.open().shows()
    it, animal, street = (run.tokens.index(word) for word in ("it", "animal", "street"))
    # fast clicks, then all 72 heads, walked through by the arrow keys
    for head in range(10):
        explore.tile(3, head).locator(".square").click()
    explore.looks_at(largest(run, 3, 9, it))
    explore.button("all 72 heads").click()
    explore.has_heads([f"{layer}.{head}" for layer in range(6) for head in range(12)])
    large = explore.view.locator(".panel.large")
    expect(large).to_be_hidden()
    explore.tile(5, 8).locator(".square").click()
    explore.looks_at(largest(run, 5, 8, it))
    explore.wait_for_query(look=["all_open"], at=["5.8"])
    for key, layer, head in (("ArrowLeft", 5, 7), ("ArrowUp", 4, 7), ("ArrowRight", 4, 8), ("ArrowDown", 5, 8)):
        explore.keys(key)
        explore.looks_at(largest(run, layer, head, it))
    explore.opened("view")
    explore.keys("Escape")  # closes the menu first
    expect(large).to_be_visible()
    explore.keys("Escape")
    expect(large).to_be_hidden()
    assert explore.focused().startswith("layer 5 head 8, ")
    back = explore.group("Kinds of heads").get_by_role("button", name="one word back")
    back.click()
    kinds = [name for layer in range(6) for name, _ in of_layer(pictures.picture(Settings(TIRED)), layer)]
    expect(explore.view.locator(".tile:not(.faded)")).to_have_count(kinds.count("word before"))
    back.click()

    # hidden, and alone
    explore.layer(3).click()
    explore.tile(3, 4).locator(".square").click()
    explore.clicked("remove from view")
    expect(explore.tile(3, 4)).to_have_attribute("aria-label", "layer 3 head 4, hidden")
    explore.wait_for_query(look=["hide3.4"], off=None)
    explore.clicked("show only this head")
    expect(explore.view.locator(".tile.away")).to_have_count(11)
    explore.clicked("show all heads")
    expect(explore.view.locator(".tile.away")).to_have_count(0)
    explore.wait_for_query(look=None)
    explore.tile(3, 9).locator(".square").click()
    explore.clicked("each map by its own maximum")
    most = int((run.weights[3, 9].max() * 255).round()) / 255
    assert explore.view.locator(".legend .high").inner_text() == f"{most:.2f}"
    explore.clicked("show small weights")

    # sorted by the row in focus, and without special tokens
    explore.clicked(explore.tile(3, 1).locator(".square"), TIRED)
    explore.button("sort heads by “it” → “animal”").click()
    explore.has_heads(given(run, it, animal))
    explore.click_cell(it, street)
    explore.has_heads(given(run, it, street))
    explore.button("sort heads by “it” → “street”").click()
    explore.has_heads([f"3.{head}" for head in range(12)])
    explore.tile(3, 7).locator(".square").click()
    explore.clicked("show [CLS] [SEP]")
    weights = run.weights[3, 7, it].double()
    shown, whole = float(weights[1:-1].sum()), float(weights.sum())
    assert explore.view.locator(".sum").inner_text() == (
        f"{round(100 * (whole - shown))} % of this row’s weight goes to [CLS] and [SEP], which are not shown; "
        f"what is shown sums to {shown:.2f}."
    )
    assert explore.hover(it, 2) == f"it → animal {float(weights[2]):.2f}"
    explore.button("show [CLS] [SEP]").click()

    # a pinned picture beside the next, and their difference
    explore.tile(3, 1).locator(".square").click()
    explore.clicked(explore.chip(10))
    explore.clicked("pin")
    pinned = explore.view.locator(".pinned")
    explore.clicked(explore.tile(3, 5).locator(".square"))
    present, beside = (place_of(part.locator(".map canvas").first) for part in (explore.view.locator(".large"), pinned))
    assert abs(present.y - beside.y) <= 1
    assert abs(present.height - beside.height) <= 1
    pinned.get_by_role("button", name="difference").click()
    expect(pinned.get_by_role("heading")).to_have_text("Large map − layer 3 head 1")
    before, now = (float(run.weights[3, head, it, animal]) for head in (1, 5))
    assert pinned_cell(explore) == f"it → animal {written(before)} → {written(now)}, −{written(before - now)}"
    pinned.get_by_role("button", name="difference").click()
    explore.clicked(explore.tile(3, 1).locator(".square"))
    explore.clicked(WIDE, WIDE)
    expect(pinned.get_by_role("heading")).to_have_text("Layer 3 · Head 1, pinned")
    assert pinned_cell(explore) == "it → animal 0.64"
    pinned.get_by_role("button", name="unpin").click()
    expect(pinned).to_be_hidden()
    explore.wait_for_query(pin=None, s=[WIDE])
    explore.clicked(TIRED, TIRED)
    explore.wait_for_query(s=None)
    explore.view.evaluate(FAST_CLICKS)
    explore.shows(WIDE, heads_off=((3, 5),))
    assert pinned_cell(explore) == "it → animal 0.64"
    explore.wait_for_query(look=["linear"], off=["L3 H5"], s=[WIDE])


def message_of(route: str, at: str, view: str) -> str:
    """What the server says of another view of the run."""
    _, message = unpacked(routes.answer(route, urlencode({"s": TIRED, "at": at, "view": view}).encode()))
    return "".join(unpacked(message)[0]["said"])


@pytest.mark.thorough("A walk over the other views of a run: channels, flow, and all heads by a measure.")
def test_channels_flow_and_all_heads_by_a_measure_follow_what_is_in_focus(explore: Explore) -> None:
    explore.open(at="3.1.4.6")
    run, view = explore.shows(), explore.view
    # channels
    explore.button("Channels").click()
    said, readout = (view.locator(f".channels-view {part}") for part in (".said-of-view", ".readout"))
    expect(said).to_have_text(message_of("channels", "3.1.4.6", "channels"))
    explore.click_cell(10, 2)
    expect(said).to_have_text(message_of("channels", "3.1.10.2", "channels"))
    explore.button("sorted").click()
    explore.wait_for_query(at="3.1.10.2", view="channels.sorted")
    view.locator(".channels-view .cell").focus()
    explore.keys("End")
    view.locator(".channels-view summary").click()
    expect(view.locator(".channels-view tbody tr")).to_have_count(32)
    last = explore.rows(view.locator(".channels-view table"))[-1]
    nothing_serious(explore, view.locator(".other-views"))
    view.locator(".channels-view .cell").focus()
    expect(readout).to_have_text(f"channel {last[0]}: {last[1]} × {last[2]} = {last[3]}; sum so far {last[4]}")

    # flow
    explore.button("Flow").click()
    said = view.locator(".flow-view .said-of-view")
    expect(said).to_have_text(message_of("flow", "0.0.10.2", "flow"))
    cell = view.locator(".flow-view .cell")
    cell.focus()
    explore.keys("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    explore.settled()
    explore.wait_for_query(at="3.1.2", view="flow")
    explore.looks_at(largest(run, 3, 1, 2))
    explore.button("attention × value norm").click()
    expect(said).to_have_text(message_of("flow", "0.0.2", "flow.norm"))
    cell.focus()
    explore.keys(*["ArrowDown"] * 5, "ArrowRight", "Enter")
    explore.wait_for_query(at="3.1.2.3", view="flow.norm")
    expect(said).to_contain_text(f"strongest path from “{run.tokens[3]}”")
    nothing_serious(explore, view.locator(".other-views"))
    explore.button("Flow").click()
    explore.wait_for_query(view=None)

    # all heads by a measure
    table = run.measures()
    explore.button("All heads by a measure").click()
    rows, said = view.locator(".head-table tbody tr"), view.locator(".head-sources p")
    known = view.locator(".named-heads li").first
    previous, entropy = (table[name].to_numpy() for name in ("previous", "entropy"))
    (layer, head), most = divmod(int(previous.argmax()), 12), previous.max()
    expect(known).to_have_text(
        f"L{layer} H{head}comes nearest to a previous-token head (Elhage et al. 2021): {most:.4f}"
    )
    known.get_by_role("button").click()
    explore.wait_for_query(at=f"{layer}.{head}.2.3", view="heads")
    explore.looks_at(largest(run, layer, head, 2))
    expect(rows.first).to_have_class("here")
    view.get_by_role("button", name="entropy", exact=True).click()
    explore.wait_for_query(view="heads.previous.entropy.by-entropy")
    expect(rows.first).to_contain_text("L{} H{}".format(*divmod(int(entropy.argmax()), 12)))
    view.get_by_label("Filter the heads").fill("previous > 0.25")
    expect(rows).to_have_count(int((previous > 0.25).sum()))
    view.locator(".head-plot .cell").focus()
    explore.keys("ArrowDown", "Enter")
    explore.wait_for_query(at=f"{layer + 1}.{head}.2.3")
    explore.button("Switch off each head alone").click()
    expect(view.get_by_label("Measure up")).to_have_value("effect")
    explore.button("our sentences").click()
    expect(said).to_contain_text(re.compile(r"[1-9]\d* sentences\."))
    chosen = view.locator(".head-sources input")
    chosen.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"\xff\xfe\xfd"})
    expect(said).to_contain_text("This file is no text in UTF-8.")
    chosen.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"how are you\nyou can"})
    expect(said).to_have_text("The mean over all rows of 2 sentences.")
    nothing_serious(explore, view.locator(".other-views"))
    explore.button("All heads by a measure").click()
    explore.wait_for_query(view=None)


def difference(explore: Explore, row: int, key: int, at: tuple[int, int], **settings: Any) -> str:
    """What a cell of the difference says."""
    text = explore.box.input_value()
    runs = [run_of(Settings(text)), run_of(Settings(text, **settings))]
    before, now = (float(run.weights[at][row, key]) for run in runs)
    tokens = runs[0].tokens
    sign = "+" if now > before else "−"
    return f"{tokens[row]} → {tokens[key]} {written(before)} → {written(now)}, {sign}{written(abs(now - before))}"


@pytest.mark.thorough(
    "A walk with the difference to the original over heads, layers, a head that is off and its table."
)
def test_the_difference_follows_what_is_looked_at_and_goes_with_the_last_change(explore: Explore) -> None:
    requested: list[str] = []
    explore.page.on("request", lambda request: requested.append(request.url) if "/api/" in request.url else None)
    explore.open(mask="causal", look="table_difference", at="2.0")
    # its table has the signed numbers
    change = explore.shows(mask="causal").weights[2, 0].double() - run_of(Settings(TIRED)).weights[2, 0].double()
    expect(explore.view.locator(".large .table")).to_be_visible()
    for cells, row in zip(explore.table(), change.tolist(), strict=True):
        for text, wanted in zip(cells[1:], row, strict=True):
            assert text.startswith("−") == (wanted < 0)
            mantissa, _, power = text.lstrip("+−").replace("e−", "e-").partition("e")
            quoted(abs(wanted) / 10.0 ** int(power or 0), mantissa)
    # it goes with the last change
    title, press = explore.view.locator(".large h2"), explore.button(DIFFERENCE)
    explore.button("map").click()
    explore.layer(3).click()
    explore.tile(3, 1).click()
    expect(title).to_contain_text("Now − original")
    explore.clicked("take back: mask: causal", TIRED)
    expect(press).to_be_hidden()
    expect(title).to_have_text("“it” puts 64 % on “animal”")
    explore.wait_for_query(look=None, mask=None)

    # it follows head, sentence and layer, and each is requested once
    explore.position("none")
    explore.uncover()
    explore.shows(position="none")
    expect(press).to_have_attribute("aria-pressed", "false")
    explore.clicked(press)
    requested.clear()
    explore.clicked(explore.tile(3, 4))
    assert explore.hover(4, 0) == difference(explore, 4, 0, (3, 4), position="none")
    assert len(requested) == 1, "the head before the changes comes with the head"
    explore.typed(WIDE, position="none")
    assert explore.hover(2, 0) == difference(explore, 2, 0, (3, 4), position="none")
    explore.lamp(3, 5).click()
    explore.clicked(explore.layer(5), WIDE, position="none", heads_off=((3, 5),))
    assert explore.hover(7, 8) == difference(explore, 7, 8, (5, 4), position="none", heads_off=((3, 5),))

    # of a head that is off it opens the head that changed most
    explore.button("reset all").click()
    explore.box.fill(TIRED)
    explore.layer(3).click()
    explore.lamp(3, 1).click()
    explore.tile(3, 1).click()
    explore.chip(10).click()
    change = (explore.shows(heads_off=((3, 1),)).weights - run_of(Settings(TIRED)).weights).abs()
    layer, head = divmod(int(change[:, :, 1:-1, 1:-1].flatten(2).amax(-1).argmax()), change.shape[1])
    why = explore.view.locator(".why")
    expect(why).to_be_hidden()
    press.click()
    expect(explore.place).to_contain_text(f"layer {layer}, head {head} ")
    expect(why).to_have_text(f"This head changed most. {OFF}")
    explore.wait_for_query(at=f"{layer}.{head}.10", look="difference")
    explore.layer(3).click()
    explore.tile(3, 1).click()
    expect(why).to_have_text(f"No weight of this map changed. {OFF}")
    expect(title).to_contain_text("Difference to the original model: none in this row")
    explore.layer(layer).click()
    explore.tile(layer, (head + 1) % 12).click()
    expect(title).to_have_text(re.compile(r"^Now − original: “it” → “.+” [−+]"))
    expect(why).to_be_hidden()
