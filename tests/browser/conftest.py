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

from .chromium import find_chromium
from .compare_page import Compare
from .explore_page import Explore
from .form_pages import ByHand, Implementations, Positions
from .masks_page import Masks
from .measures import PHONE
from .modules import Modules
from .server import HEALTH, Server, SharedServer
from .shapes_page import Shapes
from .tab import WAIT_MS, Tab
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
    """Lend tabs, each a visit of its own, of a browser that has the app's files already."""

    def __call__(self, kind: type[T]) -> T: ...


class NewPage(Protocol):
    """Make tabs in a browser context of their own, with Playwright's `options`; `url` names another server."""

    def __call__(self, kind: type[T], *, url: str | None = None, **options: Any) -> T: ...


class Tabs:
    """Lend tabs, so that the next test goes on in the browser process of the last one.

    A page costs 3.3 s of a processor in a new tab and 0.8 s in one that has shown the app before. A visit is a document
    and its connection: nothing else of the last one is left but the storage, which is emptied, and what a test has set
    of the window, which is as it was.
    """

    def __init__(self, context: BrowserContext, options: dict[str, Any]) -> None:
        self.context = context
        self.options = options  # that the context was made with
        self.spare: list[Page] = []

    def take(self) -> Page:
        return self.spare.pop() if self.spare else self.new()

    def new(self) -> Page:
        """A tab in a window of its own: one that goes to a page behind another tab is drawn once a second."""
        if not self.context.pages:
            return self.context.new_page()
        with self.context.expect_page() as opened:
            self.context.pages[0].evaluate("() => { window.open('about:blank', '', 'popup,noopener'); }")
        return opened.value

    def leave(self, page: Page, url: str) -> None:
        """End the visit, on a page without a script at `url`; a page of another host would end the process too."""
        if page.is_closed():
            return
        page.unroute_all()
        page.goto(url)
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.mouse.move(0, 0)
        page.set_viewport_size(self.options["viewport"])
        theme, motion = self.options["color_scheme"], self.options["reduced_motion"]
        page.emulate_media(color_scheme=theme, reduced_motion=motion, forced_colors="none", contrast="no-preference")
        session = self.context.new_cdp_session(page)
        session.send("Page.resetNavigationHistory")  # the browser counts to 50, and tests look at the count
        session.detach()
        self.spare.append(page)


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
    """Watch pages until the test has ended, then fail it if there was anything."""
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
    """Lend tabs to a test."""
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


def in_a_tab(kind: type[Tab]) -> Any:
    """A fixture: a page, not yet opened, in a new tab."""

    @pytest.fixture
    def page(new_tab: NewTab) -> Tab:
        return new_tab(kind)

    return page


explore, compare, masks, shapes = (in_a_tab(kind) for kind in (Explore, Compare, Masks, Shapes))
by_hand, implementations, positions, train = (in_a_tab(kind) for kind in (ByHand, Implementations, Positions, Train))
