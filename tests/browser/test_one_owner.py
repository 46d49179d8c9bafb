"""Each page that a view owns: whatever comes between, the address, the screen and the server agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.pages.test_old_links import RECORDED

from .agreement import PAGES, agree
from .compare_page import Compare
from .conftest import OPTIONS, NewTab
from .explore_page import Explore
from .form_pages import ByHand
from .lessons_page import Lessons
from .masks_page import Masks
from .model_map_page import ModelMap
from .server import OwnServer
from .shapes_page import Shapes
from .tab import Tab

OTHERS = pytest.mark.thorough("each of the other pages with a view takes the walk that Explore takes")
SENTENCE, OTHER, LATE = "how are you", "can you can that", "the dog bit the man"
PICTURES = "**/api/{maps,pair,masks,steps,architecture}?*"  # the routes of pictures
LOST = "cannot be reached"


def choose(tab: Tab) -> None:
    """Use a control of the page, which makes another picture."""
    match tab:
        case Explore():
            tab.lamp(3, 2).click()
        case Compare():
            tab.set("Mask, right", "causal")
        case Masks():
            tab.card("causal").click()
        case Shapes() | ModelMap():
            tab.controls("Mask").get_by_role("radio", name="causal", exact=True).click()


def shown(tab: Tab) -> tuple[str, str, str]:
    """What the address and the screen say, once they agree with the server."""
    agree(tab)
    return tab.page.url, str(tab.view.first.get_attribute("data-digest")), tab.box.input_value()


@contextmanager
def held(tab: Tab, count: int) -> Iterator[list[Route]]:
    """Keep back the next answers of the wire; at the end of the block there are so many."""
    routes = list[Route]()
    tab.page.route(PICTURES, lambda route: routes.append(route) if len(routes) < count else route.continue_())
    yield routes
    tab.until(lambda: len(routes) == count, f"{count} questions")


def answer(tab: Tab, route: Route) -> None:
    """Let one of them come, and the page take it, where it still wants it."""
    route.continue_()
    request = route.request
    tab.until(
        lambda: request.failure is not None or request.timing["responseEnd"] >= 0,
        "the end of an answer, or that it was given up",
    )


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind is Explore else OTHERS) for kind in PAGES.values()],
    ids=lambda kind: kind.__name__,
)
def test_late_lost_and_left_answers_and_a_link_in_another_tab(kind: type[Tab], new_tab: NewTab) -> None:
    tab = new_tab(kind).open()
    answers_come_late_and_in_another_order(tab)
    answers_do_not_come(tab)
    answers_come_to_a_page_that_was_left_and_back_finds_it(tab)
    a_link_opens_in_another_tab_which_keeps_its_own(tab, new_tab(kind))


def answers_come_late_and_in_another_order(tab: Tab) -> None:
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


def answers_do_not_come(tab: Tab) -> None:
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


def answers_come_to_a_page_that_was_left_and_back_finds_it(tab: Tab) -> None:
    with held(tab, 1) as routes:
        tab.box.fill(LATE)
    tab.go("Lessons")
    lessons = tab.on(Lessons).settled()
    with_choice = lessons.query
    routes[0].continue_()
    lessons.settled()
    assert lessons.query == with_choice
    tab.page.go_back()
    assert shown(tab)[2] == LATE


def a_link_opens_in_another_tab_which_keeps_its_own(tab: Tab, other: Tab) -> None:
    told = shown(tab)
    (link,) = tab.share().locator(".link code").all_text_contents()
    assert link == told[0]
    other.visit(link)
    assert shown(other) == told
    other.box.fill(OTHER)
    assert shown(other)[1] != told[1]
    assert shown(tab) == told


@pytest.mark.thorough("a server of its own below a path is stopped and started again")
def test_a_restarted_server_below_a_path(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In a tab that may complain, as its server goes away; what a lost answer does is tried on each page above."""
    context = browser.new_context(**OPTIONS)
    server = OwnServer(tmp_path / "log", base="/app")
    request.addfinalizer(server.stop)
    assert server.log.read_text("utf-8").startswith(f"Headlight: {server.url}\n")
    explore = Explore(context.new_page(), server.url)

    # every page and link stays below the path
    explore.page.goto(f"{server.url}/explore?s=it")
    explore.shows("it")
    expect(explore.page).to_have_title("Maps · Headlight")
    explore.clicked(explore.lamp(3, 2), "it", heads_off=((3, 2),))
    explore.go("Compare")
    assert explore.on(Compare).settled().page.url.startswith(f"{server.url}/compare?")
    explore.page.go_back()
    explore.shows("it", heads_off=((3, 2),))
    assert explore.page.url.startswith(f"{server.url}/?")

    # while the server is away the last picture stays, and goes on by itself when it is back
    address, digest, _ = shown(explore)
    server.stop()
    explore.box.fill(SENTENCE)  # soon: after a while Streamlit lays a message over the page
    expect(explore.view.locator(".notices").first).to_contain_text(LOST)
    assert explore.view.get_attribute("data-digest") == digest, "the last picture stays"
    server.start()
    now = shown(explore)
    assert now[0] != address
    assert now[1] != digest
    assert now[2] == SENTENCE
    assert not explore.notices()
    explore.page.reload()
    assert shown(explore) == now
    context.close()


def test_an_old_link_of_a_form_says_what_cannot_be_used_which_leaves_the_address(by_hand: ByHand) -> None:
    """Of one form; what every one opens is asked of the scripts, in tests/pages/test_old_links.py."""
    link = RECORDED["links"]["by-hand, unusable"]
    by_hand.open(**link["asked"], big="true")
    notices = by_hand.page.locator(".notices p")
    expect(notices).to_have_count(len(link["told"]))
    text = " ".join(notices.all_text_contents())
    assert all(f"The link says {key}=" in text for key in link["told"]), text
    by_hand.wait_for_query(**dict.fromkeys(link["told"]), big="true")
