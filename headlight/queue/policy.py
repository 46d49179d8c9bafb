"""The policy of the one queue: kinds of work, their bounds, and whose turn is next. Nothing here waits or computes.

A free place goes to the address with the fewest at work, among those to the address and then to the session that used
the fewest seconds of late, and then to who came first. `BOUNDS` is the table of the bounds.
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

from .visitor import Visitor

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
    """The queue is full; the client may retry in a second."""


class Superseded(Busy):
    """Another request took this place in the queue, mostly a newer one of the same visitor."""


@dataclass(eq=False)
class Job:
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
        view: of a question, which of the visitor's views asks; "" where a newer one takes nothing from it.
        began: when it got its place, None before.
        job: of a question, what it asks for.
        told: done when it has its place, or is displaced; of a question the answer, or why there is none.
    """

    visitor: Visitor
    work: Work
    view: str = ""
    began: float | None = None
    job: Job | None = None
    told: futures.Future[bytes | BaseException] = field(default_factory=futures.Future)

    @property
    def displaced(self) -> bool:
        """True when it had to leave the queue for another one."""
        return self.told.done() and self.began is None

    def tell(self, outcome: bytes | BaseException) -> None:
        if self.told.set_running_or_notify_cancel():  # else nobody waits for it any more
            self.told.set_result(outcome)


Use = defaultdict["str | Visitor", float]  # the seconds that each address and each visitor has used of late


@dataclass
class Lane:
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

    def used(self, now: float) -> Use:
        """The use of late, of those who are still at work too."""
        use = Use(float)
        for ended, visitor, seconds in self.past:
            if ended > now - self.bounds.remembered:
                add_use(use, visitor, seconds)
        for turn in self.working:
            add_use(use, turn.visitor, now - (turn.began or now))
        return use


def can_begin(turn: Turn) -> bool:
    """Tell whether its job is not being computed yet."""
    return turn.job is None or turn.job.turn is None


def last_of_most(room: Lane, turn: Turn) -> Turn:
    """The last one of the address with the most in a full queue. Raises Busy where that is this turn's own."""
    counts = Counter(other.visitor.address for other in room.waiting)
    mine = turn.visitor.address
    most = max(counts, key=counts.__getitem__, default=mine)
    if counts[most] <= counts[mine] + 1:
        raise Busy(f"{len(room.waiting)} {turn.work.value} are waiting already; try again in a minute")
    return next(other for other in reversed(room.waiting) if other.visitor.address == most)


def add_use(use: Use, visitor: Visitor, seconds: float) -> None:
    use[visitor.address] += seconds
    use[visitor] += seconds


def next_turn(waiting: Sequence[Turn], working: Collection[Turn], use: Use) -> Turn:
    """The turn that comes next; of equals the first one that came."""
    busy = Counter(turn.visitor.address for turn in working)

    def rank(turn: Turn) -> tuple[int, float, float]:
        address = turn.visitor.address
        return busy[address], use[address], use[turn.visitor]

    return min(waiting, key=rank)
