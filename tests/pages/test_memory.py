"""The sweeper frees what goes round in circles and leaves alone what was imported."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from types import ModuleType

import pytest

from headlight.server.memory import SWEEP_SECONDS, Sweeper


class Circle:
    def __init__(self) -> None:
        self.own = self


def test_circle_is_freed_and_imported_modules_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper, gone = Sweeper(), weakref.ref(Circle())
    gc.unfreeze()  # what the suite keeps out of sight, and the last sweep here again
    sweeper.sweep()
    assert gone() is None
    assert gc.get_freeze_count() == 0
    monkeypatch.setitem(sys.modules, "headlight_of_a_test", ModuleType("headlight_of_a_test"))
    sweeper.sweep()
    assert gc.get_freeze_count() > 0


def test_collector_runs_repeatedly_during_work() -> None:
    rests, swept = list[float](), threading.Event()
    circles = [Circle()]
    gone = weakref.ref(circles[0])

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 1:
            circles.clear()
            for _ in range(10_000):  # somebody is here
                circles.append(Circle())
            circles.clear()
        else:
            swept.set()
            threading.Event().wait()  # for good; the thread ends with the process

    Sweeper(rest).start()
    assert swept.wait(60)
    assert rests == [SWEEP_SECONDS] * 2
    assert gone() is None
