"""Jobs: any kind, a training in a process of its own, and that process; every way in which they end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.jobs import process, record, training
from headlight.jobs.training import HEARTBEAT_TIMEOUT, TrainingJob
from headlight.queue.client import Client
from headlight.queue.policy import Work
from mha_core.errors import HeadlightError, SizeError
from mha_core.training import saved
from mha_core.training.limits import NICENESS, TrainingPlan
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import TrainingData
from pages.frame import upload_middleware

from .waiting import PATIENCE, Clock, of_jobs, wait
from .workers import ENDLESS, LISTENS, OBEYS, STEP, TINY, parent, prints, stand_in


class Idler(TrainingJob):
    """Works until it is released, or fails at once."""

    def __init__(self, address: str = "", error: Exception | None = None, connected: bool = False) -> None:
        self.connected, self.failure, self.looks = connected, error, 0
        self.released = threading.Event()
        super().__init__(TrainingPlan((TINY,)), Path(), Client(address, address), lambda: self.connected)

    def should_stop(self) -> bool:
        self.looks += 1
        return super().should_stop()

    def check_goes_on(self) -> None:
        """Wait until it has looked whether it must end, and did not."""
        before = self.looks
        wait(lambda: self.looks >= before + 2)
        assert not self.is_finished

    def _work(self) -> None:
        if self.failure is not None:
            raise self.failure
        while not self.should_stop() and not self.released.wait(0.002):
            pass
        self.record.end_reason = "steps" if self.released.is_set() else ""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    of_jobs(monkeypatch, Work.TRAINING, clock)
    return clock


def test_jobs_work_one_after_another_and_one_that_waits_can_leave(clock: Clock) -> None:
    first, second, third = (Idler().start() for _ in range(3))
    assert [each.position for each in (first, second, third)] == [0, 1, 2]
    clock.now += 5
    assert [each.elapsed for each in (first, second, third)] == [5, 0, 0]
    second.stop()
    second.join(PATIENCE)
    assert (second.is_finished, second.is_stopped, second.elapsed, third.position) == (True, True, 0, 1)
    first.released.set()
    first.join(PATIENCE)
    clock.now += 2
    assert (first.is_finished, first.is_stopped, first.elapsed, first.error) == (True, False, 5, "")
    assert (third.position, third.elapsed) == (0, 2)


@pytest.mark.parametrize("waits", [False, True])
def test_departed_user_frees_the_slot(clock: Clock, waits: bool) -> None:
    before, idler = Idler(connected=True), Idler(connected=True)
    if waits:
        before.start()
    idler.start()
    clock.now += 100
    idler.check_goes_on()  # it is connected
    idler.connected = False
    idler.heartbeat()
    clock.now += HEARTBEAT_TIMEOUT
    idler.check_goes_on()  # the visitor was heard of just now
    clock.now += 1
    idler.join(PATIENCE)
    assert idler.is_stopped
    assert not before.is_finished


def test_error_becomes_a_sentence_and_the_place_is_free(clock: Clock) -> None:
    for error, sentence in (
        (HeadlightError("this is wrong"), "this is wrong"),
        (RuntimeError("a secret path"), "the training process cannot be reached (RuntimeError)"),
    ):
        failed = Idler(error=error).start()
        failed.join(PATIENCE)
        assert (failed.is_finished, failed.error, failed.is_stopped) == (True, sentence, False)
    after = Idler().start()
    wait(lambda: after.position == 0)
    assert not after.is_finished


# ---- a training


NewJob = Callable[..., TrainingJob]


@pytest.fixture
def new_job(tmp_path: Path) -> NewJob:
    """Starts jobs of tiny recipes."""

    def start(
        *recipes: Recipe, data: TrainingData | None = None, seconds: float = 120, session: str = ""
    ) -> TrainingJob:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return TrainingJob(TrainingPlan(recipes or (TINY,), data, seconds), folder, Client("", session)).start()

    return start


def test_job_has_all_its_results(new_job: NewJob) -> None:
    """Data from outside are handed over, and not kept."""
    text = replace(TINY, task="text", max_len=32)
    done = new_job(
        text, replace(text, position="none"), data=TrainingData("text", b"to be or not to be, that is it. " * 40)
    )
    shares = [done.record.progress]
    while not done.is_finished:
        done.heartbeat()
        done.join(0.005)
        shares.append(done.record.progress)
    assert shares == sorted(shares)
    assert (done.record.progress, done.error, done.is_stopped) == (1, "", False)
    assert 0 < done.elapsed < PATIENCE
    assert sorted(path.name for path in done.folder.iterdir()) == ["0", "1"]
    assert done.record.saved == (done.folder / "0", done.folder / "1")
    for recipe, history, folder in zip(done.plan.recipes, done.record.histories, done.record.saved, strict=True):
        assert folder
        assert history.recipe == recipe
        assert history.start
        assert "cpu" in history.start.machine
        assert history.end
        assert saved.read(folder).end == history.end


def test_training_that_had_its_share_ends_while_others_wait(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    workers = stand_in(monkeypatch, OBEYS)
    first, second = new_job(seconds=600, session="one"), new_job(session="one")
    wait(lambda: first.record.step)
    assert second.position == 1
    clock.now += training.PREEMPT_SECONDS + 5
    first.heartbeat()
    workers[0].check_goes_on()  # nobody else waits
    third = new_job(session="other")
    first.join(PATIENCE)
    assert (first.preempted_after, first.error, first.is_stopped) == (185, "", False)
    for waiting in (third, second):
        waiting.stop()
        waiting.join(PATIENCE)
        assert (waiting.preempted_after, waiting.is_stopped) == (0, True)


@pytest.mark.faults
def test_bad_data_are_reported(new_job: NewJob) -> None:
    failed = new_job(replace(TINY, task="csv"), data=TrainingData("csv", b"a,b\n1,2\n"))
    failed.join(PATIENCE)
    assert "no column 'label'" in failed.error
    assert (failed.is_stopped, failed.record.saved) == (False, (None,))


@pytest.mark.faults
def test_worker_that_ends_says_something_unexpected_or_cannot_be_started(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MAX_MESSAGE_BYTES", 4000)
    for script, error in (
        ("raise SystemExit(3)", "the training process ended unexpectedly (code 3)"),
        (LISTENS + "import os; os.abort()", "the training process ended unexpectedly (SIGABRT)"),
        (LISTENS + "print('hello')", "the training process sent an invalid message (JSONDecodeError)"),
        (LISTENS + "print('x' * 5000)", "the runs send more data than is kept here"),
        (LISTENS + """print('{"error": "this is wrong"}')""", "this is wrong"),
        (LISTENS + """print('{"run": 7, "event": {}}')""", "this is no event of a training run"),
    ):
        stand_in(monkeypatch, script)
        failed = new_job()
        failed.join(PATIENCE)
        assert failed.error.startswith(error)
        assert (failed.is_stopped, failed.record.saved) == (False, (None,))

    def fail(*_: object) -> None:
        raise PermissionError("a secret path")

    monkeypatch.setattr(process, "start", fail)
    failed = new_job()
    failed.join(PATIENCE)
    assert failed.error == "the training process cannot be reached (PermissionError)"


@pytest.mark.parametrize("late", [False, True])
def test_unresponsive_worker_is_killed(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch, clock: Clock, late: bool
) -> None:
    """When it is told to stop, or when its time and all slack are over."""
    workers = stand_in(monkeypatch, LISTENS + prints(STEP) + "sys.stdin.read()")
    deaf = new_job()
    wait(lambda: deaf.record.step)
    if late:
        clock.now += 120 + training.SLACK_SECONDS + 1
    else:
        deaf.stop()
    workers[0].check_goes_on()
    clock.now += training.STOP_SECONDS + 0.1
    deaf.join(PATIENCE)
    assert deaf.error == ("the training did not finish within 120 s" if late else "")
    assert deaf.is_stopped is not late


def test_a_plan_that_cannot_be_trained_is_refused() -> None:
    for plan, match in (
        (TrainingPlan(()), "0 runs were requested; choose 1 to 40"),
        (TrainingPlan((replace(TINY, n_heads=3),)), "cannot be split into 3"),
        (TrainingPlan((replace(TINY, d_model=1024, vocabulary=50_000),)), "at most 20,000,000"),
        (TrainingPlan((replace(TINY, threads=200),)), "threads=200: choose at most"),
        (TrainingPlan((TINY,), seconds=float("nan")), "a time budget of nan s"),
        (TrainingPlan((TINY,), TrainingData("csv", bytes(5 * 2**20 + 1))), "5,242,881 bytes; at most 5,242,880"),
    ):
        with pytest.raises(SizeError, match=match):
            TrainingJob(plan, Path())
    assert not training.active_jobs()
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    limit = config["server"]["maxUploadSize"] * 2**20
    assert limit == training.MAX_BYTES == upload_middleware.MAX_BYTES, "what an uploader takes"


# ---- the process that trains


def test_processes_do_not_hear_each_other_and_say_how_they_ended(tmp_path: Path) -> None:
    given = TrainingPlan((ENDLESS,)), tmp_path
    (one, pipe), (other, left) = process.start(*given), process.start(*given)
    assert one.pid is not None
    assert {one.pid, other.pid}.isdisjoint({os.getpid()})
    if sys.platform == "linux":  # elsewhere each process is started anew, and none is forked
        wanted, server = max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)), parent(one.pid)
        assert (parent(server), os.getpriority(os.PRIO_PROCESS, server)) == (os.getpid(), wanted)
    assert pipe.recv_bytes(), "it has begun"
    os.kill(one.pid, signal.SIGTERM)  # which it leaves to its parent
    assert left.recv_bytes()
    left.close()  # whoever started it is gone
    other.join(PATIENCE)
    assert other.exitcode in (0, 1)
    assert pipe.recv_bytes()
    one.kill()
    one.join(PATIENCE)
    assert one.exitcode == -signal.SIGKILL
    pipe.close()
