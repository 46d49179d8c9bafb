"""Who goes first: what a connection says waits a moment for the pictures that views have asked for.

A script run and a picture would share the interpreter. The picture is what a visitor looks at; the script writes the
words beside it. All of this happens in the server's one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

MOST_SECONDS: Final = 0.2  # that a connection waits
PAINT_SECONDS: Final = 0.05  # of them for the answer to be painted: what a script sends would come in between

_asked = 0
_painted_at = 0.0  # on the clock of `time.monotonic`
_done: set[asyncio.Future[None]] = set()  # of those who wait until nobody goes first


@contextmanager
def first() -> Iterator[None]:
    """Goes before every message that comes meanwhile: `with first(): …`."""
    global _asked, _painted_at
    _asked += 1
    try:
        yield
    finally:
        _asked -= 1
        _painted_at = time.monotonic() + PAINT_SECONDS
        if not _asked:
            for waiting in _done:
                if not waiting.done():
                    waiting.set_result(None)
            _done.clear()


async def give_way(seconds: float = MOST_SECONDS) -> None:
    """Waits while anybody goes first, until what he got is painted, and no longer than that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while _asked:
                waiting = asyncio.get_running_loop().create_future()
                _done.add(waiting)
                await waiting
            await asyncio.sleep(max(0.0, _painted_at - time.monotonic()))
