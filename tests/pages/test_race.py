"""The race: its progress, its end by itself, by hand and by silence, its queue and its errors; no speed is asserted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError, SizeError
from pages.implementations import timing
from pages.implementations.timing import YARDSTICK, Leg, Plan, Race

SMALL = Plan("forward with maps", tuple(IMPLEMENTATIONS), 1, (4, 8), 12, 3, seconds=0.01, device="cpu")
PATIENCE = 60  # seconds: only for a test that has already failed


def wait(until: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end
        time.sleep(0.002)


class Gate:
    """Stands in for a call: lets through only when told to, and says when it was reached."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.calls = 0

    def __call__(self, *_: object, maps: bool) -> None:
        self.calls += 1
        self.reached.set()
        assert self.opened.wait(PATIENCE)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate in place of the task "forward with maps"; opened in the end, and every race over."""
    made = Gate()
    monkeypatch.setitem(timing.TASKS, "forward with maps", (made, True))
    yield made
    for running in list(timing._queue):
        running.stop()
    made.opened.set()
    wait(lambda: not timing._queue)


@pytest.mark.parametrize("task", timing.TASKS)
def test_a_race_has_all_its_results(task: str) -> None:
    running = Race(replace(SMALL, task=task)).start()
    shares = [running.share]
    while not running.over:
        shares.append(running.share)
        time.sleep(0.001)
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert running.share == 1
    assert not running.error
    assert not running.stopped
    assert [leg.length for leg in running.legs] == [4, 8]
    for leg in running.legs:
        assert leg.times.keys() == leg.peaks.keys() == {*IMPLEMENTATIONS, YARDSTICK}
        for name, times in leg.times.items():
            assert timing.FEWEST_ROUNDS <= times.calls <= timing.MOST_ROUNDS
            assert 0 < times.low <= times.median <= times.high
            assert leg.peaks[name]
        assert len({times.calls for times in leg.times.values()}) == 1
        assert leg.ratio(YARDSTICK).median == 1
    assert "torch" in running.machine


def test_only_those_chosen_run() -> None:
    running = Race(replace(SMALL, names=("einsum",), lengths=(5,))).start()
    wait(lambda: running.over)
    assert running.legs[0].times.keys() == {"einsum", YARDSTICK}


def test_a_race_is_stopped_between_two_calls(gate: Gate) -> None:
    running = Race(SMALL).start()
    assert gate.reached.wait(PATIENCE)
    running.stop()
    gate.opened.set()
    wait(lambda: running.over)
    assert gate.calls == 1
    assert running.stopped
    assert running.legs == ()
    assert not running.error


def test_finished_lengths_stay_when_a_race_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Race(replace(SMALL, lengths=(4, 8, 16)))
    finished = Race._leg

    def leg(self: Race, length: int, *rest: object) -> Leg | None:
        if length == 8:
            self.stop()
        return finished(self, length, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Race, "_leg", leg)
    running.start()
    wait(lambda: running.over)
    assert [leg.length for leg in running.legs] == [4]
    assert running.stopped


def test_a_race_whose_page_is_gone_ends(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Race(SMALL).start()
    assert gate.reached.wait(PATIENCE)
    monkeypatch.setattr(timing, "SILENCE", -1.0)
    gate.opened.set()
    wait(lambda: running.over)
    assert gate.calls == 1
    assert running.stopped


def test_one_at_a_time_in_the_order_of_coming(gate: Gate) -> None:
    first, second, third = (Race(SMALL).start() for _ in range(3))
    assert gate.reached.wait(PATIENCE)
    assert [running.place for running in (first, second, third)] == [0, 1, 2]
    assert second.elapsed == third.elapsed == 0
    second.stop()  # one that waits can leave too
    wait(lambda: second.over)
    assert third.place == 1
    assert second.legs == ()
    gate.opened.set()
    for running in (first, third):
        wait(lambda running=running: running.over)  # type: ignore[misc]
        assert len(running.legs) == 2


def test_a_long_queue_turns_the_next_one_away(gate: Gate) -> None:
    for _ in range(timing.LONGEST_QUEUE + 1):
        Race(SMALL).start()
    with pytest.raises(HeadlightError, match="try again"):
        Race(SMALL).start()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (HeadlightError("this is wrong"), "this is wrong"),
        (torch.OutOfMemoryError("CUDA out of memory"), "the device is out of memory; choose smaller sizes"),
        (MemoryError(), "the device is out of memory; choose smaller sizes"),
        (RuntimeError("a secret path"), "RuntimeError"),
    ],
)
def test_errors_become_a_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, told: str) -> None:
    def fail(*_: object, maps: bool) -> None:
        raise error

    monkeypatch.setitem(timing.TASKS, "forward with maps", (fail, True))
    running = Race(SMALL).start()
    wait(lambda: running.over)
    assert running.error == told
    assert not running.stopped
    after = Race(replace(SMALL, task="forward without maps")).start()  # the place is free again
    wait(lambda: after.over)
    assert len(after.legs) == 2


@pytest.mark.parametrize(
    ("sizes", "match"),
    [
        ({"d_model": 50, "n_heads": 6}, "cannot be split into 6"),
        ({"b": 64, "lengths": (16, 1024)}, r"b · h · n² = 201,326,592, at most"),
        ({"b": 64, "lengths": (64,), "d_model": 1024, "n_heads": 1}, r"b · n · d² = 4,294,967,296, at most"),
    ],
)
def test_what_would_take_too_long_is_refused(sizes: dict[str, int], match: str) -> None:
    with pytest.raises(SizeError, match=match):
        Race(replace(SMALL, **sizes)).start()  # type: ignore[arg-type]
    assert not timing._queue


def test_a_training_step_keeps_more_and_has_half_the_bound() -> None:
    plan = replace(SMALL, b=8, lengths=(256,), d_model=384, n_heads=12, task="forward with maps")
    plan.check()
    with pytest.raises(SizeError, match=r"b · h · n² = 6,291,456, at most 4,000,000"):
        replace(plan, task="training step with maps").check()
