"""Training jobs, each in a process of its own so that other requests stay fast.

A job ends after `PREEMPT_SECONDS` if another user waits. A job whose process dies ends too.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from headlight.link.limits import MAX_BUDGET
from headlight.queue.client import Client
from headlight.queue.policy import BOUNDS, Work
from mha_core.errors import HeadlightError, SizeError
from mha_core.training import limits
from mha_core.training.limits import TrainingPlan
from mha_core.training.tasks.table import LIMITS

from . import process as worker
from .job import Job
from .record import Record

PREEMPT_SECONDS: Final = BOUNDS[Work.TRAINING].preempt_after_s
MAX_RUNS: Final = 40
MAX_BYTES: Final = LIMITS["bytes"]  # of uploaded data
STOP_SECONDS: Final = 1.8  # from a stop request until a worker that has not ended is killed
SHUTDOWN_SECONDS: Final = 9.0  # the same when the server stops, as no user waits for a response
POLL_SECONDS: Final = 0.1
# A worker ends itself after the plan's seconds; this is the margin for its start and for saving.
SLACK_SECONDS: Final = 90.0


def check_plan(plan: TrainingPlan) -> None:
    """Raise a HeadlightError for a plan that cannot be trained, a SizeError for one that is too large."""
    if not 1 <= len(plan.recipes) <= MAX_RUNS:
        raise SizeError(f"{len(plan.recipes)} runs were requested; choose 1 to {MAX_RUNS}")
    for recipe in plan.recipes:
        recipe.check()
    limits.check_parameters(plan.recipes)
    limits.check_threads(plan.recipes)
    if not 0 < plan.seconds <= MAX_BUDGET:
        raise SizeError(f"a time budget of {plan.seconds:g} s; choose up to {MAX_BUDGET:,} s")
    if plan.data is not None and len(plan.data.content) > MAX_BYTES:
        raise SizeError(f"a file of {len(plan.data.content):,} bytes; at most {MAX_BYTES:,} are allowed")


class TrainingJob(Job):
    """The training of one plan. Raises what `check_plan` raises.

    Args:
        plan: the plan.
        folder: an existing folder for this job only; run n is saved in its subfolder "n".
        client: see `Job`.
        is_connected: see `Job`.

    Attributes:
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
        super().__init__(client, is_connected)
        self.plan = plan
        self.folder = folder
        self.record = Record(plan.recipes, folder)
        self.pid: int | None = None
        self._process: BaseProcess | None = None
        self._shortened = 0.0
        self._stop_timeout = STOP_SECONDS

    def shut_down(self) -> None:
        """See `Job`."""
        self._stop_timeout = SHUTDOWN_SECONDS
        self.stop()

    def kill(self) -> None:
        """Kill the process; keep what was saved, and save nothing more."""
        self.stop()
        if self._process is not None:
            self._process.kill()

    @property
    def preempted_after(self) -> float:
        """Seconds after which it was ended because others waited; 0 if it was not."""
        return self._shortened if self.is_finished and self.record.end_reason == "time" else 0.0

    def _is_complete(self) -> bool:
        return self.record.end_reason in ("steps", "time")

    def _progress(self) -> float:
        return self.record.progress

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
