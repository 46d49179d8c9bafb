"""A training in a process of its own: what it leaves behind, and every way in which the process can end."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mha_core.errors import SizeError
from mha_core.training import saved
from mha_core.training.events import End, Evaluation, to_line
from mha_core.training.recipe import Recipe
from pages.kit.jobs import job, process, record, training
from pages.kit.jobs.record import Record
from pages.kit.jobs.training import TrainingData, TrainingJob, TrainingPlan
from pages.kit.server.queue import Work
from pages.kit.server.visits import Visitor

from .waiting import PATIENCE, Clock, of_jobs, wait
from .workers import ENDLESS, LISTENS, OBEYS, STEP, TINY, prints, stand_in

NewJob = Callable[..., TrainingJob]


@pytest.fixture
def new_job(tmp_path: Path) -> NewJob:
    """Starts jobs of tiny recipes."""

    def start(
        *recipes: Recipe, data: TrainingData | None = None, seconds: float = 120, session: str = ""
    ) -> TrainingJob:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return TrainingJob(TrainingPlan(recipes or (TINY,), data, seconds), folder, Visitor("", session)).start()

    return start


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of one place, where trainings wait for each other."""
    clock = Clock()
    of_jobs(monkeypatch, Work.TRAINING, clock)
    return clock


def test_a_job_has_all_its_results(new_job: NewJob) -> None:
    """Data from outside are handed over, and not kept."""
    text = replace(TINY, task="text", max_len=32)
    done = new_job(
        text, replace(text, position="none"), data=TrainingData("text", b"to be or not to be, that is it. " * 40)
    )
    shares = [done.share]
    while not done.over:
        done.heard()
        done.join(0.005)
        shares.append(done.share)
    assert shares == sorted(shares)
    assert (done.share, done.error, done.stopped, done.record.timing) == (1, "", False, None)
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


@pytest.mark.faults
@pytest.mark.thorough("Two real trainings must come to their first step; stand-ins end in the same ways.")
def test_stopping_keeps_what_was_learnt_and_a_killed_process_frees_its_place(new_job: NewJob) -> None:
    """Two at once and a third that waits: one is stopped, one is killed, the third begins."""
    first, second, third = (new_job(ENDLESS) for _ in range(3))
    assert [each.place for each in (first, second, third)] == [0, 0, 1]
    wait(lambda: first.record.step and second.record.step)
    assert not third.record.started

    first.stop()
    first.join(PATIENCE)
    assert (first.stopped, first.error) == (True, "")
    end = first.record.history(0).end
    assert end
    assert end.reason == "stopped"
    assert first.record.saved[0]

    assert second.pid
    os.kill(second.pid, signal.SIGKILL)
    second.join(PATIENCE)
    assert second.error == "the training process ended unexpectedly (SIGKILL)"
    assert not second.stopped
    assert second.record.history(0).step
    assert second.record.history(0).end is None
    wait(lambda: third.record.started)


def test_news_grow_with_everything_but_single_steps_and_histories_not_while_they_are_drawn() -> None:
    runs = Record((TINY,), Path())
    before = runs.histories
    runs.take({"run": 0, "line": to_line(STEP)})
    assert not before[0].steps
    assert runs.histories[0].steps == [STEP]
    assert (runs.news, runs.step, runs.seconds, runs.looked, runs.progress) == (0, 1, 0.1, False, 1 / 6)
    runs.take({"run": 0, "line": to_line(Evaluation(1, 0.1, 2.0, 0.5, 2.0, 0.5))})
    runs.take({"run": 0, "line": to_line(End("target", 1, 0.1))})
    assert runs.progress == 1
    runs.take({"saved": 0})
    runs.take({"timing": {}})
    assert (runs.news, runs.looked) == (4, True)
    for reason in ("stopped", "time"):  # one that was cut short is as far as it came
        runs = Record((TINY, TINY), Path())
        runs.take({"run": 0, "line": to_line(STEP)})
        runs.take({"run": 0, "line": to_line(End(reason, 1, 0.1))})
        assert runs.progress == 1 / 12


