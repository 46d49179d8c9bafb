"""Explore in a browser: the picture is the core's numbers, whatever is changed, looked at, compared with or undone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import expect

from headlight.picture.settings import Settings
from headlight.ui.numbers import weight
from mha_core import Run
from tests.bench.visitors import unpacked
from tests.closeness import quoted
from tests.pages.conftest import answer, picture_of

from .axe import nothing_serious
from .expected import TIRED, WIDE, largest, run_of, written
from .explore_page import Explore
from .tab import place_of

SCALES = (("root", "widen small weights"), ("linear", "proportional"), ("own", "scaled per map"))
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


def shows_it(explore: Explore, **settings: Any) -> None:
    """The picture of these settings is there, with the core's numbers for layer 3 head 1."""
    run = explore.shows(**settings)
    assert explore.chips() == run.tokens
    explore.looks_at(largest(run, 3, 1, run.tokens.index("it")))


def bytes_of(run: Run, layer: int, head: int) -> list[list[int]]:
    rows: list[list[int]] = (run.weights[layer, head] * 255).round().int().tolist()
    return rows


def check_map(explore: Explore, rows: list[list[int]], scale: str) -> None:
    """Every cell of the enlarged map has the colour of its weight."""
    most = max(map(max, rows)) if scale == "own" else 255
    colours = explore.page.evaluate(PALETTE, [explore.view.element_handle(), scale, most])
    cells = [(row, key) for row in range(len(rows)) for key in range(len(rows))]
    left, top, width, height = explore.box_of(explore.cell, 0, 0)
    points = [(left + (key + ACROSS) * width, top + (row + DOWN) * height) for row, key in cells]
    drawn = explore.pixels(explore.view.locator(".large .map canvas").first, points)
    assert drawn == [colours[rows[row][key]] for row, key in cells]


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
    explore.position("no positional encoding")
    explore.clicked(explore.lamp(3, 5), mask="causal", position="none", heads_off=((3, 5),))
    shows_it(explore, mask="causal", position="none", heads_off=((3, 5),))
    explore.wait_for_query(mask="causal", pos="none", off="L3 H5")
    changed = explore.view.get_by_role("group", name="Changes to the model")
    chips = ["mask: causal ×", "no positional encoding ×", "L3 H5 off ×"]
    assert changed.locator(".change-chip").all_inner_texts() == chips
    settings = Settings(TIRED), Settings(TIRED, "causal", "none", heads_off=((3, 5),))
    before, now = (weight(float(run_of(own).weights[3, 1, 10, 2])) for own in settings)
    expect(changed.locator(".status-line")).to_have_text(
        f"Attention from “it” to “animal” fell from {before} to {now}."
    )

    # one taken back, undone, and all taken back
    changed.get_by_role("button", name="undo: no positional encoding").click()
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
    explore.position("no positional encoding")
    explore.uncover()
    explore.shows(position="none")
    explore.button(DIFFERENCE).focus()
    explore.keys("Enter")
    explore.settled()
    expect(explore.view.locator(".large h2")).to_have_text("New − original: “it” → “animal” −0.60")
    assert explore.hover(10, 2) == "it → animal 0.64 → 0.04, −0.60"


def test_the_head_follows_the_sentence_until_one_is_chosen(explore: Explore) -> None:
    explore.open().shows()
    first, more = explore.view.locator(".large .subtitle .reason"), explore.button("next telling head ›")
    for text in ("Tom saw a dog and ran away because it barked", "the girl with the red hat opened the door"):
        run = explore.typed(text)
        heads = picture_of("maps", s=text)[0]["telling"]
        layer, head, row = map(int, heads[0]["cursor"].split("."))
        expect(explore.place).to_contain_text(f"layer {layer}, head {head} ")
        explore.looks_at(largest(run, layer, head, row))
        expect(first).to_have_text(heads[0]["text"])
    assert "at" not in explore.query
    more.click()
    explore.wait_for_query(at=heads[1]["cursor"])
    expect(first).to_have_text(heads[1]["text"])
    explore.typed("dog, dog")
    layer, head, _ = heads[1]["cursor"].split(".")
    expect(explore.place).to_contain_text(f"layer {layer}, head {head} ")
    expect(more).to_be_hidden()


def test_the_whole_map_and_its_legend_are_on_the_first_screen(explore: Explore) -> None:
    for width, height in ((1440, 900), (1280, 720)):
        explore.page.set_viewport_size({"width": width, "height": height})
        explore.open().shows()
        legend = explore.view.locator(".large .map-foot .ramp").bounding_box()
        assert legend is not None
        assert legend["y"] + legend["height"] <= height


