"""The queue: runs computations in a few slots for each kind of work, in the order that `policy` chooses.

A newer request of a view replaces an older one that still waits; equal requests share one computation. A request that
turns out to be heavier than it looked is requeued in the lane of its kind, so that cached answers never wait for it.
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

from .client import Client
from .policy import (
    BOUNDS,
    Bounds,
    InFlight,
    Lane,
    QueueEntry,
    QueueFull,
    Superseded,
    Work,
    eviction_victim,
    is_ready,
    pick_next,
)

POLL_SECONDS: Final = 0.2  # between two checks of a waiting thread whether it is cancelled


class ClientDisconnected(Exception):
    """The client disconnected before it was answered."""


class Cancelled(Exception):
    """No client waits for this computation any more."""


class _Reclassified(Exception):
    """A request turned out to be of a heavier kind of work."""

    def __init__(self, work: Work) -> None:
        self.work = work


_current: ContextVar[tuple[Queue, QueueEntry] | None] = ContextVar("_current", default=None)  # slot of this thread


def yield_and_check_cancelled(*_: object) -> None:
    """Let pictures go first between two passes of long work; raise Cancelled when no client waits for it any more."""
    if current := _current.get():
        current[0].yield_to_pictures(current[1].work)
        raise_if_cancelled()


def raise_if_cancelled() -> None:
    """Raise Cancelled when no client waits any more for what this thread computes."""
    _, entry = _current.get() or (None, None)
    if entry is not None and entry.in_flight is not None and not entry.in_flight.waiters:
        raise Cancelled


class Queue:
    """A fair queue with a lane for each kind of work; the clock returns seconds."""

    def __init__(self, bounds: Mapping[Work, Bounds] = BOUNDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lanes = {work: Lane(limits) for work, limits in bounds.items()}
        self._lock = threading.Lock()
        self._no_pictures = threading.Event()  # set while no picture is queued or running
        self._no_pictures.set()
        self._in_flight: dict[Hashable, InFlight] = {}
        self._pool = futures.ThreadPoolExecutor(sum(limits.max_concurrency for limits in bounds.values()), "queue")

    def enqueue(self, entry: QueueEntry) -> None:
        """Give an entry a slot or queue it; a full queue evicts an entry of the busiest address.

        Raises:
            QueueFull: no address has more entries than this one would have.
        """
        with self._lock:
            self._insert(entry)
            self._start_next(entry.work)

    def wait(self, entry: QueueEntry, is_given_up: Callable[[], bool]) -> None:
        """Block until the entry has its slot or is evicted, or until `is_given_up` returns True."""
        while not entry.result.done() and not is_given_up():
            futures.wait([entry.result], POLL_SECONDS)

    def release(self, entry: QueueEntry) -> None:
        """Give a slot back, or leave the queue."""
        with self._lock:
            lane = self._lanes[entry.work]
            if entry in lane.queued:
                lane.queued.remove(entry)
            elif entry.in_flight is None and entry in lane.running:
                lane.end(entry, self.clock())
            self._detach(entry)
            self._start_next(entry.work)

    @contextmanager
    def slot(
        self, work: Work, on_wait: Callable[[], object] = raise_if_cancelled, client: Client | None = None
    ) -> Iterator[None]:
        """Hold a slot while this thread computes: `with queue.slot(work): …`.

        Inside a slot, only passes and the loading of a model may ask for another slot; a script releases its slot
        while it waits for heavy work.

        Args:
            work: the kind of work.
            on_wait: called every `POLL_SECONDS` while the thread waits; an exception that it raises leaves the queue.
            client: defaults to the client of the slot that this thread holds.

        Raises:
            QueueFull: too many entries wait.
        """
        _, current = _current.get() or (self, None)
        if current is not None and current.work is work:
            yield
            return
        if current is not None and current.in_flight is not None:
            if work is Work.HEAVY:
                raise _Reclassified(work)
            if work in (Work.LARGE_PASS, Work.LONG) and current.work is Work.PICTURE:
                raise _Reclassified(Work.LONG)
        if current is not None and work is Work.HEAVY:
            self.release(current)
        entry = QueueEntry(current.client if current is not None else client or Client(), work)
        try:
            self.enqueue(entry)
            while not entry.result.done():
                on_wait()
                futures.wait([entry.result], POLL_SECONDS)
            if entry.is_evicted:
                raise QueueFull("another client took this place in the queue; try again")
            token = _current.set((self, current if current is not None and work is not Work.HEAVY else entry))
            try:
                yield
            finally:
                _current.reset(token)
        finally:
            self.release(entry)

    async def submit(
        self,
        client: Client,
        key: Hashable,
        compute: Callable[[], bytes],
        disconnected: Coroutine[Any, Any, object],
        *,
        work: Work = Work.PICTURE,
        view: str = "",
    ) -> bytes:
        """Return the result of `compute`; concurrent requests with an equal `key` share it.

        Args:
            client: the client that sent the request.
            key: identifies the computation.
            compute: returns the body of the response.
            disconnected: ends when the client disconnects.
            work: the kind of work as far as the request shows it.
            view: see `QueueEntry`.

        Raises:
            QueueFull: too many entries wait.
            Superseded: this client has sent a newer request.
            ClientDisconnected: the computation is cancelled unless another client waits for it.
        """
        entry = QueueEntry(client, work, view=view if client.session else "")
        disconnect, answer = asyncio.ensure_future(disconnected), asyncio.wrap_future(entry.result)
        try:
            self._submit(entry, key, compute)
            first: set[asyncio.Future[Any]] = {disconnect, answer}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ClientDisconnected
            if isinstance(outcome := answer.result(), BaseException):
                raise outcome
            return outcome
        finally:
            disconnect.cancel()
            answer.cancel()
            self.release(entry)

    def yield_to_pictures(self, work: Work) -> None:
        """Wait until no picture is queued or running, at most for the `yield_s` seconds of this kind of work."""
        if seconds := self._lanes[work].bounds.yield_s:
            self._no_pictures.wait(seconds)

    def position(self, entry: QueueEntry) -> int:
        """Return the position in the queue: 1 for the entry that starts next, 0 for one that has started."""
        with self._lock:
            lane, started = self._lanes[entry.work], 0
            queued, running, usage = list(lane.queued), list(lane.running), lane.usage(self.clock())
            while entry in queued:
                running.append(pick_next(queued, running, usage))
                queued.remove(running[-1])
                started += 1
            return started

    def has_waiters(self, entry: QueueEntry) -> bool:
        """Tell whether another client waits for a slot of this kind."""
        with self._lock:
            return any(other.client != entry.client for other in self._lanes[entry.work].queued)

    # The methods below are called with the lock held, except `_submit` and `_compute`.

    def _submit(self, entry: QueueEntry, key: Hashable, compute: Callable[[], bytes]) -> None:
        with self._lock:
            entry.in_flight = self._in_flight.get(key) or InFlight(key, compute)
            entry.work = next((waiter.work for waiter in entry.in_flight.waiters), entry.work)
            self._insert(entry)
            self._in_flight[key] = entry.in_flight
            entry.in_flight.waiters.add(entry)
            self._start_next(entry.work)

    def _insert(self, entry: QueueEntry) -> None:
        lane = self._lanes[entry.work]
        queued = [other for other in lane.queued if other.client == entry.client]
        older = next((other for other in queued if entry.view and other.view == entry.view and is_ready(other)), None)
        index = lane.queued.index(older) if older is not None else len(lane.queued)
        has_slot = len(lane.running) < lane.bounds.max_concurrency
        if older is None and entry.client.session and len(queued) >= lane.bounds.max_queued_per_client:
            older = queued[0]
        elif older is None and not has_slot and len(lane.queued) >= lane.bounds.max_queued:
            older = eviction_victim(lane, entry)
        lane.queued.insert(index, entry)
        if older is not None:
            self._evict(older)

    def _evict(self, entry: QueueEntry) -> None:
        self._lanes[entry.work].queued.remove(entry)
        self._detach(entry)
        entry.set_result(Superseded("a newer request replaced this one"))

    def _detach(self, entry: QueueEntry) -> None:
        """Detach an entry from its computation, which is dropped when no entry waits for it any more."""
        if entry.in_flight is not None:
            entry.in_flight.waiters.discard(entry)
            if not entry.in_flight.waiters and self._in_flight.get(entry.in_flight.key) is entry.in_flight:
                del self._in_flight[entry.in_flight.key]

    def _start_next(self, work: Work) -> None:
        """Fill the free slots of a lane."""
        lane = self._lanes[work]
        if work is Work.PICTURE:
            (self._no_pictures.clear if lane.queued or lane.running else self._no_pictures.set)()
        while len(lane.running) < lane.bounds.max_concurrency and (
            waiting := [entry for entry in lane.queued if is_ready(entry)]
        ):
            now = self.clock()
            entry = pick_next(waiting, lane.running, lane.usage(now)) if len(waiting) > 1 else waiting[0]
            entry.began = now
            lane.queued.remove(entry)
            lane.running.append(entry)
            if entry.in_flight is None:
                entry.set_result(b"")
            else:
                entry.in_flight.running = entry
                self._pool.submit(self._compute, entry.in_flight, entry)

    def _compute(self, job: InFlight, entry: QueueEntry) -> None:
        token = _current.set((self, entry))
        try:
            yield_and_check_cancelled()
            outcome: bytes | BaseException = job.compute()
        except BaseException as error:
            outcome = error
        finally:
            _current.reset(token)
        with self._lock:
            work, lane = entry.work, self._lanes[entry.work]
            lane.end(entry, self.clock())
            job.running = None
            waiters = [waiter for waiter in (entry, *lane.queued) if waiter in job.waiters]
            lane.queued = [other for other in lane.queued if other not in job.waiters]
            for waiter in waiters:
                if isinstance(outcome, _Reclassified):
                    self._requeue(waiter, outcome.work)
                else:
                    self._detach(waiter)
                    waiter.set_result(outcome)
            self._start_next(work)

    def _requeue(self, waiter: QueueEntry, work: Work) -> None:
        """Put an entry into the lane of another kind of work."""
        waiter.work, waiter.began = work, None
        try:
            self._insert(waiter)
        except QueueFull as error:
            self._detach(waiter)
            waiter.set_result(error)
        self._start_next(work)


QUEUE: Final = Queue()
