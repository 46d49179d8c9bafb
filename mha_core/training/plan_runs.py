"""Runs of a training plan, which take turns."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ..errors import HeadlightError
from . import tasks
from .events import End, Evaluation, Start, to_values
from .limits import TrainingPlan, check_maps, check_step
from .loop import Training
from .recipe import NOT_A_NUMBER, Recipe
from .tasks import Task

TURN_SECONDS = 1.0


class PlanRuns:
    """Runs of a plan, trained in turns so that their curves grow side by side.

    Args:
        plan: the runs.
        folder: run n is saved in its subfolder "n".
        send: sends a message, given as keyword arguments, see `worker`.
        stop: cancels the runs.
        enough: ends them as their time budget would.
        clock: in seconds, for the budget of the whole plan and for turns.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        folder: Path,
        send: Callable[..., None],
        stop: threading.Event,
        enough: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self.folder = plan, folder
        self.send = send
        self.stop = stop
        self.enough = enough
        self._tasks: dict[tuple[str, int, int], Task] = {}
        self._sent_warnings: set[str] = set()
        self._clock = clock
        self._deadline = clock() + plan.seconds
        self._is_out_of_time = False

    def run(self) -> None:
        """Train and save all runs.

        Raises:
            HeadlightError: the plan exceeds a limit, or its data cannot be used.
        """
        turns: dict[int, Iterator[str]] = {number: self._turns(number) for number in range(len(self.plan.recipes))}
        while turns:
            for number, turn in list(turns.items()):
                if next(turn, None) is None:
                    del turns[number]
        self.send(done="stopped" if self.stop.is_set() else "time" if self._is_out_of_time else "steps")

    def _is_over(self) -> bool:
        return self.stop.is_set() or self.enough.is_set() or self._clock() > self._deadline

    def _task(self, recipe: Recipe) -> Task:
        """Return the recipe's data, built once for all runs that use them."""
        key, data = (recipe.task, recipe.data_seed, recipe.max_len), self.plan.data
        if key not in self._tasks:
            self._tasks[key] = (
                tasks.build(*key[:2])
                if data is None
                else tasks.from_outside(data, seed=recipe.data_seed, length=recipe.max_len)
            )
        return self._tasks[key]

    def _turns(self, number: int) -> Iterator[str]:
        """Train one run, and yield after each evaluation or when its turn has lasted long."""
        if self.stop.is_set():
            return
        recipe = self.plan.recipes[number]
        training = Training(recipe, self._task(recipe))
        started = self._clock()
        for event in training.events(self._is_over):
            if isinstance(event, Start):
                check_step(recipe, event.longest)
                check_maps(event, len(self.plan.recipes))
            if isinstance(event, End) and event.reason == "stopped" and not self.stop.is_set():
                event = replace(event, reason="time")  # the time budget ended it, not the user
                training.history.take(event)
            self.send(run=number, event=to_values(event))
            self._send_warnings(training.notices)
            if isinstance(event, Evaluation) or self._clock() - started > TURN_SECONDS:
                yield "turn"
                started = self._clock()
        self._save(number, training)

    def _send_warnings(self, notices: tuple[str, ...]) -> None:
        """Send the warnings of a run, each sentence once for all runs."""
        for sentence in notices:
            if sentence not in self._sent_warnings:
                self._sent_warnings.add(sentence)
                self.send(told=sentence)

    def _save(self, number: int, training: Training) -> None:
        """Save a run if it has trained at least one step and its weights are finite."""
        end = training.history.end
        self._is_out_of_time |= end is not None and end.reason == "time"
        if end is None or not end.step or end.reason == NOT_A_NUMBER:
            return
        folder = self.folder / str(number)
        if not folder.parent.is_dir():
            raise HeadlightError("the folder of this session no longer exists")  # a deleted session is not recreated
        training.save(folder)
        self.send(saved=number)
