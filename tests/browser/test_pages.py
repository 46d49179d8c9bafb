"""From page to page: what the controls say goes along, Back and Forward hold, no picture stays where it was left."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES

from .expected import TIRED, WIDE, largest
from .explore_page import Explore
from .masks_page import Masks
from .shapes_page import Shapes

SETTINGS: dict[str, Any] = {"mask": "window:4", "position": "none", "temperature": 0.7, "heads_off": ((1, 3), (4, 11))}
LINK: dict[str, Any] = {
    "s": WIDE, "mask": "window", "w": "4", "pos": "none", "t": "0.7", "off": ["L1 H3", "L4 H11"],
    "at": "4.7.3.2", "look": "linear_sort",
}  # fmt: skip
STATE = """() => ({ length: history.length, path: location.pathname })"""
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
    a_link_opened_in_another_tab_is_a_deep_link(explore)
    shapes, page = explore.on(Shapes), explore.page
    before = page.evaluate(STATE)["length"]
    explore.go("Shapes")
    check_shapes(shapes)
    assert page.evaluate(STATE) == {"length": before + 1, "path": "/shapes"}
    shapes.choose("Beside it", "einsum")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    shapes.to_step("mixed.contiguous")
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


def a_link_opened_in_another_tab_is_a_deep_link(explore: Explore) -> None:
    with explore.page.context.expect_page() as opened:
        explore.link("Shapes").click(button="middle")
    shapes = Shapes(opened.value, explore.url)
    shapes.page.wait_for_url(re.compile("^http"))
    shapes.page.bring_to_front()
    assert urlsplit(shapes.page.url).path == "/shapes"
    check_shapes(shapes)
    assert urlsplit(explore.page.url).path == "/", "this tab stays where it is"
    shapes.page.close()


def test_the_links_follow_the_controls_and_carry_what_an_address_cannot(explore: Explore) -> None:
    the_address_of_a_link_follows_the_controls(explore)
    a_sentence_too_long_for_a_link_survives(explore)
    what_masks_begins_with_is_not_taken_along(explore)


def the_address_of_a_link_follows_the_controls(explore: Explore) -> None:
    explore.open(at="2.5.3", look="linear")
    explore.shows()
    for text in (WIDE, "how are you"):
        explore.typed(text)
        explore.wait_for_query(s=[text])
        explore.page.mouse.move(700, 500)
        link = explore.link("Shapes")  # its menu has closed when the focus came to the box
        link.hover()
        assert link.evaluate("link => new URL(link.href).searchParams.get('s')") == text
    explore.typed(TIRED)
    explore.wait_for_query(s=None)
    link = explore.link("Shapes")
    link.focus()
    explore.page.mouse.move(700, 500)
    link.hover()
    assert link.evaluate("link => link.href") == f"{explore.url}/shapes?at=2.5.3&look=linear"


def a_sentence_too_long_for_a_link_survives(explore: Explore) -> None:
    long = "ж" * 1000 + " it"  # six bytes a letter in a link
    explore.typed(long)
    explore.wait_for_query(s=None)
    shapes = explore.on(Shapes)
    explore.go("Shapes")
    shapes.shows(long)
    expect(shapes.box).to_have_value(long)
    assert shapes.notices() == ["The full link would be longer than 6,000 bytes, so it omits the sentence."]
    shapes.go("Explore")
    explore.shows(long)
    expect(explore.box).to_have_value(long)


def what_masks_begins_with_is_not_taken_along(explore: Explore) -> None:
    explore.typed(TIRED)
    explore.go("Masks")
    masks = explore.on(Masks)
    masks.shows("causal", text=TIRED)
    masks.wait_for_query(mask="causal")
    masks.go("Explore")
    explore.shows()
    explore.wait_for_query(mask=None)
    explore.page.go_back()
    masks.shows("causal", text=TIRED)
    masks.wait_for_query(mask="causal")
    masks.clicked(masks.card("window 3"), "window:3", text=TIRED)
    masks.go("Explore")
    explore.shows(mask="window:3")


def test_quick_switches_end_on_the_last_page_and_controls_add_no_entry(explore: Explore) -> None:
    explore.open()
    controls_add_no_entry_and_a_head_and_the_theme_go_along(explore)
    explore.layer(1).click()
    explore.tile(1, 2).locator(".square").click()
    the_keyboard_reaches_the_links_and_quick_switches_end_on_the_last_page(explore)


def the_keyboard_reaches_the_links_and_quick_switches_end_on_the_last_page(explore: Explore) -> None:
    explore.shows(mask="causal")
    press = explore.keys
    explore.page.get_by_role("link", name="Headlight").focus()
    for name in ("Lessons", "Texts", "Look", "Change"):
        press("Tab")
        assert explore.focused() == name
    press("Tab", "Enter", "Tab")
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


def controls_add_no_entry_and_a_head_and_the_theme_go_along(explore: Explore) -> None:
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

    shapes.clicked(shapes.head(9))
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


def test_no_view_stays_when_its_page_is_left(explore: Explore) -> None:
    page = explore.page
    page.goto(explore.url)  # not `open`, which holds the view that it waits for
    page.locator(".view[data-digest]").wait_for()
    page.locator(".st-key-stage .question").wait_for()  # before Streamlit is there, a link leads to another document
    memory = page.context.new_cdp_session(page)
    page.evaluate(REMEMBER, ".view")
    for name, selector in VIEWS.items():
        explore.go(name)
        if name == "Train":
            page.get_by_role("tab", name="Film").click()
        page.locator(f"{selector}[data-turn]").first.wait_for()
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        for _ in range(40):
            memory.send("HeapProfiler.collectGarbage")
            if not (kept := page.evaluate(KEPT)):
                break
            page.wait_for_timeout(200)
        assert kept == [], name
        page.evaluate(REMEMBER, selector)
    memory.detach()
