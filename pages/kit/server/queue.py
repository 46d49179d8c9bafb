"""The one queue: who computes, who waits, and who is sent away. `BOUNDS` is the table of its bounds.

A free place goes to the address with the fewest at work, among those to the address and then to the session that used
the fewest seconds of late, and then to who came first. Of two questions of one view that wait, the newer takes the
place of the older; equal questions are computed once. A question that turns out to be heavier than it looked begins
anew among its like, so that what is known already waits for nobody.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import astuple, dataclass, field, fields
from enum import Enum
from typing import Any, Final

import torch
from cachetools import TTLCache

from mha_core.errors import HeadlightError

from .sockets import Bucket, Rate
from .visits import Visitor

RATE: Final[Rate] = 30.0, 90  # questions of one visitor, a second and at once; a key held down asks 30
POLL_SECONDS: Final = 0.2  # who waits looks so often whether to go on waiting
MOST_PASSES: Final = 4  # at once, and no more than there are threads: they only get in each other's way


class Work(Enum):
    """What takes a place, as an error names it."""

    PASS = "passes"
    LARGE_PASS = "large passes"
    PICTURE = "pictures"
    LONG = "long pictures and files"
    BELOW = "answers below a picture"
    HEAVY = "heavy computations"
    SCRIPT = "runs of a page's script"
    RACE = "races"
    TRAINING = "trainings"


@dataclass(frozen=True)
class Bounds:
    """The bounds of one kind of work.

    Attributes:
        at_once: places.
        waiting: how many wait, of all; of_visitor: of one visitor; of_address: of all of an address who have no page.
        remembered: the seconds in which what somebody used counts against him.
        gives_way: the seconds that it waits, before each pass, for pictures that are asked for.
        shared: the seconds after which it ends while others wait.
    """

    at_once: int
    waiting: int
    of_address: int
    of_visitor: int
    remembered: float
    gives_way: float = 0.0
    shared: float = math.inf


def bounds(threads: int) -> dict[Work, Bounds]:
    """The table on a machine of so many threads."""
    passes = min(MOST_PASSES, threads)
    return {
        Work.PASS: Bounds(passes, 400, 400, 400, 1.0),
        Work.LARGE_PASS: Bounds(1, 400, 400, 400, 10.0),
        Work.PICTURE: Bounds(passes, 200, 100, 6, 1.0),
        Work.LONG: Bounds(1, 100, 50, 6, 10.0),
        Work.BELOW: Bounds(1, 100, 100, 6, 1.0, gives_way=0.2),
        Work.HEAVY: Bounds(1, 40, 40, 6, 60.0, gives_way=0.2),
        Work.SCRIPT: Bounds(max(2, passes), 400, 400, 400, 10.0),
        Work.RACE: Bounds(1, 8, 8, 8, 1800.0),
        Work.TRAINING: Bounds(2, 40, 40, 40, 1800.0, shared=180.0),
    }


BOUNDS: Final = bounds(torch.get_num_threads())


def table() -> str:
    """The table as docs/serving.md has it, on a machine of `MOST_PASSES` threads or more."""
    heads = ["", *(one.name.replace("_", " ") for one in fields(Bounds))]
    rows = [
        [work.value, *(f"{n:g}" if 0 < n < math.inf else "" for n in astuple(own))] for work, own in bounds(99).items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


class Busy(HeadlightError):
    """Too much is asked for: come again in a second."""


class Superseded(Busy):
    """Its place was needed, mostly by a newer question of the same visitor."""


class Gone(Exception):
    """Who asked does not wait for the answer any more."""


class Unwanted(Exception):
    """Nobody waits any more for what is being computed."""


class _Heavier(Exception):
    """A question belongs to another kind of work, which it names."""


@dataclass(eq=False)
class _Job:
    """What equal questions ask for. readers: the turns that wait for it; turn: the one whose place it has."""

    key: Hashable
    compute: Callable[[], bytes]
    readers: set[Turn] = field(default_factory=set)
    turn: Turn | None = None


@dataclass(eq=False)
class Turn:
    """A wish for a place.

    Attributes:
        visitor: who wishes.
        seconds: how long it works at most while others wait.
        view: of a question, which of the visitor's views asks; "" where a newer one takes nothing from it.
        began: when it got its place, None before.
        displaced: it had to leave the queue for a newer one, or for a newcomer.
        job, tell: of a question, what it asks for, and who hears the outcome.
    """

    visitor: Visitor
    work: Work
    seconds: float = 0.0
    view: str = ""
    began: float | None = None
    displaced: bool = False
    job: _Job | None = None
    tell: Callable[[bytes | BaseException], object] = lambda outcome: None
    settled: threading.Event = field(default_factory=threading.Event)  # it has begun, or is displaced


_Use = Counter["str | Visitor"]  # the nanoseconds that each address and each visitor has used of late


@dataclass
class _Room:
    """Who waits for places of one kind, in the order in which they came, who has one, and who had one of late."""

    bounds: Bounds
    waiting: list[Turn] = field(default_factory=list)
    working: list[Turn] = field(default_factory=list)
    past: deque[tuple[float, Visitor, float]] = field(default_factory=deque)  # (ended, visitor, seconds)
    use: _Use = field(default_factory=Counter)  # of them

    def end(self, turn: Turn, now: float) -> None:
        self.working.remove(turn)
        self.past.append((now, turn.visitor, now - (turn.began or now)))
        _add(self.use, *self.past[-1][1:])

    def used(self, now: float) -> _Use:
        """The use of late, of those who are still at work too."""
        while self.past and self.past[0][0] <= now - self.bounds.remembered:
            _, visitor, seconds = self.past.popleft()
            _add(self.use, visitor, -seconds)
        use = self.use.copy()
        for turn in self.working:
            _add(use, turn.visitor, now - (turn.began or now))
        return use


_held: ContextVar[tuple[Queue, Turn] | None] = ContextVar("_held", default=None)  # by what this thread computes


def check_wanted(*_: object) -> None:
    """Between two passes of long work: lets pictures go first, and raises Unwanted where nobody waits for it."""
    still_wanted()
    if held := _held.get():
        held[0].give_way(held[1].work)
        still_wanted()


def still_wanted() -> None:
    """Raises Unwanted where nobody waits any more for the question that this thread computes."""
    _, held = _held.get() or (None, None)
    if held is not None and held.job is not None and not held.job.readers:
        raise Unwanted


class Queue:
    """Few places for each kind of work, who has them, and who waits.

    Args:
        bounds: of each kind.
        clock: the time in seconds.
    """

    def __init__(self, bounds: Mapping[Work, Bounds] = BOUNDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._rooms = {work: _Room(own) for work, own in bounds.items()}
        self._lock = threading.Lock()
        self._no_picture = threading.Event()  # waits or is computed
        self._no_picture.set()
        self._jobs: dict[Hashable, _Job] = {}
        self._buckets: TTLCache[Visitor, Bucket] = TTLCache(10_000, 600)
        self._pool = ThreadPoolExecutor(sum(own.at_once for own in bounds.values()), "queue")

    def ask(self, turn: Turn) -> None:
        """Takes a place, or a place in the queue; where that is full, of the address that has the most in it.

        Raises:
            Busy: too many wait, and no address has more of them than this one would.
        """
        with self._lock:
            self._enter(turn)
            self._fill(turn.work)

    def wait(self, turn: Turn, leaves: Callable[[], bool]) -> None:
        """Returns when the turn has its place or is displaced, or soon after `leaves` says that it is given up."""
        while not turn.settled.is_set() and not leaves():
            turn.settled.wait(POLL_SECONDS)

    def leave(self, turn: Turn) -> None:
        """Gives the place back, or the place in the queue."""
        with self._lock:
            room = self._rooms[turn.work]
            if turn in room.waiting:
                room.waiting.remove(turn)
            elif turn.job is None and turn in room.working:
                room.end(turn, self.clock())
            self._forget(turn)
            self._fill(turn.work)

    @contextmanager
    def place(
        self, work: Work, told: Callable[[], object] = still_wanted, visitor: Visitor | None = None
    ) -> Iterator[None]:
        """A place to be held while this thread computes: `with queue.place(work): …`.

        Only a pass may be asked for in one; a script gives its own place up for heavy work.

        Args:
            told: called now and then while it waits; an exception out of it leaves the queue.
            visitor: who asks, where that is not known from the place that this thread has.

        Raises:
            Busy: too many wait.
        """
        _, held = _held.get() or (self, None)
        if held is not None and held.work is work:
            yield
            return
        if held is not None and held.job is not None:
            if work is Work.HEAVY:
                raise _Heavier(work)
            if work is Work.LARGE_PASS and held.work is Work.PICTURE:
                raise _Heavier(Work.LONG)
        if held is not None and work is Work.HEAVY:
            self.leave(held)
        turn = Turn(held.visitor if held is not None else visitor or Visitor(), work)
        try:
            self.ask(turn)
            self.wait(turn, lambda: bool(told() and False))
            if turn.displaced:
                raise Busy("somebody else needed this place in the queue; try again")
            before = _held.set((self, held if held is not None and work is not Work.HEAVY else turn))
            try:
                yield
            finally:
                _held.reset(before)
        finally:
            self.leave(turn)

    async def answer(
        self,
        visitor: Visitor,
        key: Hashable,
        compute: Callable[[], bytes],
        leaves: Coroutine[Any, Any, object],
        *,
        work: Work = Work.PICTURE,
        view: str = "",
    ) -> bytes:
        """What `compute` gives, in its turn. Whoever asks for the same `key` meanwhile gets the same.

        Args:
            leaves: ends when the visitor hangs up.
            work: what it seems to ask for.
            view: as of a `Turn`.

        Raises:
            Busy: too many wait, or this visitor asks too often, or has asked for something newer.
            Gone: he hung up. What nobody waits for and has not begun is not computed, and long work is broken off.
        """
        gone, loop = asyncio.ensure_future(leaves), asyncio.get_running_loop()
        told: asyncio.Future[bytes | BaseException] = loop.create_future()

        def hear(outcome: bytes | BaseException) -> None:
            if not told.done():
                told.set_result(outcome)

        def tell(outcome: bytes | BaseException) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(hear, outcome)

        turn = Turn(visitor, work, view=view if visitor.session else "", tell=tell)
        try:
            self._ask_for(turn, key, compute)
            first: set[asyncio.Future[Any]] = {told, gone}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                raise Gone
            outcome = told.result()
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome
        finally:
            gone.cancel()
            self.leave(turn)

    def give_way(self, work: Work) -> None:
        """Waits, for a while, until no picture waits or is computed, if this kind of work gives way to them."""
        if seconds := self._rooms[work].bounds.gives_way:
            self._no_picture.wait(seconds)

    def ahead(self, turn: Turn) -> tuple[int, float]:
        """The number of turns that end before this one begins, and in how many seconds at most; if all goes on so.

        Everyone works as long as possible, then the next one is chosen as it will be.
        """
        with self._lock:
            room, now = self._rooms[turn.work], self.clock()
            began, use, waiting = now, room.used(now), list(room.waiting)
            working = {one: (one.began or now) + one.seconds for one in room.working}
            while waiting and working and turn in waiting:
                first = min(working, key=working.__getitem__)
                then = max(now, working[first])
                for one in working:
                    _add(use, one.visitor, then - now)
                now = then
                del working[first]
                chosen = _next(waiting, working, use)
                waiting.remove(chosen)
                working[chosen] = now + chosen.seconds
            return len(room.waiting) - len(waiting), now - began

    def others_wait(self, turn: Turn) -> bool:
        """Tells whether a visitor waits for such a place who is not the one of this turn."""
        with self._lock:
            return any(other.visitor != turn.visitor for other in self._rooms[turn.work].waiting)

    # what follows is called with the lock held, but for `_compute`, `_again` and `_ask_for`

    def _ask_for(self, turn: Turn, key: Hashable, compute: Callable[[], bytes]) -> None:
        with self._lock:
            bucket = self._buckets[turn.visitor] = self._buckets.get(turn.visitor) or Bucket(*RATE)
            if not bucket.allows():
                raise Busy("too many questions at once")
            turn.job = self._jobs.get(key) or _Job(key, compute)
            turn.work = next((reader.work for reader in turn.job.readers), turn.work)
            self._enter(turn)
            self._jobs[key] = turn.job
            turn.job.readers.add(turn)
            self._fill(turn.work)

    def _enter(self, turn: Turn) -> None:
        room = self._rooms[turn.work]
        own = [other for other in room.waiting if other.visitor == turn.visitor]
        older = next((other for other in own if turn.view and other.view == turn.view and _can_begin(other)), None)
        at = room.waiting.index(older) if older is not None else len(room.waiting)
        most = room.bounds.of_visitor if turn.visitor.session else room.bounds.of_address
        if older is None and len(own) >= most:
            older = own[0]
        elif older is None and len(room.working) >= room.bounds.at_once and len(room.waiting) >= room.bounds.waiting:
            older = _last_of_most(room, turn)
        room.waiting.insert(at, turn)
        if older is not None:
            self._displace(older)

    def _displace(self, turn: Turn) -> None:
        turn.displaced = True
        self._rooms[turn.work].waiting.remove(turn)
        self._forget(turn)
        turn.settled.set()
        turn.tell(Superseded("something newer was asked for"))

    def _forget(self, turn: Turn) -> None:
        """Takes a reader from a job; what nobody reads is given up, and computed anew for who asks later."""
        if turn.job is not None:
            turn.job.readers.discard(turn)
            if not turn.job.readers and self._jobs.get(turn.job.key) is turn.job:
                del self._jobs[turn.job.key]

    def _fill(self, work: Work) -> None:
        """Gives away what is free."""
        room = self._rooms[work]
        if work is Work.PICTURE:
            (self._no_picture.clear if room.waiting or room.working else self._no_picture.set)()
        while len(room.working) < room.bounds.at_once and (waiting := [one for one in room.waiting if _can_begin(one)]):
            now = self.clock()
            chosen = _next(waiting, room.working, room.used(now)) if len(waiting) > 1 else waiting[0]
            chosen.began = now
            room.waiting.remove(chosen)
            room.working.append(chosen)
            if chosen.job is not None:
                chosen.job.turn = chosen
                self._pool.submit(self._compute, chosen.job, chosen)
            chosen.settled.set()

    def _compute(self, job: _Job, turn: Turn) -> None:
        before = _held.set((self, turn))
        try:
            check_wanted()
            outcome: bytes | BaseException = job.compute()
        except _Heavier as heavier:
            self._again(job, turn, heavier.args[0])
            return
        except BaseException as error:
            outcome = error
        finally:
            _held.reset(before)
        with self._lock:
            readers = self._over(job, turn)
            for reader in readers:
                self._forget(reader)
            self._fill(turn.work)
        for reader in readers:
            reader.tell(outcome)

    def _again(self, job: _Job, turn: Turn, work: Work) -> None:
        """Lets a question begin anew, among others of another kind."""
        with self._lock:
            readers, left = self._over(job, turn), turn.work
            for reader in readers:
                reader.work, reader.began = work, None
                try:
                    self._enter(reader)
                except Busy as busy:
                    self._forget(reader)
                    reader.tell(busy)
            self._fill(left)
            self._fill(work)

    def _over(self, job: _Job, turn: Turn) -> list[Turn]:
        """Ends the computing; returns who waited for it, the first in front."""
        self._rooms[turn.work].end(turn, self.clock())
        job.turn = None
        waiting = self._rooms[turn.work].waiting
        riders = [other for other in waiting if other in job.readers]
        for rider in riders:
            waiting.remove(rider)
        return [*([turn] if turn in job.readers else []), *riders]


def _can_begin(turn: Turn) -> bool:
    """Tells whether nobody computes it already."""
    return turn.job is None or turn.job.turn is None


def _last_of_most(room: _Room, turn: Turn) -> Turn:
    """The last one of the address with the most in a full queue. Raises Busy where that is this turn's own."""
    counts = Counter(other.visitor.address for other in room.waiting)
    mine = turn.visitor.address
    most = max(counts, key=counts.__getitem__, default=mine)
    if counts[most] <= counts[mine] + 1:
        raise Busy(f"{len(room.waiting)} {turn.work.value} are waiting already; try again in a minute")
    return next(other for other in reversed(room.waiting) if other.visitor.address == most)


def _add(use: _Use, visitor: Visitor, seconds: float) -> None:
    for who in (visitor.address, visitor):
        use[who] += round(1e9 * seconds)  # whole: what is taken off again leaves nothing
        if not use[who]:
            del use[who]


def _next(waiting: Sequence[Turn], working: Collection[Turn], use: _Use) -> Turn:
    """The turn that comes next; of equals the first one that came."""
    busy = Counter(turn.visitor.address for turn in working)

    def rank(turn: Turn) -> tuple[int, int, int]:
        address = turn.visitor.address
        return busy[address], use[address], use[turn.visitor]

    return min(waiting, key=rank)


QUEUE: Final = Queue()
