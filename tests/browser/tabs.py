"""The tabs of one browser context, each lent to one test after another."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Page

__all__ = ["Tabs"]


class Tabs:
    """Lends tabs, so that the next test goes on in the browser process of the last one.

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
        """Ends the visit, on a page without a script at `url`; a page of another host would end the process too."""
        if page.is_closed():
            return
        page.unroute_all()
        page.goto(url)
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.mouse.move(0, 0)
        page.set_viewport_size(self.options["viewport"])
        page.emulate_media(color_scheme=self.options["color_scheme"], reduced_motion=self.options["reduced_motion"])
        session = self.context.new_cdp_session(page)
        session.send("Page.resetNavigationHistory")  # the browser counts to 50, and tests look at the count
        session.detach()
        self.spare.append(page)
