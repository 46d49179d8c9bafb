"""What a training run tells while it goes on, and the history that these events make. Plain values, ready for JSON."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any, get_args, get_origin, get_type_hints

from ..errors import HeadlightError
from .recipe import ENDS, Recipe

__all__ = ["End", "Evaluation", "Event", "History", "Snapshot", "Start", "Step", "from_line", "from_values", "to_line"]

LARGEST = 2**53  # of a whole number: beyond, not every one is a float
LONGEST = 1024  # tokens of a text, as in `Recipe.check`
_HALF = re.compile("[\ud800-\udfff]")  # half a surrogate pair: no character


@dataclass(frozen=True)
class Start:
    """The first event.

    Attributes:
        recipe: what is trained.
        title: the task's.
        classes: names of the classes; empty for a language model.
        rows_train, rows_test: how many; rows_train is 0 where every batch is made anew.
        fingerprint: of the data, both parts.
        notes: what was done to the data (duplicates, cut texts), in whole sentences.
        vocabulary, parameters, longest: sizes of this very model and of its longest text in tokens.
        probes: tokens of each text whose maps are kept.
        versions: of torch, python and so on.
        machine: device and threads, in words.
    """

    recipe: Recipe
    title: str
    classes: list[str]
    rows_train: int
    rows_test: int
    fingerprint: str
    notes: list[str]
    vocabulary: int
    parameters: int
    longest: int
    probes: list[list[str]]
    versions: dict[str, str]
    machine: str


@dataclass(frozen=True)
class Step:
    """One step of the optimiser: its number from 1, the loss of its batch, and the run's own seconds so far."""

    step: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """A look at the test rows, after `step` steps.

    Attributes:
        train_loss, train_accuracy: over the batches since the last look; of the first look, on as many training rows.
        test_loss, test_accuracy: over the test rows (of a language model: over the places that are scored).
        pair_accuracy: share of mirror pairs with both members right; None where there are no pairs.
        induction, previous: of a language model, for each layer and head, the mean weight on the key that holds the
            answer, and on the previous token; empty otherwise.
    """

    step: int
    seconds: float
    train_loss: float
    train_accuracy: float
    test_loss: float
    test_accuracy: float
    pair_accuracy: float | None = None
    induction: list[list[float]] = field(default_factory=list)
    previous: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """Every map of one probe after `step` steps.

    Attributes:
        probe: its number in `Start.probes`.
        shape: (layers, h, i, j).
        maps: uint8, weights times 255, rounded.
    """

    step: int
    probe: int
    shape: list[int]
    maps: bytes

    def check(self, start: Start) -> None:
        """Raises a HeadlightError when these are not the maps of one of the run's probes."""
        known = 0 <= self.probe < len(start.probes)
        i = len(start.probes[self.probe]) if known else 0
        recipe = start.recipe
        if not known or self.shape != [recipe.n_layers, recipe.n_heads, i, i] or len(self.maps) != prod(self.shape):
            raise HeadlightError(f"maps of shape {self.shape} do not fit the run")


@dataclass(frozen=True)
class End:
    """The last event.

    Attributes:
        reason: one of `recipe.ENDS`.
        seconds: of training alone: steps, not evaluations or snapshots.
        predicted: the class of every test row, in their order; empty for a language model.
    """

    reason: str
    step: int
    seconds: float
    predicted: list[int] = field(default_factory=list)


Event = Start | Step | Evaluation | Snapshot | End
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Start, Step, Evaluation, Snapshot, End)}
_HINTS = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def to_line(event: Event) -> str:
    """An event as one line of JSON."""
    values = asdict(event)
    if isinstance(event, Snapshot):
        values["maps"] = base64.b64encode(event.maps).decode("ascii")
    return json.dumps({"kind": type(event).__name__, **values})


def from_line(line: str) -> Event:
    """The event of a line of `to_line`.

    Raises:
        HeadlightError: it is none.
    """
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _no_event(error) from error
    return from_values(values)


def from_values(values: Mapping[str, Any]) -> Event:
    """The event of plain values, those of a line of `to_line` after `json.loads`.

    Raises:
        HeadlightError: it is none.
    """
    try:
        values = {**values}
        kind = _KINDS[values.pop("kind")]
        if kind is Start:
            values["recipe"] = Recipe.from_json(values["recipe"])
        if kind is Snapshot:
            values["maps"] = base64.b64decode(values["maps"], validate=True)
        event: Event = kind(**values)
        hints = _HINTS[kind]
        wrong = [name for name, value in vars(event).items() if not _fits(value, hints[name])]
        if wrong:
            raise TypeError(", ".join(wrong))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _no_event(error) from error
    return event


def _no_event(error: Exception) -> HeadlightError:
    return HeadlightError(f"this is no event of a training run ({type(error).__name__}: {error!s:.80})")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value that came from a file is of the kind that the field says."""
    if hint is int or hint is float:  # first, as nearly every value is a number
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
        return number or (hint is float and isinstance(value, float) and math.isfinite(value))
    if hint is str:
        return isinstance(value, str) and not _HALF.search(value)
    kind, within = get_origin(hint), get_args(hint)
    if kind is list:
        return isinstance(value, list) and all(_fits(each, within[0]) for each in value)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(each, str) for pair in value.items() for each in pair)
    if within:  # a union
        return any(_fits(value, each) for each in within)
    return isinstance(value, hint)


@dataclass
class History:
    """A run as far as it has come, live or read from a file. Give it every event by `take`."""

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
        made = cls(first.recipe)
        for event in events:
            if made.end is not None or not _belongs(event, first):
                raise HeadlightError(f"the {type(event).__name__.lower()} does not fit the run")
            made.take(event)
        return made

    @property
    def step(self) -> int:
        """How many steps are done."""
        return self.end.step if self.end else self.steps[-1].step if self.steps else 0

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return self.end.seconds if self.end else self.steps[-1].seconds if self.steps else 0.0


def _belongs(event: Event, start: Start) -> bool:
    """Whether an event can be one of the run that began so. Raises a HeadlightError for maps that do not fit."""
    recipe = start.recipe
    if isinstance(event, Start):
        return event is start and 1 <= event.longest <= LONGEST and min(event.rows_train, event.rows_test) >= 0
    if isinstance(event, Snapshot):
        event.check(start)
    if isinstance(event, Evaluation):
        heads = [recipe.n_heads] * recipe.n_layers
        shares = [event.train_accuracy, event.test_accuracy, event.pair_accuracy or 0.0]
        shares += [share for scores in (event.induction, event.previous) for row in scores for share in row]
        shapes = [[len(row) for row in scores] for scores in (event.induction, event.previous)]
        if any(shape not in ([], heads) for shape in shapes) or not all(0 <= share <= 1.001 for share in shares):
            return False
    if isinstance(event, End):
        known = set(event.predicted) <= set(range(len(start.classes)))
        if event.reason not in ENDS or not known or len(event.predicted) not in (0, start.rows_test):
            return False
    return 0 <= event.step <= recipe.steps
