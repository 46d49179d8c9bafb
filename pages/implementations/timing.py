"""A race of implementations against nn.MultiheadAttention: live, in a thread of its own that knows no page.

One race runs at a time in this process, the others wait in the order in which they came. A race whose page has not been
heard of for `SILENCE` seconds ends, so that a closed tab frees its place. No streamlit.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch

from mha_core import device as devices
from mha_core.attention.functional import check_heads
from mha_core.errors import HeadlightError
from mha_core.measure.timing import (
    Candidates,
    Spread,
    calls,
    forward_pass,
    machine,
    peak_memory,
    same_weights,
    spread,
    training_step,
)
from pages.kit.picture.limits import MOST_SCORES, check_sizes
from pages.kit.picture.sharing import THREADS

__all__ = ["SILENCE", "TASKS", "YARDSTICK", "Leg", "Plan", "Race"]

YARDSTICK: Final = "nn.MultiheadAttention"  # always with its maps
TASKS = {
    "forward with maps": (forward_pass, True),
    "forward without maps": (forward_pass, False),
    "training step with maps": (training_step, True),
    "training step without maps": (training_step, False),
}
# Bounds of one call, which nothing can interrupt: below a second on two cores, and 250 MiB.
FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
LONGEST_QUEUE = 8
SILENCE = 10.0  # seconds

_queue: list[Race] = []
_changed = threading.Condition()


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        task: a key of `TASKS`.
        names: of the implementations; the yardstick always runs with them.
        b, lengths, d_model, n_heads: sizes; every length is a race of its own.
        seconds: how long each length may take, from `FEWEST_ROUNDS` rounds on.
        device: as in `mha_core.device.pick`.
    """

    task: str
    names: tuple[str, ...]
    b: int
    lengths: tuple[int, ...]
    d_model: int
    n_heads: int
    seconds: float = 3.0
    device: str = "auto"

    def check(self) -> None:
        """Raises a SizeError when these sizes do not fit together, or one call would take too long to be waited for."""
        check_heads("d_model", self.d_model, self.n_heads)
        scores = MOST_SCORES // 2 if TASKS[self.task][0] is training_step else MOST_SCORES
        check_sizes(self.b, max(self.lengths), self.d_model, self.n_heads, scores=scores)


@dataclass(frozen=True)
class Leg:
    """What came out at one length: for each implementation and the yardstick the times, and the most bytes held."""

    length: int
    times: dict[str, Spread]
    peaks: dict[str, int | None]

    def ratio(self, name: str) -> Spread:
        """Times as multiples of the yardstick's median."""
        own, one = self.times[name], self.times[YARDSTICK].median
        return Spread(own.median / one, own.low / one, own.high / one, own.calls)


class Race:
    """One race. `start` it, then look at it as often as you like; every look is a sign that somebody is there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.legs: tuple[Leg, ...] = ()
        self.error = ""
        self.machine = ""
        self._share = 0.0
        self._began: float | None = None
        self._ended: float | None = None
        self._stop = threading.Event()
        self._heard = time.monotonic()

    def start(self) -> Race:
        """Takes a place in the queue and returns.

        Raises:
            SizeError: as in `Plan.check`; HeadlightError: too many are waiting.
        """
        self.plan.check()
        with _changed:
            if len(_queue) > LONGEST_QUEUE:
                raise HeadlightError(f"{LONGEST_QUEUE} races are waiting already; try again in a minute")
            _queue.append(self)
        threading.Thread(target=self._run, name="race", daemon=True).start()
        return self

    def stop(self) -> None:
        """Ends the race after the call that is under way; what has been finished stays."""
        self._stop.set()

    def heard(self) -> None:
        """Says that the race's page is still open."""
        self._heard = time.monotonic()

    @property
    def over(self) -> bool:
        """True when its thread does nothing any more."""
        return self._ended is not None

    @property
    def stopped(self) -> bool:
        """True when it ended before its time."""
        return self.over and not self.error and len(self.legs) < len(self.plan.lengths)

    @property
    def place(self) -> int:
        """How many races come before this one."""
        with _changed:
            return _queue.index(self) if self in _queue else 0

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1; it never goes back."""
        return self._share

    @property
    def elapsed(self) -> float:
        """Seconds since it began to measure."""
        if self._began is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._began

    def _run(self) -> None:
        try:
            with _changed:
                while _queue[0] is not self and not self._leaves():
                    _changed.wait(0.25)
            if not self._leaves():
                self._began = time.monotonic()
                self._measure()
        except HeadlightError as error:
            self.error = str(error)
        except Exception as error:
            logging.getLogger(__name__).warning("A race ended with an error: %r", error)
            full = isinstance(error, MemoryError) or devices.is_out_of_memory(error)
            self.error = "the device is out of memory; choose smaller sizes" if full else type(error).__name__
        finally:
            with _changed:
                _queue.remove(self)
                _changed.notify_all()
            self._ended = time.monotonic()

    def _leaves(self) -> bool:
        return self._stop.is_set() or time.monotonic() - self._heard > SILENCE

    def _measure(self) -> None:
        torch.set_num_threads(THREADS)  # this thread's alone
        plan, device = self.plan, devices.pick(self.plan.device)
        call, maps = TASKS[plan.task]
        self.machine = f"{device.type}, {machine()}"
        theirs, ours = same_weights(plan.d_model, plan.n_heads, device, plan.names)
        for length in plan.lengths:
            x = torch.randn(plan.b, length, plan.d_model, generator=torch.Generator().manual_seed(0)).to(device)
            candidates = {name: partial(call, layer, x, maps=maps) for name, layer in ours.items()}
            candidates[YARDSTICK] = partial(call, theirs, x, maps=True)
            leg = self._leg(length, candidates, device)
            if leg is None:
                return
            self.legs = (*self.legs, leg)
        self._share = 1.0

    def _leg(self, length: int, candidates: Candidates, device: torch.device) -> Leg | None:
        """Times and memory at one length; None when the race is to end."""
        began, seconds = time.monotonic(), {name: list[float]() for name in candidates}
        for name, number, took in calls(candidates, MOST_ROUNDS, device=device):
            if self._leaves():
                return None
            if number >= 0:
                seconds[name].append(took)
            spent = (time.monotonic() - began) / self.plan.seconds
            self._advance(max(spent, (number + 1) / MOST_ROUNDS))
            round_is_full = all(len(times) == number + 1 for times in seconds.values())
            if spent >= 1 and number + 1 >= FEWEST_ROUNDS and round_is_full:
                break
        peaks: dict[str, int | None] = {}
        for name, candidate in candidates.items():
            if self._leaves():
                return None
            peaks[name] = peak_memory(candidate, device)
        return Leg(length, {name: spread(times) for name, times in seconds.items()}, peaks)

    def _advance(self, within: float) -> None:
        """Moves the progress on: `within` the present length, from 0 to 1."""
        self._share = max(self._share, (len(self.legs) + min(1.0, within)) / len(self.plan.lengths))
