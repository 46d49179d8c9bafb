"""What is left in memory when a visitor has seen every page and is back on the first."""

from __future__ import annotations

from playwright.sync_api import Browser

from pages.kit.draw.pages import PAGES
from tests.browser.explore_page import Explore

from .chrome import new_page
from .serving import serve
from .timer import rest

# The script has ended; no page stands on its own.
DONE = """() => document.querySelector('[data-testid="stApp"]').dataset.testScriptState === "notRunning" """
HEAP = """async () => {
  for (let again = 0; again < 3; again += 1) {
    gc();
    await new Promise((done) => setTimeout(done, 100));
  }
  return performance.memory.usedJSHeapSize / 2 ** 20;
}"""
LOOK = 1500  # ms at each page


def measure(browser: Browser) -> None:
    """All pages by their links, on a server of its own, and back to the first one."""
    with serve() as server:
        page = new_page(browser)
        page.goto(server.url)
        view = page.locator(Explore.VIEW).first
        view.wait_for(timeout=30_000)
        rest(view)
        before, heap = server.memory(), page.evaluate(HEAP)
        titles = [named.title for named in PAGES.values()]
        for title in sorted(titles, key="Explore".__eq__):  # it comes last
            Explore(page, server.url).go(title)
            page.wait_for_timeout(LOOK)
            page.wait_for_function(DONE, timeout=60_000)
        rest(page.locator(Explore.VIEW).first)
        print(
            f"first page: server {before:.0f} MiB, page heap {heap:.1f} MiB; after all {len(PAGES)} pages, back on it:"
            f" server {server.memory():.0f} MiB, page heap {page.evaluate(HEAP):.1f} MiB"
        )
        page.context.close()