def test_a_suggestion_asks_of_words_only(explore: Explore) -> None:
    explore.open().shows()
    suggestion = explore.view.locator(".suggestions .try")
    explore.typed("Tom saw a dog and ran away because it barked")
    expect(suggestion).to_contain_text("does “away” still attend to “ran”?")
    explore.typed("dog dog dog")
    expect(suggestion).to_contain_text("switch the positional encoding off: what does “dog” attend to now?")


@pytest.mark.thorough("A walk over the scales, the lamps, the mask's width and the temperature.")
def test_scales_and_every_control_and_what_is_said_of_a_head_that_is_off(explore: Explore) -> None:
    untouched = explore.open().shows()
    # the colours in each scale, the tiles' readout, a label that stands for its row
    for scale, button in SCALES:
        explore.button(button).click()
        expect(explore.button(button)).to_have_attribute("aria-pressed", "true")
        check_map(explore, bytes_of(untouched, 3, 1), scale)
    explore.button("widen small weights").click()
    for head, row, key in [(2, 0, 0), (5, 10, 8), (11, 14, 14)]:
        box = place_of(explore.tile(3, head).locator(".square"))
        explore.page.mouse.move(box.x + (key + 0.5) * box.width / 15, box.y + (row + 0.5) * box.height / 15)
        weight = bytes_of(untouched, 3, head)[row][key] / 255
        assert explore.readout() == f"L3 H{head}: {untouched.tokens[row]} → {untouched.tokens[key]} {written(weight)}"
    cell = explore.box_of(explore.cell, 1, 0)
    explore.page.mouse.click(cell.x - 20, cell.middle[1])
    explore.settled()
    explore.looks_at(largest(untouched, 3, 1, 1))
    explore.clicked(explore.chip(10))

    # a head that is off by its lamp is not described as if it worked; later layers change
    run = explore.clicked(explore.lamp(3, 5), heads_off=((3, 5),))
    expect(explore.tile(3, 5)).to_have_attribute("aria-label", "layer 3 head 5, ablated")
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
    expect(value).to_contain_text("it reaches “it” with weight 0.64")
    explore.clicked("ablate this head", heads_off=((3, 1),))
    expect(title).to_have_text("“it” attends most to “animal”: 0.64 ablated: its output counts as 0")
    expect(value).to_have_text("nothing, because this head is ablated: its output counts as 0.")
    explore.clicked(explore.tile(3, 2))
    expect(title).not_to_contain_text("ablated")

    explore.button("undo").click()  # the head in focus
    expect(title).to_contain_text("ablated")
    explore.clicked("undo", TIRED)

    # the width of a mask, and the temperature by keyboard
    explore.mask("window")
    shows_it(explore, mask="window:3")
    width = explore.page.get_by_role("spinbutton", name="words on each side, including itself")
    width.fill("1")
    shows_it(explore, mask="window:1")
    explore.wait_for_query(mask=["window"], w=["1"])
    width.fill("513")  # beyond its end
    shows_it(explore, mask="window:1")
    slider = explore.change("Temperature").get_by_role("slider")
    slider.focus()
    explore.keys("Home")
    shows_it(explore, mask="window:1", temperature=0.1)
    expect(slider).to_be_focused()
    explore.wait_for_query(t="0.1")


@pytest.mark.thorough("A walk over each of the three tries to its answer.")
def test_a_try_makes_its_change_and_the_page_says_what_it_did(explore: Explore) -> None:
    press, answer = explore.view.locator("button.try"), explore.view.locator(".suggestions .result")

    # three tries, each from the first state; the last leads to lesson one
    before = explore.open().shows()
    row, key = before.tokens.index("it"), before.tokens.index("animal")
    was = weight(float(before.weights[3, 1, row, key]))
    expect(press).to_have_text(re.compile("replace “tired” with “wide”: what does “it” attend to now. 1 of 3"))
    press.click()
    wide = explore.shows(WIDE).weights[3, 1, row]
    best = int(wide.argmax())
    expect(answer).to_have_text(
        f"“it” → “animal”: {was} with “tired”, {weight(float(wide[key]))} with “wide”. "
        f"Most is now on “{before.tokens[best]}”: {weight(float(wide[best]))}."
    )
    expect(press).to_contain_text("switch the positional encoding off: does “it” still attend to “animal”? 2 of 3")
    press.click()
    now = weight(float(explore.shows(position="none").weights[3, 1, row, key]))
    expect(answer).to_contain_text(f"“it” → “animal”: {was} with the positional encoding, {now} without it.")
    expect(press).to_contain_text("ablate this head: which layers change? 3 of 3")
    press.click()
    ablated = explore.shows(heads_off=((3, 1),))
    changes = (ablated.weights - before.weights).abs().flatten(1).amax(1)
    most = int(changes.argmax())
    expect(answer).to_contain_text(f"layers 4 and 5: in layer {most} by up to {weight(float(changes[most]))}.")
    expect(press).to_contain_text("lesson 1 ›")
    press.click()
    explore.page.wait_for_url("**learn=it.1")


