"""Training in a process of its own, so that other visitors stay fast.

While another visitor waits, a job has no more than `SHARED_SECONDS`. A job whose process dies ends too.
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

SHARED_SECONDS: Final = BOUNDS[Work.TRAINING].preempt_after_s
MAX_RUNS: Final = 40
MAX_BYTES: Final = LIMITS["bytes"]  # of data from outside
STOP_SECONDS: Final = 1.8  # a worker that has not ended itself so long after it was told to is killed
WIND_UP_SECONDS: Final = 9.0  # the same when it is the server that ends, and nobody waits for the button
POLL_SECONDS: Final = 0.1
# A worker ends itself after the plan's seconds; these are for its start and for saving.
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
    """One plan in training. Raises what `check_plan` raises.

    Args:
        folder: of this job alone, and there already; run n is saved in its folder "n".
        visitor, is_here: as in `Job`.

    Attributes:
        pid: of the process that trains, None before it is started.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        folder: Path,
        visitor: Client | None = None,
        is_here: Callable[[], bool] = lambda: True,
    ) -> None:
        check_plan(plan)
        super().__init__(visitor, is_here)
        self.plan = plan
        self.folder = folder
        self.record = Record(plan.recipes, folder)
        self.pid: int | None = None
        self._process: BaseProcess | None = None
        self._shortened = 0.0
        self._patience = STOP_SECONDS

    def wind_up(self) -> None:
        """As in `Job`."""
        self._patience = WIND_UP_SECONDS
        self.stop()

    def kill(self) -> None:
        """Ends the process now. What was saved stays, nothing more is."""
        self.stop()
        if self._process is not None:
            self._process.kill()

    @property
    def shortened(self) -> float:
        """The seconds after which it was ended because others waited; 0 when it was not."""
        return self._shortened if self.is_finished and self.record.done == "time" else 0.0

    def _is_complete(self) -> bool:
        return self.record.done in ("steps", "time")

    def _progress(self) -> float:
        return self.record.progress

    def _work(self) -> None:
        """Starts the process and sees it to its end, whichever way it comes."""
        process, pipe = worker.start(self.plan, self.folder)
        self._process, self.pid, was_told = process, process.pid, False
        reader = threading.Thread(target=self.record.read, args=(pipe,), name="training reader", daemon=True)
        reader.start()
        try:
            was_told = self._watch(process, pipe)
        finally:
            process.kill()
            process.join()
            reader.join()  # it has read to the end of what the process had to say
            pipe.close()
        self.error = self.error or self.record.error
        if not self.record.done and not self.error and not was_told:
            self.error = f"the training process ended unexpectedly ({_ending(process.exitcode or 0)})"

    def _watch(self, process: BaseProcess, pipe: Connection) -> bool:
        """Waits until the process has ended. Returns whether it was told to."""
        told_at: float | None = None
        latest = self.plan.seconds + SLACK_SECONDS
        while True:
            process.join(POLL_SECONDS)
            if process.exitcode is not None:
                return told_at is not None
            if not self._shortened and self._is_enough():
                self._shortened = self.elapsed
                latest = self._shortened + SLACK_SECONDS
                _tell(pipe, b"enough")
            late = self.elapsed > latest
            if told_at is None and (late or self.record.error or self.should_stop()):
                if late:
                    self.error = f"the training did not finish within {self._shortened or self.plan.seconds:.0f} s"
                _tell(pipe, b"stop")
                told_at = self._clock()
            nothing_to_save = not self.record.step
            if told_at is not None and (nothing_to_save or self._clock() - told_at > self._patience):
                process.kill()

    def _is_enough(self) -> bool:
        """Tells whether it has had its share of the time, and somebody else waits."""
        return min(self.elapsed, self.plan.seconds) > SHARED_SECONDS and self._queue.has_waiters(self._turn)


def _tell(pipe: Connection, word: bytes) -> None:
    """Sends a word to a process that may be gone."""
    with suppress(OSError):  # whoever watches the process will find that it has ended
        pipe.send_bytes(word)


def _ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    return next((known.name for known in signal.Signals if known == -code), f"signal {-code}")


@contextmanager
def writing() -> Iterator[None]:
    """Makes a HeadlightError of a folder that cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise HeadlightError(
            f"nothing can be stored on this server, because its temporary folder is not writable ({why})"
        ) from error
