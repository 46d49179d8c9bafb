"""Training in a process of its own, so that other visitors stay fast. Knows no page and no streamlit.

`WORKERS_AT_ONCE` jobs run at a time, the others wait for their turn (`kit.jobs.queue`); while another visitor waits,
a job has no more than `SHARED_SECONDS`. A job whose visitor is gone for `SILENCE` seconds ends, so that a closed tab
frees its place; so does one whose process dies.
"""

from __future__ import annotations

import atexit
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from mha_core.errors import HeadlightError, SizeError
from mha_core.training import limits
from mha_core.training.recipe import Recipe

from . import process as child
from .queue import Places, Turn, Visitor
from .record import Record

__all__ = [
    "LONGEST_QUEUE",
    "MOST_BYTES",
    "MOST_RUNS",
    "MOST_SECONDS",
    "SHARED_SECONDS",
    "WORKERS_AT_ONCE",
    "Data",
    "Job",
    "Plan",
    "Visitor",
    "under_way",
    "writing",
]

WORKERS_AT_ONCE: Final = 2
LONGEST_QUEUE: Final = 40  # who waits costs next to nothing
SHARED_SECONDS = 180.0  # of a job while others wait
MOST_RUNS: Final = 40
MOST_SECONDS: Final = 1800.0
MOST_BYTES: Final = 5 * 2**20  # of data from outside
SILENCE = 10.0  # seconds
STOP_SECONDS = 1.8  # a worker that has not ended itself so long after it was told to is killed
POLL_SECONDS = 0.1
# A worker ends itself after the plan's seconds; these are for its start, the timing and for saving.
SLACK_SECONDS = 90.0
USUAL_SLACK_SECONDS = 15.0  # of them, what the queue reckons with

places = Places(WORKERS_AT_ONCE, LONGEST_QUEUE)
_under_way: dict[Job, None] = {}


@dataclass(frozen=True)
class Data:
    """Data from outside.

    Attributes:
        kind: "csv", "news" (a CSV too), "text", or "hub", which has no content.
        content: of the file.
        text, label, keep_duplicates: of a CSV, as in `mha_core.tasks.from_csv`.
    """

    kind: str
    content: bytes = b""
    text: str = "text"
    label: str = "label"
    keep_duplicates: bool = False


@dataclass(frozen=True)
class Plan:
    """What is trained.

    Attributes:
        recipes: one for each run; all are trained in turn.
        data: None where the recipes' tasks make their own.
        seconds: the time budget of all runs together.
        timing: whether a step of each implementation is measured against nn.MultiheadAttention in the end.
    """

    recipes: tuple[Recipe, ...]
    data: Data | None = None
    seconds: float = 120.0
    timing: bool = False

    def check(self) -> None:
        """Raises a HeadlightError for what cannot be trained, a SizeError for what would be too much."""
        if not 1 <= len(self.recipes) <= MOST_RUNS:
            raise SizeError(f"{len(self.recipes)} runs; choose 1 to {MOST_RUNS}")
        for recipe in self.recipes:
            recipe.check()
        limits.check_parameters(self.recipes)
        limits.check_threads(self.recipes)
        if not 0 < self.seconds <= MOST_SECONDS:
            raise SizeError(f"a time budget of {self.seconds:g} s; choose up to {MOST_SECONDS:,.0f} s")
        if self.data is not None and len(self.data.content) > MOST_BYTES:
            raise SizeError(f"a file of {len(self.data.content):,} bytes; at most {MOST_BYTES:,} are read")


