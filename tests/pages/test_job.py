"""A job of any kind: its place, its progress, and every way in which it ends. The clock is the test's."""

from __future__ import annotations

import threading

import pytest

from mha_core.errors import HeadlightError
from pages.kit.jobs import job
from pages.kit.jobs.job import SILENCE, Job
from pages.kit.server.queue import Work
from pages.kit.server.visits import Visitor

from .waiting import PATIENCE, Clock, of_jobs, wait


class Idler(Job):
    """Works until it is released, or fails at once."""

    def __init__(self, address: str = "", error: Exception | None = None, connected: bool = False) -> None:
        self.connected, self.failure, self.progress, self.looks = connected, error, 0.0, 0
        self.released = threading.Event()
        super().__init__(Work.TRAINING, 60, Visitor(address, address), lambda: self.connected)

    def must_end(self) -> bool:
        self.looks += 1
        return super().must_end()

    def check_goes_on(self) -> None:
        """Wait until it has looked whether it must end, and did not."""
        before = self.looks
        wait(lambda: self.looks >= before + 2)
        assert not self.over

    def _work(self) -> None:
        if self.failure is not None:
            raise self.failure
        while not self.must_end() and not self.released.wait(0.002):
            pass

    def _is_complete(self) -> bool:
        return self.released.is_set()

    def _progress(self) -> float:
        return self.progress

    def _explain(self, error: Exception) -> str:
        return f"it broke ({type(error).__name__})"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    of_jobs(monkeypatch, Work.TRAINING, clock)
    return clock


def test_jobs_work_one_after_another_and_one_that_waits_can_leave(clock: Clock) -> None:
    first, second, third = (Idler().start() for _ in range(3))
    assert [each.place for each in (first, second, third)] == [0, 1, 2]
    assert [each.begins_within for each in (first, second, third)] == [0, 60, 120]
    clock.now += 5
    assert [each.elapsed for each in (first, second, third)] == [5, 0, 0]
    second.stop()
    second.join(PATIENCE)
    assert (second.over, second.stopped, second.elapsed, third.place) == (True, True, 0, 1)
    first.released.set()
    first.join(PATIENCE)
    clock.now += 2
    assert (first.over, first.stopped, first.elapsed, first.error) == (True, False, 5, "")
    assert (third.place, third.elapsed) == (0, 2)
    shares = []
    for third.progress in (0.0, 0.5, 0.25, 1.5):
        shares.append(third.share)
    assert shares == [0, 0.5, 0.5, 1], "it never goes back"


@pytest.mark.parametrize("waits", [False, True])
def test_a_visitor_who_is_gone_frees_the_place(clock: Clock, waits: bool) -> None:
    before, idler = Idler(connected=True), Idler(connected=True)
    if waits:
        before.start()
    idler.start()
    clock.now += 100
    idler.check_goes_on()  # it is connected
    idler.connected = False
    idler.heard()
    clock.now += SILENCE
    idler.check_goes_on()  # the visitor was heard of just now
    clock.now += 1
    idler.join(PATIENCE)
    assert idler.stopped
    assert not before.over


def test_an_error_becomes_a_sentence_and_the_place_is_free(clock: Clock) -> None:
    for error, sentence in (
        (HeadlightError("this is wrong"), "this is wrong"),
        (RuntimeError("a secret path"), "it broke (RuntimeError)"),
    ):
        failed = Idler(error=error).start()
        failed.join(PATIENCE)
        assert (failed.over, failed.error, failed.stopped) == (True, sentence, False)
    after = Idler().start()
    wait(lambda: after.place == 0)
    assert not after.over


def test_a_visitor_who_is_back_just_when_his_job_gave_up_gets_no_place_that_is_not_free(clock: Clock) -> None:
    class Back(Idler):
        def must_end(self) -> bool:
            self.looks += 1
            return self.looks == 1

    before, back = Idler(connected=True).start(), Back().start()
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
