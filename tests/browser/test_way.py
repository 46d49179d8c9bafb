"""From page to page: each visit and each act is one entry of the history, which Back and Forward find again."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from headlight.ui.pages import PAGES, path

from .agreement import PAGES as WITH_A_VIEW
from .agreement import agree
from .expected import TIRED, WIDE, largest
from .explore_page import Explore
from .shapes_page import Shapes

SENTENCE = "how are you"
SETTINGS: dict[str, Any] = {"mask": "window:4", "position": "none", "temperature": 0.7, "heads_off": ((1, 3), (4, 11))}
LINK: dict[str, Any] = {
    "s": WIDE, "mask": "window", "w": "4", "pos": "none", "t": "0.7", "off": ["L1 H3", "L4 H11"],
    "at": "4.7.3.2", "look": "linear_sort",
}  # fmt: skip


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


VIEWS = {"Masks": ".painter", "Compare": ".pair", "Shapes": ".steps", "Train": ".film", "Explore": ".view:not(.sheet)"}
# Remembers the view on the page, without keeping it there.
REMEMBER = """(selector) => {
  const within = (root) => [...root.querySelectorAll("*")].reduce(
    (found, own) => found ?? (own.matches(selector) ? own : own.shadowRoot && within(own.shadowRoot)), null);
  (window.views ??= []).push(new WeakRef(within(document)));
}"""
KEPT = "() => window.views.map((view) => view.deref()?.className).filter((name) => name !== undefined)"


def check_explore(explore: Explore) -> None:
    run = explore.shows(WIDE, **SETTINGS)
    assert explore.badges() == largest(run, 4, 7, 3)
    expect(explore.button("proportional")).to_have_attribute("aria-pressed", "true")
    expect(explore.box).to_have_value(WIDE)
    assert not explore.notices()
    explore.wait_for_query(**{key: value if isinstance(value, list) else [value] for key, value in LINK.items()})


def check_shapes(shapes: Shapes) -> None:
    shapes.shows(WIDE, **SETTINGS)
    expect(shapes.box).to_have_value(WIDE)
    expect(shapes.head(7)).to_have_attribute("aria-pressed", "true")
    expect(shapes.layer(4)).to_have_attribute("aria-pressed", "true")
    expect(shapes.control("Mask").locator(".current-value")).to_have_text("window 4")
    assert shapes.label.inner_text().startswith("layer 4, pretrained weights")
    assert shapes.side().locator(".titles .label").inner_text().startswith("mask window 4, no positions")
    assert shapes.notices() == []


def test_state_survives_other_pages_and_a_change_is_one_entry(explore: Explore) -> None:
    explore.open(**LINK)
    check_explore(explore)
    shapes, page = explore.on(Shapes), explore.page
    before = entries(page)
    explore.go("Shapes")
    check_shapes(shapes)
    assert (entries(page), urlsplit(page.url).path) == (before + 2, "/shapes")  # by the first page of its group
    shapes.choose("Compare with", "einsum")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    shapes.to_step("mixed.contiguous")
    acts = entries(page) - before - 2
    assert acts > 0
    shapes.go("Explore")
    check_explore(explore)
    page.go_back()
    check_shapes(shapes)
    shapes.settled("mixed.contiguous")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    page.evaluate("acts => history.go(-acts)", acts + 1)
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES["by_hand"].question)
    page.go_back()
    check_explore(explore)
    page.go_forward()
    page.go_forward()
    check_shapes(shapes)
    assert (entries(page), urlsplit(page.url).path) == (before + acts + 3, "/shapes")


@pytest.mark.thorough("a long walk between Explore and Shapes")
def test_links_follow_the_controls_and_carry_what_an_address_cannot(explore: Explore) -> None:
    explore.open(at="2.5.3", look="linear")
    explore.shows()
    shapes, page = explore.on(Shapes), explore.page

    # the address of a link follows the controls
    for text in (WIDE, SENTENCE):
        explore.typed(text)
        explore.wait_for_query(s=[text])
        page.mouse.move(700, 500)
        link = explore.link("Inside a layer")
        link.hover()
        assert link.evaluate("link => new URL(link.href).searchParams.get('s')") == text
    with page.context.expect_page() as waiting:
        link.click(modifiers=["ControlOrMeta"])
    waiting.value.wait_for_url("**/by-hand?*s=how+are+you*")
    waiting.value.close()
    assert urlsplit(page.url).path == "/"

    # a sentence too long for a link survives
    long = "ж" * 1000 + " it"  # six bytes a letter in a link
    explore.typed(long)
    explore.wait_for_query(s=None)
    explore.go("Shapes")
    shapes.shows(long)
    expect(shapes.box).to_have_value(long)
    assert shapes.notices() == ["The full link would be longer than 6,000 bytes, so it leaves out the sentence."]
    shapes.go("Explore")
    explore.shows(long)
    expect(explore.box).to_have_value(long)

    explore.typed(TIRED)

    # each act adds one entry; quick switches end on the last page
    before = entries(page)
    explore.mask("causal")
    explore.shows(mask="causal")
    explore.layer(0).click()
    explore.tile(0, 9).locator(".square").click()
    explore.wait_for_query(mask=["causal"], at=["0.9.3"])
    assert entries(page) == before + 3
    for title in ("Shapes", "Explore", "Shapes"):
        explore.go(title)
    shapes.shows(mask="causal")
    expect(shapes.head(9)).to_have_attribute("aria-pressed", "true")
    assert entries(page) == before + 8
    page.go_back()
    page.go_back()
    run = explore.shows(mask="causal")
    assert explore.badges() == largest(run, 0, 9, 3)


@pytest.mark.thorough("looks for what was left in memory on five pages, after each collection of garbage")
def test_no_view_stays_when_its_page_is_left(explore: Explore) -> None:
    page = explore.page
    page.goto(explore.url)  # not `open`, which holds the view that it waits for
    page.locator(".view[data-digest]").wait_for()
    page.locator(".st-key-stage .question").wait_for()  # before Streamlit is there, a link leads to another document
    memory = page.context.new_cdp_session(page)
    page.evaluate(REMEMBER, ".view")

    def none_is_kept() -> bool:
        memory.send("HeapProfiler.collectGarbage")
        return bool(page.evaluate(KEPT) == [])

    for name, selector in VIEWS.items():
        explore.go(name)
        if name == "Train":
            page.get_by_role("tab", name="Film").click()
        page.locator(f"{selector}[data-turn]").first.wait_for()
        explore.script_ended()
        explore.until(none_is_kept, f"the view before {name} is gone")
        page.evaluate(REMEMBER, selector)
    memory.detach()


# From each tab to each other one of its group.
ALL_WAYS = (
    ("Compare", "Maps", "Masks", "Maps", "Positions", "Compare", "Masks", "Compare", "Positions", "Masks", "Positions",
     "Maps"),
    ("Shapes", "By hand", "Implementations", "Shapes", "Implementations", "By hand"),
)  # fmt: skip


@pytest.mark.parametrize("ways", ALL_WAYS, ids=["Explore", "Inside a layer"])
def test_tabs_take_sentence_model_and_settings_along(explore: Explore, ways: tuple[str, ...]) -> None:
    drawn = random.Random(49)
    wanted = {
        "s": [drawn.choice(("the dog visited the cat", "the queen visited the fox"))],
        "model": [drawn.choice(("who-sinusoidal-1", "who-rotary-1", "who-none-1"))],
        "mask": ["window"], "w": [str(drawn.randint(1, 3))], "pos": [drawn.choice(("none", "alibi"))],
        "t": [drawn.choice(("0.5", "2.0"))], "off": ["L0 H1"], "at": ["0.2.1"],
    }  # fmt: skip
    explore.open(**wanted)
    pages = {page.title: (name, page) for name, page in PAGES.items()}
    for title in (ways[-1], *ways):
        explore.go(title)
        name, page = pages[title]
        expect(explore.page.get_by_role("heading", level=1)).to_have_text(page.question)
        if f"/{path(name)}" in WITH_A_VIEW:
            agree(explore)
        elif title == "Positions":
            sentence = explore.page.get_by_role("textbox", name="Sentence", exact=True)
            expect(sentence).to_have_value(*wanted["s"])
        explore.wait_for_query(**wanted)
        expect(explore.link(title)).to_have_attribute("aria-current", "page")
