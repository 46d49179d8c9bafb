"""Training as a generator of events: iterate to train, stop iterating to stop."""

import copy
import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import torch

from ..device import or_on_the_cpu, pick, seed_draws
from ..models.model import Model
from ..models.translator import model_of
from . import saved, tokens
from .events import End, Evaluation, Event, History, Snapshot, Start, Step
from .objectives import objective
from .recipe import NOT_A_NUMBER, Recipe
from .scores import Totals
from .tasks import Labelled, Task

T = TypeVar("T")


@dataclass
class Progress:
    """A run so far.

    Attributes:
        step: how many steps are done.
        seconds: of the steps alone.  spent: of the time budget, evaluations included.
        since: totals over the batches since the last evaluation.
        evaluated: the step of the last one.  predicted: what it gave, the class of every test row.
        reason: one of `recipe.ENDS` as soon as the run has to end.
    """

    step: int = 0
    seconds: float = 0.0
    spent: float = 0.0
    since: Totals = field(default_factory=Totals)
    evaluated: int = -1
    predicted: list[int] = field(default_factory=list)
    reason: str = ""


class Training:
    """One run: its data, its model, and the way to the trained weights.

    Args:
        recipe: what is trained.
        task: the data.

    Attributes:
        stack: the model while it learns.
        objective: its loss and its test.
        optimizer: AdamW, with what it knows of the weights.
        history: the events so far.
        notices: what must be said of it. A training on "auto" goes on on the CPU when its device is full; the batch at
            which that happens is left out.

    Raises:
        HeadlightError: as in `Recipe.check`; the implementation or the sizes cannot serve the position; no such device,
            or one that was chosen by name is full.
    """

    def __init__(self, recipe: Recipe, task: Task) -> None:
        recipe.check()
        self.recipe = recipe
        self.task = task
        self.notices: tuple[str, ...] = ()
        self.tokenizer = tokens.of(task, recipe.vocabulary, all_texts=recipe.vocabulary_of == "all texts")
        self.history = History(recipe)
        self.objective = self._with_room(pick(recipe.device), lambda on: objective(recipe, task, self.tokenizer, on))
        self.stack = self.objective.stack
        self.optimizer = torch.optim.AdamW(
            self.stack.parameters(), recipe.rate, (0.9, recipe.beta2), weight_decay=recipe.weight_decay, fused=True
        )
        self._schedule = (
            torch.optim.lr_scheduler.OneCycleLR(
                self.optimizer, max_lr=recipe.rate, total_steps=recipe.steps, cycle_momentum=False
            )
            if recipe.schedule == "one-cycle"
            else None
        )
        self._batches = torch.Generator().manual_seed(recipe.seed)
        self._dropped = torch.Generator().manual_seed(recipe.seed)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.stack.device

    def step(self) -> Totals:
        """One step of the optimiser on the next batch; returns its totals. Without effect if the loss is NaN."""
        with on_threads(self.recipe.threads), self._own_draws():
            totals = self._computed(self._learn)
            if math.isfinite(totals.loss) and self._schedule is not None:
                self._schedule.step()
            return totals

    def _learn(self) -> Totals:
        """The optimiser's step itself."""
        self.optimizer.zero_grad()
        loss, totals = self.objective.next_loss(self._batches)
        if math.isfinite(totals.loss):
            torch.autograd.backward(loss)
            self.optimizer.step()
        return totals

    def _computed(self, compute: Callable[[], T]) -> T:
        """The result of `compute`, for which the training moves to the CPU when its device has no room."""

        def on(device: torch.device) -> T:
            if device != self.device:
                self.move(device)
            return compute()

        return self._with_room(self.device, on)

    def _with_room(self, device: torch.device, compute: Callable[[torch.device], T]) -> T:
        """The result of `compute` on the device, or where "auto" leaves the choice on the CPU when that is full."""
        allowed = self.recipe.device == "auto"
        found, notices = or_on_the_cpu(compute, device, allowed=allowed, smaller="choose smaller sizes")
        self.notices += notices
        return found

    def move(self, device: torch.device) -> None:
        """Takes the weights and what the optimiser knows of them to a device."""
        self.stack.to(device)
        for known in self.optimizer.state.values():
            known.update({name: value.to(device) for name, value in known.items() if isinstance(value, torch.Tensor)})

    @contextmanager
    def _own_draws(self) -> Iterator[None]:
        """Sets the one generator that dropout can draw from for this step: runs that take turns share it."""
        if not self.recipe.dropout:
            yield
            return
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            seed_draws(self.device, int(torch.randint(2**62, (), generator=self._dropped)))
            yield

    def events(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Trains, and tells: the start, an evaluation with its snapshots, steps, …, the end. Also kept in `history`.

        `stop` is asked before each step. Only time spent in here counts for the budget, so several runs can take turns.
        """
        for event in self._events(stop):
            self.history.take(event)
            yield event

    def model(self) -> Model:
        """A copy of the model as it stands, to look at."""
        stack = copy.deepcopy(self.stack).eval().requires_grad_(False)
        facts = {"model": self.task.title, "torch": str(torch.__version__), "python": platform.python_version()}
        return model_of(
            self.recipe.task, self.tokenizer, stack, origin="trained here", facts=facts, history=self.history
        )

    def save(self, folder: Path) -> None:
        """Writes the run into a folder of its own, see `saved`."""
        saved.save(folder, self.history, self.tokenizer, self.stack)

    def _events(self, stop: Callable[[], bool]) -> Iterator[Event]:
        recipe, progress = self.recipe, Progress()
        evaluations = {round(part * recipe.steps / recipe.evaluations) for part in range(recipe.evaluations + 1)}
        yield self._start()
        yield from self._evaluate(progress)
        for step in range(1, recipe.steps + 1):
            if progress.reason or stop():
                break
            began = time.perf_counter()
            totals = self.step()
            if not math.isfinite(totals.loss):
                progress.reason, progress.predicted = NOT_A_NUMBER, []
                break
            took = time.perf_counter() - began
            progress.step, progress.since = step, progress.since + totals
            progress.seconds, progress.spent = progress.seconds + took, progress.spent + took
            if progress.spent > recipe.seconds and step < recipe.steps:
                progress.reason = "time"
            yield Step(step, _short(totals.mean_loss), _short(progress.seconds))
            if step in evaluations:
                yield from self._evaluate(progress)
        progress.reason = progress.reason or ("steps" if progress.step == recipe.steps else "stopped")
        if progress.evaluated < progress.step and progress.reason != NOT_A_NUMBER:
            yield from self._evaluate(progress)
        yield End(progress.reason, progress.step, _short(progress.seconds), progress.predicted)

    def _evaluate(self, progress: Progress) -> Iterator[Event]:
        """Evaluates, and yields the evaluation with its snapshots; nothing when a loss is no number any more."""
        began = time.perf_counter()
        evaluation, predicted = self._figures(progress)
        if not math.isfinite(evaluation.train_loss + evaluation.test_loss):
            progress.reason, progress.predicted = NOT_A_NUMBER, []
            return
        snapshots = list(self._snapshots(progress.step))
        progress.evaluated, progress.predicted, progress.since = progress.step, predicted, Totals()
        if self.recipe.target is not None and evaluation.test_accuracy >= self.recipe.target:
            progress.reason = progress.reason or "target"
        progress.spent += time.perf_counter() - began
        yield evaluation
        yield from snapshots

    def _start(self) -> Start:
        work = self.objective
        return Start(
            recipe=self.recipe,
            title=self.task.title,
            classes=list(self.task.classes) if isinstance(self.task, Labelled) else [],
            rows_train=work.rows_train,
            rows_test=work.rows_test,
            fingerprint=f"{self.task.fingerprint}, version {self.task.version}",
            notes=[*self.task.notes, *work.notes],
            vocabulary=self.stack.sizes.vocabulary,
            parameters=sum(parameter.numel() for parameter in self.stack.parameters()),
            longest=work.longest,
            probes=[tokens for tokens, _ in work.probes],
            columns=list(work.columns),
            target_length=work.target_length,
            picture=list(work.picture),
            versions={name: version(name) for name in ("torch", "tokenizers")} | {"python": platform.python_version()},
            machine=f"{self.device.type}, {self.recipe.threads} thread{'s' if self.recipe.threads > 1 else ''}",
        )

    def _figures(self, progress: Progress) -> tuple[Evaluation, list[int]]:
        """The figures of the test rows, and the class of each."""
        with on_threads(self.recipe.threads):
            outcome = self._computed(self.objective.evaluate)
            trained = progress.since if progress.since.losses else self._computed(self.objective.evaluate_train)
        evaluation = Evaluation(
            step=progress.step,
            seconds=_short(progress.seconds),
            train_loss=_short(trained.mean_loss),
            train_accuracy=trained.accuracy,
            test_loss=_short(outcome.totals.mean_loss),
            test_accuracy=outcome.totals.accuracy,
            **outcome.more,
        )
        return evaluation, outcome.predicted

    def _snapshots(self, step: int) -> Iterator[Snapshot]:
        for number in range(len(self.objective.probes)):
            with on_threads(self.recipe.threads):
                maps = torch.cat(self._computed(partial(self.objective.probe_maps, number)))
                rounded = (maps * 255).round().to("cpu", torch.uint8)
            yield Snapshot(step, number, list(maps.shape), rounded.numpy().tobytes())


def _short(value: float) -> float:
    """Six digits: nobody reads more, and a saved history has thousands of them."""
    return float(f"{value:.6g}")


@contextmanager
def on_threads(threads: int) -> Iterator[None]:
    """Sets torch's threads for a while: sums come out the same only when they are split the same way."""
    before = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        if before != threads:
            torch.set_num_threads(before)
