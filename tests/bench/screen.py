"""What a visitor waits for, in a real browser: `python -m tests.bench.screen`. Nothing is asserted.

A link is opened by a browser that has no file of the app yet, with a sentence that nobody has sent. An act runs from
the visitor's event to the end of the frame after the one in which the view names another picture, which was not
computed before; beside it stands the pass alone, as the page says it. Medians and 95th percentiles.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.serving import Server, options, quantiles, serve
from tests.bench.visitors import sentence
from tests.browser.chromium import find_chromium
from tests.browser.compare_page import Compare
from tests.browser.explore_page import Explore
from tests.browser.masks_page import Masks
from tests.browser.shapes_page import Shapes

FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu")
KINDS = (Explore, Compare, Masks, Shapes)
PASS = re.compile(r"computed in ([\d.]+) ms")
HOVERS = 30
# `painted.first`: the view is painted, at the end of a frame; `painted.own`: it is so in its own place.
FRAMES = """(selector) => {
  window.painted = {};
  const found = (node) => {
    for (const element of node.querySelectorAll("*")) {
      if (element.matches(selector)) return element;
      const within = element.shadowRoot && found(element.shadowRoot);
      if (within) return within;
    }
    return null;
  };
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    const view = found(document);
    if (!view?.clientWidth || !view.dataset.digest) return;
    window.painted.first ??= performance.now();
    if (!view.getRootNode().host?.closest("#headlight-early")) window.painted.own ??= performance.now();
  };
  const look = () => {
    if (window.painted.own) return;
    port2.postMessage(0);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# From the first trusted event to the end of the next frame ("frame"), or of the one after another digest ("digest").
TIMER = """(view, [type, wanted]) => {
  window.timing = new Promise((resolve) => {
    setTimeout(() => resolve(null), 30000);
    let start = null;
    const finish = () => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now() - start);
      port2.postMessage(0);
    });
    const listen = (event) => {
      if (!event.isTrusted) return;
      document.removeEventListener(type, listen, true);
      start = performance.now();
      if (wanted === "frame") finish();
    };
    document.addEventListener(type, listen, true);
    const before = view.dataset.digest;
    const watch = new MutationObserver(() => {
      if (view.dataset.digest === before || start === null) return;
      watch.disconnect();
      finish();
    });
    if (wanted === "digest") watch.observe(view, { attributes: true });
  });
}"""

_numbers = itertools.count()  # no sentence comes twice


@contextmanager
def chrome() -> Iterator[Browser]:
    """A browser without a window."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        flags = [*FLAGS, *["--no-sandbox"] * as_root]
        browser = playwright.chromium.launch(executable_path=Path(find_chromium()), args=flags)
        print(f"Chromium {browser.version}")
        yield browser
        browser.close()


def new_page(browser: Browser) -> Page:
    """A page of a visitor who has nothing of the app's yet."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    return page


def open_link(browser: Browser, link: str, view: str) -> tuple[float, float, float]:
    """Milliseconds from the start of the navigation to the first picture, and to it in its own place; when it began."""
    page = new_page(browser)
    page.add_init_script(f"({FRAMES})({view!r})")
    page.goto(link, wait_until="commit")
    page.wait_for_function("() => window.painted.own")
    painted = page.evaluate("() => window.painted")
    origin = float(page.evaluate("() => performance.timeOrigin")) / 1000
    page.context.close()
    return float(painted["first"]), float(painted["own"]), origin


def measure_start(browser: Browser, rounds: int) -> None:
    """From the start of the server's process to the first painted map."""
    seconds, memory = list[float](), list[float]()
    for _ in range(rounds):
        begun = time.time()
        with serve() as server:
            first, _, origin = open_link(browser, server.url, Explore.VIEW)
            seconds.append(origin + first / 1000 - begun)
            memory.append(server.memory())
    middle = statistics.median(seconds), statistics.median(memory)
    print(f"process start → first painted map {middle[0]:.2f} s, memory then {middle[1]:.0f} MiB", flush=True)


def measure_links(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """Every page in turn; the first round warms the server up."""
    for kind in KINDS:
        times = []
        for number in range(rounds + 1):
            link = f"{server.url}{kind.PATH}?s={sentence(tokens, f'{kind.PATH} {number}').replace(' ', '+')}"
            times.append(open_link(browser, link, kind.VIEW)[:2])
        early, late = (quantiles(list(column)) for column in zip(*times[1:], strict=True))
        print(f"{kind.__name__:<8} link, {tokens} tokens → first picture {early}   in its own place {late}", flush=True)


def timed(tab: Explore | Masks, event: str, act: Callable[[], object], wanted: str = "digest") -> float:
    """Milliseconds from the event to the end of the frame; fails where no other picture comes within 30 s."""
    tab.view.evaluate(TIMER, [event, wanted])
    act()
    took = tab.page.evaluate("() => window.timing")
    assert took is not None, f"no other picture came; the address is {tab.page.url}"
    return float(took)


def prepared(explore: Explore, name: str, tokens: int) -> tuple[str, Callable[[], object]]:
    """The page with another sentence and everything at rest; the event and the act that are timed."""
    while (chips := explore.view.locator(".change-chip")).count():
        chips.first.click()
        explore.settled()
    if name == "key":
        explore.box.fill(f"{sentence(tokens - 1, next(_numbers))} th")
        explore.settled()
        explore.box.press("End")
        return "keydown", lambda: explore.page.keyboard.press("e")
    explore.box.fill(sentence(tokens, next(_numbers)))
    explore.settled()
    if name == "lamp":
        return "click", explore.view.locator(".lamp").nth(next(_numbers) % 12).click
    if name == "temperature":
        slider = explore.change("Temperature").get_by_role("slider")
        return "keydown", lambda: slider.press("ArrowRight")
    panel = explore.change({"mask": "Mask", "position": "Positional encoding"}[name])
    choice = {"mask": "causal", "position": "none"}[name]
    return "click", panel.get_by_role("radio", name=choice, exact=True).last.click


def measure_explore(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """Each act that brings a new picture, and pointing at the map, which brings none."""
    explore = Explore(new_page(browser), server.url).open(s=sentence(tokens))
    for name in ("key", "lamp", "mask", "position", "temperature"):
        times, beyond = list[float](), list[float]()
        for _ in range(rounds):
            event, act = prepared(explore, name, tokens)
            times.append(timed(explore, event, act))
            explore.settled()
            own = PASS.search(explore.view.locator(".status").text_content() or "")
            beyond += [times[-1] - float(own[1])] if own else []
            explore.keys("Escape")
        line = f"{quantiles(times)}   over the pass itself {quantiles(beyond)}"
        print(f"Explore, {tokens} tokens: {name:<12} {line}", flush=True)
    places = [explore.middle(explore.cell, at % (tokens - 1), (7 * at) % (tokens - 1)) for at in range(HOVERS)]
    hovers = [timed(explore, "pointermove", lambda at=at: explore.page.mouse.move(*at), "frame") for at in places]  # type: ignore[misc]
    print(f"Explore, {tokens} tokens: hover        {quantiles(hovers)}", flush=True)
    explore.page.context.close()


def measure_painting(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """A cell that may be looked at is painted over, which ends when the button is released."""
    masks = Masks(new_page(browser), server.url).open(s=sentence(tokens, "painted"), mask="none")
    times = []
    for number in range(rounds):
        masks.page.mouse.move(*masks.place(3 + number, 1))
        masks.page.mouse.down()
        times.append(timed(masks, "pointerup", masks.page.mouse.up))
        masks.settled()
    print(f"Masks, {tokens} tokens: painted cell   {quantiles(times)}", flush=True)
    masks.page.context.close()


def main() -> None:
    asked = options(__doc__, rounds=9, tokens=[16, 64, 256])
    with chrome() as browser:
        measure_start(browser, max(2, asked.rounds // 3))
        with serve() as server:
            measure_links(browser, server, 64, asked.rounds)
            for tokens in asked.tokens:
                measure_explore(browser, server, tokens, asked.rounds)
            measure_painting(browser, server, 16, asked.rounds)
            print(f"server memory at the end {server.memory():.0f} MiB")


if __name__ == "__main__":
    main()
