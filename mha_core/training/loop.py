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

from ..device import pick, run_with_cpu_fallback, seed_dropout
from ..models.model import Model
from ..models.translator import build_model
from . import saved, tokens
from .events import End, Evaluation, Event, History, Snapshot, Start, Step
from .objectives import objective
from .recipe import NOT_A_NUMBER, Recipe
from .scores import Totals
from .tasks import Labelled, Task

T = TypeVar("T")


@dataclass
class Progress:
    """State of a run while it trains.

    Attributes:
        step: the number of steps so far.
        seconds: of the steps alone.
        spent: of the time budget, including evaluations.
        totals: over the batches since the last evaluation.
        last_evaluation: the step of the last evaluation.
        predicted: the class of every test row in the last evaluation.
        reason: one of `recipe.ENDS` as soon as the run has to end.
    """

    step: int = 0
    seconds: float = 0.0
    spent: float = 0.0
    totals: Totals = field(default_factory=Totals)
    last_evaluation: int = -1
    predicted: list[int] = field(default_factory=list)
    reason: str = ""


class Training:
    """Training run: its data, its model and its optimizer.

    Args:
        recipe: of the run.
        task: the data.

    Attributes:
        stack: the model in training.
        objective: its loss and its evaluation.
        optimizer: AdamW with its state.
        history: the events so far.
        notices: warnings for the user. A training on "auto" continues on the CPU when its device is out of memory; the
            batch at which that happens is skipped.

    Raises:
        HeadlightError: as in `Recipe.check`; the implementation or the sizes cannot serve the position; no such device,
            or one that was chosen by name is out of memory.
    """

    def __init__(self, recipe: Recipe, task: Task) -> None:
        recipe.check()
        self.recipe = recipe
        self.task = task
        self.notices: tuple[str, ...] = ()
        self.tokenizer = tokens.for_task(task, recipe.vocabulary, all_texts=recipe.vocabulary_of == "all texts")
        self.history = History(recipe)
        self.objective = self._fall_back(pick(recipe.device), lambda d: objective(recipe, task, self.tokenizer, d))
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
        self._batch_generator = torch.Generator().manual_seed(recipe.seed)
        self._dropout_generator = torch.Generator().manual_seed(recipe.seed)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.stack.device

    def step(self) -> Totals:
        """Train on the next batch and return its totals; a NaN loss leaves the weights unchanged."""
        with torch_threads(self.recipe.threads), self._seeded_dropout():
            totals = self._run_here(self._learn)
            if math.isfinite(totals.loss) and self._schedule is not None:
                self._schedule.step()
            return totals

    def _learn(self) -> Totals:
        """Compute the loss of the next batch and update the weights."""
        self.optimizer.zero_grad()
        loss, totals = self.objective.next_loss(self._batch_generator)
        if math.isfinite(totals.loss):
            torch.autograd.backward(loss)
            self.optimizer.step()
        return totals

    def _run_here(self, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, moving the training to the CPU if the device is out of memory."""

        def run(device: torch.device) -> T:
            if device != self.device:
                self.move(device)
            return compute()

        return self._fall_back(self.device, run)

    def _fall_back(self, device: torch.device, compute: Callable[[torch.device], T]) -> T:
        """Return the result of `compute` on the device, or on the CPU if "auto" was out of memory."""
        allowed = self.recipe.device == "auto"
        result, notices = run_with_cpu_fallback(compute, device, allowed=allowed, smaller="choose smaller sizes")
        self.notices += notices
        return result

    def move(self, device: torch.device) -> None:
        """Move the weights and the optimizer's state to a device."""
        self.stack.to(device)
        for state in self.optimizer.state.values():
            state.update({name: value.to(device) for name, value in state.items() if isinstance(value, torch.Tensor)})

    @contextmanager
    def _seeded_dropout(self) -> Iterator[None]:
        """Seed the global generator of dropout for one step, as runs that take turns share it."""
        if not self.recipe.dropout:
            yield
            return
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            seed_dropout(self.device, int(torch.randint(2**62, (), generator=self._dropout_generator)))
            yield

    def events(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Train, and yield the start, evaluations with snapshots, steps and the end; `history` keeps them too.

        `stop` is called before each step. Only time spent in here counts for the budget, so several runs can take
        turns.
        """
        for event in self._events(stop):
            self.history.take(event)
            yield event

    def model(self) -> Model:
        """Return a copy of the model in its current state."""
        stack = copy.deepcopy(self.stack).eval().requires_grad_(False)
        facts = {"model": self.task.title, "torch": str(torch.__version__), "python": platform.python_version()}
        return build_model(
            self.recipe.task, self.tokenizer, stack, origin="trained here", facts=facts, history=self.history
        )

    def save(self, folder: Path) -> None:
        """Save the run in a folder of its own, see `saved`."""
        saved.save(folder, self.history, self.tokenizer, self.stack)

    def _events(self, stop: Callable[[], bool]) -> Iterator[Event]:
        recipe, progress = self.recipe, Progress()
        evaluations = {round(part * recipe.steps / recipe.evaluations) for part in range(recipe.evaluations + 1)}
        yield self._start()
        yield from self._evaluate(progress)
        for step in range(1, recipe.steps + 1):
            if progress.reason or stop():
                break
            started = time.perf_counter()
            totals = self.step()
            if not math.isfinite(totals.loss):
                progress.reason, progress.predicted = NOT_A_NUMBER, []
                break
            duration = time.perf_counter() - started
            progress.step, progress.totals = step, progress.totals + totals
            progress.seconds, progress.spent = progress.seconds + duration, progress.spent + duration
            if progress.spent > recipe.seconds and step < recipe.steps:
                progress.reason = "time"
            yield Step(step, _short(totals.mean_loss), _short(progress.seconds))
            if step in evaluations:
                yield from self._evaluate(progress)
        progress.reason = progress.reason or ("steps" if progress.step == recipe.steps else "stopped")
        if progress.last_evaluation < progress.step and progress.reason != NOT_A_NUMBER:
            yield from self._evaluate(progress)
        yield End(progress.reason, progress.step, _short(progress.seconds), progress.predicted)

    def _evaluate(self, progress: Progress) -> Iterator[Event]:
        """Evaluate and yield the evaluation with its snapshots; yield nothing if a loss is not finite."""
        started = time.perf_counter()
        evaluation, predicted = self._figures(progress)
        if not math.isfinite(evaluation.train_loss + evaluation.test_loss):
            progress.reason, progress.predicted = NOT_A_NUMBER, []
            return
        snapshots = list(self._snapshots(progress.step))
        progress.last_evaluation, progress.predicted, progress.totals = progress.step, predicted, Totals()
        if self.recipe.target is not None and evaluation.test_accuracy >= self.recipe.target:
            progress.reason = progress.reason or "target"
        progress.spent += time.perf_counter() - started
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
            longest=work.max_len,
            probes=[tokens for tokens, _ in work.probes],
            columns=list(work.columns),
            target_length=work.target_length,
            picture=list(work.picture),
            versions={name: version(name) for name in ("torch", "tokenizers")} | {"python": platform.python_version()},
            machine=f"{self.device.type}, {self.recipe.threads} thread{'s' if self.recipe.threads > 1 else ''}",
        )

    def _figures(self, progress: Progress) -> tuple[Evaluation, list[int]]:
        """Return the evaluation, and the predicted class of each test row."""
        with torch_threads(self.recipe.threads):
            outcome = self._run_here(self.objective.evaluate)
            trained = progress.totals if progress.totals.losses else self._run_here(self.objective.evaluate_train)
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
            with torch_threads(self.recipe.threads):
                maps = torch.cat(self._run_here(partial(self.objective.probe_maps, number)))
                rounded = (maps * 255).round().to("cpu", torch.uint8)
            yield Snapshot(step, number, list(maps.shape), rounded.numpy().tobytes())


def _short(value: float) -> float:
    """Round to six significant digits to keep saved histories small."""
    return float(f"{value:.6g}")


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Set torch's number of threads temporarily; sums are only reproducible if they are split equally."""
    previous = torch.get_num_threads()
    if previous != threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        if previous != threads:
            torch.set_num_threads(previous)
