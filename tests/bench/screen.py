"""What a visitor waits for, in a real browser, beside a bare page: `python -m tests.bench.screen`.

Times run from the visitor's event to the end of the frame after the picture's. Every act brings a picture that was not
computed before, and is done on the app and on the bare page in turn. What is drawn without the server is timed from the
event's handler to the end of the next frame. Medians and 95th percentiles; nothing is asserted. `--pages`: the acts on
these alone.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator

from pages.kit.draw.pages import PAGES
from tests.bench.acts import ACTS, KINDS, Site, open_bare, open_page
from tests.bench.chrome import NoPictureError, chrome, open_view, rest, timed
from tests.bench.serving import BARE, Server, options, quantiles, serve
from tests.bench.visitors import sentence
from tests.browser.explore_page import Explore
from tests.browser.shapes_page import Shapes

TYPED, CHOSEN = ("key", "Enter"), ("mask", "position", "temperature")
INSTEAD = {"lamp": "mask", "painted cell": "mask"}  # of what the bare page has not
MOST_PAINTED = 64  # tokens
MOST_WALKED = 128  # tokens whose steps are walked through
CLICKS = 12
HOVERS = 30
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

Sample = tuple[float, float | None]  # ms until painted, and of the pass alone where the page says so


def plan(lengths: list[int], pages: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Page, tokens, acts: Explore and painting at every length, everything else at the shortest."""
    shortest = min(lengths)
    for tokens in lengths:
        if "Explore" in pages:
            yield "Explore", tokens, [*TYPED, "lamp", *(CHOSEN if tokens == shortest else ())]
        if tokens <= MOST_PAINTED and "Masks" in pages:
            yield "Masks", tokens, ["painted cell", *((*TYPED, *CHOSEN) if tokens == shortest else ())]
    for page in (page for page in pages if page in ("Compare", "Shapes")):
        yield page, shortest, [*TYPED, *CHOSEN]


def in_turn(site: Site, bare: dict[str, Site], tokens: int, acts: list[str], rounds: int) -> None:
    """Prints a line for each act. In each round the acts have another order, and so have the two pages."""
    samples: dict[str, tuple[list[Sample], list[Sample]]] = {name: ([], []) for name in acts}
    draw = random.Random(tokens)
    for _ in range(rounds):
        for name in draw.sample(acts, len(acts)):
            act, same = ACTS[name], ACTS[INSTEAD.get(name, name)]
            pair = list(zip((site, bare[same.control]), (act, same), samples[name], strict=True))
            for where, does, taken in draw.sample(pair, 2):
                try:
                    taken.append((does.time(where, tokens), where.pass_ms(unmasked=not does.keeps)))
                except NoPictureError as error:  # said, so that all the others are measured
                    print(f"LOST {where.name}, {tokens} tokens: {name}: {error}", flush=True)
    for name, (own, others) in samples.items():
        print(row(f"{site.name}, {tokens} tokens: {name}", own, others), flush=True)


def row(name: str, own: list[Sample], others: list[Sample]) -> str:
    """Both times, their ratio, and what either takes beyond the pass itself."""
    mine, theirs = ([took for took, _ in taken] for taken in (own, others))
    ratio = statistics.median(mine) / statistics.median(theirs) if mine and theirs else float("nan")
    return f"{name:<36} {quantiles(mine)}  {quantiles(theirs)}  {ratio:5.2f}  {beyond(own)}  {beyond(others)}"


def beyond(taken: list[Sample]) -> str:
    return quantiles([took - own for took, own in taken if own is not None])


def measure_acts(browser: Browser, server: Server, lengths: list[int], pages: list[str], rounds: int) -> None:
    """Everything that brings a new picture."""
    columns = ("app", "bare page", "ratio", "app − its pass", "bare − its pass")
    first, second, ratio, *over = columns
    print(f"{'event → painted':<36} {first:>15}  {second:>15}  {ratio}  {over[0]:>15}  {over[1]:>15}")
    # its two threads would wait for each other in a loop, which on busy cores makes a pass ten times as long
    with serve(BARE, OMP_WAIT_POLICY="passive") as plain:
        bare = {control: open_bare(browser, plain.url, control) for control in {act.control for act in ACTS.values()}}
        sites: dict[str, Site] = {}
        for name, tokens, acts in plan(lengths, pages):
            site = sites[name] = sites.get(name) or open_page(browser, server.url, name)
            in_turn(site, bare, tokens, acts, rounds)
        for site in (*bare.values(), *sites.values()):
            site.page.context.close()


