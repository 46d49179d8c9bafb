"""The median of the times of calls that are compared."""

import statistics

import torch

from mha_core.clock import Candidates, time_calls


def median_times(
    candidates: Candidates, rounds: int, *, warm_up: int = 2, seed: int = 0, device: torch.device | str = "cpu"
) -> dict[str, float]:
    """Return the median seconds of each candidate over the counted rounds of `time_calls`, in the given order."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for name, number, took in time_calls(candidates, rounds, warm_up=warm_up, seed=seed, device=device):
        if number >= 0:
            seconds[name].append(took)
    return {name: statistics.median(times) for name, times in seconds.items()}