def given(run: Run, row: int, key: int) -> list[str]:
    """The heads of layer 3 by what they give, largest first."""
    sizes = (run.weights[3, :, row, key] * 255).round().int().tolist()
    return [f"3.{head}" for head in sorted(range(len(sizes)), key=lambda head: (-sizes[head], head))]


@pytest.mark.thorough("A walk over all heads at once and sorted ones, which change no number.")
def test_all_heads_and_sorted_ones_are_only_looked_at(explore: Explore) -> None:
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
    explore.layer(3).click()
    explore.has_heads([f"3.{head}" for head in range(12)])  # before that the tile to click is still on its way
    # sorted by the row in focus, and without special tokens
    explore.clicked(explore.tile(3, 1).locator(".square"), TIRED)
    explore.button("sort heads by “it” → “animal”").click()
    explore.has_heads(given(run, it, animal))
    explore.keys("Escape")  # the menu covers the map
    explore.click_cell(it, street)
    explore.has_heads(given(run, it, street))
    explore.button("sort heads by “it” → “street”").click()
    explore.has_heads([f"3.{head}" for head in range(12)])


def message_of(route: str, at: str, view: str) -> str:
    """What the server says of another view of the run."""
    _, message = unpacked(answer(route, urlencode({"s": TIRED, "at": at, "view": view}).encode()))
    return "".join(unpacked(message)[0]["sentences"])


@pytest.mark.thorough("A walk over the other views of a run: channels, flow, and all heads by a measure.")
def test_channels_flow_and_all_heads_by_a_measure_follow_what_is_in_focus(explore: Explore) -> None:
    explore.open(at="3.1.4.6")
    run, view = explore.shows(), explore.view
    # channels
    explore.button("Split a score into its channels").click()
    status, readout = (view.locator(f".channels-view {part}") for part in (".view-status", ".readout"))
    expect(status).to_have_text(message_of("channels", "3.1.4.6", "channels"))
    explore.click_cell(10, 2)
    expect(status).to_have_text(message_of("channels", "3.1.10.2", "channels"))
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
    explore.button("Trace a word through the layers").click()
    status = view.locator(".flow-view .view-status")
    expect(status).to_have_text(message_of("flow", "0.0.10.2", "flow"))
    cell = view.locator(".flow-view .cell")
    cell.focus()
    explore.keys("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    explore.settled()
    explore.wait_for_query(at="3.1.2", view="flow")
    explore.looks_at(largest(run, 3, 1, 2))
    explore.button("attention × value norm").click()
    expect(status).to_have_text(message_of("flow", "0.0.2", "flow.norm"))
    cell.focus()
    explore.keys(*["ArrowDown"] * 5, "ArrowRight", "Enter")
    explore.wait_for_query(at="3.1.2.3", view="flow.norm")
    expect(status).to_contain_text(f"strongest path from “{run.tokens[3]}”")
    nothing_serious(explore, view.locator(".other-views"))
    explore.button("Trace a word through the layers").click()
    explore.wait_for_query(view=None)

    # all heads by a measure
    table = run.measures()
    explore.button("Rank all heads").click()
    rows, status = view.locator(".head-table tbody tr"), view.locator(".head-sources p")
    known = view.locator(".named-heads li").first
    previous, entropy = (table[name].to_numpy() for name in ("previous", "entropy"))
    (layer, head), most = divmod(int(previous.argmax()), 12), previous.max()
    expect(known).to_have_text(
        f"L{layer} H{head}is closest to a previous-token head (Elhage et al. 2021), with {most:.4f}"
    )
    known.get_by_role("button").click()
    explore.wait_for_query(at=f"{layer}.{head}.2.3", view="heads")
    explore.looks_at(largest(run, layer, head, 2))
    expect(rows.first).to_have_class("focus")
    view.get_by_role("button", name="entropy", exact=True).click()
    explore.wait_for_query(view="heads.previous.entropy.by-entropy")
    expect(rows.first).to_contain_text("L{} H{}".format(*divmod(int(entropy.argmax()), 12)))
    view.locator(".head-plot .cell").focus()
    explore.keys("ArrowDown", "Enter")
    explore.wait_for_query(at=f"{layer + 1}.{head}.2.3")
    explore.button("sample sentences").click()
    expect(status).to_contain_text(re.compile(r"[1-9]\d* sentences\."))
    nothing_serious(explore, view.locator(".other-views"))
    explore.button("Rank all heads").click()
    explore.wait_for_query(view=None)


def test_the_residual_stream_is_followed_by_keys_and_its_parts_are_ablated_by_clicks(explore: Explore) -> None:
    explore.open(at="3.1.4")
    explore.shows()
    explore.button("Follow a word’s vector").click()
    view = explore.view.locator(".residual-view")
    status, effect, rows = view.locator(".view-status"), view.locator(".effect"), view.locator(".additions button")
    expect(view.locator(".gloss")).to_contain_text("it adds to it. This running sum is the token’s residual stream.")
    expect(status).to_have_text(message_of("residual", "0.0.4", "residual"))
    expect(rows).to_have_count(6)
    rows.nth(3).focus()
    explore.keys("ArrowUp", "Enter")
    explore.wait_for_query(at="2.1.4", view="residual")
    expect(rows.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".listing tbody tr").first).to_be_visible()
    nothing_serious(explore, explore.view.locator(".other-views"))
    view.get_by_role("button", name="ablate the MLP of layer 2").click()
    explore.shows(mlps_off=(2,))
    expect(effect).to_contain_text("Without the MLP of layer 2, the last vector of")
    expect(rows.nth(2).locator(".MLP")).to_have_text("MLP adds nothing")
    view.get_by_role("button", name="restore the MLP of layer 2").click()
    view.get_by_role("button", name="ablate all of layer 2").click()
    explore.shows(layers_off=(2,))
    expect(rows.nth(2).locator(".attention")).to_have_text("attention adds nothing")
    rows.nth(5).click()
    explore.wait_for_query(at="5.1.4", off="L2")
    expect(view.get_by_role("button", name="ablate all of layer 5")).to_be_visible()