def measure_typing(browser: Browser, url: str, rounds: int) -> None:
    """Keys one after another, while the pictures of those before are on their way."""
    view = open_view(browser, f"{url}/?{urlencode({'s': sentence(16)})}", Explore.VIEW)
    keyboard = view.page.keyboard
    view.get_by_role("textbox", name="Sentence", exact=True).press("End")
    lags = [timed(view, "keydown", "frame", lambda: keyboard.press("a", delay=40)) for _ in range(4 * rounds)]
    print(f"  16 tokens   input lag while typing {quantiles(lags)}")
    view.page.context.close()


def measure_maps(browser: Browser, url: str, tokens: int) -> None:
    """Pointing at the map of Explore, and what hides or shows heads."""
    view = open_view(browser, f"{url}/?{urlencode({'s': sentence(tokens)})}", Explore.VIEW)
    page, area = view.page, view.locator(".map").first.bounding_box()
    assert area is not None
    hovers = []
    for at in range(HOVERS):
        x, y = area["x"] + area["width"] * (0.4 + 0.018 * at), area["y"] + area["height"] * (0.4 + 0.017 * at)
        hovers.append(timed(view, "pointermove", "frame", lambda x=x, y=y: page.mouse.move(x, y)))  # type: ignore[misc]
    explore, tiles = Explore(page, url), view.locator(".tile .square")
    enlarge = [frame(view, tiles.nth(at % 12)) for at in range(CLICKS)]
    solos, hides = (
        [frame(view, explore.button(name)) for _ in range(CLICKS)]
        for name in ("show only this head", "remove from view")
    )
    explore.button("all 72 heads").click()
    rest(view)
    among = [frame(view, explore.button("show only this head")) for _ in range(CLICKS)]
    told = {"hover": hovers, "enlarge": enlarge, "solo": solos, "hide": hides, "solo among 72": among}
    print(f"{tokens:4d} tokens   " + "   ".join(f"{name} {quantiles(times)}" for name, times in told.items()))
    page.context.close()


def measure_steps(browser: Browser, url: str, tokens: int) -> None:
    """From step to step of Shapes, alone and beside another implementation."""
    told = []
    for beside in ("none", "sequence_first"):
        link = urlencode({"step": "x", "vs": beside, "s": sentence(tokens)})
        view = open_view(browser, f"{url}{Shapes.PATH}?{link}", Shapes.VIEW)
        following, times = view.get_by_role("button", name="next ▶"), []
        while following.is_enabled():
            times.append(frame(view, following))
            view.page.wait_for_timeout(120)
        told.append(quantiles(times))
        view.page.context.close()
    print(f"{tokens:4d} tokens   next step {told[0]}   two implementations side by side {told[1]}")


def frame(view: Locator, pressed: Locator) -> float:
    """Milliseconds from a click to the end of the next frame."""
    return timed(view, "click", "frame", pressed.click)


def measure_tour(browser: Browser) -> None:
    """All pages by their links, on a server of its own, and back to the first one."""
    with serve() as server:
        page = open_view(browser, server.url, Explore.VIEW).page
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


def main() -> None:
    asked = options(__doc__, rounds=9, tokens=[16, 64, 128, 256, 511], pages=list(KINDS))
    with chrome() as browser:
        with serve() as server:
            measure_acts(browser, server, asked.tokens, asked.pages, asked.rounds)
            if asked.pages != list(KINDS):
                return
            measure_typing(browser, server.url, asked.rounds)
            for tokens in asked.tokens:
                measure_maps(browser, server.url, tokens)
            for tokens in (n for n in asked.tokens if n <= MOST_WALKED):
                measure_steps(browser, server.url, tokens)
            print(f"server memory at the end {server.memory():.0f} MiB")
        measure_tour(browser)


if __name__ == "__main__":
    main()
