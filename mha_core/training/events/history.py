"""A training run as far as it has come, live or read from a file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...errors import HeadlightError
from ..recipe import ENDS, Recipe
from .kinds import LONGEST, End, Evaluation, Event, Snapshot, Start, Step


@dataclass
class History:
    """Everything that a run has told so far. Give it every event by `take`."""

    recipe: Recipe
    start: Start | None = None
    steps: list[Step] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    end: End | None = None

    def take(self, event: Event) -> None:
        """Keeps an event."""
        match event:
            case Start():
                self.start = event
            case Step():
                self.steps.append(event)
            case Evaluation():
                self.evaluations.append(event)
            case Snapshot():
                self.snapshots.append(event)
            case End():
                self.end = event

    @classmethod
    def of(cls, events: Iterable[Event]) -> History:
        """The history of these events.

        Raises:
            HeadlightError: they begin with something else than a start, go on after the end, or do not fit the start.
        """
        events = list(events)
        first = events[0] if events else None
        if not isinstance(first, Start):
            raise HeadlightError("a run begins with its start")
        history = cls(first.recipe)
        for event in events:
            if history.end is not None or not _belongs(event, first):
                raise HeadlightError(f"the {type(event).__name__.lower()} does not fit the run")
            history.take(event)
        return history

    @property
    def step(self) -> int:
        """The number of steps that are done."""
        return self.end.step if self.end else self.steps[-1].step if self.steps else 0

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return self.end.seconds if self.end else self.steps[-1].seconds if self.steps else 0.0

    @property
    def epochs(self) -> float:
        """How often every training row was seen; 0 where every batch is made anew."""
        if self.start is None or not self.start.rows_train:
            return 0.0
        return self.step / math.ceil(self.start.rows_train / self.recipe.batch)


def _belongs(event: Event, start: Start) -> bool:
    """True when an event can be one of the run that began so. Raises a HeadlightError for maps that do not fit."""
    match event:
        case Start():
            sizes = 1 <= event.longest <= LONGEST and 0 <= event.target_length <= LONGEST and _is_cut(event.picture)
            fits = len(event.columns) == len(event.probes) if event.target_length else not event.columns
            return event is start and sizes and fits and min(event.rows_train, event.rows_test) >= 0
        case Snapshot():
            event.check(start)
        case Evaluation():
            if not _has_its_heads(event, start):
                return False
        case End():
            classes = set(range(len(start.classes)))
            if event.reason not in ENDS or not set(event.predicted) <= classes:
                return False
            if len(event.predicted) not in (0, start.rows_test):
                return False
    return 0 <= event.step <= start.recipe.steps


def _is_cut(picture: list[int]) -> bool:
    """True where there is no picture, or one of so many patches as a text may have tokens."""
    if not picture:
        return True
    side, patch, registers = picture if len(picture) == 3 else (0, 0, 0)
    whole = side >= 1 and patch >= 1 and registers >= 0 and side % patch == 0
    return whole and patch <= LONGEST and (side // patch) ** 2 + registers < LONGEST


def _has_its_heads(event: Evaluation, start: Start) -> bool:
    """True when the scores are shares, one for each head or none at all."""
    every_head = [start.recipe.n_heads] * start.recipe.n_layers
    shares = [event.train_accuracy, event.test_accuracy, event.pair_accuracy or 0.0, event.aligned or 0.0]
    for scores in (event.induction, event.previous):
        if [len(row) for row in scores] not in ([], every_head):
            return False
        shares += [share for row in scores for share in row]
    return all(0 <= share <= 1.001 for share in shares)
