"""The training job: its queue, its progress, and every way in which it can end; no speed is asserted."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mha_core.errors import HeadlightError, SizeError
from mha_core.training import saved
from mha_core.training.events import End, Evaluation, Step, to_line
from mha_core.training.recipe import Recipe
from pages.kit.jobs import process, record, training
from pages.kit.jobs.queue import Places
from pages.kit.jobs.training import Data, Job, Plan, Visitor

TINY = Recipe(task="who", d_model=16, n_heads=2, vocabulary=60, steps=6, evaluations=2, batch=8)
ENDLESS = replace(TINY, steps=100_000, evaluations=1000, seconds=1e6)
PATIENCE = 60  # seconds: only for a test that has already failed
LISTENS = "import sys; sys.stdin.readline(); "  # the beginning of a stand-in: it hears the order
OBEYS = LISTENS + """sys.stdin.readline(); print('{"done": "stopped"}')"""

NewJob = Callable[..., Job]


def wait(until: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def new_job(tmp_path: Path) -> Iterator[NewJob]:
    """Starts jobs of tiny recipes; every one is over in the end."""

    def start(
        *recipes: Recipe,
        alive: Callable[[], bool] = lambda: True,
        data: Data | None = None,
        visitor: Visitor | None = None,
    ) -> Job:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return Job(Plan(recipes or (TINY,), data), folder, alive, visitor).start()

    yield start
    for job in training.under_way():
        job.kill()
    wait(lambda: not training.under_way())


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a small script in the worker's place."""

    def put(script: str) -> None:
        def start() -> subprocess.Popen[bytes]:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            return subprocess.Popen([sys.executable, "-S", "-c", script], **pipes)  # type: ignore[call-overload, no-any-return]

        monkeypatch.setattr(process, "start", start)

    return put


def test_a_job_has_all_its_results(new_job: NewJob) -> None:
    job = new_job(TINY, replace(TINY, position="none"))
    shares = [job.share]
    while not job.over:
        job.heard()
        shares.append(job.share)
        time.sleep(0.005)
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert job.share == 1
    assert not job.error
    assert not job.stopped
    assert job.timing is None
    assert "cpu" in job.machine
    assert 0 < job.elapsed < PATIENCE
    for recipe, history, folder in zip(job.plan.recipes, job.histories, job.saved, strict=True):
        assert folder
        assert history.recipe == recipe
        assert history.end
        assert saved.read(folder).end == history.end


def test_stopping_keeps_what_was_learnt_and_killing_frees_the_place(new_job: NewJob) -> None:
    """Two at once and a third that waits: one is stopped, one is killed, the third begins."""
    first, second, third = (new_job(ENDLESS) for _ in range(3))
    assert [job.place for job in (first, second, third)] == [0, 0, 1]
    wait(lambda: first.histories[0].step and second.histories[0].step)
    assert third.elapsed == 0
    assert not third.machine

    began = time.monotonic()
    first.stop()
    wait(lambda: first.over)
    assert time.monotonic() - began < 10  # 2 s on a machine that does nothing else
    assert first.stopped
    assert not first.error
    end = first.histories[0].end
    assert end
    assert end.reason == "stopped"
    assert first.saved[0]

    assert second._process
    os.kill(second._process.pid, signal.SIGKILL)
    wait(lambda: second.over)
    assert second.error == "the training process ended unexpectedly (SIGKILL)"
    assert not second.stopped
    assert second.histories[0].step
    assert second.histories[0].end is None

    wait(lambda: third.histories[0].start)
    assert third.place == 0


def test_histories_do_not_grow_while_they_are_drawn() -> None:
    job = Job(Plan((TINY,)), Path())
    before = job.histories
    job.take({"run": 0, "line": to_line(Step(1, 2.5, 0.1))})
    assert not before[0].steps
    assert job.histories[0].steps == [Step(1, 2.5, 0.1)]
    assert job.share == pytest.approx(1 / 6)
    job.take({"run": 0, "line": to_line(End("target", 1, 0.1))})
    assert job.share == 1


