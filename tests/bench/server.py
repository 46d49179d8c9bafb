"""What a rerun and a picture take the server, and their bytes: `python -m tests.bench.server`. Nothing is asserted."""

from __future__ import annotations

import gzip
import statistics
from collections.abc import Sequence

from pages.kit.wire.routes import GZIP_LEVEL
from tests.bench.load import EXPLORE, Class
from tests.bench.serving import options, serve
from tests.bench.visitors import Typist, Visitor, sentence, shown_in

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
    typing = Class(EXPLORE, visitors, pause, (tokens, tokens))
    with serve() as server:
        typing.attend(server, seconds)
        print(
            f"{visitors} visitors, {tokens} tokens, an act every {pause:g} s, server side: {typing.told()};"
            f" server memory then {server.memory():.0f} MiB"
        )


def measure_bytes(lengths: Sequence[int]) -> None:
    """Of the maps: as they are, and as they go over a network."""
    with serve() as server:
        typist = Typist(server.url)
        for tokens in lengths:
            text = sentence(tokens)
            plain, packed = typist.ask(text).body, typist.ask(text, **OVER_A_NETWORK).body
            _, maps = shown_in(plain)
            weights = 72 * tokens**2
            squeezed = len(gzip.compress(maps, GZIP_LEVEL)) / weights
            print(
                f"{tokens:4d} tokens   bytes a weight: maps {len(maps) / weights:.2f}, with gzip {squeezed:.2f};"
                f" the whole answer {len(plain) / weights:.2f}, over a network {len(packed) / weights:.2f}"
            )
        typist.close()


def main() -> None:
    asked = options(__doc__, rounds=25, visitors=10, seconds=20.0)
    measure_freeze(asked.rounds)
    for tokens in (16, 64, 128):
        measure_visitors(tokens, asked.visitors, asked.seconds, pause=2.0)
    measure_bytes((64, 128, 256))


if __name__ == "__main__":
    main()
