"""Who is answered when: few compute at once, in turn, few wait, and equal questions share one answer."""

import asyncio
import math
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from cachetools import TTLCache

from pages.kit.picture.sharing import PASSES_AT_ONCE
from pages.kit.server.sockets import Bucket, Rate

from .turns import Turns

AT_ONCE: Final = PASSES_AT_ONCE  # threads: of more each pass is slower, and all together do less
MOST_WAITING: Final = 200  # of all visitors
MOST_OF_ONE: Final = 6  # of one visitor, two pictures and what stands below them: of more the oldest is sent away
MOST_OF_ADDRESS: Final = 100  # of one address, where nobody says who asks: a class may sit behind a single one
RATE: Final[Rate] = 30.0, 90  # questions of one visitor, a second and at once; a key held down asks 30
BUSY_SECONDS: Final = 1.0  # until one who is sent away may come again


class Work(Enum):
    """What a question asks for; each kind has threads of its own, of this name."""

    PICTURE = "wire"
    LONG = "wire-long"  # the picture of a long text, or a file
    HEAVY = "wire-heavy"  # what waits for other heavy work, and what nobody types for


class Busy(Exception):
    """Too much is asked for; `seconds` says when to come again."""

    def __init__(self, seconds: float = BUSY_SECONDS) -> None:
        super().__init__("Too many questions at once; the picture follows in a moment.")
        self.seconds = math.ceil(max(seconds, BUSY_SECONDS))


class Gone(Exception):
    """Nobody waits for the answer any more."""


@dataclass
class _Job:
    """One answer that is on its way, and how many wait for it."""

    answer: asyncio.Future[bytes]
    readers: int = 0


@dataclass
class _Visitor:
    """What a visitor waits for, the oldest first; each future sends its question away."""

    bucket: Bucket = field(default_factory=lambda: Bucket(*RATE))
    asked: deque[asyncio.Future[None]] = field(default_factory=deque)


class Line:
    """The line of an event loop.

    Args:
        at_once: threads that compute pictures; each other kind of work has one more for itself.
        most_waiting, most_of_one: questions of all visitors, and of one.
    """

    def __init__(
        self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING, most_of_one: int = MOST_OF_ONE
    ) -> None:
        self._most_waiting, self._most_of_one = most_waiting, most_of_one
        self._turns = {work: Turns(at_once if work is Work.PICTURE else 1, work.value) for work in Work}
        self._jobs: dict[Hashable, _Job] = {}
        self._visitors: TTLCache[str, _Visitor] = TTLCache(10_000, 600)
        self._waiting: Counter[str] = Counter()

    async def answer(
        self,
        visitor: str,
        key: Hashable,
        compute: Callable[[], bytes],
        leaves: Coroutine[Any, Any, object],
        *,
        most: int | None = None,
        work: Work = Work.PICTURE,
    ) -> bytes:
        """What `compute` gives, in its turn. Whoever asks for the same `key` meanwhile gets the same.

        Args:
            leaves: ends when the visitor hangs up.
            most: questions of this visitor that may wait, if not as many as of others.
            work: what it asks for: it waits for others of its kind alone.

        Raises:
            Busy: the line is full, or this visitor asks too often, or has asked for something newer.
            Gone: he hung up. What nobody waits for and has not begun is not computed, and heavy work is broken off.
        """
        gone = asyncio.ensure_future(leaves)
        try:
            place = self._enter(visitor, most or self._most_of_one)
        except Busy:
            gone.cancel()
            raise
        job = self._jobs.get(key) or self._job(key, self._turns[work].submit(visitor, compute))
        job.readers += 1
        try:
            first: set[asyncio.Future[Any]] = {job.answer, place, gone}
            done, _ = await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if job.answer in done:
                return job.answer.result()
            raise Gone if gone in done else Busy
        finally:
            gone.cancel()
            self._leave(visitor, place)
            job.readers -= 1
            if not job.readers and not job.answer.done():
                job.answer.cancel()
                self._jobs.pop(key, None)

    def _enter(self, visitor: str, most: int) -> asyncio.Future[None]:
        """A place in the line."""
        known = self._visitors[visitor] = self._visitors.get(visitor) or _Visitor()
        if not known.bucket.allows() or self._waiting.total() >= self._most_waiting:
            raise Busy
        place = asyncio.get_running_loop().create_future()
        known.asked.append(place)
        self._waiting[visitor] += 1
        if len(known.asked) > most:
            oldest = known.asked.popleft()
            if not oldest.done():
                oldest.set_result(None)
        return place

    def _leave(self, visitor: str, place: asyncio.Future[None]) -> None:
        known = self._visitors.get(visitor)
        if known is not None and place in known.asked:
            known.asked.remove(place)
        self._waiting[visitor] -= 1
        self._waiting += Counter()  # drops who waits for nothing

    def _job(self, key: Hashable, answer: asyncio.Future[bytes]) -> _Job:
        job = self._jobs[key] = _Job(answer)
        answer.add_done_callback(lambda _: self._forget(key, job))
        return job

    def _forget(self, key: Hashable, job: _Job | None) -> None:
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if job is not None and not job.answer.cancelled():
            job.answer.exception()  # it was seen, even if nobody waits any more
