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
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass, field, fields
from enum import Enum
from typing import Any, Final

import torch

from headlight.server.visits import Visitor
from mha_core.errors import HeadlightError

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
        waiting: how many wait, of all; of_visitor: of one visitor who has a page.
        remembered: the seconds in which what somebody used counts against him.
        gives_way: the seconds that it waits, before each pass, for pictures that are asked for.
        shared: the seconds after which it ends while others wait.
    """

    at_once: int
    waiting: int
    remembered: float
    of_visitor: float = math.inf
    gives_way: float = 0.0
    shared: float = math.inf


def bounds(threads: int) -> dict[Work, Bounds]:
    """The table on a machine of so many threads."""
    passes = min(MOST_PASSES, threads)
    return {
        Work.PASS: Bounds(passes, 400, 1.0),
        Work.LARGE_PASS: Bounds(1, 400, 10.0),
        Work.PICTURE: Bounds(passes, 200, 1.0, 6),
        Work.LONG: Bounds(1, 100, 10.0, 6),
        Work.BELOW: Bounds(1, 100, 1.0, 6, gives_way=0.2),
        Work.HEAVY: Bounds(1, 40, 60.0, 6, gives_way=0.2),
        Work.SCRIPT: Bounds(max(2, passes), 400, 10.0),
        Work.RACE: Bounds(1, 8, 1800.0),
        Work.TRAINING: Bounds(2, 40, 1800.0, shared=180.0),
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
    """A question belongs to another kind of work."""

    def __init__(self, work: Work) -> None:
        self.work = work


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
        job: of a question, what it asks for.
        told: done when it has its place, or is displaced; of a question the answer, or why there is none.
    """

    visitor: Visitor
    work: Work
    seconds: float = 0.0
    view: str = ""
    began: float | None = None
    job: _Job | None = None
    told: futures.Future[bytes | BaseException] = field(default_factory=futures.Future)

    @property
    def displaced(self) -> bool:
        """True when it had to leave the queue for another one."""
        return self.told.done() and self.began is None

    def tell(self, outcome: bytes | BaseException) -> None:
        if self.told.set_running_or_notify_cancel():  # else nobody waits for it any more
            self.told.set_result(outcome)


_Use = defaultdict["str | Visitor", float]  # the seconds that each address and each visitor has used of late


@dataclass
class _Room:
    """Who waits for places of one kind, in the order in which they came, who has one, and who had one of late."""

    bounds: Bounds
    waiting: list[Turn] = field(default_factory=list)
    working: list[Turn] = field(default_factory=list)
    past: deque[tuple[float, Visitor, float]] = field(default_factory=deque)  # (ended, visitor, seconds)

    def end(self, turn: Turn, now: float) -> None:
        self.working.remove(turn)
        self.past.append((now, turn.visitor, now - (turn.began or now)))
        while self.past[0][0] <= now - self.bounds.remembered:
            self.past.popleft()

    def used(self, now: float) -> _Use:
        """The use of late, of those who are still at work too."""
        use = _Use(float)
        for ended, visitor, seconds in self.past:
            if ended > now - self.bounds.remembered:
                _add(use, visitor, seconds)
        for turn in self.working:
            _add(use, turn.visitor, now - (turn.began or now))
        return use


_held: ContextVar[tuple[Queue, Turn] | None] = ContextVar("_held", default=None)  # by what this thread computes


def check_wanted(*_: object) -> None:
    """Between two passes of long work: lets pictures go first, and raises Unwanted where nobody waits for it."""
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
        self._pool = futures.ThreadPoolExecutor(sum(own.at_once for own in bounds.values()), "queue")

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
        while not turn.told.done() and not leaves():
            futures.wait([turn.told], POLL_SECONDS)

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

        Only a pass, and a model to be loaded, may be asked for in one; a script gives its own place up for heavy work.

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
            if work in (Work.LARGE_PASS, Work.LONG) and held.work is Work.PICTURE:
                raise _Heavier(Work.LONG)
        if held is not None and work is Work.HEAVY:
            self.leave(held)
        turn = Turn(held.visitor if held is not None else visitor or Visitor(), work)
        try:
            self.ask(turn)
            while not turn.told.done():
                told()
                futures.wait([turn.told], POLL_SECONDS)
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
            Busy: too many wait, or this visitor has asked for something newer.
            Gone: he hung up. What nobody waits for and has not begun is not computed, and long work is broken off.
        """
        turn = Turn(visitor, work, view=view if visitor.session else "")
        gone, told = asyncio.ensure_future(leaves), asyncio.wrap_future(turn.told)
        try:
            self._ask_for(turn, key, compute)
            first: set[asyncio.Future[Any]] = {gone, told}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                raise Gone
            if isinstance(outcome := told.result(), BaseException):
                raise outcome
            return outcome
        finally:
            gone.cancel()
            told.cancel()
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

    # what follows is called with the lock held, but for `_ask_for` and `_compute`

    def _ask_for(self, turn: Turn, key: Hashable, compute: Callable[[], bytes]) -> None:
        with self._lock:
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
        if older is None and turn.visitor.session and len(own) >= room.bounds.of_visitor:
            older = own[0]
        elif older is None and len(room.working) >= room.bounds.at_once and len(room.waiting) >= room.bounds.waiting:
            older = _last_of_most(room, turn)
        room.waiting.insert(at, turn)
        if older is not None:
            self._displace(older)

    def _displace(self, turn: Turn) -> None:
        self._rooms[turn.work].waiting.remove(turn)
        self._forget(turn)
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
            if chosen.job is None:
                chosen.tell(b"")
            else:
                chosen.job.turn = chosen
                self._pool.submit(self._compute, chosen.job, chosen)

    def _compute(self, job: _Job, turn: Turn) -> None:
        before = _held.set((self, turn))
        try:
            check_wanted()
            outcome: bytes | BaseException = job.compute()
        except BaseException as error:
            outcome = error
        finally:
            _held.reset(before)
        with self._lock:
            work, room = turn.work, self._rooms[turn.work]
            room.end(turn, self.clock())
            job.turn = None
            readers = [one for one in (turn, *room.waiting) if one in job.readers]
            room.waiting = [one for one in room.waiting if one not in job.readers]
            for reader in readers:
                if isinstance(outcome, _Heavier):
                    self._again(reader, outcome.work)
                else:
                    self._forget(reader)
                    reader.tell(outcome)
            self._fill(work)

    def _again(self, reader: Turn, work: Work) -> None:
        """Lets a question wait anew, among others of another kind."""
        reader.work, reader.began = work, None
        try:
            self._enter(reader)
        except Busy as busy:
            self._forget(reader)
            reader.tell(busy)
        self._fill(work)


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
    use[visitor.address] += seconds
    use[visitor] += seconds


def _next(waiting: Sequence[Turn], working: Collection[Turn], use: _Use) -> Turn:
    """The turn that comes next; of equals the first one that came."""
    busy = Counter(turn.visitor.address for turn in working)

    def rank(turn: Turn) -> tuple[int, float, float]:
        address = turn.visitor.address
        return busy[address], use[address], use[turn.visitor]

    return min(waiting, key=rank)


QUEUE: Final = Queue()
