"""How long a link, and a server that was just started, take to a first picture: `python -m tests.bench.first`.

Each link has a sentence that nobody has asked for, and is opened by a browser that has no file of the app yet.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from urllib.parse import urlencode

from playwright.sync_api import Browser

from tests.bench.acts import KINDS
from tests.bench.chrome import chrome, new_page
from tests.bench.serving import Server, options, quantiles, serve
from tests.bench.visitors import sentence
from tests.browser.explore_page import Explore
from tests.browser.server import ROOT

TIMEOUT = 60_000
BARE = "from mha_core import load_model; load_model().run('it is so')"
# Looks at the page at the end of every frame: `first`, the view is painted; `own`, it is so in its own place.
FRAMES = """
(selector) => {
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
    if (view.getRootNode().host?.closest("#headlight-early")) return;
    window.painted.own ??= performance.now();
  };
  const look = () => {
    if (window.painted.own) return;
    port2.postMessage(0);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
"""


def open_link(browser: Browser, link: str, view: str) -> tuple[float, float, float]:
    """A link in a browser that is new here.

    Returns: milliseconds from the start of the navigation to the end of the frame with the first picture, and of that
    with the picture in its own place; when the navigation started (time.time).
    """
    page = new_page(browser)
    page.add_init_script(f"({FRAMES})({view!r})")
    page.goto(link, wait_until="commit")
    page.wait_for_function("() => window.painted.own", timeout=TIMEOUT)
    painted = page.evaluate("() => window.painted")
    origin = float(page.evaluate("() => performance.timeOrigin")) / 1000
    page.context.close()
    return float(painted["first"]), float(painted["own"]), origin


def measure_links(browser: Browser, server: Server, tokens: int, rounds: int) -> None:
    """Every page in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in KINDS}
    for number in range(-1, rounds):  # the first round is none: it warms the server up
        for name, kind in KINDS.items():
            link = urlencode({"s": sentence(tokens, f"{name} {number}")})
            first, own, _ = open_link(browser, f"{server.url}{kind.PATH}?{link}", kind.VIEW)
            if number >= 0:
                times[name].append((first, own))
    for name, taken in times.items():
        early, late = (quantiles(list(column)) for column in zip(*taken, strict=True))
        print(f"{name:<8} link, {tokens} tokens → first picture {early}   in its own place {late}", flush=True)


def measure_start(browser: Browser) -> tuple[float, float]:
    """Seconds from the start of the server's process to the first painted map, early or not; its memory then in MiB."""
    with serve() as server:
        first, _, origin = open_link(browser, server.url, Explore.VIEW)
        return origin + first / 1000 - server.started, server.memory()


def measure_bare() -> float:
    """Seconds of a bare process that imports torch, loads MiniLM and runs it once."""
    begun = time.time()
    subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, check=True)
    return time.time() - begun


def main() -> None:
    asked = options(__doc__, rounds=9, tokens=[64])
    with chrome() as browser:
        starts = [(*measure_start(browser), measure_bare()) for _ in range(max(2, asked.rounds // 2))]
        seconds, memory, bare = (statistics.median(values) for values in zip(*starts, strict=True))
        print(f"process start → first painted map {seconds:.2f} s, memory then {memory:.0f} MiB", end="; ")
        print(f"a bare process that loads and runs the model once {bare:.2f} s: ratio {seconds / bare:.2f}", flush=True)
        with serve() as server:
            for tokens in asked.tokens:
                measure_links(browser, server, tokens, asked.rounds)


if __name__ == "__main__":
    main()
