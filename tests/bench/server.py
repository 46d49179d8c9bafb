"""The bytes of the maps, as they are and as they go over a network: `python -m tests.bench.server`."""

from __future__ import annotations

import gzip

from headlight.api.routes import GZIP_LEVEL
from tests.bench.serving import options, serve
from tests.bench.visitors import Typist, sentence, shown_in

# What a proxy says for a visitor who is elsewhere.
OVER_A_NETWORK = {"X-Forwarded-For": "192.0.2.1", "Accept-Encoding": "gzip"}


def main() -> None:
    asked = options(__doc__, tokens=[64, 128, 256, 511])
    with serve() as server:
        typist = Typist(server.url)
        for tokens in asked.tokens:
            text, weights = sentence(tokens), 72 * tokens**2
            plain, packed = typist.ask(text).body, typist.ask(text, **OVER_A_NETWORK).body
            _, maps = shown_in(plain)
            squeezed = len(gzip.compress(maps, GZIP_LEVEL)) / weights
            print(
                f"{tokens:4d} tokens   bytes a weight: maps {len(maps) / weights:.2f}, with gzip {squeezed:.2f};"
                f" the whole answer {len(plain) / weights:.2f}, over a network {len(packed) / weights:.2f}"
            )
        typist.close()


if __name__ == "__main__":
    main()
