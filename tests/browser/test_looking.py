"""What is only looked at: layers, scales, special tokens, order, hidden heads, a pinned picture. No number changes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import expect

from mha_core import Run
from pages.explore.kinds import of_layer
from pages.kit.picture import pictures
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes
from tests.bench.visitors import unpacked

from .axe import nothing_serious
from .expected import TIRED, WIDE, largest
from .explore_page import Explore
from .tab import place_of


def given(run: Run, layer: int, row: int, key: int) -> list[int]:
    """The heads of a layer by what they give, largest first."""
    bytes_given = (run.weights[layer, :, row, key] * 255).round().int().tolist()
    return sorted(range(len(bytes_given)), key=lambda head: (-bytes_given[head], head))


def told(route: str, at: str, view: str) -> dict[str, Any]:
    """What the server says of another view of the run."""
    _, message = unpacked(routes.answer(route, urlencode({"s": TIRED, "at": at, "view": view}).encode()))
    found: dict[str, Any] = unpacked(message)[0]
    return found


def channels_and_flow_follow(explore: Explore) -> None:
    """Both views say what is in focus and follow it; what is pressed in them is in focus on the map."""
    run, press = explore.shows(), explore.keys
    explore.button("Channels").click()
    said, readout = (explore.view.locator(f".channels-view {part}") for part in (".said-of-view", ".readout"))
    for row, key in ((4, 6), (10, 2)):
        if row != 4:
            explore.click_cell(row, key)
        expect(said).to_have_text("".join(told("channels", f"3.1.{row}.{key}", "channels")["said"]))
        explore.wait_for_query(at=f"3.1.{row}.{key}", view="channels")
    explore.button("sorted").click()
    explore.wait_for_query(view="channels.sorted")
    explore.view.locator(".channels-view .cell").focus()
    press("End")
    explore.view.locator(".channels-view summary").click()
    expect(explore.view.locator(".channels-view tbody tr")).to_have_count(32)
    last = explore.rows(explore.view.locator(".channels-view table"))[-1]
    nothing_serious(explore, explore.view.locator(".other-views"))
    explore.view.locator(".channels-view .cell").focus()
    expect(readout).to_have_text(f"channel {last[0]}: {last[1]} × {last[2]} = {last[3]}; sum so far {last[4]}")

    explore.button("Flow").click()
    said = explore.view.locator(".flow-view .said-of-view")
    expect(said).to_have_text("".join(told("flow", "0.0.10.2", "flow")["said"]))
    cell = explore.view.locator(".flow-view .cell")
    cell.focus()
    press("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    explore.settled()
    explore.wait_for_query(at="3.1.2", view="flow")
    explore.looks_at(largest(run, 3, 1, 2))
    expect(said).to_have_text("".join(told("flow", "0.0.2", "flow")["said"]))
    explore.button("attention × value norm").click()
    expect(said).to_have_text("".join(told("flow", "0.0.2", "flow.norm")["said"]))
    explore.view.locator(".flow-view summary").click()
    expect(explore.view.locator(".flow-view tbody tr")).to_have_count(len(run.tokens))
    cell.focus()
    press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter")
    explore.wait_for_query(at="3.1.2.3", view="flow.norm")
    expect(said).to_contain_text(f"strongest path from “{run.tokens[3]}”")
    nothing_serious(explore, explore.view.locator(".other-views"))
    explore.button("Flow").click()
    expect(said).to_be_hidden()
    explore.wait_for_query(view=None)


def heads_are_opened_by_a_measure(explore: Explore) -> None:
    """Table, points and names are those of the tensor; each opens its head, which is found and marked in them."""
    run, view = explore.shows(), explore.view
    table = run.measures()
    explore.button("All heads by a measure").click()
    rows, said = view.locator(".head-table tbody tr"), view.locator(".head-sources p")
    known = view.locator(".named-heads li").first
    previous, entropy = (table[name].to_numpy() for name in ("previous", "entropy"))
    (layer, head), most = divmod(int(previous.argmax()), run.weights.shape[1]), previous.max()
    expect(known).to_have_text(
        f"L{layer} H{head}comes nearest to a previous-token head (Elhage et al. 2021): {most:.4f}"
    )
    known.get_by_role("button").click()
    explore.wait_for_query(at=f"{layer}.{head}.2.3", view="heads")
    explore.looks_at(largest(run, layer, head, 2))
    expect(rows.first).to_have_class("here")
    view.get_by_role("button", name="entropy", exact=True).click()
    explore.wait_for_query(view="heads.previous.entropy.by-entropy")
    widest = divmod(int(entropy.argmax()), run.weights.shape[1])
    expect(rows.first).to_contain_text("L{} H{}".format(*widest))
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
    expect(rows.first).to_be_visible()
    chosen.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"how are you\nyou can"})
    expect(said).to_have_text("The mean over all rows of 2 sentences.")
    nothing_serious(explore, view.locator(".other-views"))
    explore.button("our sentences").click()
    expect(said).not_to_contain_text(re.compile(r"\b2 sentences\."))
    explore.button("All heads by a measure").click()
    explore.wait_for_query(view=None)


def test_layers_heads_and_tokens_are_brought_into_focus(explore: Explore) -> None:
    explore.open()
    run = explore.shows()
    row = run.tokens.index("it")
    for layer in (0, 5, 3):
        explore.layer(layer).click()
        explore.has_heads([f"{layer}.{head}" for head in range(12)])
        explore.looks_at(largest(run, layer, 1, row))
        expect(explore.layer(layer)).to_have_attribute("aria-pressed", "true")
        explore.wait_for_query(at=f"{layer}.1" if layer != 3 else None)
    for head in (0, 11, 7):
        explore.clicked(explore.tile(3, head).locator(".square"))
        expect(explore.place).to_contain_text(f"layer 3, head {head} ")
        explore.looks_at(largest(run, 3, head, row))
    for head in (0, 2, 3, 4, 5, 6, 7, 8, 9):
        explore.tile(3, head).locator(".square").click()
    explore.looks_at(largest(run, 3, 9, row))
    explore.wait_for_query(at="3.9")

    explore.button("all 72 heads").click()
    explore.has_heads([f"{layer}.{head}" for layer in range(6) for head in range(12)])
    assert explore.view.locator(".tile").evaluate_all("tiles => tiles.every((tile) => tile.checkVisibility())")
    large, press = explore.view.locator(".panel.large"), explore.keys
    expect(large).to_be_hidden()
    explore.tile(5, 8).locator(".square").click()
    explore.looks_at(largest(run, 5, 8, run.tokens.index("it")))
    explore.wait_for_query(look=["all_open"], at=["5.8"])
    for key, layer, head in (("ArrowLeft", 5, 7), ("ArrowUp", 4, 7), ("ArrowRight", 4, 8), ("ArrowDown", 5, 8)):
        press(key)
        explore.looks_at(largest(run, layer, head, run.tokens.index("it")))
    explore.opened("view")
    press("Escape")  # closes the menu first
    expect(large).to_be_visible()
    press("Escape")
    expect(large).to_be_hidden()
    assert explore.focused().startswith("layer 5 head 8, ")
    explore.wait_for_query(look=["all"], at=["5.8"])
    back = explore.group("Kinds of heads").get_by_role("button", name="one word back")
    back.click()
    kinds = [name for layer in range(6) for name, _ in of_layer(pictures.picture(Settings(TIRED)), layer)]
    expect(explore.view.locator(".tile:not(.faded)")).to_have_count(kinds.count("word before"))
    back.click()
    explore.layer(2).click()
    explore.has_heads([f"2.{head}" for head in range(12)])

    explore.layer(3).click()
    explore.tile(3, 1).locator(".square").click()
    for row in (0, 2, len(run.tokens) - 1):
        explore.clicked(explore.chip(row))
        expect(explore.chip(row)).to_have_attribute("aria-pressed", "true")
        assert explore.view.locator(".large .who").inner_text() == run.tokens[row]
        explore.looks_at(largest(run, 3, 1, row))
        explore.wait_for_query(at=f"3.1.{row}")
    explore.click_cell(4, 6)
    explore.settled()
    explore.wait_for_query(at="3.1.4.6")
    explore.looks_at(largest(run, 3, 1, 4))
    channels_and_flow_follow(explore)
    heads_are_opened_by_a_measure(explore)


def test_hidden_sorted_and_pinned_heads_are_only_for_looking(explore: Explore) -> None:
    hide_solo_and_scales_are_only_for_looking(explore)
    sort_by_the_row_in_focus_and_without_special_tokens(explore)
    pin_keeps_a_picture_beside_the_next_and_fast_clicks_are_all_heard(explore)


def hide_solo_and_scales_are_only_for_looking(explore: Explore) -> None:
    explore.open()
    before = explore.shows()
    explore.tile(3, 4).locator(".square").click()
    explore.clicked("remove from view")
    expect(explore.tile(3, 4).locator(".note")).to_have_text("hidden")
    expect(explore.tile(3, 4)).to_have_attribute("aria-label", "layer 3 head 4, hidden")
    explore.wait_for_query(look=["hide3.4"], off=None)
    explore.clicked("show only this head")
    assert [head for head in explore.heads() if explore.tile(3, int(head[2:])).get_by_text("hidden").count() == 0] == [
        "3.4"
    ]
    explore.clicked("show all heads")
    expect(explore.view.locator(".tile.away")).to_have_count(0)
    expect(explore.button("show all heads")).to_be_hidden()
    explore.wait_for_query(look=None)
    assert explore.shows() is before

    run = explore.shows()
    legend = explore.view.locator(".legend")
    expect(legend).to_contain_text("√ of the weight")
    explore.clicked("true to scale")
    expect(legend).to_contain_text("colour: the weight")
    explore.tile(3, 9).locator(".square").click()
    explore.clicked("each map by its own maximum")
    most = int((run.weights[3, 9].max() * 255).round()) / 255
    assert legend.locator(".high").inner_text() == f"{most:.2f}"
    explore.wait_for_query(look=["own"])
    explore.clicked("show small weights")
    explore.wait_for_query(look=None)


def sort_by_the_row_in_focus_and_without_special_tokens(explore: Explore) -> None:
    run = explore.clicked(explore.tile(3, 1).locator(".square"), TIRED)
    it, animal, street = (run.tokens.index(word) for word in ("it", "animal", "street"))
    explore.button("sort heads by “it” → “animal”").click()
    explore.has_heads([f"3.{head}" for head in given(run, 3, it, animal)])
    expect(explore.view.locator(".tile").first).to_have_attribute("aria-label", "layer 3 head 1")
    explore.click_cell(it, street)
    explore.has_heads([f"3.{head}" for head in given(run, 3, it, street)])
    expect(explore.button("sort heads by “it” → “street”")).to_have_attribute("aria-pressed", "true")
    explore.clicked(explore.chip(street))
    best = int(run.weights[3, 1, street].argmax())
    explore.has_heads([f"3.{head}" for head in given(run, 3, street, best)])
    explore.button(f"sort heads by “street” → “{run.tokens[best]}”").click()
    explore.has_heads([f"3.{head}" for head in range(12)])

    head, row = 7, it
    explore.tile(3, head).locator(".square").click()
    explore.clicked(explore.chip(row))
    expect(explore.view.locator(".sum")).to_be_hidden()
    explore.clicked("show [CLS] [SEP]")
    weights = run.weights[3, head, row]
    shown, whole = float(weights[1:-1].double().sum()), float(weights.double().sum())
    assert explore.view.locator(".sum").inner_text() == (
        f"{round(100 * (whole - shown))} % of this row’s weight goes to [CLS] and [SEP], which are not shown; "
        f"what is shown sums to {shown:.2f}."
    )
    expect(explore.button("show [CLS] [SEP]")).to_have_attribute("aria-pressed", "false")
    assert explore.hover(row, 2) == f"it → animal {float(weights[2]):.2f}"
    assert explore.hover(1, 1).startswith("the → the ")


def pin_keeps_a_picture_beside_the_next_and_fast_clicks_are_all_heard(explore: Explore) -> None:
    explore.button("show [CLS] [SEP]").click()
    explore.tile(3, 1).locator(".square").click()
    explore.wait_for_query(look=None)
    explore.settled()
    expect(explore.view.locator(".pinned")).to_be_hidden()
    explore.clicked("pin")
    pinned = explore.view.locator(".pinned")
    expect(pinned).to_be_visible()
    explore.clicked(explore.tile(3, 5).locator(".square"))
    present, beside = (place_of(part.locator(".map canvas").first) for part in (explore.view.locator(".large"), pinned))
    assert abs(present.y - beside.y) <= 1
    assert abs(present.height - beside.height) <= 1
    pinned.get_by_role("button", name="difference").click()
    expect(pinned.get_by_role("heading")).to_have_text("Large map − layer 3 head 1")
    told = re.fullmatch(r"it → animal (0\.64) → (0\.\d\d), (−0\.\d\d)", run_row(explore))
    assert told
    before, now, change = (float(figure.replace("−", "-")) for figure in told.groups())
    assert abs(now - before - change) < 0.011  # each is rounded
    pinned.get_by_role("button", name="difference").click()
    explore.clicked(explore.tile(3, 1).locator(".square"))
    explore.clicked(WIDE, WIDE)
    expect(pinned.get_by_role("heading")).to_have_text("Layer 3 · Head 1, pinned")
    tired = run_row(explore)
    assert tired == "it → animal 0.64"
    assert dict(badge.rsplit(" ", 1) for badge in explore.badges())["animal"] == "0.27"
    pinned.get_by_role("button", name="unpin").click()
    explore.settled()
    expect(pinned).to_be_hidden()
    explore.wait_for_query(pin=None, s=[WIDE])
    explore.clicked(TIRED, TIRED)
    explore.wait_for_query(s=None)

    explore.view.evaluate(
        """view => {
          const click = (text) => [...view.querySelectorAll("button")].find((one) => one.textContent === text).click();
          click("pin");
          view.querySelectorAll(".presets button")[1].click();
          view.querySelector('[data-head="3.5"] .lamp').click();
          click("true to scale");
        }"""
    )
    explore.shows(WIDE, heads_off=((3, 5),))
    expect(explore.box).to_have_value(WIDE)
    assert run_row(explore) == "it → animal 0.64"
    explore.wait_for_query(look=["linear"], off=["L3 H5"], s=[WIDE])
    # what was heard once is not asked for again
    explore.clicked(explore.button("unpin").first)
    explore.typed("it is mine", heads_off=((3, 5),))
    explore.clicked(explore.layer(2))
    expect(explore.box).to_have_value("it is mine")
    expect(explore.view.locator(".pinned")).to_be_hidden()


def run_row(explore: Explore) -> str:
    """Points at it → animal in the pinned map."""
    cell = explore.view.locator(".pinned .cell")
    explore.page.mouse.move(*explore.middle(cell, 10, 2))
    return explore.view.locator(".pinned .readout").inner_text()
