"""The link holds the whole picture: opened cold, in another browser, tampered with, or grown too long."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from headlight.lessons.course import course
from pages.lessons.blocks import texts

from .conftest import NewPage, NewTab
from .expected import WIDE, largest
from .explore_page import Explore
from .lessons_page import Lessons
from .tab import Tab, place_of

EVERYTHING: dict[str, Any] = {
    "s": "Zwölf Boxkämpfer & 50% of <b>=1+1</b>? #it ~ it", "mask": "window", "w": "5", "pos": "sinusoidal", "t": "0.7",
    "off": ["L1 H3", "L4 H11"], "at": "4.7.3.2", "look": "linear_nospecials_sort_hide4.1-4.2", "big": "true",
    "pin": f"2.5.1~causal~none~1.5~0.1~{WIDE}",
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "mask": "window:5", "position": "sinusoidal", "temperature": 0.7, "heads_off": ((1, 3), (4, 11)),
}  # fmt: skip


def test_a_link_with_every_key_opens_the_same_picture_cold(new_page: NewPage) -> None:
    explore = new_page(Explore).open(**EVERYTHING)
    run = explore.shows(EVERYTHING["s"], **SETTINGS)
    explore.looks_at(largest(run, 4, 7, 3))
    assert explore.chips() == run.tokens
    assert not explore.notices()
    view = explore.view
    expect(explore.box).to_have_value(EVERYTHING["s"])
    expect(view.locator(".pinned h2")).to_have_text("Layer 2 · Head 5, pinned")
    expect(view.locator(".pinned .label")).to_have_text("mask causal, no positions, temperature 1.5, 1 head off")
    expect(explore.button("proportional")).to_have_attribute("aria-pressed", "true")
    expect(explore.button("show [CLS] [SEP]")).to_have_attribute("aria-pressed", "false")
    expect(explore.tile(4, 2)).to_have_attribute("class", "tile away")
    expect(explore.page.locator("html")).to_have_class("projector")
    expect(view.locator(".change-chip").filter(has_text="mask")).to_contain_text("window 5")
    explore.wait_for_query(**{key: value if isinstance(value, list) else [value] for key, value in EVERYTHING.items()})


def test_values_and_pages_that_a_link_cannot_mean_are_named(explore: Explore) -> None:
    explore.open(t="nan", off=["L1 H1", "L1 H99"], mask="window", w="100000")
    refused = {notice.split(",")[0].removeprefix("The link says ") for notice in explore.notices()}
    assert refused == {"t=nan", "off=L1 H1", "w=100000"}
    explore.shows(mask="window:3", heads_off=((1, 1),))

    # nor is there a page of any name
    page = explore.page.context.new_page()
    answer = page.goto(f"{explore.url}/nosuchpage?s=hi")
    assert answer
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no page named “nosuchpage”.")
    assert page.get_by_role("link", name="Masks").evaluate("link => link.href") == f"{explore.url}/masks"
    page.close()


def assert_landed(tab: Tab, name: str) -> None:
    """The thing is in the window below the bar, marked, and in focus."""
    thing = tab.page.locator("[data-landed]").locator("visible=true").last
    expect(thing, name).to_be_visible()
    expect(thing, name).to_be_focused()
    bar = place_of(tab.page.locator("#headlight-bar")).bottom
    tab.until(lambda: bar <= place_of(thing).y < 820, f"{name} stands below the bar")


def test_a_press_on_a_link_of_the_texts_lands_on_the_thing(new_tab: NewTab) -> None:
    for name in ("get_scores, overridden", "its names"):
        lessons = new_tab(Lessons).open()
        named = lessons.page.get_by_text(name, exact=True)
        lessons.page.locator(".term", has=named).first.get_by_role("link").click()
        assert_landed(lessons, name)


@pytest.mark.thorough("opens each of sixty links in a fresh document")
@pytest.mark.parametrize("text", texts(course()), ids=lambda text: text["heading"])
def test_every_link_of_the_texts_lands_on_the_thing(new_tab: NewTab, text: dict[str, Any]) -> None:
    lessons = new_tab(Lessons)
    for name, _, address, _ in text["blocks"][0]["rows"]:
        lessons.page.goto("about:blank")
        lessons.page.goto(f"{lessons.url}/{address}")
        assert_landed(lessons, name)


@pytest.mark.thorough("links at the bound of 6,000 bytes")
def test_a_link_never_passes_6000_bytes_and_says_what_it_omits(explore: Explore) -> None:
    # a text beyond its bound in a link is cut there too
    notices = explore.view.locator(".notices p")
    omits = "The full link would be longer than 6,000 bytes, so it leaves out the {}."
    explore.open(s="x" * 25_000, look="root_" * 2000)
    explore.shows()
    expect(notices).to_have_count(4)
    refused, looked, *others = explore.notices()
    assert refused.startswith(
        "A sentence may have at most 12,000 characters, and this one has 24,000 or more; shorten it."
    )
    assert looked.startswith("The link says look=root_root_")
    assert looked.endswith("…, 10,000 characters, too long to be used here; the default is used instead.")
    cut = "The sentence had 25,000 characters; the first 24,000 are kept."
    assert others == [cut, omits.format("sentence")]
    expect(explore.box).to_have_value("x" * 24_000)
    explore.wait_for_query(s=None, look=None)

    # the sentence is left out, and before it a pinned picture
    long = "ж" * 1990 + " it"  # six bytes a letter in a link
    explore.typed(long)
    expect(notices).to_have_text([omits.format("sentence")])
    explore.wait_for_query(s=None)
    assert len(urlsplit(explore.page.url).query) <= 6000
    expect(explore.box).to_have_value(long)
    explore.typed("short again")
    explore.wait_for_query(s=["short again"])
    expect(notices).to_have_count(0)
    long = "ж" * 600
    explore.typed(long)
    explore.clicked("pin")
    expect(notices).to_have_text([omits.format("pinned picture")])
    expect(explore.view.locator(".pinned")).to_be_visible()
    explore.wait_for_query(pin=None, s=[long])
    explore.typed("it is short")
    explore.page.wait_for_url(lambda url: "pin=" in url)
    expect(notices).to_have_count(0)
