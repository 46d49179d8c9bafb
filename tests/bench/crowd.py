"""Many visitors at once on one server, without browsers: `python -m tests.bench.crowd`. Nothing is asserted.

They are threads of this process, on the same cores as the server, and what they cost is in the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import os
import platform
import random
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from tests.bench.keys import Keys
from tests.bench.serving import Server, quantiles, serve
from tests.bench.typist import Typist
from tests.bench.visitors import sentence

PAUSE = 0.3  # seconds between two keys
TOKENS = 16
OPENING = 200  # visitors of one link
OPENING_SECONDS = 10.0
OPENED_TOKENS = 64
CLASS_SECONDS = 60.0
SESSIONS = 1000
REST = 10.0  # seconds, for what a session leaves to be tidied up
BLOCK = b'id="headlight-first"'  # the picture in the page


def at_once(count: int, run: Callable[[int], None]) -> None:
    """Runs it for each number, all at the same time."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def texts(seed: str) -> Iterator[str]:
    """What stands in the box after each key: the second half of one sentence, then of another one, without end."""
    for turn in itertools.count():
        whole = sentence(TOKENS, f"{seed} {turn}")
        yield from (whole[:end] for end in range(len(whole) // 2, len(whole) + 1))


def measure_typing(server: Server, visitors: int, seconds: float) -> None:
    """A key counts from the moment it was due until a picture shows it, or one that was pressed after it."""
    typists = [Typist(server.url) for _ in range(visitors)]

    async def visit(typist: Typist, begins: float) -> None:
        keys = Keys(typist)
        for number, text in zip(range(int(seconds / PAUSE)), texts(f"{visitors} {begins}"), strict=False):
            due = begins + PAUSE * number
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            keys.press(text, due)
        await keys.rest()
        told.append((keys, text))

    async def play() -> None:
        begun = time.perf_counter() + 1
        await asyncio.gather(*(visit(typist, begun + PAUSE * n / visitors) for n, typist in enumerate(typists)))

    told = list[tuple[Keys, str]]()
    asyncio.run(play())
    for typist in typists:
        typist.close()
    times = [taken for keys, _ in told for taken in keys.times()]
    lost, refused = sum(map(math.isinf, times)), sum(len(keys.refused) for keys, _ in told)
    late = sum(keys.typed != text for keys, text in told)
    said = f"{lost} of {len(times)} lost, {refused} refused, {late} ended with another text"
    print(f"{visitors:3d} type a key every {PAUSE:g} s, {TOKENS} tokens: key → picture {quantiles(times)} ms, {said}")


def measure_opening(server: Server) -> None:
    """A class opens one link that nobody has opened before."""
    times, with_picture = list[float](), list[bool]()
    link = f"{server.url}/?{urlencode({'s': sentence(OPENED_TOKENS, 'a class')})}"

    def visit(number: int) -> None:
        time.sleep(OPENING_SECONDS * number / OPENING)
        begun = time.perf_counter()
        with urllib.request.urlopen(link, timeout=60) as page:
            whole = page.read()
        times.append(1000 * (time.perf_counter() - begun))
        with_picture.append(BLOCK in whole)

    at_once(OPENING, visit)
    of = f"a link of {OPENED_TOKENS} tokens within {OPENING_SECONDS:g} s"
    told = f"{sum(with_picture)} of {OPENING} with the picture in it"
    print(f"{OPENING} open {of}: page {quantiles(times)} ms, {told}")


def measure_class(server: Server) -> None:
    """The same class with all that a browser does: page, socket until the script has run, maps; and all stay."""
    text, before = sentence(OPENED_TOKENS, "a class that stays"), server.memory()
    link = f"{server.url}/?{urlencode({'s': text})}"
    times, stay = list[float](), list[Typist]()

    def visit(number: int) -> None:
        time.sleep(CLASS_SECONDS * number / OPENING)
        begun = time.perf_counter()
        with urllib.request.urlopen(link, timeout=60) as page:
            page.read()
        typist = Typist(server.url)
        stay.append(typist)
        if typist.ask(text).status == 200:
            times.append(1000 * (time.perf_counter() - begun))

    at_once(OPENING, visit)
    of = f"{len(times)} of {OPENING} visitors open the page, its socket and its maps within {CLASS_SECONDS:g} s"
    print(f"{of}: {quantiles(times)} ms, memory {server.memory() - before:+.0f} MiB while all are there")
    for typist in stay:
        typist.close()


def measure_sessions(server: Server) -> None:
    """What visits that have gone leave in memory; those of a first hundred, which fill the caches, do not count."""

    def come_and_go(_: int) -> None:
        time.sleep(random.uniform(0, 4))  # one address may connect five times a second
        typist = Typist(server.url)
        typist.ask(sentence(TOKENS))
        typist.close()

    def visits(count: int) -> float:
        for _ in range(count // 10):
            at_once(10, come_and_go)
        time.sleep(REST)
        return server.memory()

    before = visits(100)
    print(f"{SESSIONS} sessions opened and closed: memory {visits(SESSIONS) - before:+.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, nargs="+", default=[1, 10, 25])
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores; ms: median, 95th percentile")
    with serve(HEADLIGHT_SOCKETS="400") as server:  # all of them come from this one machine
        for visitors in options.visitors:
            measure_typing(server, visitors, options.seconds)
        measure_opening(server)
        measure_class(server)
        measure_sessions(server)
        print(f"server memory at its highest {server.peak():.0f} MiB")


if __name__ == "__main__":
    main()
