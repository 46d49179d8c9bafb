"""Training in a process of its own, so that other visitors stay fast. Knows no page and no streamlit.

`WORKERS_AT_ONCE` jobs run at a time, the others wait in the order in which they came. A job whose visitor is gone for
`SILENCE` seconds ends, so that a closed tab frees its place; so does one whose process dies.
"""

from __future__ import annotations

import atexit
import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

from mha_core import workload
from mha_core.errors import HeadlightError, SizeError
from mha_core.events import History, from_line
from mha_core.recipe import Recipe

from . import child

__all__ = ["LONGEST_QUEUE", "MOST_BYTES", "MOST_RUNS", "MOST_SECONDS", "WORKERS_AT_ONCE", "Data", "Job", "Plan"]

WORKERS_AT_ONCE: Final = 2
LONGEST_QUEUE: Final = 8
MOST_RUNS: Final = 40
MOST_SECONDS: Final = 1800.0
MOST_BYTES: Final = 5 * 2**20  # of data from outside
SILENCE = 10.0  # seconds
STOP_SECONDS = 1.8  # a worker that has not ended itself so long after it was told to is killed
POLL_SECONDS = 0.1
# A worker ends itself after the plan's seconds; these are for its start, the timing and for saving.
SLACK_SECONDS = 90.0
MOST_LINE = 16 * 2**20
MOST_HEARD = 128 * 2**20  # snapshots above all, which the worker keeps within bounds of its own

_queue: list[Job] = []
_changed = threading.Condition()


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
        workload.check_parameters(self.recipes)
        if not 0 < self.seconds <= MOST_SECONDS:
            raise SizeError(f"a time budget of {self.seconds:g} s; choose up to {MOST_SECONDS:,.0f} s")
        if self.data is not None and len(self.data.content) > MOST_BYTES:
            raise SizeError(f"a file of {len(self.data.content):,} bytes; at most {MOST_BYTES:,} are read")


