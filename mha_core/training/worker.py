"""A process that trains: `python -m mha_core.training.worker`. An order comes in as JSON, events go out the same way.

The first line in says what to train, as `Order.to_line` writes it. "stop", or the end of the input because the parent
is gone, ends the runs where they are; "enough" ends them as their time budget would. The lines out are objects with one
of these keys:

    run, line     an event of that run, counted from 0, as `events.to_line` writes it
    saved         that run lies complete in the order's folder, under its number
    timing        how long a training step takes in each implementation, see `_Job._timing`
    error         why the job ends early, in a sentence
    done          "steps", "time" or "stopped": the last line of every job that had no error
"""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from ..clock import calls, spread
from ..device import is_out_of_memory
from ..errors import HeadlightError
from . import tasks
from .events import End, Evaluation, Start, to_line
from .limits import KINDS, Data, Order, check_maps, check_parameters, check_step, check_threads
from .loop import Training
from .recipe import Recipe
from .tasks import Labelled, Language

__all__ = ["main"]

MOST_ORDER = 1_000_000  # characters of the first line
FLUSH_SECONDS = 0.1
TURN_SECONDS = 1.0
TIMING_SECONDS, FEWEST_ROUNDS, MOST_ROUNDS = 3.0, 3, 200
NICENESS = 10  # whoever only looks at a page comes first


class _Mouth:
    """Says lines: at once, or with what follows soon."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._flushed = 0.0

    def say(self, *, at_once: bool = True, **line: Any) -> None:
        self._out.write(json.dumps(line) + "\n")
        now = time.monotonic()
        if at_once or now - self._flushed > FLUSH_SECONDS:
            self._out.flush()
            self._flushed = now


class _Job:
    """Trains the runs of an order in turn, so that their curves grow side by side."""

    def __init__(self, order: Order, say: Callable[..., None], stop: threading.Event, enough: threading.Event) -> None:
        self.order = order
        self.say = say
        self.stop = stop
        self.enough = enough
        self._tasks: dict[tuple[str, int], Labelled | Language] = {}
        self._ends = time.monotonic() + order.seconds
        self._cut = False

    def run(self) -> None:
        check_parameters(self.order.recipes)
        check_threads(self.order.recipes)
        turns: dict[int, Iterator[str]] = {number: self._turns(number) for number in range(len(self.order.recipes))}
        while turns:
            for number, turn in list(turns.items()):
                if next(turn, None) is None:
                    del turns[number]
        if self.order.timing and not self.stop.is_set():
            self._timing()
        self.say(done="stopped" if self.stop.is_set() else "time" if self._cut else "steps")

    def _leaves(self) -> bool:
        return self.stop.is_set() or self.enough.is_set() or time.monotonic() > self._ends

    def _task(self, recipe: Recipe) -> Labelled | Language:
        """The recipe's data, made once for all runs on it."""
        key, data = (recipe.task, recipe.data_seed), self.order.data
        if key not in self._tasks:
            self._tasks[key] = tasks.build(*key) if data is None else _from_outside(data, recipe.data_seed)
        return self._tasks[key]

    def _turns(self, number: int) -> Iterator[str]:
        """Trains one run, and gives the others their turn after each evaluation, or when its own has lasted long."""
        if self.stop.is_set():
            return
        recipe = self.order.recipes[number]
        training = Training(recipe, self._task(recipe))
        began = time.monotonic()
        for event in training.events(self._leaves):
            if isinstance(event, Start):
                check_step(recipe, event.longest)
                check_maps(event, len(self.order.recipes))
            if isinstance(event, End) and event.reason == "stopped" and not self.stop.is_set():
                event = replace(event, reason="time")  # it was the job's time that was over, no visitor stopped it
                training.history.take(event)
            self.say(run=number, line=to_line(event), at_once=isinstance(event, (Start, End)))
            if isinstance(event, Evaluation) or time.monotonic() - began > TURN_SECONDS:
                yield "turn"
                began = time.monotonic()
        self._save(number, training)

    def _save(self, number: int, training: Training) -> None:
        """Keeps what can be used: not a run that has learnt nothing yet, or whose numbers are none."""
        end = training.history.end
        self._cut |= end is not None and end.reason == "time"
        if end is None or not end.step or end.reason == "not a number":
            return
        folder = Path(self.order.folder, str(number))
        if not folder.parent.is_dir():
            raise HeadlightError("the folder of this visit is gone")  # it is not made again
        training.save(folder)
        self.say(saved=number)

    def _timing(self) -> None:
        """Tells how long a step of every implementation in the order takes, and of "torch": shuffled, interleaved.

        All have the sizes and the data of the first run, and no positions, since not every one can serve them. It tells

            names: of each implementation "median", "low" and "high" as multiples of the median of "torch", and "calls".
            seconds: of an epoch; of one step where every batch is made anew.
            steps_per_epoch: 0 where every batch is made anew.
        """
        first = replace(self.order.recipes[0], position="none", schedule="constant")
        names = dict.fromkeys((*(recipe.implementation for recipe in self.order.recipes), "torch"))
        trainings = {name: Training(replace(first, implementation=name), self._task(first)) for name in names}
        took: dict[str, list[float]] = {name: [] for name in names}
        ends = time.monotonic() + TIMING_SECONDS
        candidates = {name: training.step for name, training in trainings.items()}
        for name, number, seconds in calls(candidates, MOST_ROUNDS, device=trainings["torch"].device):
            if number >= 0:
                took[name].append(seconds)
            round_is_full = len(set(map(len, took.values()))) == 1
            if self.stop.is_set() or (number + 1 >= FEWEST_ROUNDS and round_is_full and time.monotonic() > ends):
                break
        steps = trainings["torch"].steps_per_epoch
        if not all(took.values()):
            return
        found = {name: spread(seconds) for name, seconds in took.items()}
        one = found["torch"].median
        ratios = {
            name: {"median": of.median / one, "low": of.low / one, "high": of.high / one, "calls": of.calls}
            for name, of in found.items()
        }
        epochs = {name: of.median * (steps or 1) for name, of in found.items()}
        self.say(timing={"names": ratios, "seconds": epochs, "steps_per_epoch": steps})


