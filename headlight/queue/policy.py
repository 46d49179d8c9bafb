"""The scheduling policy of the queue: kinds of work, their bounds, and which entry runs next. Nothing here waits.

A free slot goes to the client address with the fewest running entries; ties go to the address and then to the session
with the least recent usage in seconds, then to the oldest entry. `BOUNDS` is the table of the bounds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent import futures
from dataclasses import astuple, dataclass, field, fields
from enum import Enum
from typing import Final

import torch

from mha_core.errors import HeadlightError

from .client import Client

MAX_PASSES: Final = 4  # at once, and at most one a thread: more would only compete for the cores


class Work(Enum):
    """Kind of work that takes a slot; the value is its name in error messages."""

    PASS = "passes"
    LARGE_PASS = "large passes"
    PICTURE = "pictures"
    LONG = "long pictures and files"
    LOW_PRIORITY = "answers below a picture"
    HEAVY = "heavy computations"
    SCRIPT = "runs of a page's script"
    TRAINING = "trainings"


@dataclass(frozen=True)
class Bounds:
    """The bounds of one kind of work."""

    max_concurrency: int  # slots
    max_queued: int  # entries of all clients that may wait
    usage_window_s: float  # how many seconds of past usage count when the next entry is chosen
    max_queued_per_client: float = math.inf  # entries of one session that may wait
    yield_s: float = 0.0  # seconds that each pass waits at most for queued pictures
    preempt_after_s: float = math.inf  # seconds after which the work ends if another client waits


def bounds(threads: int) -> dict[Work, Bounds]:
    """Return the bounds of each kind of work for a number of threads."""
    passes = min(MAX_PASSES, threads)
    return {
        Work.PASS: Bounds(passes, 400, 1.0),
        Work.LARGE_PASS: Bounds(1, 400, 10.0),
        Work.PICTURE: Bounds(passes, 200, 1.0, 6),
        Work.LONG: Bounds(1, 100, 10.0, 6),
        Work.LOW_PRIORITY: Bounds(1, 100, 1.0, 6, yield_s=0.2),
        Work.HEAVY: Bounds(1, 40, 60.0, 6, yield_s=0.2),
        Work.SCRIPT: Bounds(max(2, passes), 400, 10.0),
        Work.TRAINING: Bounds(2, 40, 1800.0, preempt_after_s=180.0),
    }


BOUNDS: Final = bounds(torch.get_num_threads())


def table() -> str:
    """Render `BOUNDS` as the Markdown table of docs/serving.md, for a machine of `MAX_PASSES` threads or more."""
    heads = ["", *(column.name.replace("_", " ") for column in fields(Bounds))]
    rows = [
        [work.value, *(f"{n:g}" if 0 < n < math.inf else "" for n in astuple(row))] for work, row in bounds(99).items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


class QueueFull(HeadlightError):
    """The queue is full; the client may retry in a second."""


class Superseded(QueueFull):
    """Another request took this place in the queue, usually a newer one of the same client."""


@dataclass(eq=False)
class InFlight:
    """A computation that equal requests share. waiters: their entries; running: the entry whose slot it has."""

    key: Hashable
    compute: Callable[[], bytes]
    waiters: set[QueueEntry] = field(default_factory=set)
    running: QueueEntry | None = None


@dataclass(eq=False)
class QueueEntry:
    """A request for a slot."""

    client: Client
    work: Work
    view: str = ""  # the client's view that sent the request; "" if a newer request does not replace it
    began: float | None = None  # time at which it got its slot, None before
    in_flight: InFlight | None = None  # computation of a request
    # done when the entry has its slot or is evicted; the response of a request, or its error
    result: futures.Future[bytes | BaseException] = field(default_factory=futures.Future)

    @property
    def is_evicted(self) -> bool:
        """Return whether the entry lost its place in the queue to another one."""
        return self.result.done() and self.began is None

    def set_result(self, outcome: bytes | BaseException) -> None:
        """Complete `result`, unless its waiter has cancelled it."""
        if self.result.set_running_or_notify_cancel():
            self.result.set_result(outcome)


Usage = defaultdict["str | Client", float]  # recent seconds by address and by client


@dataclass
class Lane:
    """The queue of one kind of work: entries that wait, oldest first, that run, and the usage of finished ones."""

    bounds: Bounds
    queued: list[QueueEntry] = field(default_factory=list)
    running: list[QueueEntry] = field(default_factory=list)
    finished: deque[tuple[float, Client, float]] = field(default_factory=deque)  # (ended, client, seconds)

    def end(self, entry: QueueEntry, now: float) -> None:
        """Free the slot of a running entry and record its usage."""
        self.running.remove(entry)
        self.finished.append((now, entry.client, now - (entry.began or now)))
        while self.finished[0][0] <= now - self.bounds.usage_window_s:
            self.finished.popleft()

    def usage(self, now: float) -> Usage:
        """Return the recent usage, that of running entries included."""
        usage, start = Usage(float), now - self.bounds.usage_window_s
        finished = [(client, seconds) for ended, client, seconds in self.finished if ended > start]
        for client, seconds in [*finished, *((entry.client, now - (entry.began or now)) for entry in self.running)]:
            usage[client.address] += seconds
            usage[client] += seconds
        return usage


def is_ready(entry: QueueEntry) -> bool:
    """Tell whether an entry can start: its computation is not running yet."""
    return entry.in_flight is None or entry.in_flight.running is None


def eviction_victim(lane: Lane, entry: QueueEntry) -> QueueEntry:
    """Return the newest entry of the busiest client at the busiest address of a full queue.

    Raises:
        QueueFull: no other address, and no client of this one, has more entries than `entry` would leave it with.
    """
    addresses = Counter(other.client.address for other in lane.queued)
    address = entry.client.address
    busiest = max(addresses, key=addresses.__getitem__, default=address)
    if addresses[busiest] <= addresses[address] + 1:
        busiest = address  # a class may share it
    clients = Counter(other.client for other in reversed(lane.queued) if other.client.address == busiest)
    client = max(clients, key=clients.__getitem__, default=entry.client)
    if busiest == address and clients[client] <= clients[entry.client] + 1:
        raise QueueFull(f"{len(lane.queued)} {entry.work.value} are already waiting; try again in a minute")
    return next(other for other in reversed(lane.queued) if other.client == client)


def pick_next(queued: Sequence[QueueEntry], running: Collection[QueueEntry], usage: Usage) -> QueueEntry:
    """Return the entry that runs next; the oldest of equals."""
    busy = Counter(entry.client.address for entry in running)

    def rank(entry: QueueEntry) -> tuple[int, float, float]:
        address = entry.client.address
        return busy[address], usage[address], usage[entry.client]

    return min(queued, key=rank)
