"""A server, a browser, and watched pages: an error in the console or a request to anyone else fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from .chromium import find_chromium
from .helpers import Explore, Server, Watch
from .shapes_page import Shapes

FLAGS = (
    "--no-sandbox",  # Chromium refuses its sandbox to root, and containers run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-gpu",
)
OPTIONS: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark", "locale": "en-GB"}
WAIT_MS = 30_000

HERE = Path(__file__).parent
NewPage = Callable[..., Explore]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The one server that most tests share."""
    running = Server(tmp_path_factory.mktemp("server") / "log")
    yield running
    running.stop()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server of the test's own, with its own environment variables."""
    started: list[Server] = []

    def start(**environment: str) -> Server:
        started.append(Server(tmp_path / f"log{len(started)}", **environment))
        return started[-1]

    yield start
    for running in started:
        running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="session")
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor at a desk whose browser has the page's files already; every tab is a visit of its own."""
    context = browser.new_context(**OPTIONS)
    yield context
    context.close()


@pytest.fixture
def watched() -> Iterator[Callable[[Page, str], Page]]:
    """Watches pages until the test has ended, then fails it if there was anything."""
    watches: list[Watch] = []

    def watch(page: Page, url: str) -> Page:
        page.set_default_timeout(WAIT_MS)
        watches.append(Watch(page, url))
        return page

    yield watch
    assert not [complaint for watch in watches for complaint in watch.complaints]


@pytest.fixture
def new_page(browser: Browser, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[NewPage]:
    """Opens a page in a browser context of its own, with Playwright's `options`; `url` names another server."""
    with ExitStack() as contexts:

        def make(url: str | None = None, **options: Any) -> Explore:
            context = browser.new_context(**{**OPTIONS, **options})
            contexts.callback(context.close)
            at = url or server.url
            return Explore(watched(context.new_page(), at), at)

        yield make


@pytest.fixture
def explore(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Explore]:
    """The Explore page, not yet opened, in a new tab."""
    server.check()
    page = watched(desktop.new_page(), server.url)
    yield Explore(page, server.url)
    page.close()


@pytest.fixture
def shapes(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Shapes]:
    """The Shapes page, not yet opened, in a new tab."""
    server.check()
    page = watched(desktop.new_page(), server.url)
    yield Shapes(page, server.url)
    page.close()
