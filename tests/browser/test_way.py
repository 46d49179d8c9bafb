"""From page to page: each visit is one entry of the history, controls go along, Back and Forward find them again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from pages.kit.draw.pages import PAGES

from .conftest import NewTab
from .expected import TIRED, WIDE, largest
from .explore_page import Explore
from .form_pages import ByHand, Positions
from .masks_page import Masks
from .plain_pages import Claims, Glossary
from .shapes_page import Shapes
from .tab import Tab

SENTENCE = "how are you"
KINDS: dict[str, type[Tab]] = {"glossary": Glossary, "positions": Positions, "by_hand": ByHand, "claims": Claims}
SETTINGS: dict[str, Any] = {"mask": "window:4", "position": "none", "temperature": 0.7, "heads_off": ((1, 3), (4, 11))}
LINK: dict[str, Any] = {
    "s": WIDE, "mask": "window", "w": "4", "pos": "none", "t": "0.7", "off": ["L1 H3", "L4 H11"],
    "at": "4.7.3.2", "look": "linear_sort",
}  # fmt: skip
Acts = list[tuple[str, object]]
# The page of the address is drawn, and the server is at rest.
STANDS = """path => {
  const [question, ...others] = document.querySelectorAll(".st-key-stage .question");
  return location.pathname === path && !others.length && question?.parentElement.dataset.path === path.slice(1)
    && document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning";
}"""
# Presses, one after another in one turn of the browser: links of the bar, controls of the page, and Back.
PRESS = """async (acts) => {
  const named = (kind, text) => [...document.querySelectorAll(kind)].find((one) => one.textContent.trim() === text);
  const does = {
    link: (text) => named("#headlight-bar a[data-path]", text).click(),
    control: (text) => named('[data-testid="stButtonGroup"] button', text).click(),
    back: () => { // is over when the browser has gone there, which it does in its own time
      const gone = new Promise((done) => addEventListener("popstate", done, { once: true }));
      history.back();
      return gone;
    },
    wait: (ms) => new Promise((done) => setTimeout(done, ms)),
  };
  for (const [act, what] of acts) await does[act](what);
}"""
# Presses, the page that stands there then, and those that Back finds behind it.
HURRIED: list[tuple[Acts, str, list[str]]] = [
    ([("link", "Positions"), ("wait", 30), ("link", "By hand")], "by_hand", ["positions", "glossary"]),
    ([("link", "Claims"), ("link", "By hand")], "by_hand", ["claims", "glossary"]),
    ([("link", "Positions"), ("wait", 30), ("back", "")], "glossary", []),
    ([("link", "Claims"), ("back", "")], "glossary", []),
    ([("link", "Positions"), ("wait", 30), ("back", ""), ("wait", 30), ("link", "By hand")], "by_hand", ["glossary"]),
    ([("link", "Claims"), ("wait", 200), ("link", "Claims")], "claims", ["glossary"]),
    ([("link", "Glossary"), ("wait", 30), ("link", "Glossary")], "glossary", []),
]
LATE: list[Acts] = [
    [("link", "Glossary"), ("control", "two heads")],
    [("control", "two heads"), ("wait", 0), ("link", "Glossary")],
]


def stands(tab: Tab, name: str) -> None:
    """Wait until a page stands there, with all that the bar says of it."""
    tab.wait_until(STANDS, urlsplit(KINDS[name].PATH).path)
    expect(tab.page.locator(".question h1")).to_have_text(PAGES[name].question)
    expect(tab.page).to_have_title(f"{PAGES[name].title} · Headlight")
    assert tab.house.locator("a[aria-current]").all_text_contents() == [PAGES[name].title]


def go(tab: Tab, name: str) -> None:
    tab.go(PAGES[name].title)
    stands(tab, name)


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def place(page: Page) -> int:
    """The number of the entry that stands there."""
    return int(page.evaluate("navigation.currentEntry.index"))


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
    shapes, page = explore.on(Shapes), explore.page
    before = entries(page)
    explore.go("Shapes")
    check_shapes(shapes)
    assert (entries(page), urlsplit(page.url).path) == (before + 1, "/shapes")
    shapes.choose("Beside it", "einsum")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    shapes.to_step("mixed.contiguous")
    shapes.go("Explore")
    check_explore(explore)
    page.go_back()
    check_shapes(shapes)
    shapes.settled("mixed.contiguous")
    expect(shapes.view).to_have_attribute("data-shown", "efficient einsum")
    page.go_back()
    check_explore(explore)
    page.go_forward()
    check_shapes(shapes)
    assert (entries(page), urlsplit(page.url).path) == (before + 2, "/shapes")


@pytest.mark.thorough("a second way there and back, by pages whose controls are Streamlit's")
def test_one_entry_for_each_visit_of_a_page(new_tab: NewTab) -> None:
    tab = new_tab(Positions).open()
    page, first = tab.page, entries(tab.page)
    tab.box.fill(SENTENCE)
    tab.wait_for_query(s=SENTENCE)
    tab.choose("Beside it", "alibi")
    tab.wait_for_query(enc2="alibi", s=SENTENCE)
    go(tab, "by_hand")
    by_hand = tab.on(ByHand)
    by_hand.example("two heads")
    by_hand.wait_for_query(ex="two heads")
    expect(by_hand.cell("x", "how", "0")).to_have_value("1")
    by_hand.cell("x", "how", "0").fill("7")
    page.keyboard.press("Tab")
    page.wait_for_function("() => new URLSearchParams(location.search).has('m')")  # the script writes what was typed
    edited = page.url
    go(tab, "glossary")
    assert tab.query["s"] == [SENTENCE], "what one page says goes along to the next"
    assert entries(page) == first + 2

    for act, name in ((page.go_back, "by_hand"), (page.go_back, "positions")):
        act()
        stands(tab, name)
    tab.wait_for_query(enc2="alibi", s=SENTENCE, ex=None)
    expect(tab.box).to_have_value(SENTENCE)
    page.go_forward()
    stands(tab, "by_hand")
    assert page.url == edited
    expect(by_hand.cell("x", "how", "0")).to_have_value("7")
    page.reload()
    stands(tab, "by_hand")
    assert page.url == edited
    expect(by_hand.cell("x", "how", "0")).to_have_value("7")
    page.go_back()
    stands(tab, "positions")
    tab.wait_for_query(s=SENTENCE)
    expect(tab.box).to_have_value(SENTENCE)
    assert entries(page) == first + 2


@pytest.mark.thorough("a long walk between Explore, Shapes and Masks")
def test_links_follow_the_controls_and_carry_what_an_address_cannot(explore: Explore) -> None:
    explore.open(at="2.5.3", look="linear")
    explore.shows()
    shapes, page = explore.on(Shapes), explore.page

    # the address of a link follows the controls
    for text in (WIDE, SENTENCE):
        explore.typed(text)
        explore.wait_for_query(s=[text])
        page.mouse.move(700, 500)
        link = explore.link("Shapes")  # its menu has closed when the focus came to the box
        link.hover()
        assert link.evaluate("link => new URL(link.href).searchParams.get('s')") == text

    # a sentence too long for a link survives
    long = "ж" * 1000 + " it"  # six bytes a letter in a link
    explore.typed(long)
    explore.wait_for_query(s=None)
    explore.go("Shapes")
    shapes.shows(long)
    expect(shapes.box).to_have_value(long)
    assert shapes.notices() == ["The full link would be longer than 6,000 bytes, so it omits the sentence."]
    shapes.go("Explore")
    explore.shows(long)
    expect(explore.box).to_have_value(long)

    # what Masks begins with is not taken along
    explore.typed(TIRED)
    explore.go("Masks")
    masks = explore.on(Masks)
    masks.shows("causal", text=TIRED)
    masks.wait_for_query(mask="causal")
    masks.go("Explore")
    explore.shows()
    explore.wait_for_query(mask=None)
    page.go_back()
    masks.shows("causal", text=TIRED)
    masks.clicked(masks.card("window 3"), "window:3", text=TIRED)
    masks.go("Explore")
    explore.shows(mask="window:3")

    # controls add no entry; quick switches end on the last page
    before = entries(page)
    explore.mask("causal")
    explore.shows(mask="causal")
    explore.layer(0).click()
    explore.tile(0, 9).locator(".square").click()
    explore.wait_for_query(mask=["causal"], at=["0.9.3"])
    assert entries(page) == before
    for title in ("Shapes", "Explore", "Shapes"):
        explore.go(title)
    shapes.shows(mask="causal")
    expect(shapes.head(9)).to_have_attribute("aria-pressed", "true")
    assert entries(page) == before + 3
    page.go_back()
    run = explore.shows(mask="causal")
    assert explore.badges() == largest(run, 0, 9, 3)


@pytest.mark.thorough("presses hurried one after another, and other tabs")
def test_links_and_hurried_presses(new_tab: NewTab) -> None:
    tab = new_tab(Glossary).open(s=SENTENCE, mask="causal")

    # a link in another tab
    met = tab.view.locator(".met a", has_text="Masks").first
    assert opened(tab, lambda: met.click(modifiers=["ControlOrMeta"])) == f"{tab.url}/masks"
    link, carried = tab.link("Positions"), "s=how+are+you&mask=causal"
    assert opened(tab, lambda: link.click(modifiers=["ControlOrMeta"])) == f"{tab.url}/positions?{carried}"
    assert opened(tab, lambda: tab.link("Shapes").click(button="middle")) == f"{tab.url}/shapes?{carried}"

    # a link on a page goes where it says and keeps the visit and the projector
    tab.page.evaluate("window.visit = 'the same'")
    tab.keys("p")
    tab.wait_for_query(big="true")
    tab.view.locator(".met a", has_text="Positions").first.click()
    stands(tab, "positions")
    tab.wait_for_query(s=None, big="true")
    expect(tab.page.locator("html")).to_have_class("projector")
    tab.keys("Escape")
    tab.wait_for_query(big=None)
    tab.page.go_back()
    stands(tab, "glossary")
    tab.wait_for_query(s=SENTENCE, big="true")
    expect(tab.page.locator("html")).to_have_class("projector")
    assert tab.page.evaluate("window.visit") == "the same"
    tab.keys("Escape")
    tab.wait_for_query(big=None)

    for acts, ends, behind in HURRIED:
        before = place(tab.page)
        tab.page.evaluate(PRESS, acts)
        stands(tab, ends)
        if not any(act == "back" for act, _ in acts):
            assert place(tab.page) == before + len(behind), acts
        for name in behind:
            tab.page.go_back()
            stands(tab, name)

    # a late run of a page that was left
    go(tab, "by_hand")
    for acts in LATE:
        before = place(tab.page)
        tab.page.evaluate(PRESS, acts)
        stands(tab, "glossary")
        assert place(tab.page) == before + 1
        tab.page.go_back()
        stands(tab, "by_hand")


def opened(tab: Tab, press: Callable[[], None]) -> str:
    """The address that a press opens in another tab, while this one stays."""
    here = tab.page.url
    with tab.page.context.expect_page() as waiting:
        press()
    waiting.value.wait_for_url(re.compile("^http"))
    address = str(waiting.value.evaluate("performance.getEntriesByType('navigation')[0].name"))  # as it was opened
    waiting.value.close()
    assert tab.page.url == here
    return address


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
