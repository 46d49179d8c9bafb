"""Someone who types into Explore, as the wire hears him: what wire/wire.js does, without a browser."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from urllib.parse import urlsplit

from .typist import Typist, unpacked

MOST_UNDER_WAY = 2  # as in wire.js: the newest question, and the one before
LONGEST_WAIT = 60.0  # seconds for the last answer

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Keys:
    """Every key is a question. The newest wins: of more than two the oldest is given up.

    Args:
        typist: whose page it is.

    Attributes:
        refused: statuses of the answers that held no picture.
        typed: the sentence that the last picture shows.
    """

    def __init__(self, typist: Typist) -> None:
        self.refused: list[int] = []
        self.typed = ""
        self._typist = typist
        self._due: list[float] = []  # of each key
        self._seen: list[tuple[int, float]] = []  # the newest key that a picture showed, and when
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._idle: list[Connection] = []

    def press(self, text: str, due: float) -> None:
        """A key that makes this the sentence; `due`: when it was to be pressed (time.perf_counter)."""
        number = len(self._due)
        self._due.append(due)
        for older in list(self._under_way)[: 1 - MOST_UNDER_WAY]:
            self._under_way.pop(older).cancel()
        self._under_way[number] = asyncio.create_task(self._ask(number, text))

    async def rest(self) -> None:
        """Waits for the last picture."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        for _, writer in self._idle:
            writer.close()

    def times(self) -> list[float]:
        """Milliseconds from each key to a picture that shows it, or a newer one; infinite where none did."""
        found, first = list[float](), 0
        for number, due in enumerate(self._due):
            while first < len(self._seen) and self._seen[first][0] < number:
                first += 1
            found.append(1000 * (self._seen[first][1] - due) if first < len(self._seen) else float("inf"))
        return found

    async def _ask(self, number: int, text: str) -> None:
        status, headers, body = 0, dict[str, str](), b""
        with suppress(OSError, asyncio.IncompleteReadError):
            status, headers, body = await self._answer(text)
        if status == 200 and (not self._seen or number > self._seen[-1][0]):
            self._seen.append((number, time.perf_counter()))
            self.typed = _typed(body)
        elif status != 200 and number == len(self._due) - 1:
            self.refused.append(status)
            await asyncio.sleep(float(headers.get("retry-after", 1)))
            if number == len(self._due) - 1:
                await self._ask(number, text)
        self._under_way.pop(number, None)

    async def _answer(self, text: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body, over a connection that stays open; an answer given up ends its connection."""
        place = urlsplit(self._typist.url)
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection(place.hostname, place.port)
        try:
            asked = f"GET {self._typist.question(text)} HTTP/1.1"
            lines = [asked, f"Host: {place.netloc}", *(f"{key}: {said}" for key, said in self._typist.headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {key.lower(): said for key, _, said in (line.partition(": ") for line in head[1:])}
            body = await reader.readexactly(int(headers["content-length"]))
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return int(head[0].split()[1]), headers, body


def _typed(body: bytes) -> str:
    header, parts = unpacked(body)
    state, _ = unpacked(parts[: header["parts"][0]])
    return str(state["typed"])
