"""A record of what the process that trains has told so far: counted at once, copied only for who draws it."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mha_core.errors import HeadlightError, SizeError
from mha_core.training.events import History, Step, from_values
from mha_core.training.recipe import Recipe

CUT_SHORT = ("stopped", "time")  # the ends of runs that had steps to do
MAX_HEARD = 128 * 2**20  # snapshots above all, which the process keeps within bounds of its own


class Record:
    """The runs of one training, as far as they have come.

    Args:
        recipes: of the runs, in their order.
        folder: run n is saved in its folder "n".

    Attributes:
        saved: for each run its folder, or None as long as it has none.
        told: what must be said of the runs, in whole sentences.
        done: why it ended, as the worker tells it: "steps", "time" or "stopped"; empty before.
        error: why it ended early, a sentence without its full stop; empty when nothing went wrong.
        news: grows with everything that is told but single steps: starts, looks, maps, ends, saved runs.
    """

    def __init__(self, recipes: Sequence[Recipe], folder: Path) -> None:
        self.folder = folder
        self.saved: tuple[Path | None, ...] = (None,) * len(recipes)
        self.told: tuple[str, ...] = ()
        self.error = ""
        self.news = 0
        self.done = ""
        self._histories = [History(recipe) for recipe in recipes]
        self._lock = threading.Lock()  # of the histories

    def take(self, line: dict[str, Any]) -> None:
        """Keeps one line of the process. Raises a HeadlightError for an event that is none."""
        single_step = False
        match line:
            case {"run": number, "event": values}:
                event = from_values(values)
                single_step = isinstance(event, Step)
                with self._lock:
                    self._histories[number].take(event)
            case {"saved": number}:
                folder = self.folder / str(number)
                self.saved = (*self.saved[:number], folder, *self.saved[number + 1 :])
            case {"told": sentence}:
                self.told = (*self.told, sentence)
            case {"error": error}:
                self.error = error
            case {"done": reason}:
                self.done = reason
        self.news += not single_step

    def read(self, pipe: Connection) -> None:
        """Read messages until the process closes its pipe; a bad one is noted in `error`."""
        heard = 0
        try:
            while True:
                message = pipe.recv_bytes()
                heard += len(message)
                if heard > MAX_HEARD:
                    raise SizeError("the runs produce more data than can be stored; choose fewer runs or smaller sizes")
                self.take(json.loads(message))
        except (EOFError, OSError):
            return  # it has ended, or was killed in the middle of a message
        except HeadlightError as error:
            self.error = str(error)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            self.error = f"the training process sent an unexpected message ({type(error).__name__})"

    @property
    def started(self) -> bool:
        return any(run.start for run in self._histories)

    @property
    def looked(self) -> bool:
        """Tells whether a run has looked at its test rows, so that there is something to draw."""
        return any(run.evaluations for run in self._histories)

    @property
    def step(self) -> int:
        """The number of steps that all runs have done together."""
        with self._lock:
            return sum(run.step for run in self._histories)

    @property
    def seconds(self) -> float:
        """Seconds of training of all runs together."""
        with self._lock:
            return sum(run.seconds for run in self._histories)

    @property
    def progress(self) -> float:
        """The part of all steps that is done, from 0 to 1; a run that had no more to do counts as a whole."""
        with self._lock:
            cut_short = [run.end is None or run.end.reason in CUT_SHORT for run in self._histories]
            steps = [run.step / run.recipe.steps for run in self._histories]
        parts = [step if cut else 1.0 for step, cut in zip(steps, cut_short, strict=True)]
        return sum(parts) / len(parts)

    @property
    def held(self) -> int:
        """Bytes of all maps."""
        with self._lock:
            return sum(len(shot.maps) for run in self._histories for shot in run.snapshots)

    @property
    def histories(self) -> tuple[History, ...]:
        """The history of each run so far: copies, which do not grow while a page draws them."""
        return tuple(map(self.history, range(len(self._histories))))

    def history(self, number: int) -> History:
        """The history of one run so far, a copy as well."""
        with self._lock:
            run = self._histories[number]
            return replace(run, steps=run.steps[:], evaluations=run.evaluations[:], snapshots=run.snapshots[:])
