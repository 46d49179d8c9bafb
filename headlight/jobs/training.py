"""Training jobs, each in a process of its own so that other requests stay fast.

A job ends after `PREEMPT_SECONDS` if another user waits, and after `HEARTBEAT_TIMEOUT` without a heartbeat, so that a
closed tab frees its slot. A job whose process dies ends too.
"""

from __future__ import annotations

import atexit
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, Self

from headlight.link.limits import MAX_BUDGET
from headlight.queue.client import Client
from headlight.queue.executor import QUEUE
from headlight.queue.policy import BOUNDS, QueueEntry, Work
from headlight.server.readiness import STATE
from mha_core.errors import HeadlightError, SizeError
from mha_core.training import limits
from mha_core.training.limits import TrainingPlan
from mha_core.training.tasks.table_file import LIMITS

from . import process as worker
from .record import Record

PREEMPT_SECONDS: Final = BOUNDS[Work.TRAINING].preempt_after_s
HEARTBEAT_TIMEOUT: Final = 30.0  # seconds, enough for a tab to reload and reconnect on a slow line
END_SECONDS: Final = 10.0  # until a killed job has ended
MAX_RUNS: Final = 40
MAX_BYTES: Final = LIMITS["bytes"]  # of uploaded data
STOP_SECONDS: Final = 1.8  # from a stop request until a worker that has not ended is killed
POLL_SECONDS: Final = 0.1
# A worker ends itself after the plan's seconds; this is the margin for its start and for saving.
SLACK_SECONDS: Final = 90.0

_active: dict[TrainingJob, None] = {}


def check_plan(plan: TrainingPlan) -> None:
    """Raise a HeadlightError for a plan that cannot be trained, a SizeError for one that is too large."""
    if not 1 <= len(plan.recipes) <= MAX_RUNS:
        raise SizeError(f"{len(plan.recipes)} runs were requested; choose 1 to {MAX_RUNS}")
    for recipe in plan.recipes:
        recipe.check()
    limits.check_recipes(plan.recipes)
    if not 0 < plan.seconds <= MAX_BUDGET:
        raise SizeError(f"a time budget of {plan.seconds:g} s; choose up to {MAX_BUDGET:,} s")
    if plan.data is not None and len(plan.data.content) > MAX_BYTES:
        raise SizeError(f"a file of {len(plan.data.content):,} bytes; at most {MAX_BYTES:,} are allowed")


