"""The browser of the measurements."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser.chromium import find_chromium

from .timer import rest

__all__ = ["chrome", "new_page", "open_view"]

FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-gpu",
    "--enable-precise-memory-info",  # otherwise the heap's size is rounded, and seldom read anew
    "--js-flags=--expose-gc",
)


@contextmanager
def chrome() -> Iterator[Browser]:
    """A browser without a window."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*FLAGS, *["--no-sandbox"] * as_root]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=Path(find_chromium()), args=flags)
        try:
            yield browser
        finally:
            browser.close()


def new_page(browser: Browser) -> Page:
    """A page of a visitor who has nothing of the app's yet."""
    return browser.new_context(viewport={"width": 1440, "height": 900}).new_page()


def open_view(browser: Browser, link: str, view: str) -> Locator:
    """The view of a page of its own, once it shows its picture in its own place."""
    page = new_page(browser)
    page.goto(link)
    found = page.locator(view).first
    found.wait_for(timeout=30_000)
    rest(found)
    return found
