"""Timing of implementations against nn.MultiheadAttention: live, one job at a time, or the figures would be wrong."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch

from headlight.jobs.job import Job
from headlight.link.limits import MOST_SCORES, check_sizes
from headlight.queue.places import THREADS
from headlight.queue.policy import Work
from headlight.queue.visitor import Visitor
from mha_core import device as devices
from mha_core.attention.functional import check_heads
from mha_core.clock import Candidates, Spread, calls, machine, spread
from mha_core.measure.timing import forward_pass, peak_memory, same_weights, training_step
from mha_core.pretrained import memory

YARDSTICK: Final = "nn.MultiheadAttention"  # always with its maps
TASKS = {
    "forward with maps": (forward_pass, True),
    "forward without maps": (forward_pass, False),
    "training step with maps": (training_step, True),
    "training step without maps": (training_step, False),
}
# A call up to `limits.MOST_SCORES` takes below a second on two cores and 250 MiB. A larger one takes seconds, and
# nothing can interrupt it: so few rounds, no more than there is time for, and only where the memory is free.
FEWEST_ROUNDS, MOST_ROUNDS, FEWEST_OF_LARGE = 5, 200, 2
MOST_RACED: Final = 70_000_000  # b · h · n²: a batch of 32 texts of 512 tokens with 8 heads, and a little more
LONGEST: Final = 180.0  # seconds of one length of large calls; the round that is under way is not waited for
COPIES = 5  # tensors of the scores' size; a call holds at most 4.2 of them, that of sequence_first


@dataclass(frozen=True)
class TimingPlan:
    """The task and the sizes of a timing.

    Attributes:
        task: a key of `TASKS`.
        names: of the implementations; the yardstick always runs with them.
        b, lengths, d_model, n_heads: sizes; the lengths are measured one after another.
        seconds: how long each length may take, from `FEWEST_ROUNDS` rounds on.
        device: as in `mha_core.device.pick`.
        biases: a key of `mha_core.measure.agreement.BIASES`.
    """

    task: str
    names: tuple[str, ...]
    b: int
    lengths: tuple[int, ...]
    d_model: int
    n_heads: int
    seconds: float = 3.0
    device: str = "auto"
    biases: str = "all"

    def scores(self, length: int) -> int:
        """How many scores a call at this length makes."""
        return self.b * self.n_heads * length**2

    def is_large(self, length: int) -> bool:
        """True when one call takes seconds, so that there are few rounds."""
        return self.scores(length) > (MOST_SCORES // 2 if TASKS[self.task][0] is training_step else MOST_SCORES)

    def check(self) -> None:
        """Raises unless these sizes fit together, one call can be waited for, and a large one finds memory.

        Raises:
            SizeError: the sizes. DeviceError: too little memory is free.
        """
        check_heads("d_model", self.d_model, self.n_heads)
        longest = max(self.lengths)
        check_sizes(self.b, longest, self.d_model, self.n_heads, scores=MOST_RACED)
        self.check_memory(devices.pick(self.device))

    def check_memory(self, device: torch.device) -> None:
        """Raises a DeviceError where the device is a CPU, and one large call finds too little memory there."""
        longest = max(self.lengths)
        if self.is_large(longest) and device.type == "cpu":
            needed = 4 * COPIES * self.scores(longest)
            memory.require(needed, "one call at this size", "choose fewer texts, or try again later")


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
    """One plan in measurement, in a thread of this process. Raises what `TimingPlan.check` raises.

    Attributes:
        results: of the lengths that are complete.
        machine: device, processor and threads in words; empty before it begins.
        notices: what must be said of it, in whole sentences.
    """

    def __init__(self, plan: TimingPlan, visitor: Visitor | None = None) -> None:
        plan.check()
        longest = [LONGEST if plan.is_large(length) else plan.seconds for length in plan.lengths]
        super().__init__(Work.RACE, sum(longest), visitor)
        self.plan = plan
        self.results: tuple[AtLength, ...] = ()
        self.machine = ""
        self.notices: tuple[str, ...] = ()
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
        device, allowed = devices.pick(self.plan.device), self.plan.device == "auto"
        _, self.notices = devices.or_on_the_cpu(self._race, device, allowed=allowed, smaller="choose smaller sizes")

    def _race(self, device: torch.device) -> None:
        """All lengths on one device: times of two would not compare."""
        plan, self.results, self._within = self.plan, (), 0.0
        plan.check_memory(device)
        call, maps = TASKS[plan.task]
        self.machine = f"{device.type}, {machine()}"
        theirs, ours = same_weights(plan.d_model, plan.n_heads, device, plan.names, biases=plan.biases)
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
        large = self.plan.is_large(length)
        fewest = FEWEST_OF_LARGE if large else FEWEST_ROUNDS
        for name, number, took in calls(candidates, MOST_ROUNDS, warm_up=1 if large else 2, device=device):
            if self.must_end():
                return None
            if number >= 0:
                seconds[name].append(took)
            spent = (time.monotonic() - began) / self.plan.seconds
            self._within = min(1.0, max(0 if large else spent, (number + 1) / (fewest if large else MOST_ROUNDS)))
            round_is_full = all(len(times) == number + 1 for times in seconds.values())
            if spent >= 1 and number + 1 >= fewest and round_is_full:
                break
            if large and all(seconds.values()) and time.monotonic() - began > LONGEST:
                break
        peaks: dict[str, int | None] = {}
        for name, candidate in candidates.items():
            if self.must_end():
                return None
            peaks[name] = peak_memory(candidate, device)
        return AtLength(length, {name: spread(times) for name, times in seconds.items()}, peaks)
