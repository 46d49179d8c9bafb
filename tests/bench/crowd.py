"""Many visitors at once on one server, without browsers: `python -m tests.bench.crowd`. Nothing is asserted.

They are threads of this process, on the same cores as the server, and what they cost is in the figures.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

from tests.bench.serving import Server, at_once, options, quantiles, serve
from tests.bench.visitors import Typist, sentence, shown_in

PAUSE = 0.3  # seconds between two keys
TOKENS = 16
OPENING = 200  # visitors of one link
OPENED_TOKENS = 64
SESSIONS = 1000
REST = 10.0  # seconds, for what a session leaves to be tidied up
BLOCK = b'id="headlight-first"'  # the picture in the page
MOST_UNDER_WAY = 2  # as in wire.js: the newest question, and the one before
LAST_ANSWER = 60.0  # seconds that it is waited for

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Keys:
    """Someone who types into Explore, as the wire hears him: what wire/wire.js does, without a browser.

    Every key is a question. The newest wins: of more than two the oldest is given up.

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
            async with asyncio.timeout(LAST_ANSWER):
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
            self.typed = str(shown_in(body)[0]["typed"])
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


def measure_opening(server: Server, seconds: float, stay: bool) -> None:
    """A class opens one link that nobody has opened: the page; or all that a browser does, and then all stay."""
    text, before = sentence(OPENED_TOKENS, f"a class {stay}"), server.memory()
    times, with_picture, visitors = list[float](), list[bool](), list[Typist]()

    def visit(number: int) -> None:
        time.sleep(seconds * number / OPENING)
        begun = time.perf_counter()
        with urllib.request.urlopen(f"{server.url}/?{urlencode({'s': text})}", timeout=60) as page:
            with_picture.append(BLOCK in page.read())
        if stay:
            visitors.append(Typist(server.url))
            if visitors[-1].ask(text).status != 200:
                return
        times.append(1000 * (time.perf_counter() - begun))

    at_once(OPENING, visit)
    what = f"page, socket and maps, memory {server.memory() - before:+.0f} MiB while all stay" if stay else "page"
    print(
        f"{len(times)} of {OPENING} open a link of {OPENED_TOKENS} tokens within {seconds:g} s: {quantiles(times)} ms, "
        f"{sum(with_picture)} with the picture in it; {what}"
    )
    for typist in visitors:
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
    asked = options(__doc__, visitors=[1, 10, 25], seconds=20.0)
    with serve(HEADLIGHT_SOCKETS="400") as server:  # all of them come from this one machine
        for visitors in asked.visitors:
            measure_typing(server, visitors, asked.seconds)
        measure_opening(server, 10.0, stay=False)
        measure_opening(server, 60.0, stay=True)
        measure_sessions(server)
        print(f"server memory at its highest {server.peak():.0f} MiB")


if __name__ == "__main__":
    main()