class Job:
    """One plan in training. `start` it, then look at it as often as you like.

    Args:
        plan: what is trained.
        folder: of this job alone, and there already; run n is saved in its folder "n".
        alive: whether its visitor is still there; asked a few times a second.

    Attributes:
        saved: for each run its folder, or None as long as it has none.
        timing: what was measured in the end, as `mha_core.worker` tells it; None without.
        error: why it ended early, a sentence without its full stop; empty when nothing went wrong.
    """

    def __init__(self, plan: Plan, folder: Path, alive: Callable[[], bool] = lambda: True) -> None:
        self.plan = plan
        self.folder = folder
        self.saved: tuple[Path | None, ...] = (None,) * len(plan.recipes)
        self.timing: dict[str, Any] | None = None
        self.error = ""
        self._alive = alive
        self._histories = [History(recipe) for recipe in plan.recipes]
        self._lock = threading.Lock()  # of the histories
        self._done = ""
        self._share = 0.0
        self._began: float | None = None
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
        with _changed:
            if len(_queue) >= WORKERS_AT_ONCE + LONGEST_QUEUE:
                raise HeadlightError(f"{LONGEST_QUEUE} trainings are waiting already; try again in a minute")
            _queue.append(self)
        threading.Thread(target=self._run, name="training", daemon=True).start()
        return self

    def stop(self) -> None:
        """Ends the runs where they are, within `STOP_SECONDS`; what they have learnt is saved."""
        self._stop.set()

    def kill(self) -> None:
        """Ends the process now. What was saved stays, nothing more is."""
        self._stop.set()
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
    def place(self) -> int:
        """How many jobs have to end before this one begins."""
        with _changed:
            return max(0, _queue.index(self) + 1 - WORKERS_AT_ONCE) if self in _queue else 0

    @property
    def share(self) -> float:
        """How many of all steps are done, from 0 to 1; a run that has ended counts as a whole. It never goes back."""
        with self._lock:
            parts = [1.0 if kept.end else kept.step / kept.recipe.steps for kept in self._histories]
        self._share = max(self._share, min(1.0, sum(parts) / len(parts)))
        return self._share

    @property
    def elapsed(self) -> float:
        """Seconds since its process was started."""
        if self._began is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._began

    @property
    def histories(self) -> tuple[History, ...]:
        """What each run has told so far: copies, which do not grow while a page draws them."""
        with self._lock:
            return tuple(
                replace(kept, steps=kept.steps[:], evaluations=kept.evaluations[:], snapshots=kept.snapshots[:])
                for kept in self._histories
            )

    @property
    def machine(self) -> str:
        """Device and threads, in words; empty before the first run has begun."""
        return next((kept.start.machine for kept in self._histories if kept.start), "")

    def _run(self) -> None:
        try:
            with _changed:
                while _queue.index(self) >= WORKERS_AT_ONCE and not self._leaves():
                    _changed.wait(POLL_SECONDS)
            if not self._leaves():
                self._began = time.monotonic()
                self._train()
        except Exception as error:
            logging.getLogger(__name__).warning("A training ended with an error: %r", error)
            self.error = f"the training process cannot be reached ({type(error).__name__})"
        finally:
            (self.folder / "data").unlink(missing_ok=True)
            with _changed:
                _queue.remove(self)
                _changed.notify_all()
            self._ended = time.monotonic()

    def _leaves(self) -> bool:
        if self._alive():
            self._heard = time.monotonic()
        return self._stop.is_set() or time.monotonic() - self._heard > SILENCE

    def _train(self) -> None:
        """Starts the process and sees it to its end, whichever way it comes."""
        process = self._process = child.start()
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise OSError("no pipe")
        reader = threading.Thread(target=self._read, args=(stdout,), name="training reader", daemon=True)
        reader.start()
        told = None
        try:
            child.tell(stdin, self._order().to_line())
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
        latest = time.monotonic() + self.plan.seconds + SLACK_SECONDS
        while True:
            try:
                process.wait(POLL_SECONDS)
                return told
            except subprocess.TimeoutExpired:
                pass
            late = time.monotonic() > latest
            if told is None and (late or self.error or self._leaves()):
                if late:
                    self.error = f"the training did not end within its {self.plan.seconds:g} s"
                child.tell(stdin, "stop")
                told = time.monotonic()
            nothing_to_save = not any(kept.steps for kept in self._histories)
            if told is not None and (nothing_to_save or time.monotonic() - told > STOP_SECONDS):
                process.kill()

    def _order(self) -> workload.Order:
        plan, data = self.plan, None
        if plan.data is not None:
            given = plan.data
            path = self.folder / "data"
            path.write_bytes(given.content)
            data = workload.Data(given.kind, str(path), given.text, given.label, given.keep_duplicates)
        return workload.Order(str(self.folder), plan.recipes, data, plan.seconds, plan.timing)

    def _read(self, lines: IO[bytes]) -> None:
        """Takes in what the process tells, until it has nothing more to say."""
        heard = 0
        try:
            while line := lines.readline(MOST_LINE):
                heard += len(line)
                if len(line) == MOST_LINE or heard > MOST_HEARD:
                    raise SizeError("the runs tell more than is kept here; choose fewer runs or smaller sizes")
                if line.endswith(b"\n"):  # else it was killed in the middle of it
                    self._take(json.loads(line))
        except HeadlightError as error:
            self.error = str(error)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            self.error = f"the training process says something else than was agreed ({type(error).__name__})"

    def _take(self, line: dict[str, Any]) -> None:
        match line:
            case {"run": number, "line": text}:
                event = from_line(text)
                with self._lock:
                    self._histories[number].take(event)
            case {"saved": number}:
                folder = self.folder / str(number)
                self.saved = (*self.saved[:number], folder, *self.saved[number + 1 :])
            case {"timing": found}:
                self.timing = found
            case {"error": why}:
                self.error = why
            case {"done": reason}:
                self._done = reason


@atexit.register
def _end_all() -> None:
    """Leaves no process behind."""
    for job in list(_queue):
        job.kill()
