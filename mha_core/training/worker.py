"""A process that trains a plan and reports over a pipe.

The command "stop", or the end of the pipe because the parent is gone, cancels the runs; "enough" ends them as their
time budget would. Each message to the parent is a JSON object with one of these keys:

    run, event    an event of that run, counted from 0, see `events.to_values`
    notice        a warning about the runs, in a sentence
    saved         that run is completely saved in the plan's folder, under its number
    error         why the job ends early, in a sentence
    done          "steps", "time" or "stopped": the last message of every job that had no error
"""

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..device import is_oom_error
from ..errors import HeadlightError
from . import tasks
from .events import End, Evaluation, Start, to_values
from .limits import TrainingPlan, check_maps, check_step, lower_priority
from .loop import Training
from .recipe import NOT_A_NUMBER, Recipe
from .tasks import Task

TURN_SECONDS = 1.0


def main(plan: TrainingPlan, folder: Path, pipe: Connection) -> None:
    """Train a plan and report its events and any error."""
    lower_priority()
    for number in (signal.SIGINT, signal.SIGTERM):  # the whole process group may receive it; the parent decides
        signal.signal(number, signal.SIG_IGN)
    stop, enough = threading.Event(), threading.Event()

    def send(**line: Any) -> None:
        pipe.send_bytes(json.dumps(line).encode())

    threading.Thread(target=_listen, args=(pipe, stop, enough), name="listener", daemon=True).start()
    try:
        run_plan(plan, folder, send, stop, enough)
    except HeadlightError as error:
        send(error=str(error))
    except BrokenPipeError:
        raise SystemExit(1) from None  # the parent has closed its end
    except ModuleNotFoundError as error:
        send(error=f"the package {error.name} is missing")
    except Exception as error:
        full = isinstance(error, MemoryError) or is_oom_error(error)
        send(error="the device is out of memory; choose smaller sizes" if full else type(error).__name__)


def run_plan(
    plan: TrainingPlan,
    folder: Path,
    send: Callable[..., None],
    stop: threading.Event,
    enough: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Train and save all runs of a plan, in turns so that their curves grow side by side.

    Args:
        plan: the runs.
        folder: run n is saved in its subfolder "n".
        send: sends a message, given as keyword arguments.
        stop: cancels the runs.
        enough: ends them as their time budget would.
        clock: in seconds, for the budget of the whole plan and for turns.

    Raises:
        HeadlightError: the plan exceeds a limit, or its data cannot be used.
    """
    deadline, warnings, reasons = clock() + plan.seconds, set[str](), set[str]()

    @cache
    def task(name: str, seed: int, length: int) -> Task:
        return tasks.from_outside(plan.data, seed=seed, length=length) if plan.data else tasks.build(name, seed)

    def is_over() -> bool:
        return stop.is_set() or enough.is_set() or clock() > deadline

    def turns(number: int, recipe: Recipe) -> Iterator[str]:
        """Train one run, and yield after each evaluation or when its turn has lasted long."""
        if stop.is_set():
            return
        training = Training(recipe, task(recipe.task, recipe.data_seed, recipe.max_len))
        started = clock()
        for event in training.events(is_over):
            if isinstance(event, Start):
                check_step(recipe, event.longest)
                check_maps(event, len(plan.recipes))
            if isinstance(event, End) and event.reason == "stopped" and not stop.is_set():
                event = replace(event, reason="time")  # the time budget ended it, not the user
                training.history.take(event)
            send(run=number, event=to_values(event))
            for sentence in (notice for notice in training.notices if notice not in warnings):
                warnings.add(sentence)
                send(notice=sentence)
            if isinstance(event, Evaluation) or clock() - started > TURN_SECONDS:
                yield "turn"
                started = clock()
        end = training.history.end
        reasons.add(end.reason if end else "")
        if end and end.step and end.reason != NOT_A_NUMBER:
            if not folder.is_dir():
                raise HeadlightError("the folder of this session no longer exists")  # a deleted one is not recreated
            training.save(folder / str(number))
            send(saved=number)

    queue = deque(turns(number, recipe) for number, recipe in enumerate(plan.recipes))
    while queue:
        run = queue.popleft()
        if next(run, None):
            queue.append(run)
    send(done="stopped" if stop.is_set() else "time" if "time" in reasons else "steps")


def _listen(pipe: Connection, stop: threading.Event, enough: threading.Event) -> None:
    """Wait for "stop" or the end of the pipe, and for "enough" on the way."""
    try:
        while pipe.recv_bytes() != b"stop":
            enough.set()
    except (OSError, EOFError):
        pass
    stop.set()
