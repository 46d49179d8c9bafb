"""From page to page: what the controls say goes along, and Back, Forward and the links themselves hold."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES

from .expected import TIRED, WIDE, largest
from .explore_page import Explore
from .shapes_page import Shapes

SETTINGS: dict[str, Any] = {"mask": "window:4", "position": "none", "temperature": 0.7, "heads_off": ((1, 3), (4, 11))}
LINK: dict[str, Any] = {
    "s": WIDE, "mask": "window", "w": "4", "pos": "none", "t": "0.7", "off": ["L1 H3", "L4 H11"],
    "at": "4.7.3.2", "look": "linear_sort",
}  # fmt: skip
STATE = """() => ({ length: history.length, path: location.pathname })"""


def check_explore(explore: Explore) -> None:
    run = explore.shows(WIDE, **SETTINGS)
    assert explore.badges() == largest(run, 4, 7, 3)
    expect(explore.button("true to scale")).to_have_attribute("aria-pressed", "true")
    expect(explore.box).to_have_value(WIDE)
    assert not explore.notices()
    explore.wait_for_query(**{key: value if isinstance(value, list) else [value] for key, value in LINK.items()})


def check_shapes(shapes: Shapes) -> None:
    shapes.shows(WIDE, **SETTINGS)
    expect(shapes.box).to_have_value(WIDE)
    expect(shapes.head(7)).to_have_attribute("aria-pressed", "true")
    expect(shapes.layer(4)).to_have_attribute("aria-pressed", "true")
    expect(shapes.control("Mask").locator(".now")).to_have_text("mask: window 4")
    assert shapes.label.inner_text().startswith("layer 4, pretrained weights")
    assert shapes.side().locator(".titles .label").inner_text().startswith("mask window 4, no positions")
    assert shapes.notices() == []


def test_there_and_back_everything_is_kept_and_a_switch_is_one_entry(explore: Explore) -> None:
    explore.open(**LINK)
    check_explore(explore)
    shapes, page = explore.on(Shapes), explore.page
    before = page.evaluate(STATE)["length"]
    explore.go("Shapes")
    check_shapes(shapes)
    assert page.evaluate(STATE) == {"length": before + 1, "path": "/shapes"}
    shapes.choose("Beside it", "einsum")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    shapes.option("mixed.contiguous").click()
    shapes.settled("mixed.contiguous")
    shapes.go("Explore")
    check_explore(explore)
    assert page.evaluate(STATE) == {"length": before + 2, "path": "/"}
    page.go_back()
    check_shapes(shapes)
    shapes.settled("mixed.contiguous")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    page.go_back()
    check_explore(explore)
    page.go_forward()
    check_shapes(shapes)
    assert page.evaluate(STATE) == {"length": before + 2, "path": "/shapes"}


def test_a_link_opened_in_another_tab_is_a_deep_link(explore: Explore) -> None:
    explore.open(**LINK)
    with explore.page.context.expect_page() as opened:
        explore.link("Shapes").click(button="middle")
    shapes = Shapes(opened.value, explore.url)
    shapes.page.wait_for_url(re.compile("^http"))
    shapes.page.bring_to_front()
    assert urlsplit(shapes.page.url).path == "/shapes"
    check_shapes(shapes)
    assert urlsplit(explore.page.url).path == "/", "this tab stays where it is"
    shapes.page.close()


def test_the_address_of_a_link_follows_the_controls(explore: Explore) -> None:
    explore.open(at="2.5.3", look="linear")
    explore.shows()
    for text in (WIDE, "how are you"):
        explore.retype(text)
        explore.shows(text)
        explore.wait_for_query(s=[text])
        explore.page.mouse.move(700, 500)
        link = explore.link("Shapes")  # its menu has closed when the focus came to the box
        link.hover()
        assert link.evaluate("link => new URL(link.href).searchParams.get('s')") == text
    explore.retype(TIRED)
    explore.shows()
    explore.wait_for_query(s=None)
    link = explore.link("Shapes")
    link.focus()
    explore.page.mouse.move(700, 500)
    link.hover()
    assert link.evaluate("link => link.href") == f"{explore.url}/shapes?at=2.5.3&look=linear"


def test_a_sentence_too_long_for_a_link_survives(explore: Explore) -> None:
    long = "ж" * 1000 + " it"  # six bytes a letter in a link
    explore.open()
    explore.retype(long)
    explore.shows(long)
    explore.wait_for_query(s=None)
    shapes = explore.on(Shapes)
    explore.go("Shapes")
    shapes.shows(long)
    expect(shapes.box).to_have_value(long)
    assert shapes.notices() == ["The full link would be longer than 6,000 bytes, so it omits the sentence."]
    shapes.go("Explore")
    explore.shows(long)
    expect(explore.box).to_have_value(long)


def test_the_keyboard_reaches_the_links_and_quick_switches_end_on_the_last_page(explore: Explore) -> None:
    explore.open(mask="causal", at="1.2")
    explore.shows(mask="causal")
    press = explore.page.keyboard.press
    explore.page.get_by_role("link", name="Headlight").focus()
    press("Tab")
    assert explore.focused() == "Lessons"
    press("Tab")
    assert explore.focused() == "Texts"
    press("Tab")
    assert explore.focused() == "Look"
    press("Tab")
    assert explore.focused() == "Change"
    press("Tab")
    press("Enter")
    press("Tab")
    assert explore.focused() == "By hand"
    press("Escape")
    assert explore.focused() == "Build"
    press("Enter")
    titles = [page.title for page in PAGES.values() if page.group == "Build"]
    for title in titles[: titles.index("Shapes") + 1]:
        press("Tab")
        assert explore.focused() == title
    press("Enter")
    shapes = explore.on(Shapes)
    shapes.shows(mask="causal")
    expect(shapes.head(2)).to_have_attribute("aria-pressed", "true")

    explore.go("Explore")
    explore.shows(mask="causal")
    before = explore.page.evaluate(STATE)["length"]
    for title in ("Shapes", "Explore", "Shapes"):
        explore.go(title)
    explore.on(Shapes).shows(mask="causal")
    explore.wait_for_query(mask=["causal"])
    assert explore.page.evaluate(STATE) == {"length": before + 3, "path": "/shapes"}
    explore.page.go_back()
    explore.shows(mask="causal")


def test_controls_add_no_entry_and_a_head_and_the_theme_go_along(explore: Explore) -> None:
    explore.open()
    before = explore.page.evaluate(STATE)
    explore.mask("causal")
    explore.shows(mask="causal")
    explore.uncover()
    explore.tile(3, 5).locator(".square").click()
    explore.wait_for_query(mask=["causal"], at=["3.5"])
    assert explore.page.evaluate(STATE) == before
    shapes = explore.on(Shapes)
    explore.go("Shapes")
    shapes.shows(mask="causal")
    shapes.button("next ▶").click()
    shapes.settled("k.view")
    assert explore.page.evaluate(STATE) == {"length": before["length"] + 1, "path": "/shapes"}

    shapes.head(9).click()
    shapes.settled()
    shapes.layer(0).click()
    shapes.page.wait_for_url("**at=0.9**")
    shapes.settled()
    shapes.go("Explore")
    run = explore.shows(mask="causal")
    assert explore.badges() == largest(run, 0, 9, run.tokens.index("it"))

    explore.go("Shapes")
    shapes.settled()
    explore.theme_button.click()
    expect(explore.theme_button).to_have_accessible_name("dark theme")
    shapes.settled()
    expect(shapes.view).to_have_attribute("data-theme", "light")
    explore.go("Explore")
    explore.settled()
    explore.page.reload()
    explore.settled()
    expect(explore.view).to_have_attribute("data-theme", "light")
