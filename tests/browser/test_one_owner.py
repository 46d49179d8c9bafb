"""Each page that a view owns: whatever comes between, the address, the screen and the server agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect

from tests.pages.test_old_links import RECORDED, on_pages

from .agreement import PAGES, agree
from .compare_page import Compare
from .conftest import OPTIONS, NewTab
from .explore_page import Explore
from .glossary_page import Glossary
from .masks_page import Masks
from .server import OwnServer
from .shapes_page import Shapes
from .tab import Tab
from .test_every_page import KINDS

OWNED = pytest.mark.parametrize("kind", PAGES.values(), ids=lambda kind: kind.__name__)
SENTENCE, OTHER = "how are you", "can you can that"
PICTURES = "**/api/{maps,pair,masked,steps}?*"  # the routes of pictures
LOST = "cannot be reached"


def choose(tab: Tab) -> None:
    """Uses a control of the page, which makes another picture."""
    match tab:
        case Explore():
            tab.lamp(3, 2).click()
        case Compare():
            tab.set("Mask, right", "causal")
        case Masks():
            tab.card("causal").click()
        case Shapes():
            tab.controls("Mask").get_by_role("radio", name="causal", exact=True).click()


def shown(tab: Tab) -> tuple[str, str, str]:
    """What the address and the screen say, once they agree with the server."""
    agree(tab)
    return tab.page.url, str(tab.view.first.get_attribute("data-digest")), tab.box.input_value()


def changed(tab: Tab) -> tuple[str, str, str]:
    """The same of a sentence and a control that differ from what the page begins with."""
    tab.box.fill(SENTENCE)
    choose(tab)
    told = shown(tab)
    assert told[2] == SENTENCE
    return told


@OWNED
def test_back_forward_reload_and_a_link_in_another_tab_which_keeps_its_own(kind: type[Tab], new_tab: NewTab) -> None:
    tab = new_tab(kind).open()
    first = shown(tab)
    told = changed(tab)
    assert told[1] != first[1]
    (link,) = tab.share().locator(".link code").all_text_contents()
    assert link == told[0]

    tab.go("Glossary")
    tab.on(Glossary).settled()
    tab.page.go_back()
    assert shown(tab) == told
    tab.page.go_forward()
    expect(tab.page.locator(".question h1")).to_contain_text("word", ignore_case=True)
    tab.page.go_back()
    assert shown(tab) == told
    other = new_tab(kind).visit(link)
    assert shown(other) == told
    other.box.fill(OTHER)
    theirs = shown(other)
    assert theirs[1] != told[1]
    assert shown(tab) == told
    for one, kept in ((tab, told), (other, theirs)):
        one.page.reload()
        assert shown(one) == kept


@contextmanager
def held(tab: Tab, count: int) -> Iterator[list[Route]]:
    """Keeps back the next answers of the wire; at the end of the block there are so many."""
    routes = list[Route]()
    tab.page.route(PICTURES, lambda route: routes.append(route) if len(routes) < count else route.continue_())
    yield routes
    tab.until(lambda: len(routes) == count, f"{count} questions")


def answer(tab: Tab, route: Route) -> None:
    """Lets one of them come, and the page take it, where it still wants it."""
    route.continue_()
    request = route.request
    tab.until(
        lambda: request.failure is not None or request.timing["responseEnd"] >= 0,
        "the end of an answer, or that it was given up",
    )


@OWNED
def test_answers_that_come_late_never_or_after_the_page_was_left(kind: type[Tab], new_tab: NewTab) -> None:
    tab = new_tab(kind).open()
    come_late_and_in_another_order(tab)
    do_not_come(tab)
    come_to_a_page_that_was_left(tab)


def come_late_and_in_another_order(tab: Tab) -> None:
    before = shown(tab)
    with held(tab, 2) as routes:
        choose(tab)
        tab.box.fill(SENTENCE)
    tab.wait_for_query(s=SENTENCE)  # the address does not wait for an answer
    expect(tab.view.first).to_have_attribute("data-late", "")
    assert tab.view.first.get_attribute("data-digest") == before[1], "nothing else is seen meanwhile"
    first, second = routes
    answer(tab, second)
    told = shown(tab)
    answer(tab, first)
    assert shown(tab) == told
    assert told[1] != before[1]
    assert told[2] == SENTENCE
    tab.page.unroute(PICTURES)


def do_not_come(tab: Tab) -> None:
    before = shown(tab)
    routes = list[Route]()
    tab.page.route(PICTURES, lambda route: route.abort("aborted") if routes else routes.append(route))
    tab.box.fill(OTHER)
    expect(tab.view.first).to_have_attribute("data-late", "")
    routes[0].abort("aborted")  # what was late is lost, which is said then
    expect(tab.view.locator(".notices").first).to_contain_text(LOST)
    assert tab.view.first.get_attribute("data-digest") == before[1], "the last picture stays"
    tab.wait_for_query(s=OTHER)
    chosen = tab.page.url
    tab.page.unroute(PICTURES)
    told = shown(tab)  # it goes on by itself
    assert told[0] == chosen
    assert told[1] != before[1]
    assert not tab.notices()


def come_to_a_page_that_was_left(tab: Tab) -> None:
    with held(tab, 1) as routes:
        tab.box.fill("the dog bit the man")
    tab.go("Glossary")
    glossary = tab.on(Glossary).settled()
    with_choice = glossary.query
    routes[0].continue_()
    glossary.settled()
    assert glossary.query == with_choice
    tab.page.go_back()
    told = shown(tab)
    tab.page.reload()
    assert shown(tab) == told


@pytest.fixture
def unwatched(browser: Browser) -> Iterator[BrowserContext]:
    """Pages that may complain: their server goes away."""
    context = browser.new_context(**OPTIONS)
    yield context
    context.close()


def test_a_restarted_server(unwatched: BrowserContext, start_server: Callable[..., OwnServer]) -> None:
    """On a page with a box and on one with controls; what a lost answer does is asked of each page above."""
    server = start_server()
    shapes = Shapes(unwatched.new_page(), server.url).open()
    tabs = [Explore(unwatched.new_page(), server.url).open(), shapes]
    before = [shown(tab) for tab in tabs]
    shapes.controls("Mask")  # opened already, as it takes a press of its own
    server.stop()
    for tab in tabs:  # soon: after a while Streamlit lays a message over the page
        tab.page.bring_to_front()
        if isinstance(tab, Explore):
            tab.retype(SENTENCE)
        else:
            choose(tab)
    for tab, (_, digest, _) in zip(tabs, before, strict=True):
        expect(tab.view.locator(".notices").first).to_contain_text(LOST)
        assert tab.view.first.get_attribute("data-digest") == digest, "the last picture stays"
    server.start()
    for tab, (address, digest, text) in zip(tabs, before, strict=True):
        tab.page.bring_to_front()
        told = shown(tab)
        assert told[0] != address
        assert told[1] != digest
        assert told[2] == (SENTENCE if isinstance(tab, Explore) else text)
        assert not tab.notices()
        tab.page.reload()
        assert shown(tab) == told


def opened(name: str, new_tab: NewTab) -> tuple[Tab, dict[str, Any]]:
    link = RECORDED["links"][name]
    return new_tab(KINDS[link["page"].replace("-", "_")]), link


@pytest.mark.parametrize("name", on_pages(owned=True))
def test_an_old_link_shows_the_picture_that_it_showed(name: str, new_tab: NewTab) -> None:
    tab, link = opened(name, new_tab)
    Tab.open(tab, **link["asked"])  # nothing but what it says
    assert shown(tab)[1] == link["digests"][0]
    unusable = {f"The link says {key}=" for key in link["told"]}
    said = tab.notices()
    assert all(any(one.startswith(start) for one in said) for start in unusable), said


def test_an_old_link_of_a_form_says_what_cannot_be_used(new_tab: NewTab) -> None:
    """The one with the most of it; what every one opens is asked of the scripts, in tests/pages/test_old_links.py."""
    name = max(on_pages(owned=False), key=lambda name: len(RECORDED["links"][name]["told"]))
    tab, link = opened(name, new_tab)
    tab.open(**link["asked"])
    said = " ".join(tab.page.locator(".notices p").all_text_contents())
    assert link["told"]
    assert all(f"The link says {key}=" in said for key in link["told"]), said
