"""What a visitor waits for, in a real browser: `python -m tests.bench.screen`. Medians; nothing here is asserted.

Times inside the page run from the start of the event's handler to the end of the frame that shows its result.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench.serving import Server, quantiles, serve
from tests.bench.visitors import sentence
from tests.browser.chromium import find_chromium

DRAWN = ".view[data-numbers]:not([data-numbers='']), .view.steps[data-step]"

# A timer in the page: `start` at the first matching event, `end` after the frame in which `done` first holds.
TIMER = """
([type, wanted]) => {
  const find = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.matches('.view')) return element;
      const inside = element.shadowRoot && find(element.shadowRoot);
      if (inside) return inside;
    }
  };
  const shown = window.shown ??= find(document);
  window.timing = new Promise((resolve) => {
    let start = null;
    const before = shown.dataset.digest;
    const listen = () => {
      if (start !== null) return;
      start = performance.now();
      if (wanted === 'frame') finish();
    };
    document.addEventListener(type, listen, true);
    const finish = () => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        document.removeEventListener(type, listen, true);
        resolve(performance.now() - start);
      };
      port2.postMessage(0);
    });
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


def timed(page: Page, event: str, wanted: str, act: Callable[[], None]) -> float:
    """Milliseconds from the first trusted `event` to the end of the frame that shows its result."""
    page.evaluate(TIMER, [event, wanted])
    act()
    return float(page.evaluate("() => window.timing"))


def open_page(browser: Browser, url: str, query: str = "") -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(url + query)
    page.wait_for_selector(DRAWN, timeout=30_000)
    return page


def measure_start(browser: Browser) -> tuple[float, float]:
    """Seconds from the start of the server's process to the first painted map, and its memory then in MiB."""
    with serve() as server:
        page = open_page(browser, server.url)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        seconds = time.perf_counter() - server.started
        memory = server.memory()
        page.context.close()
    return seconds, memory


def measure_page(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """Server trips and frames at one length."""
    page = open_page(browser, server.url)
    box = page.get_by_role("textbox", name="Sentence")

    def enter(seed: int) -> Callable[[], None]:
        def act() -> None:
            box.press("Enter")

        box.evaluate("(e) => e.select()")
        page.keyboard.insert_text(sentence(tokens, seed))
        return act

    trips = [timed(page, "keydown", "digest", enter(seed)) for seed in range(1, rounds + 1)]
    page.wait_for_timeout(500)
    lamps = page.locator(".lamp")
    offs = [timed(page, "click", "digest", lamps.nth(at % 12).click) for at in range(rounds)]
    page.wait_for_timeout(500)
    print(f"{tokens:4d} tokens   Enter → painted {quantiles(trips)}   head off → painted {quantiles(offs)}")

    area = page.locator(".map").first.bounding_box()
    assert area is not None
    hovers = []
    for at in range(30):
        x, y = area["x"] + area["width"] * (0.4 + 0.018 * at), area["y"] + area["height"] * (0.4 + 0.017 * at)
        hovers.append(timed(page, "pointermove", "frame", lambda x=x, y=y: page.mouse.move(x, y)))  # type: ignore[misc]
    tiles, solo, hide = (
        page.locator(".tile .square"),
        page.get_by_role("button", name="solo"),
        page.get_by_role("button", name="hide"),
    )
    enlarge = [timed(page, "click", "frame", tiles.nth(at % 12).click) for at in range(12)]
    solos = [timed(page, "click", "frame", solo.click) for _ in range(12)]
    hides = [timed(page, "click", "frame", hide.click) for _ in range(12)]
    page.get_by_role("button", name="all layers and heads at once").click()
    page.wait_for_timeout(700)
    solos72 = [timed(page, "click", "frame", solo.click) for _ in range(12)]
    print(
        f"      frames    hover {quantiles(hovers)}   enlarge {quantiles(enlarge)}   solo {quantiles(solos)}"
        f"   hide {quantiles(hides)}   solo among 72 {quantiles(solos72)}"
    )
    heap = page.evaluate("() => performance.memory.usedJSHeapSize") / 2**20
    print(f"      {page.locator('.status').inner_text()}; page heap {heap:.0f} MiB")
    page.context.close()


def measure_steps(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """The Shapes page at one length: a new sentence, and from step to step, alone and beside another spelling."""
    page = open_page(browser, server.url, "/shapes?step=x")
    box = page.get_by_role("textbox", name="Sentence", exact=True)

    def enter(seed: int) -> Callable[[], None]:
        box.evaluate("(e) => e.select()")
        page.keyboard.insert_text(sentence(tokens, seed))
        return lambda: box.press("Enter")

    trips = [timed(page, "keydown", "digest", enter(seed)) for seed in range(1, rounds + 1)]
    frames = []
    for beside in ("none", "sequence_first"):
        page.goto(f"{server.url}/shapes?step=x&vs={beside}&s={sentence(tokens).replace(' ', '+')}")
        page.wait_for_selector(DRAWN)
        page.wait_for_timeout(700)
        following = page.get_by_role("button", name="next ▶")
        times = []
        while following.is_enabled():
            times.append(timed(page, "click", "frame", following.click))
            page.wait_for_timeout(120)
        frames.append(quantiles(times))
    print(
        f"{tokens:4d} tokens   Shapes: Enter → painted {quantiles(trips)}"
        f"   next step {frames[0]}   two side by side {frames[1]}"
    )
    page.context.close()


def measure_typing(browser: Browser, server: Server, rounds: int) -> None:
    """The last key of a sentence typed → painted, 16 tokens."""
    page = open_page(browser, server.url)
    box = page.get_by_role("textbox", name="Sentence")
    times = []
    for seed in range(rounds):
        box.fill(sentence(15, seed))
        page.wait_for_timeout(600)
        box.press("End")
        page.keyboard.insert_text(" fruit"[:-1])
        page.wait_for_timeout(600)
        times.append(timed(page, "keydown", "digest", lambda: page.keyboard.press("t")))
    lags = [timed(page, "keydown", "frame", lambda: page.keyboard.press("a", delay=40)) for _ in range(4 * rounds)]
    print(f"  16 tokens   last key → painted {quantiles(times)}   input lag while typing {quantiles(lags)}")
    page.context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, nargs="*", default=[16, 64, 128, 256, 511])
    options = parser.parse_args()
    arguments = [
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
        "--disable-gpu",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=Path(find_chromium()), args=arguments)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Chromium {browser.version}; ms: median, 95th percentile")
        starts = [measure_start(browser) for _ in range(max(3, options.rounds // 2))]
        seconds, memory = (statistics.median(values) for values in zip(*starts, strict=True))
        print(f"process start → first painted map {seconds:.2f} s, memory then {memory:.0f} MiB")
        with serve() as server:
            measure_typing(browser, server, options.rounds)
            for tokens in options.tokens:
                measure_page(browser, server, tokens, options.rounds)
            for tokens in (n for n in options.tokens if n <= 128):
                measure_steps(browser, server, tokens, options.rounds)
            print(f"server memory at the end {server.memory():.0f} MiB")
        browser.close()


if __name__ == "__main__":
    main()
