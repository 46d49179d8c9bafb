"""The one queue at work: who computes, who waits, and who is sent away, by `policy`.

Of two questions of one view that wait, the newer takes the place of the older; equal questions are computed once. A
question that turns out to be heavier than it looked begins anew among its like, so that what is known already waits for
nobody.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from .policy import BOUNDS, Bounds, Busy, Job, Lane, Superseded, Turn, Work, can_begin, last_of_most, next_turn
from .visitor import Visitor

POLL_SECONDS: Final = 0.2  # who waits looks so often whether to go on waiting


class Gone(Exception):
    """The client disconnected and does not wait for the answer any more."""


class Unwanted(Exception):
    """No client waits any more for what is being computed."""


class _Heavier(Exception):
    """A request turned out to be of a heavier kind of work."""

    def __init__(self, work: Work) -> None:
        self.work = work


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
        self._lanes = {work: Lane(own) for work, own in bounds.items()}
        self._lock = threading.Lock()
        self._no_picture = threading.Event()  # waits or is computed
        self._no_picture.set()
        self._jobs: dict[Hashable, Job] = {}
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
            lane = self._lanes[turn.work]
            if turn in lane.waiting:
                lane.waiting.remove(turn)
            elif turn.job is None and turn in lane.working:
                lane.end(turn, self.clock())
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
        if seconds := self._lanes[work].bounds.gives_way:
            self._no_picture.wait(seconds)

    def ahead(self, turn: Turn) -> int:
        """Return the number of turns that are chosen before this one begins, this one counted; 0 when it has begun."""
        with self._lock:
            lane, chosen = self._lanes[turn.work], 0
            waiting, working, use = list(lane.waiting), list(lane.working), lane.used(self.clock())
            while turn in waiting:
                working.append(next_turn(waiting, working, use))
                waiting.remove(working[-1])
                chosen += 1
            return chosen

    def others_wait(self, turn: Turn) -> bool:
        """Tells whether a visitor waits for such a place who is not the one of this turn."""
        with self._lock:
            return any(other.visitor != turn.visitor for other in self._lanes[turn.work].waiting)

    # what follows is called with the lock held, but for `_ask_for` and `_compute`

    def _ask_for(self, turn: Turn, key: Hashable, compute: Callable[[], bytes]) -> None:
        with self._lock:
            turn.job = self._jobs.get(key) or Job(key, compute)
            turn.work = next((reader.work for reader in turn.job.readers), turn.work)
            self._enter(turn)
            self._jobs[key] = turn.job
            turn.job.readers.add(turn)
            self._fill(turn.work)

    def _enter(self, turn: Turn) -> None:
        lane = self._lanes[turn.work]
        own = [other for other in lane.waiting if other.visitor == turn.visitor]
        older = next((other for other in own if turn.view and other.view == turn.view and can_begin(other)), None)
        at = lane.waiting.index(older) if older is not None else len(lane.waiting)
        if older is None and turn.visitor.session and len(own) >= lane.bounds.of_visitor:
            older = own[0]
        elif older is None and len(lane.working) >= lane.bounds.at_once and len(lane.waiting) >= lane.bounds.waiting:
            older = last_of_most(lane, turn)
        lane.waiting.insert(at, turn)
        if older is not None:
            self._displace(older)

    def _displace(self, turn: Turn) -> None:
        self._lanes[turn.work].waiting.remove(turn)
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
        lane = self._lanes[work]
        if work is Work.PICTURE:
            (self._no_picture.clear if lane.waiting or lane.working else self._no_picture.set)()
        while len(lane.working) < lane.bounds.at_once and (waiting := [one for one in lane.waiting if can_begin(one)]):
            now = self.clock()
            chosen = next_turn(waiting, lane.working, lane.used(now)) if len(waiting) > 1 else waiting[0]
            chosen.began = now
            lane.waiting.remove(chosen)
            lane.working.append(chosen)
            if chosen.job is None:
                chosen.tell(b"")
            else:
                chosen.job.turn = chosen
                self._pool.submit(self._compute, chosen.job, chosen)

    def _compute(self, job: Job, turn: Turn) -> None:
        before = _held.set((self, turn))
        try:
            check_wanted()
            outcome: bytes | BaseException = job.compute()
        except BaseException as error:
            outcome = error
        finally:
            _held.reset(before)
        with self._lock:
            work, lane = turn.work, self._lanes[turn.work]
            lane.end(turn, self.clock())
            job.turn = None
            readers = [one for one in (turn, *lane.waiting) if one in job.readers]
            lane.waiting = [one for one in lane.waiting if one not in job.readers]
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


QUEUE: Final = Queue()
