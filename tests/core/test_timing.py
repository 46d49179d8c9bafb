"""Times of calls and their memory; no test asserts a speed."""

from __future__ import annotations

import statistics
import threading
import time

import pytest
import torch

from mha_core.measure import timing
from tests.bench.medians import median_times


def test_the_medians_are_those_of_the_counted_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of our own, which only the candidates move."""
    now = 0.0

    def take(seconds: list[float]) -> None:
        nonlocal now
        now += seconds.pop(0)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    counted = {"a": [3.0, 1.0, 2.0, 9.0, 4.0], "b": [10.0, 50.0, 20.0, 30.0, 40.0]}
    given = {name: [1000.0, *seconds] for name, seconds in counted.items()}
    medians = median_times({name: lambda name=name: take(given[name]) for name in given}, 5, warm_up=1)  # type: ignore[misc]
    assert medians == {name: statistics.median(seconds) for name, seconds in counted.items()}


def known_allocation() -> None:
    """4 MiB, then 1 MiB beside it, then 2 MiB after the first is gone."""
    first = torch.empty(2**20)
    second = torch.empty(2**18)
    del first
    torch.empty(2**19)
    del second


def is_known(peak: int | None) -> bool:
    """5 MiB, and what an allocator rounds a tensor up by."""
    return peak is not None and 0 <= peak - 5 * 2**20 < 2**15


def test_peak_memory_is_that_of_its_thread() -> None:
    assert is_known(timing.peak_memory(known_allocation))
    assert timing.peak_memory(lambda: None) == 0
    assert timing.peak_memory(lambda: None, "mps") is None, "it is not guessed where nobody counts"
    found: list[int | None] = []
    done = threading.Event()

    def other() -> None:
        while not done.is_set():
            torch.empty(2**22)

    noise = threading.Thread(target=other)
    noise.start()
    measuring = threading.Thread(target=lambda: found.append(timing.peak_memory(known_allocation)))
    measuring.start()
    measuring.join()
    done.set()
    noise.join()
    assert len(found) == 1
    assert is_known(found[0])
