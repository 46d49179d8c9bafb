"""Places to work in, and a fair queue for them.

A free place goes to the address with the fewest at work, among those to the address and then to the session that used
the fewest seconds of the last half hour, and then to who came first.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from mha_core.errors import HeadlightError

REMEMBERED_SECONDS = 1800.0
POLL_SECONDS = 1.0  # who waits looks so often whether to go on waiting

_Use = defaultdict["str | Visitor", float]  # the seconds that each address and each visitor has used of late


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks for a place. address: of the machine, "" for this one; session: the tab."""

    address: str = ""
    session: str = ""


@dataclass(eq=False)
class Turn:
    """A wish for a place.

    Attributes:
        visitor: who wishes.
        seconds: how long it works at most while others wait.
        began: when it got its place, None before.
        displaced: it had to leave the queue for a newcomer.
    """

    visitor: Visitor
    seconds: float
    began: float | None = None
    displaced: bool = False


class Places:
    """A few places, who works there, and who waits.

    Args:
        at_once: the number of places.
        longest: how many may wait.
        plural: what waits, in an error.
        clock: the time in seconds.
    """

    def __init__(
        self, at_once: int, longest: int, plural: str = "trainings", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.at_once = at_once
        self.longest = longest
        self.plural = plural
        self.clock = clock
        self._changed = threading.Condition()
        self._waiting: list[Turn] = []  # in the order in which they came
        self._working: list[Turn] = []
        self._past: list[tuple[Visitor, float, float]] = []
        self._ahead: dict[Turn, tuple[int, float]] = {}

    def ask(self, turn: Turn) -> None:
        """Takes a place, or a place in the queue; where that is full, of the address that has the most in it.

        Raises:
            HeadlightError: too many wait, and no address has more of them than this one would.
        """
        with self._changed:
            if len(self._working) >= self.at_once and len(self._waiting) >= self.longest:
                self._displace(turn.visitor.address)
            self._waiting.append(turn)
            self._fill()

    def wait(self, turn: Turn, leaves: Callable[[], bool]) -> None:
        """Returns when the turn has its place, or soon after `leaves` says that it is given up."""
        with self._changed:
            while turn.began is None and not turn.displaced and not leaves():
                self._changed.wait(POLL_SECONDS)

    def wake(self) -> None:
        """Makes all that wait look again whether they leave."""
        with self._changed:
            self._changed.notify_all()

    def leave(self, turn: Turn) -> None:
        """Gives the place back, or the place in the queue."""
        with self._changed:
            if turn in self._working:
                self._working.remove(turn)
                self._past.append((turn.visitor, turn.began or 0.0, self.clock()))
            elif not turn.displaced:
                self._waiting.remove(turn)
            self._fill()
            self._changed.notify_all()

    def ahead(self, turn: Turn) -> tuple[int, float]:
        """The number of turns that end before this one begins, and in how many seconds at most; if all goes on so."""
        with self._changed:
            ends, begins = self._ahead.get(turn, (0, 0.0))
            return ends, max(0.0, begins - self.clock())

    def others_wait(self, turn: Turn) -> bool:
        """Tells whether a visitor waits who is not the one of this turn."""
        with self._changed:
            return any(other.visitor != turn.visitor for other in self._waiting)

    def _displace(self, address: str) -> None:
        """Sends the last one of the address with the most in the queue away."""
        counts = Counter(turn.visitor.address for turn in self._waiting)
        most = max(counts, key=counts.__getitem__, default=address)
        if counts[most] <= counts[address] + 1:
            raise HeadlightError(f"{self.longest} {self.plural} are waiting already; try again in a minute")
        last = next(turn for turn in reversed(self._waiting) if turn.visitor.address == most)
        last.displaced = True
        self._waiting.remove(last)
        self._changed.notify_all()

    def _fill(self) -> None:
        """Gives away what is free, and foresees the rest."""
        now = self.clock()
        self._past = [stint for stint in self._past if stint[2] > now - REMEMBERED_SECONDS]
        use = self._used(now)
        while self._waiting and len(self._working) < self.at_once:
            chosen = _next(self._waiting, self._working, use)
            chosen.began = now
            self._waiting.remove(chosen)
            self._working.append(chosen)
            self._changed.notify_all()
        self._foresee(now, use)

    def _foresee(self, now: float, use: _Use) -> None:
        """Plays the queue to its end: everyone works as long as possible, then the next one is chosen as it will be."""
        waiting, working = list(self._waiting), {turn: (turn.began or now) + turn.seconds for turn in self._working}
        self._ahead = {}
        while waiting and working:
            first = min(working, key=lambda turn: working[turn])
            then = max(now, working[first])
            for turn in working:
                _add(use, turn.visitor, then - now)
            now = then
            del working[first]
            chosen = _next(waiting, working, use)
            self._ahead[chosen] = (len(self._ahead) + 1, now)
            waiting.remove(chosen)
            working[chosen] = now + chosen.seconds

    def _used(self, now: float) -> _Use:
        use, since = _Use(float), now - REMEMBERED_SECONDS
        for visitor, began, ended in (*self._past, *((turn.visitor, turn.began or now, now) for turn in self._working)):
            _add(use, visitor, ended - max(began, since))
        return use


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
