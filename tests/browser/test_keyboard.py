"""Without a mouse, and for a screen reader: the bar, the view, and the projector, which Escape leaves last."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from headlight.ui.pages import PAGES

from .axe import nothing_serious
from .conftest import NewTab
from .expected import TIRED, largest, written
from .explore_page import Explore
from .plain_pages import Claims
from .tab import place_of

# How the area that scrolls is framed while it has the focus.
FRAME = """main => {
  main.focus();
  return [null, "::before", "::after"].map((part) => getComputedStyle(main, part)).filter(
    (style) => style.outlineStyle !== "none" || style.boxShadow !== "none").length;
}"""


@pytest.mark.thorough("a long walk by keyboard alone; each page is walked in test_every_page")
def test_arrows_walk_the_heads_letters_act_and_the_focus_stays_over_a_rerun(explore: Explore) -> None:
    explore.open()
    run = explore.shows()
    press = explore.keys
    explore.button("all 72 heads").focus()
    for walk, head in (
        (["Tab"], 1), (["ArrowDown"], 4), (["End"], 11), (["ArrowRight", "ArrowDown"], 11),
        (["Home", "ArrowUp", "ArrowLeft"], 0), (["ArrowRight", "ArrowRight"], 2),
    ):  # fmt: skip
        press(*walk)
        assert explore.focused() == f"layer 3 head {head}"
    press("Enter")
    explore.settled()
    assert explore.focused() == "layer 3 head 2"
    explore.looks_at(largest(run, 3, 2, run.tokens.index("it")))
    press("h")
    explore.settled()
    assert explore.focused() == "layer 3 head 2, hidden"
    press("h", "s")
    explore.settled()
    expect(explore.view.locator(".tile.away")).to_have_count(11)
    press("s", "o")
    explore.shows(heads_off=((3, 2),))
    assert explore.focused() == "layer 3 head 2, ablated"
    press(" ")
    explore.shows()
    assert explore.focused() == "layer 3 head 2"
    explore.lamp(3, 4).focus()
    explore.keys("Enter")
    explore.shows(heads_off=((3, 4),))
    assert explore.focused() == "layer 3 head 4 is ablated: restore it"


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
    explore.keys("Escape")
    explore.opened("view")
    groups = ("Tokens: choose the query row", "Layer", "Lines, map or table", "Colour scale", "Change the model")
    for name in groups:
        expect(view.get_by_role("group", name=name, exact=True)).to_have_count(1)
    explore.keys("Escape")
    explore.tile(3, 0).focus()
    explore.page.keyboard.press("Control+o")  # keys with a modifier are left to the browser
    explore.keys("Alt+h")
    explore.settled()
    run = explore.shows()
    assert not explore.query
    hidden = "all => all.every(one => one.ariaHidden === 'true' || one.role === 'img')"
    assert view.locator("canvas").evaluate_all(hidden)
    live = explore.view.locator(".aloud")
    expect(live).to_have_text("Layer 3, head 1. it attends to animal 0.64, [CLS] 0.12, it 0.07, street 0.05.")
    explore.tile(3, 8).locator(".square").click()
    words = ", ".join(largest(run, 3, 8, run.tokens.index("it")))
    expect(live).to_have_text(f"Layer 3, head 8. it attends to {words}.")

    explore.clicked(explore.tile(3, 1).locator(".square"))
    press = explore.keys

    def reads(row: int, key: int) -> str:
        return f"{run.tokens[row]} → {run.tokens[key]} {written(float(run.weights[3, 1, row, key]))}"

    expect(explore.view.locator('.tile[tabindex="0"]')).to_have_count(1)
    explore.view.locator('.tile[tabindex="0"]').focus()
    for key, name in (("Tab", "map"), ("ArrowLeft", "lines"), ("ArrowRight", "map"), ("End", "table"), ("Tab", "view")):
        press(key)
        assert explore.focused() == name
    for name in ("ablate this head", "next telling head ›"):
        press("Tab")
        assert explore.focused() == name
    press("Tab")
    assert explore.focused() == explore.readout() == reads(10, 2), "the strongest key of the row in focus"
    press("ArrowLeft", "ArrowLeft")
    assert explore.focused() == explore.readout() == reads(10, 0)
    press("ArrowUp", "End", "ArrowRight")
    assert explore.focused() == explore.readout() == reads(9, 14)
    press("Enter")
    explore.settled()
    assert explore.focused() == reads(9, 14)
    explore.wait_for_query(at=["3.1.9.14"])
    explore.looks_at(largest(run, 3, 1, 9))
    press("Home")
    press(*["ArrowDown"] * 20)
    assert explore.focused() == reads(14, 0)


def test_tab_begins_at_the_way_past_the_bar_and_arrows_walk_the_groups_and_the_tabs(new_tab: NewTab) -> None:
    tab = new_tab(Claims).open()
    tab.keys("Tab")
    assert tab.focused() == "Skip to main content"
    tab.keys("Enter")
    main = tab.page.locator("#stMain")
    expect(main).to_be_focused()
    assert main.evaluate(FRAME) == 0, "no frame round the whole page"

    def walked(first: str, *keys: str) -> list[str]:
        tab.link(first).focus()
        names = []
        for key in keys:
            tab.keys(key)
            names.append(tab.focused())
        return names

    around = ["ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"]
    assert walked("Learn", *around) == ["Explore", "Inside a layer", "Train", "Learn", "Train", "Learn"]
    expect(tab.link("Learn")).to_have_attribute("aria-current", "true")
    expect(tab.link("Claims")).to_have_attribute("aria-current", "page")
    tab.keys("ArrowRight", "Enter")
    expect(tab.link("Explore")).to_have_attribute("aria-current", "page")
    expect(tab.link("Explore")).to_be_focused()
    tabs = tab.house.get_by_role("navigation", name="Explore").get_by_role("link")
    assert tabs.all_inner_texts() == [page.title for page in PAGES.values() if page.group == "Explore"]
    assert walked("Maps", *around) == ["The model", "Compare", "Positions", "Maps", "Positions", "Maps"]


@pytest.mark.thorough("a long walk by keyboard alone; each page is walked in test_every_page")
def test_the_projector_is_played_by_keys_and_escape_leaves_it_last(explore: Explore) -> None:
    explore.page.set_viewport_size({"width": 1280, "height": 720})
    explore.open(mask="causal")
    press, root = explore.keys, explore.page.locator("html")
    press("p")
    explore.wait_for_query(big=["true"])
    explore.settled()
    bar, room = explore.view.locator(".projector-bar"), explore.view.locator(".large .map")
    expect(bar).to_have_css("font-size", "24px")
    for part in (".projector-bar textarea", ".in-title", ".large .legend"):
        expect(explore.view.locator(part)).to_be_in_viewport(ratio=1)
    assert 0 <= place_of(bar).y - place_of(room).bottom < 20, "the bar covers no row, and the map takes the height"
    for key, now in {"}": "layer 4", "{": "layer 3", "]": "head 2", "[": "head 1"}.items():
        press(key)
        expect(bar.locator(".current-value", has_text=now)).to_be_visible()
    press("o")
    explore.shows(mask="causal", heads_off=((3, 1),))
    press("m", "ArrowUp")
    explore.shows(heads_off=((3, 1),))
    press("Escape")  # leaves the list, not the projector
    press("t", "ArrowDown")
    explore.shows(position="none", heads_off=((3, 1),))
    press("Enter")
    for back in ({"heads_off": ((3, 1),)}, {"mask": "causal", "heads_off": ((3, 1),)}, {"mask": "causal"}):
        press("u")
        explore.shows(**back)
    press("e", "End")
    more = " of all the cars that had never stopped for it, whoever sat in them"
    explore.page.keyboard.type(more)
    explore.shows(f"{TIRED}{more}", mask="causal")
    press("Enter")
    whole = "box => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight"
    assert bar.locator("textarea").evaluate(whole), "the bar has the whole sentence"
    nothing_serious(explore, contrast=True)
    nothing_serious(explore.in_theme("light"), only_colours=True, contrast=True)
    explore.in_theme("dark")
    expect(explore.view.locator(".in-title")).to_have_text("mask: causal")
    assert explore.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= 720
    explore.view.get_by_role("button", name="view", exact=True).click()
    press("Escape")
    expect(explore.view.locator(".view-menu .menu-panel")).to_be_hidden()
    expect(root).to_have_class("projector")
    press("Escape")
    explore.wait_for_query(big=None)
    expect(root).not_to_have_class("projector")


SLASH = "dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }))"


def test_the_slash_opens_the_search_which_opens_a_term_of_the_glossary(explore: Explore) -> None:
    page = explore.open().page
    chip = explore.chip(2)
    chip.focus()
    page.keyboard.press("/")
    dialog = page.get_by_role("dialog", name="Search")
    box, options = dialog.get_by_role("combobox"), dialog.get_by_role("option")
    expect(box).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="questions, 12 pages")).to_be_visible()
    # closed and opened again before the browser reports the closing
    dialog.evaluate(f"dialog => {{ dialog.close(); document.body.{SLASH}; }}")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(chip).to_be_focused()

    page.keyboard.press("/")
    page.keyboard.type("mask")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", str(options.nth(1).get_attribute("id")))
    nothing_serious(explore, dialog, contrast=True, least=8)
    box.fill("xyzzy")
    expect(page.get_by_role("status").filter(has_text="Nothing matches “xyzzy”")).to_be_visible()
    box.fill("")
    page.keyboard.type("past_key_values")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary*")
    term = page.locator(".term:focus")
    expect(term).to_contain_text("past_key_values")
    expect(term).to_be_in_viewport()
    page.go_back()
    explore.box.click()  # drawn early, it moves while it has the focus
    page.keyboard.press("/")  # typed, not a key of the page
    expect(dialog).to_have_count(0)