def test_a_training_that_had_its_share_ends_while_others_wait(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    workers = stand_in(monkeypatch, OBEYS)
    first, second = new_job(seconds=600, session="one"), new_job(session="one")
    wait(lambda: first.record.step)
    assert second.place == 1
    clock.now += training.SHARED_SECONDS + 5
    first.heard()
    workers[0].check_goes_on()  # nobody else waits
    third = new_job(session="other")
    first.join(PATIENCE)
    assert (first.shortened, first.error, first.stopped) == (185, "", False)
    for waiting in (third, second):
        waiting.stop()
        waiting.join(PATIENCE)
        assert (waiting.shortened, waiting.stopped) == (0, True)


@pytest.mark.thorough("A real training must come to its first step; a stand-in has the same end.")
def test_a_real_run_that_had_its_share_is_kept(new_job: NewJob, clock: Clock) -> None:
    first = new_job(ENDLESS, seconds=600, session="one")
    wait(lambda: first.record.step)
    new_job(session="other")
    clock.now += training.SHARED_SECONDS + 1
    first.join(PATIENCE)
    assert first.shortened == training.SHARED_SECONDS + 1
    assert first.record.saved[0]
    end = saved.read(first.record.saved[0]).end
    assert end
    assert end.reason == "time"


@pytest.mark.faults
def test_a_folder_that_cannot_be_written_and_bad_data_are_reported(new_job: NewJob) -> None:
    def full(_path: Path, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        failed = new_job(replace(TINY, task="text"), data=TrainingData("text", b"to be or not to be. " * 40))
        failed.join(PATIENCE)
    assert failed.error == (
        "nothing can be kept on this server, because its temporary folder cannot be written (No space left on device)"
    )
    failed = new_job(replace(TINY, task="csv"), data=TrainingData("csv", b"a,b\n1,2\n"))
    failed.join(PATIENCE)
    assert "no column 'label'" in failed.error
    assert (failed.stopped, failed.record.saved) == (False, (None,))


@pytest.mark.faults
def test_a_worker_that_ends_says_something_unexpected_or_cannot_be_started(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MOST_HEARD", 4000)
    for script, error in (
        ("raise SystemExit(3)", "the training process ended unexpectedly (code 3)"),
        (LISTENS + "import os; os.abort()", "the training process ended unexpectedly (SIGABRT)"),
        (LISTENS + """print('{"do', end="")""", "the training process ended unexpectedly (code 0)"),
        (LISTENS + "print('hello')", "the training process says something else than was agreed (JSONDecodeError)"),
        (LISTENS + "print('x' * 5000)", "the runs tell more than is kept here"),
        (LISTENS + """print('{"error": "this is wrong"}')""", "this is wrong"),
        (LISTENS + """print('{"run": 7, "line": "{}"}')""", "this is no event of a training run"),
    ):
        stand_in(monkeypatch, script)
        failed = new_job()
        failed.join(PATIENCE)
        assert failed.error.startswith(error)
        assert (failed.stopped, failed.record.saved) == (False, (None,))

    def fail() -> subprocess.Popen[bytes]:
        raise PermissionError("a secret path")

    monkeypatch.setattr(process, "start", fail)
    failed = new_job()
    failed.join(PATIENCE)
    assert failed.error == "the training process cannot be reached (PermissionError)"


@pytest.mark.parametrize("late", [False, True])
def test_a_worker_that_does_not_listen_is_killed(
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
    assert deaf.error == ("the training did not end within its 120 s" if late else "")
    assert deaf.stopped is not late


def test_a_plan_that_cannot_be_trained_is_refused() -> None:
    for plan, match in (
        (TrainingPlan(()), "0 runs; choose 1 to 40"),
        (TrainingPlan((TINY,) * 41), "41 runs"),
        (TrainingPlan((replace(TINY, n_heads=3),)), "cannot be split into 3"),
        (TrainingPlan((replace(TINY, d_model=1024, vocabulary=50_000),)), "at most 20,000,000"),
        (TrainingPlan((replace(TINY, threads=200),)), "threads=200: a training gets at most"),
        (TrainingPlan((TINY,), seconds=1e9), "a time budget of 1e.09 s; choose up to 1,800 s"),
        (TrainingPlan((TINY,), seconds=float("nan")), "a time budget of nan s"),
        (TrainingPlan((TINY,), TrainingData("csv", bytes(5 * 2**20 + 1))), "5,242,881 bytes; at most 5,242,880"),
    ):
        with pytest.raises(SizeError, match=match):
            TrainingJob(plan, Path())
    assert not job.under_way()
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] * 2**20 == training.MOST_BYTES, "what an uploader takes"