class Job(Record):
    """One plan in training. `start` it, then look at it as often as you like.

    Args:
        plan: what is trained.
        folder: of this job alone, and there already; run n is saved in its folder "n".
        alive: whether its visitor is still there; asked about once a second while it waits, else a few times.
        visitor: who trains, for the queue to be fair.
    """

    def __init__(
        self, plan: Plan, folder: Path, alive: Callable[[], bool] = lambda: True, visitor: Visitor | None = None
    ) -> None:
        super().__init__(plan.recipes, folder)
        self.plan = plan
        self._alive = alive
        self._turn = Turn(visitor or Visitor(), min(plan.seconds, SHARED_SECONDS) + USUAL_SLACK_SECONDS)
        self._places = places
        self._shortened = 0.0
        self._ended: float | None = None
        self._stop = threading.Event()
        self._heard = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Job:
        """Takes a place in the queue and returns.

        Raises:
            HeadlightError: as in `Plan.check`, or too many are waiting.
        """
        self.plan.check()
        self._places.ask(self._turn)
        _under_way[self] = None
        threading.Thread(target=self._run, name="training", daemon=True).start()
        return self

    def stop(self) -> None:
        """Ends the runs where they are, within `STOP_SECONDS`; what they have learnt is saved."""
        self._stop.set()
        self._places.wake()

    def kill(self) -> None:
        """Ends the process now. What was saved stays, nothing more is."""
        self.stop()
        if self._process is not None:
            self._process.kill()

    def heard(self) -> None:
        """Says that the visitor is still there."""
        self._heard = time.monotonic()

    @property
    def over(self) -> bool:
        """True when there is no process any more."""
        return self._ended is not None

    @property
    def stopped(self) -> bool:
        """True when it was ended by its visitor, or because the visitor was gone."""
        return self.over and not self.error and self._done not in ("steps", "time")

    @property
    def shortened(self) -> float:
        """The seconds after which it was ended because others waited; 0 when it was not."""
        return self._shortened if self.over and self._done == "time" else 0.0

    @property
    def place(self) -> int:
        """How many jobs have to end before this one begins, if all goes on as now; 0 when it has begun."""
        return self._places.ahead(self._turn)[0]

    @property
    def begins_within(self) -> float:
        """Seconds after which it begins at the latest, if all goes on as now; 0 when it has begun."""
        return self._places.ahead(self._turn)[1]

    @property
    def elapsed(self) -> float:
        """Seconds since its process was started."""
        began = self._turn.began
        return 0.0 if began is None else (self._ended or time.monotonic()) - began

    def _run(self) -> None:
        try:
            self._places.wait(self._turn, self._leaves)
            if self._turn.displaced:
                self.error = "its place in the queue went to somebody who had none; press Train again"
            elif not self._leaves():
                self._train()
        except HeadlightError as error:
            self.error = str(error)
        except Exception as error:
            logging.getLogger(__name__).warning("A training ended with an error: %r", error)
            self.error = f"the training process cannot be reached ({type(error).__name__})"
        finally:
            with suppress(OSError):  # it is gone already, or goes with the visit
                (self.folder / "data").unlink()
            self._places.leave(self._turn)
            del _under_way[self]
            self._ended = time.monotonic()

    def _leaves(self) -> bool:
        if self._alive():
            self._heard = time.monotonic()
        return self._stop.is_set() or time.monotonic() - self._heard > SILENCE

    def _train(self) -> None:
        """Starts the process and sees it to its end, whichever way it comes."""
        order = self._order()
        process = self._process = child.start()
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise OSError("no pipe")
        reader = threading.Thread(target=self.read, args=(stdout,), name="training reader", daemon=True)
        reader.start()
        told = None
        try:
            child.tell(stdin, order.to_line())
            told = self._watch(process, stdin)
        finally:
            process.kill()
            process.wait()
            reader.join()  # it has read to the end of what the process had to say
            with suppress(OSError):
                stdin.close()
            stdout.close()
        if not self._done and not self.error and told is None:
            self.error = f"the training process ended unexpectedly ({child.ending(process.returncode)})"

    def _watch(self, process: subprocess.Popen[bytes], stdin: IO[bytes]) -> float | None:
        """Waits until the process has ended. Returns when it was told to, None if it never was."""
        told: float | None = None
        latest = self.plan.seconds + SLACK_SECONDS
        while True:
            try:
                process.wait(POLL_SECONDS)
                return told
            except subprocess.TimeoutExpired:
                pass
            if not self._shortened and self._is_enough():
                self._shortened = self.elapsed
                latest = self._shortened + SLACK_SECONDS
                child.tell(stdin, "enough")
            late = self.elapsed > latest
            if told is None and (late or self.error or self._leaves()):
                if late:
                    self.error = f"the training did not end within its {self._shortened or self.plan.seconds:.0f} s"
                child.tell(stdin, "stop")
                told = time.monotonic()
            nothing_to_save = not any(kept.steps for kept in self._histories)
            if told is not None and (nothing_to_save or time.monotonic() - told > STOP_SECONDS):
                process.kill()

    def _is_enough(self) -> bool:
        """Whether it has had its share of the time, and somebody else waits."""
        return min(self.elapsed, self.plan.seconds) > SHARED_SECONDS and self._places.others_wait(self._turn)

    def _order(self) -> limits.Order:
        plan, data = self.plan, None
        if plan.data is not None:
            given = plan.data
            path = self.folder / "data"
            with writing():
                path.write_bytes(given.content)
            data = limits.Data(given.kind, str(path), given.text, given.label, given.keep_duplicates)
        return limits.Order(str(self.folder), plan.recipes, data, plan.seconds, plan.timing)


def under_way() -> list[Job]:
    """The jobs that wait or train."""
    return list(_under_way)


@contextmanager
def writing() -> Iterator[None]:
    """Makes a HeadlightError of a folder that cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise HeadlightError(
            f"nothing can be kept on this server, because its temporary folder cannot be written ({why})"
        ) from error


@atexit.register
def _end_all() -> None:
    """Leaves no process behind."""
    for job in under_way():
        job.kill()
