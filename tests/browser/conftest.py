"""A server, a browser, and watched pages: an error in the console or a request to anyone else fails the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from .by_hand_page import ByHand
from .chromium import find_chromium
from .compare_page import Compare
from .explore_page import Explore
from .implementations_page import Implementations
from .masks_page import Masks
from .measures import PHONE
from .modules import Modules
from .positions_page import Positions
from .server import HEALTH, OwnServer, Server, SharedServer
from .shapes_page import Shapes
from .tab import WAIT_MS, Tab
from .tabs import Tabs
from .train_page import Train
from .watch import Watch

FLAGS = (
    "--no-sandbox",  # Chromium refuses its sandbox to root, and containers run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-gpu",
    "--in-process-gpu",  # a tenth less work: what is drawn need not go to a process of its own
    "--js-flags=--no-opt --no-maglev",  # another tenth: a page is gone before what is compiled twice has paid
)
OPTIONS: dict[str, Any] = {
    "viewport": {"width": 1440, "height": 900}, "color_scheme": "dark", "locale": "en-GB",
    "reduced_motion": "reduce",  # what spins while it waits costs as much as what is waited for
}  # fmt: skip

HERE = Path(__file__).parent
expect.set_options(timeout=WAIT_MS)
T = TypeVar("T", bound=Tab)


class NewTab(Protocol):
    """Lends tabs, each a visit of its own, of a browser that has the app's files already."""

    def __call__(self, kind: type[T]) -> T: ...


class NewPage(Protocol):
    """Makes tabs in a browser context of their own, with Playwright's `options`; `url` names another server."""

    def __call__(self, kind: type[T], *, url: str | None = None, **options: Any) -> T: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def common_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run, the same in each of its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def server(common_folder: Path, request: pytest.FixtureRequest) -> Server:
    """The one server that most tests share, those of other processes too."""
    shared = SharedServer(common_folder)
    request.config.add_cleanup(shared.leave)  # after the last test: how long others go on is not its time
    return shared.server


@pytest.fixture
def nobody_else_works(common_folder: Path) -> Iterator[None]:
    """No other such test runs meanwhile: for those that fill the server's one place for long work, or wait for it."""
    with FileLock(common_folder / "work.lock"):
        yield


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., OwnServer]]:
    """Starts a server of the test's own, below a path of its own and with its own environment variables."""
    started: list[OwnServer] = []

    def start(base: str = "", **environment: str) -> OwnServer:
        started.append(OwnServer(tmp_path / f"log{len(started)}", base, environment=environment))
        return started[-1]

    yield start
    for running in started:
        running.stop()


@pytest.fixture(scope="session")
def desktop() -> Iterator[BrowserContext]:
    """A visitor at a desk, whose browser has the app's files already, compiled too: that is kept on a disk alone.

    Every tab is a visit of its own.
    """
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            "",  # a folder that goes with it
            executable_path=find_chromium(),
            args=list(FLAGS),
            **OPTIONS,
        )
        yield context
        context.close()


@pytest.fixture(scope="session")
def browser(desktop: BrowserContext) -> Browser:
    """That visitor's browser, for contexts that have never seen the app."""
    assert desktop.browser
    return desktop.browser


@pytest.fixture(scope="session")
def desktop_tabs(desktop: BrowserContext) -> Tabs:
    return Tabs(desktop, OPTIONS)


@pytest.fixture(scope="session")
def phone_tabs(browser: Browser) -> Iterator[Tabs]:
    """Those of a visitor with a phone, in the light theme."""
    options = {**OPTIONS, **PHONE}
    context = browser.new_context(**options)
    yield Tabs(context, options)
    context.close()


@pytest.fixture(scope="session")
def modules(browser: Browser, server: Server) -> Iterator[Modules]:
    """Our modules in a page without any of the app."""
    page = browser.new_page()
    page.goto(server.url + HEALTH)
    yield Modules(page)
    page.close()


@pytest.fixture
def watched() -> Iterator[Callable[[Page, str], Page]]:
    """Watches pages until the test has ended, then fails it if there was anything."""
    watches: list[Watch] = []

    def watch(page: Page, url: str) -> Page:
        page.set_default_timeout(WAIT_MS)
        watches.append(Watch(page, url))
        return page

    yield watch
    for one in watches:
        one.stop()
    assert not [complaint for one in watches for complaint in one.complaints]


@pytest.fixture
def new_page(browser: Browser, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[NewPage]:
    with ExitStack() as contexts:

        def make(kind: type[T], *, url: str | None = None, **options: Any) -> T:
            context = browser.new_context(**{**OPTIONS, **options})
            contexts.callback(context.close)
            at = url or server.url
            return kind(watched(context.new_page(), at), at)

        yield make


@pytest.fixture
def new_tab(desktop_tabs: Tabs, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[NewTab]:
    yield from tabs_of(desktop_tabs, server, watched)


@pytest.fixture
def new_phone(phone_tabs: Tabs, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[NewTab]:
    yield from tabs_of(phone_tabs, server, watched)


def tabs_of(tabs: Tabs, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[NewTab]:
    """Lends tabs to a test."""
    server.check()
    lent: list[Tab] = []

    def make(kind: type[T]) -> T:
        tab = kind(watched(tabs.take(), server.url), server.url)
        lent.append(tab)
        return tab

    yield make
    for tab in lent:
        tab.forget_scripts()
        tabs.leave(tab.page, server.url + HEALTH)


# ---- each page, not yet opened, in a new tab


@pytest.fixture
def explore(new_tab: NewTab) -> Explore:
    return new_tab(Explore)


@pytest.fixture
def shapes(new_tab: NewTab) -> Shapes:
    return new_tab(Shapes)


@pytest.fixture
def masks(new_tab: NewTab) -> Masks:
    return new_tab(Masks)


@pytest.fixture
def positions(new_tab: NewTab) -> Positions:
    return new_tab(Positions)


@pytest.fixture
def compare(new_tab: NewTab) -> Compare:
    return new_tab(Compare)


@pytest.fixture
def by_hand(new_tab: NewTab) -> ByHand:
    return new_tab(ByHand)


@pytest.fixture
def implementations(new_tab: NewTab) -> Implementations:
    return new_tab(Implementations)


@pytest.fixture
def train(new_tab: NewTab) -> Train:
    return new_tab(Train)
