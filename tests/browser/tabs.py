"""The tabs of one browser context, each lent to one test after another."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page

__all__ = ["Tabs"]

LONGEST_HISTORY = 30  # the browser counts to 50, and tests look at the count


class Tabs:
    """Lends tabs, so that the next test goes on in the browser process of the last one.

    A page costs 3.3 s of a processor in a new tab and 1.3 s in one that has shown the app before. A visit is a document
    and its connection: nothing else of the last one is left but the storage, which is emptied.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.spare: list[Page] = []

    def take(self) -> Page:
        return self.spare.pop() if self.spare else self.context.new_page()

    def leave(self, page: Page) -> None:
        if page.is_closed():
            return
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        page.mouse.move(0, 0)
        if page.evaluate("history.length") > LONGEST_HISTORY:
            page.close()
        else:
            self.spare.append(page)
