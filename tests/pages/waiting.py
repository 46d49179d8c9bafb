"""Waiting for what other threads do, and a time that a test makes go on."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "Clock", "wait"]

PATIENCE = 60  # seconds: only for a test that has already failed


def wait(until: Callable[[], object]) -> None:
    """Returns as soon as it holds."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end
        time.sleep(0.002)


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
