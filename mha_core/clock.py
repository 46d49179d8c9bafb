"""Timing of calls to be compared: interleaved, shuffled, warmed up, the device synchronised."""

import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

Candidates = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Spread:
    """Seconds of one candidate's timed calls: median, quartiles and number of calls."""

    median: float
    lower_quartile: float
    upper_quartile: float
    calls: int


def time_calls(
    candidates: Candidates,
    rounds: int,
    *,
    warm_up: int = 2,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[str, int, float]]:
    """Time the candidates in turn and yield each call as (name, round, seconds).

    Every round calls each candidate once, in a freshly shuffled order, so that other load on the machine affects all
    alike; the `warm_up` rounds have negative numbers. On a GPU the device is synchronised before the clock is read. The
    series ends when the caller stops iterating.
    """
    order, rng = list(candidates), random.Random(seed)
    on_gpu = torch.device(device).type != "cpu"
    for number in range(-warm_up, rounds):
        rng.shuffle(order)
        for name in order:
            if on_gpu:
                torch.accelerator.synchronize(device)
            start = time.perf_counter()
            candidates[name]()
            if on_gpu:
                torch.accelerator.synchronize(device)
            yield name, number, time.perf_counter() - start


def spread(seconds: Sequence[float]) -> Spread:
    """Return the median and quartiles of at least one time."""
    low, median, high = statistics.quantiles(seconds, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
    return Spread(median, low, high, len(seconds))


def describe_machine() -> str:
    """Return the processor's name, torch's version and the number of threads."""
    names = [platform.processor(), platform.machine()]
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")] + names
    name = next((name for name in names if name), "unknown processor")
    return f"{name}, torch {torch.__version__}, {torch.get_num_threads()} threads"
