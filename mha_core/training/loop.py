"""Training as a generator of events: iterate to train, stop iterating to stop."""

import copy
import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        self.stack.train()
        loss, totals = self.objective.next_loss(self._batch_generator)
        self.stack.eval()
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
        recipe = self.recipe
        evaluations = {round(part * recipe.steps / recipe.evaluations) for part in range(recipe.evaluations + 1)}
        self._seconds = self._spent = 0.0  # of the steps alone; of the time budget, including evaluations
        self._totals = Totals()  # of the batches since the last evaluation
        self._predicted = list[int]()  # class of every test row in the last evaluation
        self._reason = ""  # one of `recipe.ENDS` as soon as the run has to end
        yield self._start()
        yield from self._evaluate()
        for step in range(1, recipe.steps + 1):
            if self._reason or stop():
                break
            started = time.perf_counter()
            totals = self.step()
            if not math.isfinite(totals.loss):
                self._reason, self._predicted = NOT_A_NUMBER, []
                break
            duration = time.perf_counter() - started
            self._totals += totals
            self._seconds, self._spent = self._seconds + duration, self._spent + duration
            if self._spent > recipe.seconds and step < recipe.steps:
                self._reason = "time"
            yield Step(step, _short(totals.mean_loss), _short(self._seconds))
            if step in evaluations:
                yield from self._evaluate()
        step = self.history.step
        self._reason = self._reason or ("steps" if step == recipe.steps else "stopped")
        if self._reason != NOT_A_NUMBER and self.history.evaluations[-1].step < step:
            yield from self._evaluate()
        yield End(self._reason, step, _short(self._seconds), self._predicted)

    def _evaluate(self) -> Iterator[Event]:
        """Evaluate and yield the evaluation with its snapshots; yield nothing if a loss is not finite."""
        started, step = time.perf_counter(), self.history.step
        with torch_threads(self.recipe.threads):
            outcome = self._run_here(self.objective.evaluate)
            trained = self._totals if self._totals.losses else self._run_here(self.objective.evaluate_train)
            if not math.isfinite(trained.mean_loss + outcome.totals.mean_loss):
                self._reason, self._predicted = NOT_A_NUMBER, []
                return
            snapshots = [self._snapshot(step, number) for number in range(len(self.objective.start["probes"]))]
        self._predicted, self._totals = outcome.predicted, Totals()
        if self.recipe.target is not None and outcome.totals.accuracy >= self.recipe.target:
            self._reason = self._reason or "target"
        self._spent += time.perf_counter() - started
        yield Evaluation(
            step=step,
            seconds=_short(self._seconds),
            train_loss=_short(trained.mean_loss),
            train_accuracy=trained.accuracy,
            test_loss=_short(outcome.totals.mean_loss),
            test_accuracy=outcome.totals.accuracy,
            **outcome.more,
        )
        yield from snapshots

    def _snapshot(self, step: int, number: int) -> Snapshot:
        maps = torch.cat(self._run_here(partial(self.objective.probe_maps, number)))
        return Snapshot(step, number, list(maps.shape), (maps * 255).round().to("cpu", torch.uint8).numpy().tobytes())

    def _start(self) -> Start:
        fields = self.objective.start
        return Start(
            recipe=self.recipe,
            title=self.task.title,
            classes=list(self.task.classes) if isinstance(self.task, Labelled) else [],
            fingerprint=f"{self.task.fingerprint}, version {self.task.version}",
            vocabulary=self.stack.sizes.vocabulary,
            parameters=sum(parameter.numel() for parameter in self.stack.parameters()),
            versions={name: version(name) for name in ("torch", "tokenizers")} | {"python": platform.python_version()},
            machine=f"{self.device.type}, {self.recipe.threads} thread{'s' if self.recipe.threads > 1 else ''}",
            **fields | {"notes": [*self.task.notes, *fields.get("notes", ())]},
        )


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
