"""Headlight below a path of its own: every page, picture and link stays below it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from .compare_page import Compare
from .conftest import NewPage
from .explore_page import Explore
from .server import OwnServer


def test_below_a_path(start_server: Callable[..., OwnServer], new_page: NewPage) -> None:
    server = start_server(base="/app")
    explore = new_page(Explore, url=server.url).open(s="how are you")
    explore.shows("how are you")
    explore.lamp(3, 2).click()
    explore.shows("how are you", heads_off=((3, 2),))
    explore.go("Compare")
    compare = explore.on(Compare)
    compare.settled()
    assert compare.page.url.startswith(f"{server.url}/compare?")
    compare.page.go_back()
    explore.shows("how are you", heads_off=((3, 2),))
    assert explore.page.url.startswith(f"{server.url}/?")
    explore.page.goto(f"{server.url}/explore?s=it")
    explore.shows("it")
    expect(explore.page).to_have_title("Explore · Headlight")