class TrainingJob:
    """The training of one plan, which can be polled from any thread. Raises what `check_plan` raises.

    Args:
        plan: the plan.
        folder: an existing folder for this job only; run n is saved in its subfolder "n".
        client: the client that started it, for the queue to be fair.
        is_connected: tells whether the user is connected; called several times a second.

    Attributes:
        error: reason why it ended early, a sentence without its full stop; "" if nothing went wrong.
        pid: process id of the worker, None before it is started.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        folder: Path,
        client: Client | None = None,
        is_connected: Callable[[], bool] = lambda: True,
    ) -> None:
        check_plan(plan)
        self.plan = plan
        self.folder = folder
        self.record = Record(plan.recipes, folder)
        self.error = ""
        self.pid: int | None = None
        self._queue = QUEUE
        self._clock = QUEUE.clock
        self._entry = QueueEntry(client or Client(), Work.TRAINING)
        self._is_connected = is_connected
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._process: BaseProcess | None = None
        self._stop = threading.Event()
        self._stop_timeout = STOP_SECONDS
        self._shortened = 0.0
        self._heartbeat_at = self._clock()
        self._ended_at: float | None = None

    def start(self) -> Self:
        """Queue the job and return it.

        Raises:
            HeadlightError: the queue is full, or the server is stopping.
        """
        if STATE.is_ending:
            raise HeadlightError("this server is restarting; press Train again in a few seconds")
        self._queue.enqueue(self._entry)
        _active[self] = None
        self._thread.start()
        return self

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Stop the job soon, and keep its results; after so many seconds, its process is killed."""
        self._stop_timeout = timeout
        self._stop.set()

    def kill(self) -> None:
        """Kill the process; keep what was saved, and save nothing more."""
        self._stop.set()
        if self._process is not None:
            self._process.kill()

    def join(self, seconds: float) -> None:
        """Wait until the job has ended, or for so many seconds."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def heartbeat(self) -> None:
        """Record that the user is still connected."""
        self._heartbeat_at = self._clock()

    @property
    def is_finished(self) -> bool:
        """Return whether the job has ended."""
        return self._ended_at is not None

    @property
    def is_stopped(self) -> bool:
        """Return whether the user stopped the job or disconnected."""
        return self.is_finished and not self.error and self.record.end_reason not in ("steps", "time")

    @property
    def position(self) -> int:
        """Position in the queue, from 1; 0 when the job has started."""
        return self._queue.position(self._entry)

    @property
    def elapsed(self) -> float:
        """Seconds since it got its slot."""
        began, ended = self._entry.began, self._ended_at
        return 0.0 if began is None else (self._clock() if ended is None else ended) - began

    @property
    def preempted_after(self) -> float:
        """Seconds after which it was ended because others waited; 0 if it was not."""
        return self._shortened if self.is_finished and self.record.end_reason == "time" else 0.0

    def should_stop(self) -> bool:
        """Return whether the job must end: it was stopped, or the user has disconnected."""
        if self._is_connected():
            self.heartbeat()
        return self._stop.is_set() or self._clock() - self._heartbeat_at > HEARTBEAT_TIMEOUT

    def _run(self) -> None:
        try:
            self._queue.wait(self._entry, self.should_stop)
            if self._entry.is_evicted:
                self.error = "its place in the queue went to another user; press Train again"
            elif self._entry.began is not None and not self.should_stop():
                self._work()
        except HeadlightError as error:
            self.error = str(error)
        except Exception as error:
            logging.getLogger(__name__).warning("A training ended with an error: %r", error)
            self.error = f"the training process cannot be reached ({type(error).__name__})"
        finally:
            self._queue.release(self._entry)
            del _active[self]
            self._ended_at = self._clock()

    def _work(self) -> None:
        """Start the process and supervise it until it has ended."""
        process, pipe = worker.start(self.plan, self.folder)
        self._process, self.pid, was_stopped = process, process.pid, False
        reader = threading.Thread(target=self.record.read, args=(pipe,), name="training reader", daemon=True)
        reader.start()
        try:
            was_stopped = self._watch(process, pipe)
        finally:
            process.kill()
            process.join()
            reader.join()  # it reads the pipe to its end
            pipe.close()
        self.error = self.error or self.record.error
        if not self.record.end_reason and not self.error and not was_stopped:
            self.error = f"the training process ended unexpectedly ({_exit_reason(process.exitcode or 0)})"

    def _watch(self, process: BaseProcess, pipe: Connection) -> bool:
        """Wait until the process has ended; return whether it was asked to."""
        stopped_at: float | None = None
        latest = self.plan.seconds + SLACK_SECONDS
        while True:
            process.join(POLL_SECONDS)
            if process.exitcode is not None:
                return stopped_at is not None
            if not self._shortened and self._should_yield():
                self._shortened = self.elapsed
                latest = self._shortened + SLACK_SECONDS
                _send(pipe, b"enough")
            late = self.elapsed > latest
            if stopped_at is None and (late or self.record.error or self.should_stop()):
                if late:
                    self.error = f"the training did not finish within {self._shortened or self.plan.seconds:.0f} s"
                _send(pipe, b"stop")
                stopped_at = self._clock()
            nothing_to_save = not self.record.step
            if stopped_at is not None and (nothing_to_save or self._clock() - stopped_at > self._stop_timeout):
                process.kill()

    def _should_yield(self) -> bool:
        """Return whether the job has used its share of time while another user waits."""
        return min(self.elapsed, self.plan.seconds) > PREEMPT_SECONDS and self._queue.has_waiters(self._entry)


def _send(pipe: Connection, word: bytes) -> None:
    """Send a command to a process that may have ended."""
    with suppress(OSError):  # `_watch` notices that the process has ended
        pipe.send_bytes(word)


def _exit_reason(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    return next((name.name for name in signal.Signals if name == -code), f"signal {-code}")


def active_jobs() -> list[TrainingJob]:
    """Return the jobs that are queued or running."""
    return list(_active)


@atexit.register
def reset() -> None:
    """Kill all jobs and wait for them, so that no process is left behind."""
    jobs = active_jobs()
    for job in jobs:
        job.kill()
    for job in jobs:
        job.join(END_SECONDS)


@contextmanager
def convert_write_errors() -> Iterator[None]:
    """Convert an OSError on writing into a HeadlightError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise HeadlightError(
            f"this server cannot store anything, because its temporary folder cannot be written ({reason})"
        ) from error
