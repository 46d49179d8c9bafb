"""One plan of trainings: its runs in turn."""

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
    """The runs of a plan, trained in turn, so that their curves grow side by side.

    Args:
        plan: what is trained.
        folder: where run n is saved in its folder "n".
        say: takes each message as keyword arguments, see `worker`.
        stop: ends the runs where they are.
        enough: ends them as their time budget would.
        clock: seconds, for the budget of the whole plan and for turns.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        folder: Path,
        say: Callable[..., None],
        stop: threading.Event,
        enough: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self.folder = plan, folder
        self.say = say
        self.stop = stop
        self.enough = enough
        self._tasks: dict[tuple[str, int, int], Task] = {}
        self._told: set[str] = set()
        self._clock = clock
        self._ends = clock() + plan.seconds
        self._cut = False

    def run(self) -> None:
        """Trains and keeps everything that is planned.

        Raises:
            HeadlightError: the plan is more than this machine may do, or its data cannot be used.
        """
        turns: dict[int, Iterator[str]] = {number: self._turns(number) for number in range(len(self.plan.recipes))}
        while turns:
            for number, turn in list(turns.items()):
                if next(turn, None) is None:
                    del turns[number]
        self.say(done="stopped" if self.stop.is_set() else "time" if self._cut else "steps")

    def _is_over(self) -> bool:
        return self.stop.is_set() or self.enough.is_set() or self._clock() > self._ends

    def _task(self, recipe: Recipe) -> Task:
        """The recipe's data, built once for all runs on it."""
        key, data = (recipe.task, recipe.data_seed, recipe.max_len), self.plan.data
        if key not in self._tasks:
            self._tasks[key] = (
                tasks.build(*key[:2])
                if data is None
                else tasks.from_outside(data, seed=recipe.data_seed, length=recipe.max_len)
            )
        return self._tasks[key]

    def _turns(self, number: int) -> Iterator[str]:
        """Trains one run, and yields after each evaluation, or when its turn has lasted long."""
        if self.stop.is_set():
            return
        recipe = self.plan.recipes[number]
        training = Training(recipe, self._task(recipe))
        began = self._clock()
        for event in training.events(self._is_over):
            if isinstance(event, Start):
                check_step(recipe, event.longest)
                check_maps(event, len(self.plan.recipes))
            if isinstance(event, End) and event.reason == "stopped" and not self.stop.is_set():
                event = replace(event, reason="time")  # it was the job's time that was over, no visitor stopped it
                training.history.take(event)
            self.say(run=number, event=to_values(event))
            self._tell(training.notices)
            if isinstance(event, Evaluation) or self._clock() - began > TURN_SECONDS:
                yield "turn"
                began = self._clock()
        self._save(number, training)

    def _tell(self, notices: tuple[str, ...]) -> None:
        """Says what must be said of a run, each sentence once for all of them."""
        for sentence in notices:
            if sentence not in self._told:
                self._told.add(sentence)
                self.say(told=sentence)

    def _save(self, number: int, training: Training) -> None:
        """Writes a run that can be used: it has learnt something, and its numbers are numbers."""
        end = training.history.end
        self._cut |= end is not None and end.reason == "time"
        if end is None or not end.step or end.reason == NOT_A_NUMBER:
            return
        folder = self.folder / str(number)
        if not folder.parent.is_dir():
            raise HeadlightError("the folder of this visit is gone")  # it is not made again
        training.save(folder)
        self.say(saved=number)
