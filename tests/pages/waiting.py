"""Waiting for what other threads do, a time that a test makes go on, and a queue of other bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import pytest

from headlight.jobs import training
from headlight.queue.executor import Queue
from headlight.queue.policy import BOUNDS, Work

T = TypeVar("T")

# seconds: only for a test that has already failed, on a machine where a training, which steps back, hardly gets a turn
PATIENCE = 240


def wait(until: Callable[[], object]) -> None:
    """Returns as soon as it holds."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end
        time.sleep(0.002)


def together(many: int, ask: Callable[[int], T]) -> list[T]:
    """What so many who all ask at once are answered."""
    ready = threading.Barrier(many)

    def asks(number: int) -> T:
        ready.wait()
        return ask(number)

    with ThreadPoolExecutor(many) as pool:
        return list(pool.map(asks, range(many)))


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def bounded(work: Work, clock: Callable[[], float] = time.monotonic, **other: float) -> Queue:
    """A queue in which one kind of work has other bounds."""
    return Queue({**BOUNDS, work: replace(BOUNDS[work], **other)}, clock)  # type: ignore[arg-type]


def of_jobs(
    monkeypatch: pytest.MonkeyPatch,
    work: Work,
    clock: Callable[[], float] = time.monotonic,
    at_once: int = 1,
    waiting: int = 9,
) -> Queue:
    """The same, where jobs wait from now on."""
    queue = bounded(work, clock, max_concurrency=at_once, max_queued=waiting)
    monkeypatch.setattr(training, "QUEUE", queue)
    return queue
