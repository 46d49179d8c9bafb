"""What a rerun and a picture take the server, and their bytes: `python -m tests.bench.server`. Nothing is asserted."""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import statistics
import time
from collections.abc import Sequence

from pages.kit.wire.routes import GZIP_LEVEL
from tests.bench.crowd import at_once
from tests.bench.serving import quantiles, serve
from tests.bench.typist import Typist, unpacked
from tests.bench.visitors import Visitor, sentence

# What a proxy says for a visitor who is elsewhere.
OVER_A_NETWORK = {"X-Forwarded-For": "192.0.2.1", "Accept-Encoding": "gzip"}


def measure_freeze(rounds: int) -> None:
    """Both servers alive, one rerun each in turn."""
    with serve() as frozen, serve(freeze=False) as plain:
        visitors = [Visitor(server.url, "positions") for server in (frozen, plain)]
        times: list[list[float]] = [[], []]
        for seed in range(rounds + 3):
            for visitor, own in zip(visitors, times, strict=True):
                own.append(visitor.type(sentence(16, seed)))
        for visitor in visitors:
            visitor.close()
    with_freeze, without = (statistics.median(own[3:]) for own in times)
    told = f"{with_freeze:.0f} ms with the start-up freeze, {without:.0f} ms without"
    print(f"rerun of Positions at 16 tokens, server side: {told}")


def measure_visitors(tokens: int, visitors: int, seconds: float, pause: float) -> None:
    """Visitors that type a new sentence every `pause` seconds, each at its own moment."""
    pictures, lost = list[float](), list[int]()
    with serve() as server:

        def visit(number: int) -> None:
            typist = Typist(server.url)
            time.sleep(pause * number / visitors)
            for act in range(int(seconds / pause)):
                begun = time.perf_counter()
                answer = typist.ask(sentence(tokens, 100 * number + act))
                if answer.status != 200:
                    lost.append(answer.status)
                elif act:  # the first one meets the others still connecting
                    pictures.append(answer.took)
                time.sleep(max(0.0, pause - (time.perf_counter() - begun)))
            typist.close()

        at_once(visitors, visit)
        memory = server.memory()
    print(
        f"{visitors} visitors, {tokens} tokens, an act every {pause:g} s, server side: picture {quantiles(pictures)}"
        f" ms, {len(lost)} lost; server memory then {memory:.0f} MiB"
    )


def measure_bytes(lengths: Sequence[int]) -> None:
    """Of the maps: as they are, and as they go over a network."""
    with serve() as server:
        typist = Typist(server.url)
        for tokens in lengths:
            text = sentence(tokens)
            plain, packed = typist.ask(text).body, typist.ask(text, **OVER_A_NETWORK).body
            header, parts = unpacked(plain)
            maps = parts[header["parts"][0] :]
            weights = 72 * tokens**2
            squeezed = len(gzip.compress(maps, GZIP_LEVEL)) / weights
            print(
                f"{tokens:4d} tokens   bytes a weight: maps {len(maps) / weights:.2f}, with gzip {squeezed:.2f};"
                f" the whole answer {len(plain) / weights:.2f}, over a network {len(packed) / weights:.2f}"
            )
        typist.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores; medians, for visitors also the 95th percentile")
    measure_freeze(options.rounds)
    for tokens in (16, 64, 128):
        measure_visitors(tokens, options.visitors, options.seconds, pause=2.0)
    measure_bytes((64, 128, 256))


if __name__ == "__main__":
    main()
