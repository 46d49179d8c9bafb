"""A job of any kind: its place, its progress, and every way in which it ends. The clock is the test's."""

from __future__ import annotations

import threading
import time

import pytest

from mha_core.errors import HeadlightError
from pages.kit.jobs import job
from pages.kit.jobs.job import SILENCE, Job
from pages.kit.server.queue import POLL_SECONDS, Work
from pages.kit.server.visits import Visitor

from .waiting import PATIENCE, Clock, of_jobs, wait

LOOKED = 1.5 * POLL_SECONDS  # it has looked whether its visitor is there


class Idler(Job):
    """Works until it is let go, or fails at once."""

    def __init__(self, address: str = "", error: Exception | None = None) -> None:
        self.connected = False
        super().__init__(Work.TRAINING, 60, Visitor(address, address), lambda: self.connected)
        self.failure = error
        self.let_go = threading.Event()
        self.progress = 0.0

    def _work(self) -> None:
        if self.failure is not None:
            raise self.failure
        while not self.let_go.is_set() and not self.must_end():
            time.sleep(0.002)

    def _is_complete(self) -> bool:
        return self.let_go.is_set()

    def _progress(self) -> float:
        return self.progress

    def _explain(self, error: Exception) -> str:
        return f"it broke ({type(error).__name__})"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    of_jobs(monkeypatch, Work.TRAINING, clock)
    return clock


def test_it_works_when_its_turn_comes(clock: Clock) -> None:
    first, second, third = (Idler().start() for _ in range(3))
    assert [each.place for each in (first, second, third)] == [0, 1, 2]
    assert [each.begins_within for each in (first, second, third)] == [0, 60, 120]
    clock.now += 5
    assert [each.elapsed for each in (first, second, third)] == [5, 0, 0]
    second.stop()  # one that waits can leave too
    second.join(PATIENCE)
    assert (second.over, second.stopped, second.elapsed, third.place) == (True, True, 0, 1)
    first.let_go.set()
    first.join(PATIENCE)
    clock.now += 2
    assert (first.over, first.stopped, first.elapsed, first.error) == (True, False, 5, "")
    assert (third.place, third.elapsed) == (0, 2)


def test_its_progress_never_goes_back(clock: Clock) -> None:
    idler = Idler()
    shares = []
    for progress in (0.0, 0.5, 0.25, 1.5):
        idler.progress = progress
        shares.append(idler.share)
    assert shares == [0, 0.5, 0.5, 1]


@pytest.mark.parametrize("waits", [False, True])
def test_a_visitor_who_is_gone_frees_the_place(clock: Clock, waits: bool) -> None:
    before = Idler()
    before.connected = True
    if waits:
        before.start()
    idler = Idler()
    idler.connected = True
    idler.start()
    clock.now += 100
    time.sleep(LOOKED)
    assert not idler.over  # it is connected
    idler.connected = False
    idler.heard()
    clock.now += SILENCE
    time.sleep(LOOKED)
    assert not idler.over  # it was heard of just now
    clock.now += 1
    idler.join(PATIENCE)
    assert idler.stopped
    assert not before.over


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(HeadlightError("this is wrong"), "this is wrong"), (RuntimeError("a secret path"), "it broke (RuntimeError)")],
)
def test_an_error_becomes_a_sentence_and_the_place_is_free(clock: Clock, error: Exception, sentence: str) -> None:
    failed = Idler(error=error).start()
    failed.join(PATIENCE)
    assert (failed.over, failed.error, failed.stopped) == (True, sentence, False)
    after = Idler().start()
    wait(lambda: after.place == 0)
    assert not after.over


def test_a_visitor_who_is_back_just_when_his_job_gave_up_gets_no_place_that_is_not_free(clock: Clock) -> None:
    class Back(Idler):
        looked = 0

        def must_end(self) -> bool:
            self.looked += 1
            return self.looked == 1

    before, back = Idler(), Back()
    before.connected = True
    before.start()
    back.start()
    back.join(PATIENCE)
    assert (back.over, back.stopped, back.elapsed, before.over) == (True, True, 0, False)


def test_a_long_queue_turns_the_next_one_away(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    of_jobs(monkeypatch, Work.TRAINING, clock, waiting=2)
    school = [Idler("school").start() for _ in range(3)]
    with pytest.raises(HeadlightError, match="2 trainings are waiting already; try again in a minute"):
        Idler("school").start()
    assert len(job.under_way()) == 3
    Idler("home").start()  # who has nobody in the queue comes in
    school[2].join(PATIENCE)
    assert school[2].error == "its place in the queue went to somebody who had none; press Start again"
