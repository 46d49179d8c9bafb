"""What a visitor waits for, in a real browser: `python -m tests.bench.screen`. Nothing is asserted.

A link is opened by a browser that has no file of the app yet, with a sentence that nobody has sent. An act runs from
the visitor's event to the end of the frame after the one in which the view names another picture, which was not
computed before; beside it stands the same act on a bare page, in turn. A page opened from another page's link is timed
from the click until its picture is painted. Medians and 95th percentiles.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.bench.serving import Server, options, quantiles, serve
from tests.bench.visitors import sentence
from tests.browser.chromium import find_chromium
from tests.browser.compare_page import Compare
from tests.browser.explore_page import Explore
from tests.browser.masks_page import Masks
from tests.browser.model_map_page import ModelMap
from tests.browser.shapes_page import Shapes
from tests.browser.tab import Tab

FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu")
KINDS = (Explore, ModelMap, Compare, Masks, Shapes)
CONTROLS = {"key": "mask", "mask": "mask", "position": "pos", "temperature": "t"}  # act -> control on the bare page
BARE_REST = 400  # ms, after which a rerun of the bare page has ended
HOVERS = 30
GO = """(href) => {
  const link = document.body.appendChild(Object.assign(document.createElement("a"), { href }));
  link.click();
  link.remove();
}"""
TWICE = """() => {
  const isPicture = (name) => /\\/api\\/(maps|initial|entry|pair|masks|steps|architecture)/.test(name);
  const all = performance.getEntriesByType("resource").map(({ name }) => name).filter(isPicture);
  return [all.length - new Set(all).size, all.length];
}"""
# `painted.first`: the view is painted, at the end of a frame; `painted.own`: it is so in its own place. Since the start
# of the document, or since the click on the link to a page.
FRAMES = """(selector, path) => {
  const start = path === undefined ? 0 : performance.now();
  if (path !== undefined) document.querySelector(`a[data-path="${path}"]`).click();
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
    window.painted.first ??= performance.now() - start;
    if (!view.getRootNode().host?.closest("#headlight-early")) window.painted.own ??= performance.now() - start;
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


def timed(view: Locator, event: str, act: Callable[[], object], wanted: str = "digest") -> float:
    """Milliseconds from the event to the end of the frame; fails where no other picture comes within 30 s."""
    view.evaluate(TIMER, [event, wanted])
    act()
    took = view.page.evaluate("() => window.timing")
    assert took is not None, f"no other picture came; the address is {view.page.url}"
    return float(took)


def go(tab: Tab, **link: object) -> None:
    """Goes to another address of the page without a reload, and waits until everything is at rest."""
    tab.page.evaluate(GO, f"{tab.url}{tab.PATH}?{urlencode(link)}")
    tab.settled()


def prepared(tab: Tab, name: str, tokens: int) -> tuple[str, Callable[[], object]]:
    """The page with another sentence and nothing changed; the event and the act that are timed."""
    page, view = tab.page, tab.view.first
    if name == "key":
        go(tab, s=f"{sentence(tokens - 1, next(_numbers))} th", mask="none")
        view.locator(".sentence textarea").first.press("End")
        return "keydown", lambda: page.keyboard.press("e")
    go(tab, s=sentence(tokens, next(_numbers)), mask="none")
    if name == "lamp":
        return "click", view.locator(".lamp").nth(next(_numbers) % 12).click
    if name == "mask" and isinstance(tab, Masks):
        return "click", tab.card("causal").click
    opener = view.locator(f".switch[data-key={CONTROLS[name]}]").last
    if opener.get_attribute("aria-expanded") != "true":
        opener.click()
        expect(opener).to_have_attribute("aria-expanded", "true")  # before that the panel before may still be visible
    panel = view.locator(".settings:visible").last
    if name == "temperature":
        slider = panel.get_by_role("slider")
        return "keydown", lambda: slider.press("ArrowRight")
    return "click", panel.locator("label:visible:has(input:not(:checked))").first.click


def prepared_bare(page: Page, name: str, tokens: int) -> tuple[str, Callable[[], object]]:
    """The same on the bare page."""
    box = page.get_by_role("textbox", name="Sentence", exact=True)
    text = sentence(tokens, next(_numbers))
    box.fill(text if name != "key" else f"{text.rpartition(' ')[0]} th")
    page.wait_for_timeout(BARE_REST)
    if name == "key":
        box.press("End")
        return "keydown", lambda: page.keyboard.press("e")
    if name == "temperature":
        return "keydown", lambda: page.get_by_role("slider").press("ArrowRight")
    return "click", page.get_by_role("radio", checked=False).click


def measure_acts(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """Each act that brings a new picture, on all pages and on the bare page in turn, and pointing at a map."""
    tabs = [kind(new_page(browser), server.url).open(s=sentence(tokens)) for kind in KINDS]
    explore = Explore(tabs[0].page, server.url)
    with serve("tests/bench/bare.py", OMP_WAIT_POLICY="passive") as plain:  # two threads would wait for each other
        for name, key in CONTROLS.items():
            bare = new_page(browser)
            bare.goto(f"{plain.url}/?by={key}")
            samples = {tab: list[float]() for tab in (None, *tabs)}
            for _ in range(rounds):
                for tab in random.sample(list(samples), len(samples)):
                    page = tab.page if tab else bare
                    page.bring_to_front()
                    view = tab.view.first if tab else bare.locator(".view")
                    event, act = prepared(tab, name, tokens) if tab else prepared_bare(bare, name, tokens)
                    samples[tab].append(timed(view, event, act))
            yardstick = statistics.median(samples[None])
            for tab, times in samples.items():
                title = type(tab).__name__ if tab else "bare page"
                ratio = statistics.median(times) / yardstick
                print(f"{title:<9} {tokens} tokens: {name:<12} {quantiles(times)}   ratio {ratio:.2f}", flush=True)
            bare.context.close()
    explore.page.bring_to_front()
    explore.open(s=sentence(tokens, next(_numbers)))  # its panels closed
    times = []
    for _ in range(rounds):
        times.append(timed(explore.view, *prepared(explore, "lamp", tokens)))
    print(f"Explore   {tokens} tokens: lamp         {quantiles(times)}", flush=True)
    explore.settled()
    places = [explore.middle(explore.cell, at % (tokens - 1), (7 * at) % (tokens - 1)) for at in range(HOVERS)]
    hovers = [timed(explore.view, "pointermove", lambda at=at: explore.page.mouse.move(*at), "frame") for at in places]  # type: ignore[misc]
    print(f"Explore   {tokens} tokens: hover        {quantiles(hovers)}", flush=True)
    for tab in tabs:
        tab.page.context.close()


def measure_tabs(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """From page to page by their links, with the same sentence, and at the end back to the first."""
    tab = Explore(new_page(browser), server.url).open(s=sentence(tokens, "tabs"))
    way: list[type[Tab]] = [Compare, Masks, Explore]  # the tabs of one entry of the bar
    times: dict[type[Tab], list[tuple[float, float]]] = {kind: [] for kind in way}
    for _ in range(rounds):
        go(tab, s=sentence(tokens, next(_numbers)))
        for kind in way:
            tab.page.evaluate(f"({FRAMES})({kind.VIEW!r}, {kind.PATH.strip('/')!r})")
            tab.page.wait_for_function("() => window.painted.own")
            painted = tab.page.evaluate("() => window.painted")
            times[kind].append((painted["first"], painted["own"]))
            tab.on(kind).settled()
    for kind, taken in times.items():
        first, own = (quantiles(list(column)) for column in zip(*taken, strict=True))
        print(f"tab to {kind.__name__:<8} {tokens} tokens → picture {first}   in its own place {own}", flush=True)
    twice = tab.page.evaluate(TWICE)
    print(f"of {twice[1]} requests for pictures from tab to tab {twice[0]} were sent again", flush=True)
    tab.page.context.close()


def measure_painting(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """A cell that may be looked at is painted over, which ends when the button is released."""
    masks = Masks(new_page(browser), server.url).open(s=sentence(tokens, "painted"), mask="none")
    times = []
    for number in range(rounds):
        masks.page.mouse.move(*masks.place(3 + number, 1))
        masks.page.mouse.down()
        times.append(timed(masks.view, "pointerup", masks.page.mouse.up))
        masks.settled()
    print(f"Masks     {tokens} tokens: painted cell {quantiles(times)}", flush=True)
    masks.page.context.close()


def main() -> None:
    asked = options(__doc__, rounds=9, tokens=[16, 64, 256])
    with chrome() as browser:
        measure_start(browser, (asked.rounds + 2) // 3)
        with serve() as server:
            measure_links(browser, server, max(asked.tokens[:2]), asked.rounds)
            for tokens in asked.tokens:
                measure_acts(browser, server, tokens, asked.rounds)
                measure_tabs(browser, server, tokens, asked.rounds)
            measure_painting(browser, server, 16, asked.rounds)
            print(f"server memory at the end {server.memory():.0f} MiB")


if __name__ == "__main__":
    main()