def test_the_logit_lens_is_read_by_keys_and_clicks(explore: Explore) -> None:
    model = "words-2layers-1"
    explore.open(model=model, s="boat drum key boat drum", at="0.0.4", view="lens")
    explore.shows("boat drum key boat drum", model=model)
    view = explore.view.locator(".lens-view")
    status, cells, readout = view.locator(".view-status"), view.locator(".lens-grid button"), view.locator(".readout")
    expect(view.locator(".gloss")).to_contain_text("A lens, not a thought: the model never reads these out.")
    expect(status).to_contain_text("After “drum” the model’s own answer is")
    cells.first.focus()
    explore.keys("ArrowDown", "ArrowDown", "ArrowRight")
    expect(readout).to_have_text(re.compile("“drum”, layer 1: .+ %(, .+ %){4}$"))
    explore.keys("Enter")
    explore.wait_for_query(at="1.0.1", view="lens")
    cells.last.click()
    explore.wait_for_query(at="1.0.4")
    nothing_serious(explore, explore.view.locator(".other-views"))
    explore.open(view="lens")
    expect(explore.view.locator(".refusal")).to_contain_text("choose a language model")


def test_the_tables_below_follow_the_view(explore: Explore) -> None:
    explore.open()
    run = explore.shows()
    page = explore.page
    fold, tables = page.get_by_text("This picture as data"), page.get_by_test_id("stDataFrame")
    expect(tables).to_have_count(0)
    fold.click()
    for layer in (3, 2):  # the largest weight stands in the first row
        explore.layer(layer).click()
        pairs = run.frame(layer, 1).sort_values("weight", ascending=False)
        first = [str(pairs.iloc[0][name]) for name in ("query", "query_token", "key", "key_token")]
        cells = tables.locator('tr[aria-rowindex="2"] td')
        expect(cells.nth(3)).to_have_text(first[3])
        expect(tables.locator('tr[aria-rowindex="2"]')).to_contain_text("".join(first))
    explore.uncover()
    explore.mask("causal")
    page.get_by_role("tab", name="A weight over the changes").click()
    expect(page.locator(".st-key-data_step_curve .js-plotly-plot")).to_contain_text("+ mask causal")
