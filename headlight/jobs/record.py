"""Record of the messages of a training process; its histories are copied only when they are read."""

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

EARLY_ENDS = ("stopped", "time")  # end reasons of runs that had steps left
MAX_MESSAGE_BYTES = 128 * 2**20  # bytes, mostly snapshots, which the process bounds itself


class Record:
    """The progress of the runs of one training.

    Args:
        recipes: of the runs, in order.
        folder: run n is saved in its subfolder "n".

    Attributes:
        saved: folder of each run, None until it is saved.
        notices: notices on the runs, in whole sentences.
        end_reason: reason of the end, "steps", "time" or "stopped"; "" before.
        error: reason why it ended early, a sentence without its full stop; "" if nothing went wrong.
        revision: counts all messages but single steps: starts, evaluations, snapshots, ends, saved runs.
    """

    def __init__(self, recipes: Sequence[Recipe], folder: Path) -> None:
        self.folder = folder
        self.saved: tuple[Path | None, ...] = (None,) * len(recipes)
        self.notices: tuple[str, ...] = ()
        self.error = ""
        self.revision = 0
        self.end_reason = ""
        self._histories = [History(recipe) for recipe in recipes]
        self._lock = threading.Lock()  # so that a copy of a history is of one moment

    def add(self, line: dict[str, Any]) -> None:
        """Record one message of the process.

        Raises:
            HeadlightError: it is not a valid event.
        """
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
            case {"notice": sentence}:
                self.notices = (*self.notices, sentence)
            case {"error": error}:
                self.error = error
            case {"done": reason}:
                self.end_reason = reason
        self.revision += not single_step

    def read(self, pipe: Connection) -> None:
        """Read messages until the process closes its pipe; an invalid one sets `error`."""
        received = 0
        try:
            while True:
                message = pipe.recv_bytes()
                received += len(message)
                if received > MAX_MESSAGE_BYTES:
                    raise SizeError("the runs send more data than is kept here; choose fewer runs or smaller sizes")
                self.add(json.loads(message))
        except (EOFError, OSError):
            return  # it has ended, or was killed in the middle of a message
        except HeadlightError as error:
            self.error = str(error)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            self.error = f"the training process sent an invalid message ({type(error).__name__})"

    @property
    def has_started(self) -> bool:
        """Return whether a run has started."""
        return any(run.start for run in self._histories)

    @property
    def has_evaluations(self) -> bool:
        """Return whether a run has been evaluated on its test rows, so that there is something to draw."""
        return any(run.evaluations for run in self._histories)

    @property
    def step(self) -> int:
        """Number of steps of all runs together."""
        return sum(run.step for run in self._histories)

    @property
    def seconds(self) -> float:
        """Seconds of training of all runs together."""
        return sum(run.seconds for run in self._histories)

    @property
    def progress(self) -> float:
        """Progress of all steps from 0 to 1; a run that ended early by its own rule counts fully."""
        parts = [
            1.0 if run.end and run.end.reason not in EARLY_ENDS else run.step / run.recipe.steps
            for run in self._histories
        ]
        return sum(parts) / len(parts)

    @property
    def snapshot_bytes(self) -> int:
        """Bytes of all snapshots."""
        return sum(run.snapshot_bytes for run in self._histories)

    @property
    def histories(self) -> tuple[History, ...]:
        """Copies of the histories so far, which do not change while a page draws them."""
        return tuple(map(self.history, range(len(self._histories))))

    def history(self, number: int) -> History:
        """Return a copy of the history of one run so far."""
        with self._lock:
            run = self._histories[number]
            return replace(run, steps=run.steps[:], evaluations=run.evaluations[:], snapshots=run.snapshots[:])
