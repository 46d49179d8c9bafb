"""What a rerun takes the server, with and without the start-up freeze, and for ten: `python -m tests.bench.server`."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import threading
import time

from tests.bench.serving import quantiles, serve
from tests.bench.visitors import Visitor, sentence


def measure_freeze(rounds: int) -> None:
    """Both servers alive, one rerun each in turn."""
    with serve() as frozen, serve(freeze=False) as plain:
        visitors = [Visitor(frozen.url), Visitor(plain.url)]
        times: list[list[float]] = [[], []]
        for seed in range(rounds + 3):
            for visitor, own in zip(visitors, times, strict=True):
                own.append(visitor.type(sentence(16, seed)))
        for visitor in visitors:
            visitor.close()
    with_freeze, without = (statistics.median(own[3:]) for own in times)
    print(f"rerun at 16 tokens, server side: {with_freeze:.0f} ms with the start-up freeze, {without:.0f} ms without")


def measure_visitors(tokens: int, visitors: int, seconds: float, pause: float) -> None:
    """Visitors that type a new sentence every `pause` seconds, each at its own moment."""
    times: list[float] = []
    with serve() as server:

        def visit(number: int) -> None:
            visitor = Visitor(server.url)
            time.sleep(pause * number / visitors)
            for act in range(int(seconds / pause)):
                begun = time.perf_counter()
                took = visitor.type(sentence(tokens, 100 * number + act))
                if act:  # the first one meets the others still connecting
                    times.append(took)
                time.sleep(max(0.0, pause - (time.perf_counter() - begun)))
            visitor.close()

        threads = [threading.Thread(target=visit, args=(number,)) for number in range(visitors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory = server.memory()
    print(
        f"{visitors} visitors, {tokens} tokens, an act every {pause:g} s, server side: {quantiles(times)} ms;"
        f" server memory then {memory:.0f} MiB"
    )


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


if __name__ == "__main__":
    main()
