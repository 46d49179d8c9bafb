"""Without a mouse, and for a screen reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from pages.kit.picture.presets import PRESETS

from .expected import TIRED, largest, written
from .explore_page import Explore


def test_arrows_walk_the_heads_letters_act_and_the_focus_stays_over_a_rerun(explore: Explore) -> None:
    explore.open()
    run = explore.shows()
    press = explore.page.keyboard.press
    explore.button("all 72 heads").focus()
    press("Tab")
    assert explore.focused() == "layer 3 head 0"
    press("ArrowRight")
    press("ArrowDown")
    assert explore.focused() == "layer 3 head 4"
    press("End")
    assert explore.focused() == "layer 3 head 11"
    press("ArrowRight")
    press("ArrowDown")
    assert explore.focused() == "layer 3 head 11"
    press("Home")
    press("ArrowUp")
    press("ArrowLeft")
    assert explore.focused() == "layer 3 head 0"
    press("ArrowRight")
    press("ArrowRight")
    press("Enter")
    explore.settled()
    assert explore.focused() == "layer 3 head 2"
    explore.looks_at(largest(run, 3, 2, run.tokens.index("it")))
    press("h")
    explore.settled()
    assert explore.focused() == "layer 3 head 2, hidden"
    press("h")
    press("s")
    explore.settled()
    expect(explore.view.locator(".tile.away")).to_have_count(11)
    press("s")
    press("o")
    explore.shows(heads_off=((3, 2),))
    assert explore.focused() == "layer 3 head 2, off in the model"
    press(" ")
    explore.shows()
    assert explore.focused() == "layer 3 head 2"

    explore.lamp(3, 4).focus()
    explore.page.keyboard.press("Enter")
    explore.shows(heads_off=((3, 4),))
    assert explore.focused() == "layer 3 head 4 is off in the model: switch on"
    explore.chip(3).focus()
    explore.page.keyboard.press("Enter")
    explore.settled()
    assert explore.focused() == "didn"
    for keys, at in (("ti", 13), ("7", 7)):
        explore.page.keyboard.type(keys)
        expect(explore.chip(at)).to_be_focused()
        expect(explore.chip(at)).to_have_attribute("aria-pressed", "true")
    press("p")  # no word begins with it, and at the words it is no key of the page
    expect(explore.page.locator("html")).not_to_have_class(re.compile("projector"))
    press("Tab")
    explore.lamp(3, 4).focus()
    explore.page.keyboard.press("Enter")
    explore.shows()
    explore.button(PRESETS[2]).focus()
    press("Enter")
    explore.shows(PRESETS[2])
    explore.box.focus()
    press("Control+a")
    explore.page.keyboard.type(TIRED)
    explore.shows()
    tile = explore.view.locator(".switch", has_text="Hide words")
    tile.focus()
    press("Enter")
    expect(tile).to_have_attribute("aria-expanded", "true")
    explore.change("Hide words").get_by_role("radio", name="none", exact=True).focus()
    press("ArrowRight")
    press("Enter")
    explore.shows(mask="causal")


def test_names_roles_tab_stops_and_what_is_read_aloud(explore: Explore) -> None:
    explore.open()
    view = explore.view
    expect(view.get_by_role("grid", name="Heads of layer 3")).to_be_visible()
    grid = view.get_by_role("grid", name="Layer 3 head 1: rows are queries, columns are keys")
    expect(grid).to_be_visible()
    expect(grid).to_have_attribute("aria-rowcount", "15")
    expect(grid).to_have_attribute("aria-colcount", "15")
    explore.opened("try another")
    expect(view.get_by_role("group", name="Sentences to try", exact=True)).to_have_count(1)
    explore.page.keyboard.press("Escape")
    explore.opened("view")
    for name in (
        "Tokens: choose the query in focus",
        "Layer",
        "Lines, map or table",
        "Colour scale",
        "Change something",
    ):
        expect(view.get_by_role("group", name=name, exact=True)).to_have_count(1)
    unnamed = view.evaluate(
        "view => [...view.querySelectorAll('button')].filter(b => !b.hidden && b.checkVisibility()"
        " && !(b.getAttribute('aria-label') || b.textContent.trim())).map(b => b.outerHTML)"
    )
    assert not unnamed
    assert explore.page.locator("html").get_attribute("lang") == "en"
    expect(explore.page.get_by_role("heading", level=1)).to_have_text("Which words does each word look at?")
    explore.page.keyboard.press("Escape")
    explore.tile(3, 0).focus()
    explore.page.keyboard.press("Control+o")  # keys with a modifier are left to the browser
    explore.page.keyboard.press("Alt+h")
    explore.settled()
    run = explore.shows()
    assert not explore.query
    assert view.locator("canvas").evaluate_all(
        "all => all.every(one => one.ariaHidden === 'true' || one.role === 'img')"
    )
    live = explore.view.locator(".aloud")
    expect(live).to_have_text("Layer 3, head 1. it looks at animal 0.64, [CLS] 0.12, it 0.07, street 0.05.")
    explore.tile(3, 8).locator(".square").click()
    words = ", ".join(largest(run, 3, 8, run.tokens.index("it")))
    expect(live).to_have_text(f"Layer 3, head 8. it looks at {words}.")

    explore.tile(3, 1).locator(".square").click()
    explore.settled()
    press = explore.page.keyboard.press

    def reads(row: int, key: int) -> str:
        return f"{run.tokens[row]} → {run.tokens[key]} {written(float(run.weights[3, 1, row, key]))}"

    expect(explore.view.locator('.tile[tabindex="0"]')).to_have_count(1)
    explore.view.locator('.tile[tabindex="0"]').focus()
    for key, name in (("Tab", "map"), ("ArrowLeft", "lines"), ("ArrowRight", "map"), ("End", "table"), ("Tab", "view")):
        press(key)
        assert explore.focused() == name
    press("Tab")
    assert explore.focused() == explore.readout() == reads(10, 0)
    press("ArrowRight")
    press("ArrowRight")
    assert explore.focused() == explore.readout() == reads(10, 2)
    press("ArrowUp")
    press("End")
    press("ArrowRight")
    assert explore.focused() == explore.readout() == reads(9, 14)
    press("Enter")
    explore.settled()
    assert explore.focused() == reads(9, 14)
    explore.wait_for_query(at=["3.1.9.14"])
    explore.looks_at(largest(run, 3, 1, 9))
    press("Home")
    for _ in range(20):
        press("ArrowDown")
    assert explore.focused() == reads(14, 0)
