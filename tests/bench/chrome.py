"""The browser of the measurements, and what an act takes there: from the visitor's event to the end of a frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.browser.chromium import find_chromium

__all__ = ["NoPictureError", "chrome", "new_page", "open_view", "rest", "timed"]

FLAGS = [
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--disable-gpu", "--js-flags=--expose-gc",
    "--enable-precise-memory-info",  # otherwise the heap's size is rounded, and seldom read anew
]  # fmt: skip

SETTLE = 300  # ms, after which who will tell the server something has begun to

# `start` at the first matching event, `end` after the frame in which the view shows another picture, or after the next.
TIMER = """
(shown, [type, wanted]) => {
  const later = (then) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = then;
    port2.postMessage(0);
  };
  if (window.inFrame === undefined) {
    window.inFrame = false;
    const real = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (draw) => real((time) => {
      window.inFrame = true; // until the frame has been drawn
      later(() => (window.inFrame = false));
      draw(time);
    });
  }
  window.timing = new Promise((resolve) => {
    setTimeout(() => resolve(null), 30000);
    let start = null;
    const before = shown.dataset.digest;
    const listen = (event) => {
      if (start !== null || !event.isTrusted) return;
      start = performance.now();
      if (wanted === 'frame') finish();
    };
    document.addEventListener(type, listen, true);
    const drawn = () => later(() => {
      document.removeEventListener(type, listen, true);
      resolve(performance.now() - start);
    });
    // what was drawn within a frame is seen at its end, anything else at the end of the next
    const finish = () => (window.inFrame ? drawn() : requestAnimationFrame(drawn));
    if (wanted === 'digest') {
      new MutationObserver((_, watch) => {
        if (shown.dataset.digest === before || start === null) return;
        watch.disconnect();
        finish();
      }).observe(shown, { attributes: true });
    }
  });
}
"""
# The script has ended, everything that was done here was heard, and no picture is on its way.
AT_REST = """(view) => {
  const { turn, heard, digest } = view.dataset;
  const app = document.querySelector('[data-testid="stApp"]');
  return view.isConnected && Boolean(digest) && !(Number(heard) < Number(turn))
    && ["waiting", "pending", "typing"].every((name) => !view.hasAttribute(`data-${name}`))
    && !document.getElementById("headlight-early") && app?.dataset.testScriptState === "notRunning";
}"""


@contextmanager
def chrome() -> Iterator[Browser]:
    """A browser without a window."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*FLAGS, *["--no-sandbox"] * as_root]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=Path(find_chromium()), args=flags)
        print(f"Chromium {browser.version}")
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


class NoPictureError(RuntimeError):
    """An act brought no other picture within 30 s."""


def timed(view: Locator, event: str, wanted: str, act: Callable[[], object]) -> float:
    """Milliseconds from the first trusted `event` to the end of a frame: the one that shows another picture ("digest"),
    as the view's `data-digest` says, or the next one ("frame"). Raises a NoPictureError."""
    view.evaluate(TIMER, [event, wanted])
    act()
    took = view.page.evaluate("() => window.timing")
    if took is None:
        raise NoPictureError(f"no other picture came; the address is {view.page.url}")
    return float(took)


def rest(view: Locator) -> None:
    """Waits until nothing goes on any more."""
    page: Page = view.page
    page.wait_for_timeout(SETTLE)
    page.wait_for_function(AT_REST, arg=view.element_handle(), timeout=60_000)
