"""Timing of implementations against nn.MultiheadAttention: live, one job at a time, or the figures would be wrong."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch

from mha_core import device as devices
from mha_core.attention.functional import check_heads
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
from pages.kit.jobs.job import Job
from pages.kit.jobs.queue import Places, Visitor
from pages.kit.picture.limits import MOST_SCORES, check_sizes
from pages.kit.picture.sharing import THREADS

YARDSTICK: Final = "nn.MultiheadAttention"  # always with its maps
TASKS = {
    "forward with maps": (forward_pass, True),
    "forward without maps": (forward_pass, False),
    "training step with maps": (training_step, True),
    "training step without maps": (training_step, False),
}
# Bounds of one call, which nothing can interrupt: below a second on two cores, and 250 MiB.
FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
LONGEST_QUEUE: Final = 8

places = Places(1, LONGEST_QUEUE, "races")


@dataclass(frozen=True)
class Plan:
    """The task and the sizes of a timing.

    Attributes:
        task: a key of `TASKS`.
        names: of the implementations; the yardstick always runs with them.
        b, lengths, d_model, n_heads: sizes; the lengths are measured one after another.
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
class AtLength:
    """The result at one length: for each implementation and the yardstick the times, and the most bytes held."""

    length: int
    times: dict[str, Spread]
    peaks: dict[str, int | None]

    def ratio(self, name: str) -> Spread:
        """Times as multiples of the yardstick's median."""
        times, unit = self.times[name], self.times[YARDSTICK].median
        return Spread(times.median / unit, times.low / unit, times.high / unit, times.calls)


class TimingJob(Job):
    """One plan in measurement, in a thread of this process. Raises what `Plan.check` raises.

    Attributes:
        results: of the lengths that are complete.
        machine: device, processor and threads in words; empty before it begins.
    """

    def __init__(self, plan: Plan, visitor: Visitor | None = None) -> None:
        plan.check()
        super().__init__(places, plan.seconds * len(plan.lengths), visitor)
        self.plan = plan
        self.results: tuple[AtLength, ...] = ()
        self.machine = ""
        self._within = 0.0  # the present length, from 0 to 1

    def _is_complete(self) -> bool:
        return len(self.results) == len(self.plan.lengths)

    def _progress(self) -> float:
        return (len(self.results) + self._within) / len(self.plan.lengths)

    def _explain(self, error: Exception) -> str:
        full = isinstance(error, MemoryError) or devices.is_out_of_memory(error)
        return "the device is out of memory; choose smaller sizes" if full else type(error).__name__

    def _work(self) -> None:
        torch.set_num_threads(THREADS)  # this thread's alone
        plan, device = self.plan, devices.pick(self.plan.device)
        call, maps = TASKS[plan.task]
        self.machine = f"{device.type}, {machine()}"
        theirs, ours = same_weights(plan.d_model, plan.n_heads, device, plan.names)
        for length in plan.lengths:
            x = torch.randn(plan.b, length, plan.d_model, generator=torch.Generator().manual_seed(0)).to(device)
            candidates = {name: partial(call, layer, x, maps=maps) for name, layer in ours.items()}
            candidates[YARDSTICK] = partial(call, theirs, x, maps=True)
            result = self._measure(length, candidates, device)
            if result is None:
                return
            self._within = 0.0  # first: a progress that goes back for a moment is not shown
            self.results = (*self.results, result)

    def _measure(self, length: int, candidates: Candidates, device: torch.device) -> AtLength | None:
        """Times and memory at one length; None when the job is to end."""
        began, seconds = time.monotonic(), {name: list[float]() for name in candidates}
        for name, number, took in calls(candidates, MOST_ROUNDS, device=device):
            if self.is_left():
                return None
            if number >= 0:
                seconds[name].append(took)
            spent = (time.monotonic() - began) / self.plan.seconds
            self._within = min(1.0, max(spent, (number + 1) / MOST_ROUNDS))
            round_is_full = all(len(times) == number + 1 for times in seconds.values())
            if spent >= 1 and number + 1 >= FEWEST_ROUNDS and round_is_full:
                break
        peaks: dict[str, int | None] = {}
        for name, candidate in candidates.items():
            if self.is_left():
                return None
            peaks[name] = peak_memory(candidate, device)
        return AtLength(length, {name: spread(times) for name, times in seconds.items()}, peaks)