def test_news_grow_with_everything_but_single_steps() -> None:
    job = Job(Plan((TINY,)), Path())
    job.take({"run": 0, "line": to_line(Step(1, 2.5, 0.1))})
    assert (job.news, job.step, job.seconds, job.looked) == (0, 1, 0.1, False)
    job.take({"run": 0, "line": to_line(Evaluation(1, 0.1, 2.0, 0.5, 2.0, 0.5))})
    job.take({"run": 0, "line": to_line(End("target", 1, 0.1))})
    job.take({"saved": 0})
    job.take({"timing": {}})
    assert (job.news, job.looked) == (4, True)


def test_a_share_of_the_time_while_others_wait(
    new_job: NewJob, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SHARED_SECONDS", 0.3)
    monkeypatch.setattr(training, "places", Places(1, 9))
    ends = (
        LISTENS
        + """line = sys.stdin.readline().strip(); print('{"done": "%s"}' % {"enough": "time"}.get(line, line))"""
    )
    stand_in(ends)
    one, other = Visitor("", "one"), Visitor("", "other")
    first = new_job(visitor=one)
    wait(lambda: first.elapsed > 0.4)
    second = new_job(visitor=one)
    assert second.place == 1
    time.sleep(0.2)
    assert not first.over  # nobody else waits
    third = new_job(visitor=other)
    wait(lambda: first.over)
    assert first.shortened >= 0.3
    assert not first.error
    assert not first.stopped
    third.stop()
    second.stop()
    wait(lambda: third.over and second.over)
    assert not second.shortened
    assert not third.shortened


def test_a_real_run_that_had_its_share_is_kept(new_job: NewJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SHARED_SECONDS", 0.0)
    monkeypatch.setattr(training, "places", Places(1, 9))
    first = new_job(ENDLESS, visitor=Visitor("", "one"))
    wait(lambda: first.step)
    waits = new_job(visitor=Visitor("", "other"))
    wait(lambda: first.over)
    assert first.shortened
    assert first.saved[0]
    end = saved.read(first.saved[0]).end
    assert end
    assert end.reason == "time"
    waits.stop()


def test_a_folder_that_cannot_be_written_is_told(new_job: NewJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    job = new_job(replace(TINY, task="text"), data=Data("text", b"to be or not to be. " * 40))
    wait(lambda: job.over)
    assert job.error == (
        "nothing can be kept on this server, because its temporary folder cannot be written (No space left on device)"
    )


def test_data_from_outside_is_handed_over_and_not_kept(new_job: NewJob) -> None:
    job = new_job(replace(TINY, task="text"), data=Data("text", b"to be or not to be, that is the question. " * 40))
    wait(lambda: job.over)
    assert not job.error
    assert job.saved == (job.folder / "0",)
    assert [found.name for found in job.folder.iterdir()] == ["0"]


def test_the_workers_error_is_told(new_job: NewJob) -> None:
    job = new_job(replace(TINY, task="csv"), data=Data("csv", b"a,b\n1,2\n"))
    wait(lambda: job.over)
    assert "text" in job.error
    assert not job.stopped
    assert job.saved == (None,)


def test_a_waiting_job_can_leave(new_job: NewJob, stand_in: Callable[[str], None]) -> None:
    stand_in(OBEYS)
    first, second, third, fourth = (new_job() for _ in range(4))
    assert [job.place for job in (first, second, third, fourth)] == [0, 0, 1, 2]
    third.stop()
    wait(lambda: third.over)
    assert third.stopped
    assert third.elapsed == 0
    assert fourth.place == 1
    second.stop()
    wait(lambda: fourth.elapsed)
    assert fourth.place == 0


def test_a_long_queue_turns_the_next_one_away(new_job: NewJob, stand_in: Callable[[str], None]) -> None:
    stand_in(OBEYS)
    for _ in range(training.WORKERS_AT_ONCE + training.LONGEST_QUEUE):
        new_job()
    with pytest.raises(HeadlightError, match="try again"):
        new_job()


@pytest.mark.parametrize("waits", [False, True])
def test_a_visitor_who_is_gone_frees_the_place(
    new_job: NewJob, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    stand_in(OBEYS)
    monkeypatch.setattr(training, "SILENCE", 0.2)
    others = [new_job() for _ in range(training.WORKERS_AT_ONCE)] if waits else []
    here = threading.Event()
    here.set()
    job = new_job(alive=here.is_set)
    if not waits:
        wait(lambda: job.elapsed)
    time.sleep(0.4)
    assert not job.over
    here.clear()
    wait(lambda: job.over)
    assert job.stopped
    assert not any(other.over for other in others)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("", "the training process ended unexpectedly (code 0)"),
        ("raise SystemExit(3)", "the training process ended unexpectedly (code 3)"),
        (LISTENS + "import os; os.abort()", "the training process ended unexpectedly (SIGABRT)"),
        (LISTENS + """print('{"do', end="")""", "the training process ended unexpectedly (code 0)"),
        (LISTENS + "print('hello')", "the training process says something else than was agreed (JSONDecodeError)"),
        (LISTENS + "print('x' * 5000)", "the runs tell more than is kept here"),
        (LISTENS + """print('{"error": "this is wrong"}')""", "this is wrong"),
        (LISTENS + """print('{"run": 7, "line": "{}"}')""", "this is no event of a training run"),
    ],
)
def test_ends_that_nobody_wanted(
    new_job: NewJob, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    monkeypatch.setattr(record, "MOST_HEARD", 4000)
    stand_in(script)
    job = new_job()
    wait(lambda: job.over)
    assert job.error.startswith(told)
    assert not job.stopped
    assert job.saved == (None,)
    stand_in(LISTENS + """print('{"done": "steps"}')""")  # the place is free again
    after = new_job()
    wait(lambda: after.over)
    assert not after.error


def test_a_worker_that_does_not_listen_is_killed(
    new_job: NewJob, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "STOP_SECONDS", 0.2)
    line = json.dumps({"run": 0, "line": to_line(Step(1, 2.5, 0.1))})
    stand_in(LISTENS + f"print({line!r}, flush=True); import time; time.sleep(999)")
    job = new_job()
    wait(lambda: job.histories[0].step)
    job.stop()
    wait(lambda: job.over)
    assert job.stopped
    assert not job.error


def test_a_worker_that_takes_too_long_is_ended(
    new_job: NewJob, stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SLACK_SECONDS", -119.9)
    stand_in(LISTENS + "import time; time.sleep(999)")
    job = new_job()
    wait(lambda: job.over)
    assert job.error == "the training did not end within its 120 s"


def test_a_process_that_cannot_be_started(new_job: NewJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> subprocess.Popen[bytes]:
        raise PermissionError("a secret path")

    monkeypatch.setattr(process, "start", fail)
    job = new_job()
    wait(lambda: job.over)
    assert job.error == "the training process cannot be reached (PermissionError)"


@pytest.mark.parametrize(
    ("plan", "match"),
    [
        (Plan(()), "0 runs; choose 1 to 40"),
        (Plan((TINY,) * 41), "41 runs"),
        (Plan((replace(TINY, n_heads=3),)), "cannot be split into 3"),
        (Plan((replace(TINY, d_model=1024, vocabulary=50_000),)), "at most 20,000,000"),
        (Plan((replace(TINY, threads=200),)), "threads=200: a training gets at most"),
        (Plan((TINY,), seconds=1e9), "a time budget of 1e.09 s; choose up to 1,800 s"),
        (Plan((TINY,), seconds=float("nan")), "a time budget of nan s"),
        (Plan((TINY,), Data("csv", bytes(5 * 2**20 + 1))), "a file of 5,242,881 bytes; at most 5,242,880"),
    ],
)
def test_what_cannot_be_trained_is_refused(plan: Plan, match: str) -> None:
    with pytest.raises(SizeError, match=match):
        Job(plan, Path()).start()
    assert not training.under_way()
