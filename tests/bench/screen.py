"""What a visitor waits for, in a real browser, beside a bare page: `python -m tests.bench.screen`.

Times run from the visitor's event to the end of the frame after the picture's. Every act brings a picture that was not
computed before, and is done on the app and on the bare page in turn. Medians and 95th percentiles; nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
from collections.abc import Iterator

from playwright.sync_api import Browser

from tests.bench import frames, tour
from tests.bench.acts import ACTS, KINDS, Site, open_bare, open_page
from tests.bench.chrome import chrome
from tests.bench.serving import BARE, Server, quantiles, serve
from tests.bench.timer import NoPictureError

TYPED, CHOSEN = ("key", "Enter"), ("mask", "position", "temperature")
INSTEAD = {"lamp": "mask", "painted cell": "mask"}  # of what the bare page has not
MOST_PAINTED = 64  # tokens
MOST_WALKED = 128  # tokens whose steps are walked through

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, nargs="+", default=[16, 64, 128, 256, 511])
    parser.add_argument("--pages", nargs="+", choices=KINDS, help="the acts on these pages alone")
    options = parser.parse_args()
    with chrome() as browser:
        print(f"{platform.machine()}, {os.cpu_count()} cores, Chromium {browser.version}; ms: median, 95th percentile")
        with serve() as server:
            measure_acts(browser, server, options.tokens, options.pages or list(KINDS), options.rounds)
            if options.pages:
                return
            frames.measure_typing(browser, server.url, options.rounds)
            for tokens in options.tokens:
                frames.measure_maps(browser, server.url, tokens)
            for tokens in (n for n in options.tokens if n <= MOST_WALKED):
                frames.measure_steps(browser, server.url, tokens)
            print(f"server memory at the end {server.memory():.0f} MiB")
        tour.measure(browser)


if __name__ == "__main__":
    main()