def _from_outside(data: Data, seed: int) -> Labelled | Language:
    """The task that comes from a file or from the hub."""
    if data.kind not in KINDS:
        raise HeadlightError(f"data of the kind {data.kind!r:.40}: choose one of {', '.join(KINDS)}")
    if data.kind == "hub":
        return tasks.from_hub(seed=seed)
    content = Path(data.path).read_bytes()
    if data.kind == "text":
        return tasks.from_text(content, seed=seed)
    return tasks.from_csv(
        content, text=data.text, label=data.label, seed=seed, keep_duplicates=data.keep_duplicates, name=data.kind
    )


def _listen(heard: io.RawIOBase, stop: threading.Event, enough: threading.Event) -> None:
    """Waits for "stop" or for the end of the input, and for "enough" on the way."""
    while (line := heard.readline(MOST_ORDER)) and line.strip() != b"stop":
        if line.strip() == b"enough":
            enough.set()
    stop.set()


def main() -> None:
    """Does one order, and tells of it; an error is told too and ends the process with 0."""
    # What libraries print goes to stderr: every line out is one of ours.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    say = _Mouth(out).say
    try:
        # unbuffered: a thread that waits in sys.stdin would hold its lock when the process ends, which is fatal
        heard = io.FileIO(0, closefd=False)
        order = Order.from_line(heard.readline(MOST_ORDER).decode())
        stop, enough = threading.Event(), threading.Event()
        threading.Thread(target=_listen, args=(heard, stop, enough), name="listener", daemon=True).start()
        _Job(order, say, stop, enough).run()
    except HeadlightError as error:
        say(error=str(error))
    except BrokenPipeError:
        raise SystemExit(1) from None  # nobody is there any more
    except ImportError as error:
        say(error=f"the package {error.name} is missing")
    except Exception as error:
        full = isinstance(error, MemoryError) or is_out_of_memory(error)
        say(error="the device is out of memory; choose smaller sizes" if full else type(error).__name__)
        raise


if __name__ == "__main__":
    main()
